//! What the journal says when chains have ended, held against the witnesses.

use std::collections::HashSet;

use pausegate::call::CallStatus;
use pausegate::chain::ChainStatus;
use pausegate::event::{Event, Stamped};
use pausegate::state::{Call, ChainState};

use super::server::{Asked, Server};
use super::store::Place;
use super::trial::CALLS;

pub struct Seen {
    pub states: Vec<ChainState>,
    /// Of each chain.
    events: Vec<Vec<Stamped>>,
    differences: Vec<String>,
}

impl Seen {
    pub fn read(place: &Place) -> Self {
        let seen = place.look(async |journal| {
            let mut seen = Self { states: Vec::new(), events: Vec::new(), differences: Vec::new() };
            for row in journal.chains(100).await.unwrap() {
                let events = journal.events(&row.id, 0).await.unwrap();
                seen.differences.extend(super::store::difference(journal, &row.id).await);
                seen.states.push(ChainState::fold(row.id, &events));
                seen.events.push(events);
            }
            seen
        });
        seen.unwrap()
    }

    /// All that must hold whatever happened; `story` tells what did.
    pub fn check(&self, place: &Place, server: &Server, story: &str) {
        assert_eq!(self.differences, Vec::<String>::new(), "11: projections are the fold; {story}");
        let asked = server.asked();
        for (state, events) in self.states.iter().zip(&self.events) {
            assert_eq!(state.status, ChainStatus::Completed, "8: what was decided came to its end; {story}");
            holds_in_order(state, events, story);
            for (tool, count) in CALLS {
                let calls: Vec<_> = state.calls.values().filter(|call| call.tool == tool).collect();
                assert_eq!(calls.len(), count, "a turn was asked once; {story}");
                calls.iter().for_each(|call| ended_well(place, call, story));
            }
            requests(state, &asked, story);
        }
        let keys: HashSet<_> = self.states.iter().flat_map(|state| state.calls.values().map(|call| call.idempotency_key(state))).collect();
        assert!(asked.iter().all(|asked| keys.contains(&asked.key)), "an attempt keeps its call's key; {story}");
        assert_eq!(keys.len(), self.states.iter().map(|state| state.calls.len()).sum::<usize>(), "s21: two identical calls, two keys; {story}");
    }
}

fn requests(state: &ChainState, asked: &[Asked], story: &str) {
    for call in state.calls.values() {
        let key = call.idempotency_key(state);
        let made = asked.iter().filter(|asked| asked.key == key).count();
        match call.tool.as_str() {
            "courier__post" => assert_eq!(made, 1, "1: once; {story}"),
            "courier__put" | "courier__look" => assert!(made > 0, "it was made; {story}"),
            _ => {}
        }
    }
}

/// Succeeded, or denied by the one decision that counts; the folder shows it.
fn ended_well(place: &Place, call: &Call, story: &str) {
    let path = call.arguments.as_ref().unwrap()["path"].as_str().unwrap_or_default().replacen("/build", "work/build", 1);
    let (tool, status) = (call.tool.as_str(), call.status);
    let file = std::fs::read_to_string(place.env.path(&path)).ok();
    match (tool, status) {
        ("files__delete", CallStatus::Denied) => assert!(file.is_some(), "3: what was denied is not done; {story}"),
        ("files__delete", CallStatus::Succeeded) => assert!(file.is_none(), "{path} is there; {story}"),
        ("files__write", CallStatus::Succeeded) => assert_eq!(file.as_deref(), Some("new"), "{story}"),
        (_, CallStatus::Succeeded) => {}
        other => panic!("{other:?} with {:?}; {story}", call.result),
    }
}

/// 4, 6, 7, 9 and 10, event by event.
fn holds_in_order(state: &ChainState, events: &[Stamped], story: &str) {
    let mut folded = ChainState::new(state.id.clone());
    let (mut decided, mut newest) = (HashSet::new(), 0);
    for stamped in events {
        assert!(!folded.status.is_terminal(), "10: nothing comes after the end; {story}");
        // Who decides holds nothing, and says so.
        assert!(stamped.epoch == 0 || stamped.epoch >= newest, "9: who was overtaken wrote {:?}; {story}", stamped.event);
        newest = newest.max(stamped.epoch);
        match &stamped.event {
            Event::TurnReceived { .. } => {
                assert!(folded.calls.values().all(|call| call.result.is_some()), "7: the model was called while a call was open; {story}");
            }
            Event::CallFinished { call, .. } => assert!(folded.calls[call].result.is_none(), "6: one result for each call; {story}"),
            Event::PauseDecided { pause, .. } => assert!(decided.insert(pause.clone()), "4: one decision for each pause; {story}"),
            _ => {}
        }
        folded.apply(stamped);
    }
}
