//! `capability` pauses as the rules see them: the one use, for this call, under this digest.

use serde_json::json;

use super::decisions::refused;
use super::twins::*;
use crate::capability::frozen::{FsOperation, FsUse};
use crate::capability::{Access, Binding, ForTools, FrozenUse, FsGrant, Grants, OnMissing, Pin, PluginGrants, Uses, When};
use crate::chain::ChainStatus;
use crate::event::Event;
use crate::pause::PauseKind;
use crate::plugin::{Attempt, AttemptOutcome, Ended};
use crate::state::decide::Refused;
use futures_util::future::{BoxFuture, FutureExt};

fn wanted() -> FrozenUse {
    FrozenUse::Fs(FsUse { operation: FsOperation::RemoveFile, path: "/x/a".into(), to: None })
}

/// `ok` makes the one use, and is held back until it holds it.
fn reaching(attempt: &Attempt) -> BoxFuture<'static, AttemptOutcome> {
    let held = attempt.held.uses.contains(&wanted()) || wanted().is_held(&attempt.held);
    let mut made = done("deleted");
    made.uses = Uses { fs_writes: 1, ..Uses::default() };
    let outcome = if held { made } else { outcome(Ended::HeldBack(wanted())) };
    async move { outcome }.boxed()
}

fn grants(when: When, env: &[(&str, &str)]) -> Grants {
    let line = FsGrant {
        path: "/tmp/x".into(),
        mount: "/x".into(),
        access: Access::Write,
        when,
        on_missing: OnMissing::Pause,
        tools: ForTools::default(),
        one_file: false,
        quota: None,
        line: 2,
    };
    let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let section = PluginGrants { fs: vec![line], env, ..PluginGrants::holding_nothing(Pin::Any, 1) };
    Grants { plugins: [("t".to_owned(), section)].into(), ..Grants::default() }
}

fn bound() -> When {
    When::Approved(Binding::Within(vec!["path".into()]))
}

async fn held_back() -> (World, crate::state::ChainState) {
    let world = World::with(json!([turn(&["ok"]), say("done")]), grants(bound(), &[]), reaching);
    let state = world.run().await.state;
    assert_eq!(state.status, ChainStatus::Paused);
    (world, state)
}

#[tokio::test]
async fn approving_opens_the_one_use_and_does_not_approve_the_arguments() {
    let (world, state) = held_back().await;
    let pause = &pauses(&state)[0];
    // The line that waits for an approval, and no rule that says nothing of it.
    assert_eq!(pause.because, ["grants.toml:2: fs write everything below /x, only what is approved"]);
    assert_eq!(pause.kind, PauseKind::Capability);
    assert_eq!(pause.opens.iter().map(ToString::to_string).collect::<Vec<_>>(), ["once: fs delete file /x/a"]);
    world.decide(&pause.id, json!({"decision": "approve"})).await.unwrap();
    let state = world.resume(&state.id).await.state;
    assert_eq!(state.status, ChainStatus::Completed);
    let ran = world.plugins.ran.lock().unwrap();
    let held: Vec<_> = ran.iter().map(|attempt| (attempt.approved, attempt.answers.len(), attempt.held.uses.len())).collect();
    assert_eq!(held, [(false, 0, 0), (false, 0, 1)]);
    let mut started = world.journal.stamped(&state.id).into_iter().filter_map(|event| match event.event {
        Event::CallsStarted { calls } => Some(calls),
        _ => None,
    });
    assert_eq!(started.next_back().unwrap()[0].held, ["once: fs delete file /x/a"], "the journal says what was in force");
    assert!(state.calls.values().all(|call| call.opened.is_empty()), "an approval of one use is spent by it");
}

#[tokio::test]
async fn it_is_denied_answered_in_the_tools_place_or_left_but_not_edited() {
    for (decision, ran) in [(json!({"decision": "deny"}), 1), (json!({"decision": "respond", "value": "gone already"}), 1)] {
        let (world, state) = held_back().await;
        let edit = refused(world.decide(&pauses(&state)[0].id, json!({"decision": "edit", "arguments": {}})).await);
        assert!(matches!(edit, Refused::DoesNotFit(_)));
        world.decide(&pauses(&state)[0].id, decision).await.unwrap();
        assert_eq!(world.resume(&state.id).await.state.status, ChainStatus::Completed);
        assert_eq!(world.plugins.ran.lock().unwrap().len(), ran);
    }
}

#[tokio::test]
async fn where_the_grants_changed_it_is_asked_anew_or_not_needed_any_more() {
    let (world, state) = held_back().await;
    let first = pauses(&state)[0].clone();
    let world = world.restarted(grants(bound(), &[("A", "1")]));
    let state = world.resume(&state.id).await.state;
    let second = pauses(&state)[0].clone();
    assert!(second.kind == PauseKind::Capability && second.id != first.id && second.difference.is_some() && second.frozen() == first.frozen());
    let world = world.restarted(grants(When::Always, &[]));
    assert_eq!(world.resume(&state.id).await.state.status, ChainStatus::Completed);
}

#[tokio::test]
async fn an_approved_use_lapses_with_the_grants_it_was_approved_under() {
    let (world, state) = held_back().await;
    world.decide(&pauses(&state)[0].id, json!({"decision": "approve"})).await.unwrap();
    let world = world.restarted(grants(bound(), &[("A", "1")]));
    let state = world.resume(&state.id).await.state;
    assert_eq!(state.status, ChainStatus::Paused);
    assert_eq!(pauses(&state)[0].kind, PauseKind::Capability);
}

#[tokio::test]
async fn w12_holding_back_for_ever_ends_at_the_limit_of_pauses() {
    let changing = |attempt: &Attempt| {
        let path = format!("/x/{}", attempt.attempt);
        let frozen = FrozenUse::Fs(FsUse { operation: FsOperation::RemoveFile, path, to: None });
        async move { outcome(Ended::HeldBack(frozen)) }.boxed()
    };
    let world = World::with(json!([turn(&["ok"]), say("done")]), grants(bound(), &[]), changing);
    let mut state = world.run().await.state;
    while let [pause] = pauses(&state).as_slice() {
        world.decide(&pause.id, json!({"decision": "approve"})).await.unwrap();
        state = world.resume(&state.id).await.state;
    }
    let result = state.calls.values().next().unwrap().result.as_ref().unwrap();
    assert_eq!(result.as_failure().unwrap().kind, "too-many-pauses");
    assert_eq!(state.calls.values().next().unwrap().pauses, state.settings.pauses_per_call);
}
