//! What a call got before a pause, as the rules and the journal see it: kept for its next attempt, dropped at its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::FutureExt;
use serde_json::json;

use super::twins::*;
use crate::call::recording::{Answer, Exchange};
use crate::call::{CallStatus, Effects, Recording};
use crate::capability::{Grants, Uses};
use crate::chain::ChainStatus;
use crate::digest::Digest;
use crate::event::Event;
use crate::pause::{Ask, PauseKind};
use crate::plugin::{Attempt, AttemptOutcome, Ended};

fn exchange(name: &str) -> Recording {
    let answer = Answer::Error { name: name.into(), text: None };
    Recording { exchanges: vec![Exchange { request: Digest::of_bytes(name.as_bytes()), effect: true, answer }], ..Recording::default() }
}

fn posted(ended: AttemptOutcome, name: &str) -> AttemptOutcome {
    AttemptOutcome { uses: Uses { http_requests: 1, http_effects: 1, ..Uses::default() }, recorded: exchange(name), ..ended }
}

/// Has its effect unless it was recorded, and asks six questions.
fn six(counter: Arc<AtomicUsize>) -> impl Fn(&Attempt) -> futures_util::future::BoxFuture<'static, AttemptOutcome> {
    move |attempt| {
        let recorded = !attempt.recorded.exchanges.is_empty();
        counter.fetch_add(usize::from(!recorded), Ordering::SeqCst);
        let outcome = match attempt.answers.len() {
            6 => done("six answers"),
            count => pausing(&format!("q{count}"), Ask::Text),
        };
        let outcome = if recorded { outcome } else { posted(outcome, "posted") };
        async move { outcome }.boxed()
    }
}

#[tokio::test]
async fn w57_an_effect_before_six_questions_is_had_once_whatever_process_goes_on() {
    let effects = Arc::new(AtomicUsize::new(0));
    let world = World::with(json!([turn(&["ok"]), say("done")]), effectful(), six(effects.clone()));
    let id = world.run().await.state.id;
    for question in 0..6 {
        world.restart(&id);
        let open = pauses(&world.journal.state(&id));
        assert_eq!((open.len(), open[0].key.as_str()), (1, format!("q{question}").as_str()));
        assert_eq!(open[0].uses.http_effects, 1);
        world.decide(&open[0].id, json!({"decision": "respond", "value": "go on"})).await.unwrap();
        world.resume(&id).await;
    }
    let state = world.journal.state(&id);
    assert_eq!((state.status, effects.load(Ordering::SeqCst)), (ChainStatus::Completed, 1));
    assert!(state.calls.values().all(|call| call.recording.is_empty()), "nobody needs it any more");
    let events = world.journal.stamped(&id);
    let recorded = events.iter().filter(|event| matches!(&event.event, Event::AttemptPaused { recorded, .. } if !recorded.is_empty()));
    assert_eq!(recorded.count(), 1, "written once");
}

#[tokio::test]
async fn a_call_that_never_pauses_writes_nothing_of_it() {
    let posts = |_: &Attempt| async { AttemptOutcome { recorded: Recording::default(), ..posted(done("done"), "posted") } }.boxed();
    let world = World::with(json!([turn(&["ok"]), say("done")]), effectful(), posts);
    let id = world.run().await.state.id;
    let written = serde_json::to_string(&world.journal.stamped(&id)).unwrap();
    assert!(!written.contains("recorded") && !written.contains("diverged"), "{written}");
}

/// Asks after its effect, then goes another way as long as it is given a recording.
fn fickle(attempt: &Attempt) -> futures_util::future::BoxFuture<'static, AttemptOutcome> {
    let outcome = match (attempt.attempt, attempt.recorded.exchanges.is_empty()) {
        (1, _) => posted(pausing("q", Ask::Text), "posted"),
        (_, false) => outcome(Ended::Diverged("asked for something else".into())),
        (_, true) => done("anew"),
    };
    async move { outcome }.boxed()
}

async fn after_the_answer(effects: Effects) -> (World, crate::state::ChainState) {
    let world = World::with(json!([turn(&["ok"]), say("done")]), effectful(), fickle);
    world.plugins.tools.lock().unwrap().iter_mut().for_each(|tool| tool.effects = effects);
    let state = world.run().await.state;
    let pause = pauses(&state)[0].id.clone();
    world.decide(&pause, json!({"decision": "respond", "value": "go on"})).await.unwrap();
    let state = world.resume(&state.id).await.state;
    (world, state)
}

#[tokio::test]
async fn a_once_call_that_goes_another_way_is_in_doubt_and_is_told_as_what_a_person_says() {
    for (decision, status, output) in [
        (json!({"decision": "settle", "outcome": "run-again"}), CallStatus::Succeeded, "anew"),
        (json!({"decision": "settle", "outcome": "happened", "result": "paid"}), CallStatus::Succeeded, "paid"),
        (json!({"decision": "settle", "outcome": "give-up"}), CallStatus::Failed, "unknown-outcome"),
    ] {
        let (world, state) = after_the_answer(Effects::Once).await;
        assert_eq!(state.status, ChainStatus::Paused);
        let pause = pauses(&state)[0].clone();
        assert_eq!((pause.kind, pause.reason.as_str(), pause.uses.http_effects), (PauseKind::InDoubt, "asked for something else", 1));
        assert_eq!(pause.context.as_ref().unwrap()["recorded_uses"]["http_effects"], 1);
        world.restart(&state.id);
        world.decide(&pause.id, decision).await.unwrap();
        let state = world.resume(&state.id).await.state;
        let call = state.calls.values().next().unwrap();
        assert_eq!((state.status, call.status), (ChainStatus::Completed, status));
        assert!(calls(&state)[0].contains(output), "{:?}", calls(&state));
    }
}

#[tokio::test]
async fn a_call_that_may_be_made_twice_fails_as_nondeterministic() {
    let (_, state) = after_the_answer(Effects::Idempotent).await;
    let failed = state.calls.values().next().unwrap();
    assert_eq!((state.status, failed.status), (ChainStatus::Completed, CallStatus::Failed));
    assert_eq!(failed.result.as_ref().unwrap().as_failure().unwrap().kind, "nondeterministic");
}

#[tokio::test]
async fn new_bytes_and_new_grants_do_not_have_a_recorded_effect_again() {
    let effects = Arc::new(AtomicUsize::new(0));
    let world = World::with(json!([turn(&["ok"]), say("done")]), effectful(), six(effects.clone()));
    let id = world.run().await.state.id;
    let world = world.restarted(Grants::default());
    for tool in world.plugins.tools.lock().unwrap().iter_mut() {
        tool.plugin_digest = Digest::of_bytes(b"new");
    }
    world.try_resume(&id, crate::runner::Resume { accept_plugin: true, ..Default::default() }).await.unwrap();
    let ran = world.plugins.ran.lock().unwrap().last().cloned().unwrap();
    assert_eq!((ran.attempt, ran.recorded.exchanges.len(), effects.load(Ordering::SeqCst)), (2, 1, 1));
}
