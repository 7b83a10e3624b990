//! Replays: what today's rules say of a recorded chain, and events that the rules never wrote.

use std::sync::Arc;

use serde_json::json;

use super::twins::{World, pauses, rule, say, turn};
use crate::capability::{Grants, Verdict};
use crate::chain::ChainId;
use crate::event::{Event, Stamped};
use crate::state::Rules;
use crate::state::replay::{Admission, Replay, replay};

fn replayed(world: &World, id: &ChainId, grants: &Grants, events: &[Stamped]) -> Replay {
    let rules = Rules { grants, now: world.host.clock.now(), id: &|prefix| prefix.to_owned(), schemas: &world.host.schemas };
    replay(id, events, &rules)
}

/// A chain with a gate that was approved, a question of a plugin's, an unknown tool, and a second turn.
async fn recorded() -> (World, ChainId) {
    let world = World::with_rules(json!([turn(&["ok", "ask", "no-such"]), turn(&["ok"]), say("done")]), vec![rule("t__ok", Verdict::Ask)]);
    let id = world.run().await.state.id;
    for _ in 0..2 {
        for pause in pauses(&world.journal.state(&id)) {
            world.decide(&pause.id, json!({"decision": "approve"})).await.unwrap();
        }
        world.resume(&id).await;
    }
    assert!(world.journal.state(&id).status.is_terminal());
    (world, id)
}

#[tokio::test]
async fn under_the_same_grants_the_same_is_decided() {
    let (world, id) = recorded().await;
    let replayed = replayed(&world, &id, &world.host.grants.latest(), &world.journal.stamped(&id));
    assert!(replayed.is_same(), "{replayed:?}");
    let calls: Vec<_> = replayed.calls.iter().map(|call| (call.tool.as_str(), call.then.clone(), call.same_digest)).collect();
    let failed = Admission::Failed { kind: "not-found".into() };
    let expected = [("t__ok", Admission::Asked, Some(true)), ("t__ask", Admission::Allowed, Some(true)), ("t__no-such", failed, None)];
    assert_eq!(calls[..3], expected);
    assert_eq!(calls.len(), 4);
}

#[tokio::test]
async fn other_rules_are_compared_call_by_call() {
    let (world, id) = recorded().await;
    let events = world.journal.stamped(&id);
    let check = |rules: Vec<crate::capability::Rule>, expected: [&str; 4]| {
        let replayed = replayed(&world, &id, &Grants { rules, ..Grants::default() }, &events);
        assert_eq!(replayed.faults, [], "other grants make no fault of what was written");
        let said: Vec<_> = replayed.calls.iter().map(|call| format!("{:?} {:?} {:?}", call.then, call.now, call.same_digest)).collect();
        assert_eq!(said, expected);
        assert_eq!(replayed.is_same(), replayed.calls.iter().all(|call| call.then == call.now));
    };
    let failed = r#"Failed { kind: "not-found" } Failed { kind: "not-found" } None"#;
    check(vec![], ["Asked Allowed Some(false)", "Allowed Allowed Some(true)", failed, "Asked Allowed Some(false)"]);
    check(
        vec![rule("t__ok", Verdict::Deny), rule("t__ask", Verdict::Ask)],
        ["Asked Denied None", "Allowed Asked Some(false)", failed, "Asked Denied None"],
    );
    // Asked for by one rule more: the same is decided, and what was approved then would lapse.
    check(
        vec![rule("t__ok", Verdict::Ask), rule("*", Verdict::Ask)],
        ["Asked Asked Some(false)", "Allowed Asked Some(false)", failed, "Asked Asked Some(false)"],
    );
}

#[tokio::test]
async fn events_that_the_rules_did_not_write_are_faults() {
    let (world, id) = recorded().await;
    let events = world.journal.stamped(&id);
    let at = |meant: &dyn Fn(&Event) -> bool| events.iter().position(|stamped| meant(&stamped.event)).unwrap();
    let decided = at(&|event| matches!(event, Event::PauseDecided { .. }));
    let started = at(&|event| matches!(event, Event::CallsStarted { .. }));
    let finished = at(&|event| matches!(event, Event::CallFinished { status, .. } if *status == crate::call::CallStatus::Succeeded));
    let asked = at(&|event| matches!(event, Event::PauseOpened { .. }));
    let second = at(&|event| matches!(event, Event::TurnReceived { turn: 2, .. }));
    let check = |change: &dyn Fn(&mut Vec<Stamped>), expected: &str| {
        let mut changed = events.clone();
        change(&mut changed);
        changed.iter_mut().zip(1..).for_each(|(stamped, seq)| stamped.seq = seq);
        let faults: Vec<_> = replayed(&world, &id, &world.host.grants.latest(), &changed).faults.into_iter().map(|fault| fault.what).collect();
        assert!(faults.iter().any(|fault| fault.contains(expected)), "{expected}: {faults:?}");
    };
    let other = crate::digest::Digest::of_bytes(b"other");
    // Nobody approved it.
    check(&|events| drop(events.remove(decided)), "started and was paused");
    check(&|events| events.insert(decided, events[decided].clone()), "the same was decided before");
    check(&|events| events.insert(0, events[1].clone()), "before the chain begins");
    check(&|events| events.insert(2, events[0].clone()), "begins again");
    check(&|events| drop(events.remove(finished)), "had no result");
    check(&|events| events.insert(finished, events[finished].clone()), "had its result");
    check(&|events| drop(events.remove(started)), "had not started");
    check(&|events| drop(events.remove(second)), "which was never asked for");
    check(&|events| events.swap(second - 1, second), "the model was asked while call");
    check(
        &|events| {
            let Event::PauseOpened { pause } = &mut events[asked].event else { unreachable!() };
            Arc::make_mut(pause).reason = "nothing to see here".into();
        },
        "does not have the digest of what it shows",
    );
    check(
        &|events| {
            let Event::PauseOpened { pause } = &mut events[asked].event else { unreachable!() };
            Arc::make_mut(pause).arguments = json!({"n": 9}).into();
        },
        "shows other arguments than its call has",
    );
    check(
        &|events| {
            let again = at(&|event| matches!(event, Event::CallsStarted { calls } if calls.iter().any(|call| call.call.ordinal == 0)));
            let Event::CallsStarted { calls } = &mut events[again].event else { unreachable!() };
            calls.iter_mut().for_each(|call| call.digest = other.clone());
        },
        "started as something else than what was approved",
    );
    check(
        &|events| {
            let Event::PauseDecided { decision, .. } = &mut events[decided].event else { unreachable!() };
            *decision = crate::pause::Decision::Deny { note: None, then: None, digest: None };
        },
        "what the decision leads to does not follow it",
    );
    check(&|events| events[second].event = Event::ChainCancelled, "nobody asked for that end");
    check(&|events| events[second].event = Event::ChainCompleted, "the chain was not complete");
}
