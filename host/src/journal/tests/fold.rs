//! Projections are the fold of events, after every append of any chain, and any prefix folds.

use proptest::prelude::*;

use super::sample::{Chain, Home, approved, begun, digest, finished, opened, said, turn};
use crate::call::CallStatus;
use crate::chain::{Actor, Blocked, ChainStatus};
use crate::event::Event;
use crate::pause::PauseStatus;
use crate::state::ChainState;

/// What may happen next in `state`, picked by `choice`: events that belong into one append.
fn happening(state: &ChainState, choice: u8, number: usize) -> Vec<Event> {
    if state.seq == 0 {
        return vec![super::sample::started("go")];
    }
    let (what, which) = (choice % 12, usize::from(choice / 12));
    let pick = |status| {
        let keys: Vec<_> = state.calls_in(status).map(|call| call.key).collect();
        (!keys.is_empty()).then(|| keys[which % keys.len()])
    };
    let open: Vec<_> = state.open_pauses().map(|pause| (pause.id.0.clone(), pause.call)).collect();
    let pause = (!open.is_empty()).then(|| open[which % open.len()].clone());
    let id = format!("pa_{number:04}");
    let chosen = match what {
        0 => return vec![turn(state.turns.len() as u32 + 1, u32::from(choice / 12 % 4))],
        1 => return vec![said("and then?")],
        2 => pick(CallStatus::Requested).map(|call| vec![Event::CallsReadied { calls: vec![crate::event::Readied { call, digest: digest() }] }]),
        3 => pick(CallStatus::Requested).map(|call| vec![opened(&id, call)]),
        4 => pick(CallStatus::Ready).map(|call| vec![begun(call, state.calls[&call].attempts + 1)]),
        5 => pick(CallStatus::Started).map(|call| vec![finished(call, CallStatus::Succeeded)]),
        6 => pick(CallStatus::Started).map(|call| {
            let uses = crate::capability::Uses { fs_writes: 1, ..Default::default() };
            vec![Event::AttemptPaused { call, uses, refusals: Vec::new(), recorded: Default::default(), diverged: false }, opened(&id, call)]
        }),
        7 => pick(CallStatus::Started).map(|call| vec![Event::CallRecovered { call, why: "died".into(), uses: None }]),
        8 => pause.map(|(id, call)| vec![approved(&id, call, "os:bob@host")]),
        9 => pause.map(|(id, call)| {
            let closed = Event::PauseClosed { pause: crate::pause::PauseId(id), call, status: PauseStatus::Cancelled, why: "x".into() };
            vec![closed, finished(call, CallStatus::Cancelled)]
        }),
        10 => Some(match &state.blocked {
            None => vec![Event::ChainBlocked { blocked: Blocked::MaxTurns { limit: 1 } }],
            Some(_) => vec![Event::ChainUnblocked { why: "resumed".into() }],
        }),
        _ if choice > 240 => Some(vec![Event::ChainFailed { error: "the model is away".into() }]),
        _ => Some(accepted(state)),
    };
    chosen.unwrap_or_default()
}

/// As the rules do it: pauses of the plugin close first.
fn accepted(state: &ChainState) -> Vec<Event> {
    let of_plugin = state.open_pauses().filter(|pause| state.calls.get(&pause.call).is_some_and(|call| call.tool.starts_with("files__")));
    let mut events: Vec<_> = of_plugin
        .map(|pause| Event::PauseClosed { pause: pause.id.clone(), call: pause.call, status: PauseStatus::Superseded, why: "x".into() })
        .collect();
    let by = Actor("os:alice@host".into());
    events.push(Event::PluginAccepted { by, plugin: "files".into(), digest: digest(), tools: Vec::new() });
    events
}

async fn projections_are_the_fold(home: Home, choices: Vec<(u8, bool)>) {
    let journal = home.open();
    let (mut one, mut two) = (Chain::new("ch_1"), Chain::new("ch_2"));
    for (number, (choice, first)) in choices.into_iter().enumerate() {
        let chain = if first { &mut one } else { &mut two };
        let events = happening(&chain.state, choice, number);
        chain.write(&*journal, events).await.unwrap();
        assert_eq!(journal.differences().await.unwrap(), Vec::<String>::new());
        // H44: never paused without a question somebody can answer.
        assert!(chain.state.status != ChainStatus::Paused || chain.state.open_pauses().count() > 0);
    }
    let waiting = one.state.open_pauses().count() + two.state.open_pauses().count();
    assert_eq!(journal.pending(u32::MAX).await.unwrap().len(), waiting);
    for chain in [one, two] {
        let events = journal.events(&chain.id, 0).await.unwrap();
        for cut in 0..=events.len() {
            assert_eq!(ChainState::fold(chain.id.clone(), &events[..cut]).seq, cut as u64);
        }
        assert_eq!(ChainState::fold(chain.id.clone(), &events), chain.state);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn projections_are_the_fold_of_events_after_every_append(choices in prop::collection::vec((any::<u8>(), any::<bool>()), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            projections_are_the_fold(Home::sqlite(), choices.clone()).await;
            projections_are_the_fold(Home::postgres(), choices).await;
        });
    }
}
