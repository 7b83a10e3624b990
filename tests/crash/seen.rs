//! What the journal says when a chain has ended, held against the witnesses.

use std::collections::HashSet;

use pausegate::chain::ChainId;
use pausegate::clock::Clock;
use pausegate::event::{Event, Stamped};
use pausegate::journal::{Journal, SqliteJournal};
use pausegate::state::ChainState;

use super::trial::{CALLS, END, Trial};
use crate::e2e::TestEnvironment;

pub struct Seen {
    pub state: ChainState,
    pub events: Vec<Stamped>,
    differences: Vec<String>,
}

impl Seen {
    /// The one chain as it stands; `None` before its first event.
    pub fn state(env: &TestEnvironment) -> Option<ChainState> {
        with_journal(env, async |journal| {
            let id = journal.newest_chain().await.unwrap()?;
            Some(ChainState::fold(id.clone(), &journal.events(&id, 0).await.unwrap()))
        })?
    }

    pub fn read(env: &TestEnvironment) -> Self {
        let seen = with_journal(env, async |journal| {
            let id = journal.newest_chain().await.unwrap().unwrap();
            let events = journal.events(&id, 0).await.unwrap();
            let chains = journal.chains(10).await.unwrap();
            assert_eq!(chains.len(), 1, "one prompt, one chain");
            let differences = journal.projection_differences().await.unwrap();
            Self { state: ChainState::fold(id, &events), events, differences }
        });
        seen.unwrap()
    }
}

/// `None` where no process has made it yet.
fn with_journal<T>(env: &TestEnvironment, look: impl AsyncFnOnce(SqliteJournal) -> T) -> Option<T> {
    let path = env.path("home/.local/state/pausegate/journal.db");
    let there = path.is_file();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    there.then(|| runtime.block_on(async { look(SqliteJournal::open(&path, Clock::system()).unwrap()).await }))
}

pub fn check(trial: &Trial, seen: &Seen) {
    let (state, died) = (&seen.state, &trial.died);
    assert_eq!(seen.differences, Vec::<String>::new(), "11: projections are the fold, after {died:?}");
    results_come_in_order(&state.id, &seen.events);
    for (tool, count) in CALLS {
        let calls: Vec<_> = state.calls.values().filter(|call| call.tool == tool).collect();
        assert_eq!(calls.len(), count, "a turn was asked once, after {died:?}");
        for call in calls {
            assert_eq!(call.status, END, "{tool} {:?} after {died:?}", call.result);
        }
    }
    let asked = trial.server.asked();
    for call in state.calls.values() {
        let key = call.idempotency_key(state);
        let made: Vec<_> = asked.iter().filter(|asked| asked.key == key).collect();
        match call.tool.as_str() {
            "courier__post" => assert_eq!(made.len(), 1, "1: once, after {died:?}"),
            "courier__put" | "courier__look" => assert!(!made.is_empty(), "it was made, after {died:?}"),
            _ => {}
        }
    }
    let keys: HashSet<_> = state.calls.values().map(|call| call.idempotency_key(state)).collect();
    assert!(asked.iter().all(|asked| keys.contains(&asked.key)), "an attempt keeps its call's key, after {died:?}");
    assert_eq!(keys.len(), state.calls.len(), "s21: two identical calls, two keys");
    assert_eq!(trial.env.build(), ["b.tmp", "keep.txt", "new.txt"], "after {died:?}");
    assert_eq!(std::fs::read_to_string(trial.env.path("work/build/new.txt")).unwrap(), "new");
}

/// 7: when a turn came from the model, every call before it had its one result.
fn results_come_in_order(id: &ChainId, events: &[Stamped]) {
    let mut state = ChainState::new(id.clone());
    for stamped in events {
        if let Event::TurnReceived { .. } = &stamped.event {
            assert!(state.calls.values().all(|call| call.result.is_some()), "the model was called while a call was open");
        }
        if let Event::CallFinished { call, .. } = &stamped.event {
            assert!(state.calls[call].result.is_none(), "6: one result for each call");
        }
        state.apply(stamped);
    }
}
