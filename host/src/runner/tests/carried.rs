//! What a crash, a restart or a rival must not lose, ask twice or run twice: one small story each.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::memory::Side;
use super::twins::{World, alice, calls, done, effectful, outcome, pauses, pausing, say, tool, turn};
use crate::call::{Effects, ToolResult};
use crate::chain::{Blocked, ChainStatus};
use crate::pause::Ask;
use crate::plugin::{Asked, Ended};
use crate::runner::{HostError, Rest};
use crate::state::decide::Refused;

fn approve() -> Value {
    json!({"decision": "approve"})
}

#[tokio::test]
async fn s04_an_approved_call_that_fails_dies_or_lacks_its_plugin_is_never_wedged() {
    // It fails once: that is its result, and the chain goes on.
    let world = World::with(json!([turn(&["ask"]), say("done")]), effectful(), |attempt| {
        let approved = attempt.approved;
        Box::pin(
            async move { if approved { outcome(Ended::Result(ToolResult::failure("failed", "oh"))) } else { pausing("approval", Ask::Approval) } },
        )
    });
    let report = world.run().await;
    world.decide(&pauses(&report.state)[0].id, approve()).await.unwrap();
    assert!(matches!(world.resume(&report.state.id).await.rest, Rest::Completed));

    // Its plugin is missing at the resume: the chain says so, and the approval is still there when it is back.
    let world = World::new(json!([turn(&["ask"]), say("done")])).restarted(effectful());
    let report = world.run().await;
    world.decide(&pauses(&report.state)[0].id, approve()).await.unwrap();
    let tools = std::mem::take(&mut *world.plugins.tools.lock().unwrap());
    let blocked = world.resume(&report.state.id).await;
    assert!(matches!(blocked.rest, Rest::Blocked(Blocked::MissingPlugin { .. })));
    *world.plugins.tools.lock().unwrap() = tools;
    assert!(matches!(world.resume(&report.state.id).await.rest, Rest::Completed));
    assert_eq!(world.ran(), ["ask#1", "ask#2"]);

    // It dies in the middle of the resume, at every write: made again, or in the queue as a call in doubt.
    for append in 1..4 {
        for side in [Side::Before, Side::After] {
            let world = World::new(json!([turn(&["ask"]), say("done")])).restarted(effectful());
            let id = world.run().await.state.id;
            world.decide(&pauses(&world.journal.state(&id))[0].id, approve()).await.unwrap();
            world.journal.die_at(Some((side, append)));
            world.try_resume(&id, Default::default()).await.unwrap_err();
            world.restart(&id);
            let report = world.resume(&id).await;
            let waits = report.state.open_pauses().count();
            assert!(matches!(report.rest, Rest::Completed) || waits == 1, "{side:?} {append}: {:?}", report.rest);
        }
    }
}

#[tokio::test]
async fn s07_a_death_over_a_decision_leaves_it_made_or_not_made_and_answerable() {
    for side in [Side::Before, Side::After] {
        let world = World::new(json!([turn(&["ask"]), say("done")]));
        let id = world.run().await.state.id;
        let pause = pauses(&world.journal.state(&id))[0].id.clone();
        world.journal.die_at(Some((side, 1)));
        world.decide(&pause, approve()).await.unwrap_err();
        world.restart(&id);
        let open = pauses(&world.journal.state(&id)).len();
        assert_eq!(open, usize::from(side == Side::Before));
        // Whichever it was, saying the same again is right.
        world.decide(&pause, approve()).await.unwrap();
        assert!(matches!(world.resume(&id).await.rest, Rest::Completed));
        assert_eq!(world.ran(), ["ask#1", "ask#2"]);
    }
}

#[tokio::test]
async fn w56_h32_s20_calls_that_finished_are_not_made_again_and_later_ones_are_not_dropped() {
    let mut world = World::new(json!([turn(&["ok", "ask", "boom"]), say("done")]));
    world.settings.parallel_calls = 1;
    let id = world.run().await.state.id;
    assert_eq!(world.ran(), ["ok#1", "ask#1", "boom#1"]);
    world.restart(&id);
    world.decide(&pauses(&world.journal.state(&id))[0].id, approve()).await.unwrap();
    assert!(matches!(world.resume(&id).await.rest, Rest::Completed));
    assert_eq!(world.ran(), ["ok#1", "ask#1", "boom#1", "ask#2"]);
    assert_eq!(world.model.asked().len(), 2, "once for the turn, once with its results");

    // The third of three dies: the first two are kept.
    let mut world = World::new(json!([turn(&["ok", "boom", "ok"]), say("done")]));
    world.settings.parallel_calls = 1;
    let id = world.start().await;
    world.journal.die_at(Some((Side::Before, 4)));
    world.try_resume(&id, Default::default()).await.unwrap_err();
    world.restart(&id);
    assert_eq!(world.ran(), ["ok#1", "boom#1", "ok#1"]);
    assert!(matches!(world.resume(&id).await.rest, Rest::Completed));
    assert_eq!(world.ran(), ["ok#1", "boom#1", "ok#1", "ok#2"]);
}

#[tokio::test]
async fn w57_a_call_that_pauses_six_times_asks_six_questions_and_has_its_saved_effect_once() {
    let effects = Arc::new(AtomicUsize::new(0));
    let counter = effects.clone();
    let world = World::with(json!([turn(&["ok", "six"]), say("done")]), effectful(), move |attempt| {
        let counter = counter.clone();
        let (tool, saved, answers) = (attempt.tool.clone(), attempt.state.clone(), attempt.answers.len());
        Box::pin(async move {
            if tool != "six" {
                return done("sibling");
            }
            // What was done before the first question is in what it saved.
            if saved.is_none() {
                counter.fetch_add(1, Ordering::SeqCst);
            }
            match answers {
                6 => done("six answers"),
                count => {
                    let asked =
                        Asked { key: format!("q{count}"), reason: "and now?".into(), context: None, ask: Ask::Text, state: Some(vec![count as u8]) };
                    outcome(Ended::Pause(asked))
                }
            }
        })
    });
    world.plugins.tools.lock().unwrap().push(tool("six", Effects::Once));
    let id = world.run().await.state.id;
    for question in 0..6 {
        world.restart(&id);
        let open = pauses(&world.journal.state(&id));
        assert_eq!((open.len(), open[0].key.as_str()), (1, format!("q{question}").as_str()));
        world.decide(&open[0].id, json!({"decision": "respond", "value": "go on"})).await.unwrap();
        world.resume(&id).await;
    }
    let state = world.journal.state(&id);
    assert_eq!((state.status, calls(&state)), (ChainStatus::Completed, vec!["ok succeeded sibling".into(), "six succeeded six answers".into()]));
    assert_eq!((effects.load(Ordering::SeqCst), world.ran().len()), (1, 1 + 7));
}

#[tokio::test]
async fn h38_h39_a_process_with_an_old_picture_runs_only_what_its_own_claim_finds() {
    let world = World::new(json!([turn(&["ask", "ok"]), say("done")])).restarted(effectful());
    let id = world.run().await.state.id;
    // Another process saw the chain paused, and keeps that picture.
    let mut other = world.host.clone();
    other.recent = Arc::default();
    other.recent.keep(world.journal.state(&id));
    world.decide(&pauses(&world.journal.state(&id))[0].id, approve()).await.unwrap();
    assert!(matches!(world.resume(&id).await.rest, Rest::Completed));
    let late = other.resume(&id, &alice(), Default::default(), CancellationToken::new()).await;
    assert!(matches!(late, Err(HostError::Ended { .. })));
    assert_eq!(world.ran(), ["ask#1", "ok#1", "ask#2"]);
}

#[tokio::test]
async fn h42_an_answer_is_to_one_pause_and_never_to_a_later_one_of_the_same_name() {
    let asked = Arc::new(Mutex::new(0));
    let counter = asked.clone();
    let world = World::with(json!([turn(&["ok"]), say("done")]), effectful(), move |_| {
        let mut count = counter.lock().unwrap();
        *count += 1;
        let outcome = if *count < 3 { pausing("same", Ask::Text) } else { done("done") };
        Box::pin(async move { outcome })
    });
    let id = world.run().await.state.id;
    let first = pauses(&world.journal.state(&id))[0].id.clone();
    world.decide(&first, json!({"decision": "respond", "value": "one"})).await.unwrap();
    world.resume(&id).await;
    let second = pauses(&world.journal.state(&id))[0].clone();
    assert_eq!(second.key, "same");
    let late = world.decide(&first, json!({"decision": "respond", "value": "two"})).await;
    assert!(matches!(late, Err(HostError::Refused(Refused::Already { .. }))));
    assert!(world.journal.state(&id).pause(&second.id).unwrap().is_open());
}
