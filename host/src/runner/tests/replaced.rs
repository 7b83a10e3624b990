//! A plugin that was replaced while its calls waited, where the operator wants a person to say what becomes of them.

use serde_json::{Value, json};

use super::twins::*;
use crate::call::Effects;
use crate::capability::{Grants, Pin, Verdict};
use crate::chain::{Blocked, ChainId, ChainStatus, OnChange};
use crate::digest::Digest;
use crate::event::Event;
use crate::pause::replaced::Replaced;
use crate::pause::{Pause, PauseKind, PauseStatus};
use crate::runner::{HostError, Rest};
use crate::state::decide::Refused;

fn new_bytes() -> Digest {
    Digest::of_bytes(b"t2")
}

fn pinned() -> Digest {
    Digest::of_bytes(b"t")
}

/// The plugin's bytes become others, and its tools are these.
fn replace(world: &World, tools: &[&str]) {
    let other = |name: &&str| crate::call::ToolSpec { plugin_digest: new_bytes(), description: "is another".into(), ..tool(name, Effects::Once) };
    *world.plugins.tools.lock().unwrap() = tools.iter().map(other).collect();
}

async fn waiting(turns: Value, grants: Grants) -> (World, ChainId) {
    let mut world = World::with(turns, grants, behave);
    world.settings.on_change = OnChange::Ask;
    *world.plugins.kept.lock().unwrap() = Some(Vec::new());
    let state = world.run().await.state;
    (world, state.id)
}

/// A chain whose call was approved on bytes that are others by now, and the question about them.
async fn asked(grants: Grants) -> (World, ChainId, Pause) {
    let (world, id) = waiting(json!([turn(&["ask"]), turn(&["ok"]), say("done")]), grants).await;
    let state = world.resume(&id).await.state;
    world.decide(&pauses(&state)[0].id, json!({"decision": "approve"})).await.unwrap();
    replace(&world, &["ask", "ok"]);
    world.restart(&id);
    let report = world.resume(&id).await;
    assert!(matches!(report.rest, Rest::Paused), "{:?}", report.rest);
    let pause = pauses(&report.state)[0].clone();
    (world, id, pause)
}

fn ran_on(world: &World) -> Vec<(String, Digest)> {
    world.plugins.ran.lock().unwrap().iter().map(|attempt| (attempt.tool.clone(), attempt.digest.clone().unwrap())).collect()
}

#[tokio::test]
async fn w63_where_the_operator_wants_it_a_person_sees_both_bytes_and_what_changed() {
    let (world, _, pause) = asked(Grants::default()).await;
    assert_eq!((pause.kind, pause.offers()), (PauseKind::PluginChanged, &["approve", "deny", "respond"][..]));
    let told = |name: &str| [format!("description of `{name}`"), format!("  -does {name}"), "  +is another".to_owned()];
    let replaced = pause.replaced().unwrap();
    let gone = ["boom", "forever", "pick", "wait"].map(|name| format!("tool `{name}` is gone"));
    let changes: Vec<_> = gone.into_iter().chain(told("ask")).chain(told("ok")).collect();
    let expected = Replaced { pinned: pinned(), found: new_bytes(), pinned_bytes: Some(1), found_bytes: None, trust: "no".into(), changes };
    assert_eq!(replaced, expected);
    assert_eq!(ran_on(&world), [("ask".to_owned(), pinned())], "nothing runs before somebody has said on which bytes");
}

#[tokio::test]
async fn on_the_pinned_bytes_a_call_goes_on_as_it_was_approved_and_the_chain_is_not_asked_again() {
    let (world, id, pause) = asked(Grants::default()).await;
    world.decide(&pause.id, json!({"decision": "respond", "value": "pinned"})).await.unwrap();
    let report = world.resume(&id).await;
    assert_eq!(calls(&report.state), [r#"ask succeeded did {"n":0}"#, r#"ok succeeded ok {"n":0}"#]);
    assert!(ran_on(&world).iter().all(|(_, digest)| *digest == pinned()), "{:?}", ran_on(&world));
    assert!(report.state.calls.values().all(|call| call.answers.iter().all(|answer| answer.key == "approval")), "it is no answer to the plugin");
}

#[tokio::test]
async fn new_bytes_are_asked_for_approval_anew() {
    let (world, id, pause) = asked(Grants::default()).await;
    // Two ways to say the same.
    world.decide(&pause.id, json!({"decision": "respond", "value": "new"})).await.unwrap();
    let again = world.decide(&pause.id, json!({"decision": "approve"})).await.unwrap();
    assert_eq!(again.pause(&pause.id).unwrap().status, PauseStatus::Approved);
    let report = world.resume(&id).await;
    let asked = &pauses(&report.state)[0];
    assert_eq!((asked.kind, asked.key.as_str(), report.state.calls[&asked.call].approved.as_ref()), (PauseKind::Tool, "approval", None));
    world.decide(&asked.id, json!({"decision": "approve"})).await.unwrap();
    let report = world.resume(&id).await;
    assert_eq!(report.state.status, ChainStatus::Completed);
    assert!(ran_on(&world)[1..].iter().all(|(_, digest)| *digest == new_bytes()), "{:?}", ran_on(&world));
}

#[tokio::test]
async fn a_denial_is_the_calls_result_and_one_that_stops_ends_the_chain() {
    let (world, id, pause) = asked(Grants::default()).await;
    world.decide(&pause.id, json!({"decision": "deny", "note": "not these"})).await.unwrap();
    let report = world.resume(&id).await;
    assert!(calls(&report.state)[0].starts_with("ask denied") && calls(&report.state)[0].contains("not these"), "{:?}", calls(&report.state));
    let (world, id, pause) = asked(Grants::default()).await;
    let state = world.decide(&pause.id, json!({"decision": "deny", "then": "stop"})).await.unwrap();
    assert_eq!((state.status, world.ran().len()), (ChainStatus::Rejected, 1));
    assert_eq!(world.journal.stamped(&id).iter().filter(|event| matches!(event.event, Event::PluginAccepted { .. })).count(), 0);
}

#[tokio::test]
async fn bytes_that_the_operator_did_not_trust_are_not_taken() {
    let mut grants = effectful();
    grants.plugins.get_mut("t").unwrap().digest = Pin::Exact(pinned());
    let (world, id, pause) = asked(grants.clone()).await;
    assert_eq!(pause.replaced().unwrap().trust, "other bytes");
    let refused = world.decide(&pause.id, json!({"decision": "approve"})).await.unwrap_err();
    let HostError::Refused(Refused::DoesNotFit(message)) = &refused else { panic!("{refused}") };
    assert!(message.contains("`pausegate trust t` comes first"), "{message}");
    // The same pause can take them once they are.
    grants.plugins.get_mut("t").unwrap().digest = Pin::Any;
    let world = world.restarted(grants);
    assert!(world.decide(&pause.id, json!({"decision": "approve"})).await.is_ok());
    assert_eq!(world.resume(&id).await.state.calls.values().next().unwrap().approved, None);
}

#[tokio::test]
async fn nothing_but_what_is_offered_is_an_answer() {
    let (world, _, pause) = asked(Grants::default()).await;
    for decision in [
        json!({"decision": "respond", "value": "old"}),
        json!({"decision": "respond", "value": true}),
        json!({"decision": "edit", "arguments": {"n": 1}}),
        json!({"decision": "settle", "outcome": "run-again"}),
    ] {
        let refused = world.decide(&pause.id, decision.clone()).await.unwrap_err();
        assert!(matches!(refused, HostError::Refused(Refused::DoesNotFit(_))), "{decision}: {refused}");
    }
}

#[tokio::test]
async fn one_answer_is_for_all_calls_of_the_plugin() {
    let (world, id) = waiting(json!([turn(&["ask", "ask"]), say("done")]), Grants::default()).await;
    let state = world.resume(&id).await.state;
    for pause in pauses(&state) {
        world.decide(&pause.id, json!({"decision": "approve"})).await.unwrap();
    }
    replace(&world, &["ask"]);
    world.restart(&id);
    let asked = pauses(&world.resume(&id).await.state);
    assert_eq!(asked.iter().map(|pause| pause.kind).collect::<Vec<_>>(), [PauseKind::PluginChanged; 2]);
    let state = world.decide(&asked[1].id, json!({"decision": "respond", "value": "pinned"})).await.unwrap();
    assert_eq!((pauses(&state).len(), state.pause(&asked[0].id).unwrap().status), (0, PauseStatus::Superseded));
    assert_eq!(calls(&world.resume(&id).await.state), [r#"ask succeeded did {"n":0}"#, r#"ask succeeded did {"n":1}"#]);
}

#[tokio::test]
async fn bytes_that_are_back_or_others_again_take_the_question_along() {
    let (world, id, pause) = asked(Grants::default()).await;
    *world.plugins.tools.lock().unwrap() = vec![tool("ask", Effects::Once), tool("ok", Effects::Once)];
    world.restart(&id);
    let report = world.resume(&id).await;
    assert_eq!(report.state.pause(&pause.id).unwrap().status, PauseStatus::Superseded);
    assert_eq!(report.state.status, ChainStatus::Completed);

    let (world, id, pause) = asked(Grants::default()).await;
    world.decide(&pause.id, json!({"decision": "respond", "value": "pinned"})).await.unwrap();
    let third = |name: &str| crate::call::ToolSpec { plugin_digest: Digest::of_bytes(b"t3"), ..tool(name, Effects::Once) };
    *world.plugins.tools.lock().unwrap() = vec![third("ask"), third("ok")];
    world.restart(&id);
    let asked = pauses(&world.resume(&id).await.state);
    assert_eq!(asked[0].replaced().unwrap().found, Digest::of_bytes(b"t3"), "what was said of other bytes does not hold for these");
}

#[tokio::test]
async fn bytes_that_are_kept_nowhere_cannot_be_chosen() {
    let mut world = World::new(json!([turn(&["ask"]), say("done")]));
    world.settings.on_change = OnChange::Ask;
    let state = world.run().await.state;
    world.decide(&pauses(&state)[0].id, json!({"decision": "approve"})).await.unwrap();
    replace(&world, &["ask"]);
    world.restart(&state.id);
    let asked = pauses(&world.resume(&state.id).await.state)[0].clone();
    let refused = world.decide(&asked.id, json!({"decision": "respond", "value": "pinned"})).await.unwrap_err().to_string();
    assert!(refused.contains("answer with `new`, or deny"), "{refused}");
}

#[tokio::test]
async fn bytes_that_are_not_kept_any_more_block_the_chain_as_they_do_without_the_question() {
    let (world, id, pause) = asked(Grants::default()).await;
    world.decide(&pause.id, json!({"decision": "respond", "value": "pinned"})).await.unwrap();
    crate::journal::KeptPlugins::need(&world.journal, &id, Vec::new()).await.unwrap();
    let report = world.resume(&id).await;
    assert!(matches!(report.rest, Rest::Blocked(Blocked::PluginChanged { .. })), "{:?}", report.rest);
}

#[tokio::test]
async fn a_rule_that_asks_does_so_of_the_new_bytes_too_and_one_that_denies_needs_no_answer() {
    let gate = |effect| Grants { rules: vec![rule("t__ask", effect)], ..Grants::default() };
    let (world, id) = waiting(json!([turn(&["ask"]), say("done")]), gate(Verdict::Ask)).await;
    let state = world.resume(&id).await.state;
    world.decide(&pauses(&state)[0].id, json!({"decision": "approve"})).await.unwrap();
    replace(&world, &["ask"]);
    world.restart(&id);
    let asked = pauses(&world.resume(&id).await.state)[0].clone();
    world.decide(&asked.id, json!({"decision": "approve"})).await.unwrap();
    let gated = pauses(&world.resume(&id).await.state)[0].clone();
    assert_eq!(gated.kind, PauseKind::Gate);
    let world = world.restarted(gate(Verdict::Deny));
    assert!(calls(&world.resume(&id).await.state)[0].starts_with("ask denied"));
}
