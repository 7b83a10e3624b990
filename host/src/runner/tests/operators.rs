//! Rules, grants and plugins that change while a chain waits.

use serde_json::json;

use super::twins::{World, calls, pauses, rule, say, tool, turn};
use crate::call::Effects;
use crate::capability::{Grants, Rule, Verdict};
use crate::chain::{Actor, Blocked, ChainStatus};
use crate::digest::Digest;
use crate::pause::{PauseKind, PauseStatus};
use crate::runner::{Rest, Resume};

fn grants(rules: Vec<Rule>) -> Grants {
    Grants { rules, ..Grants::default() }
}

#[tokio::test]
async fn h63_deny_beats_ask_beats_allow() {
    for (effects, expected) in [
        (vec![Verdict::Allow, Verdict::Ask, Verdict::Deny], "denied"),
        (vec![Verdict::Allow, Verdict::Ask], "paused"),
        (vec![Verdict::Allow], "succeeded"),
    ] {
        let rules = effects.iter().map(|effect| rule("t__ok", *effect)).collect();
        let world = World::with_rules(json!([turn(&["ok"]), say("done")]), rules);
        let state = world.run().await.state;
        assert_eq!(state.calls.values().next().unwrap().status.as_str(), expected);
        assert_eq!(world.ran().is_empty(), expected != "succeeded");
    }
}

#[tokio::test]
async fn w64_one_edit_of_the_rule_frees_every_chain_that_waits_on_it() {
    let world = World::with_rules(json!([turn(&["ok", "ok"]), say("done")]), vec![rule("t__ok", Verdict::Ask)]);
    let mut chains = Vec::new();
    for _ in 0..3 {
        chains.push(world.run().await.state.id);
    }
    let edited = world.restarted(grants(vec![]));
    for id in chains {
        let report = edited.resume(&id).await;
        assert!(matches!(report.rest, Rest::Completed));
        assert!(report.state.pauses.iter().all(|pause| pause.status == PauseStatus::Superseded));
    }
    assert!(world.plugins.ran.lock().unwrap().iter().all(|attempt| !attempt.approved), "a rule taken away approves nothing");
}

#[tokio::test]
async fn a_rule_that_denies_now_answers_the_open_pause() {
    let world = World::new(json!([turn(&["ask"]), say("done")]));
    let state = world.run().await.state;
    let report = world.restarted(grants(vec![rule("t__ask", Verdict::Deny)])).resume(&state.id).await;
    assert!(calls(&report.state)[0].starts_with("ask denied"));
    assert_eq!(world.ran(), ["ask#1"]);
}

#[tokio::test]
async fn s10_a_changed_rule_asks_a_tools_question_anew_with_the_difference() {
    let world = World::new(json!([turn(&["ask"]), say("done")]));
    let state = world.run().await.state;
    let old = pauses(&state)[0].clone();
    let rules = vec![Rule { approvers: vec![Actor("os:bob@host".into())], ..rule("t__ask", Verdict::Ask) }];
    let changed = world.restarted(grants(rules));
    let report = changed.resume(&state.id).await;
    let new = pauses(&report.state)[0].clone();
    assert_eq!((new.kind, new.key.as_str()), (PauseKind::Tool, "approval"));
    assert_ne!(new.digest, old.digest);
    assert!(new.difference.is_some());
    assert!(changed.decide(&old.id, json!({"decision": "approve"})).await.is_err());
    assert!(changed.decide(&new.id, json!({"decision": "approve"})).await.is_err(), "alice is not named any more");
}

#[tokio::test]
async fn h48_an_approval_lapses_when_what_it_hangs_on_changes() {
    let world = World::new(json!([turn(&["ask"]), say("done")]));
    let state = world.run().await.state;
    world.decide(&pauses(&state)[0].id, json!({"decision": "approve"})).await.unwrap();
    let changed = world.restarted(grants(vec![rule("t__as*", Verdict::Ask)]));
    let report = changed.resume(&state.id).await;
    let open = pauses(&report.state);
    let before = &pauses(&state)[0];
    assert_eq!((open[0].kind, &open[0].reason), (PauseKind::Tool, &before.reason), "the plugin's question is asked anew in its words");
    assert!(open[0].difference.as_ref().unwrap().contains("now under"), "{:?}", open[0].difference);
    assert_eq!(world.ran(), ["ask#1"], "nothing ran on the old approval");
    changed.decide(&open[0].id, json!({"decision": "approve"})).await.unwrap();
    let report = changed.resume(&state.id).await;
    assert_eq!(calls(&report.state), [r#"ask succeeded did {"n":0}"#]);
}

#[tokio::test]
async fn a_gate_is_asked_once_over_all_attempts() {
    let world = World::with_rules(json!([turn(&["pick"]), say("done")]), vec![rule("t__*", Verdict::Ask)]);
    let mut state = world.run().await.state;
    let mut kinds = Vec::new();
    while let Some(pause) = pauses(&state).first() {
        kinds.push(pause.kind);
        let decision = if pause.asks_approval() { json!({"decision": "approve"}) } else { json!({"decision": "respond", "value": "x"}) };
        world.decide(&pause.id, decision).await.unwrap();
        state = world.resume(&state.id).await.state;
    }
    assert_eq!(kinds, [PauseKind::Gate, PauseKind::Tool, PauseKind::Tool]);
    assert_eq!(state.status, ChainStatus::Completed);
}

/// The plugin's bytes and tools are others from now on.
fn replace_plugin(world: &World, tools: &[&str]) {
    let changed = |name: &&str| crate::call::ToolSpec { plugin_digest: Digest::of_bytes(b"t2"), ..tool(name, Effects::Once) };
    *world.plugins.tools.lock().unwrap() = tools.iter().map(changed).collect();
}

#[tokio::test]
async fn w63_h67_changed_bytes_block_until_they_are_accepted_and_asked_anew() {
    let world = World::new(json!([turn(&["ask"]), say("done")]));
    let state = world.run().await.state;
    world.decide(&pauses(&state)[0].id, json!({"decision": "approve"})).await.unwrap();
    replace_plugin(&world, &["ask", "ok"]);
    let report = world.resume(&state.id).await;
    let Rest::Blocked(Blocked::PluginChanged { plugin, pinned, found }) = &report.rest else { panic!("{:?}", report.rest) };
    assert_eq!((plugin.as_str(), pinned, found), ("t", &Digest::of_bytes(b"t"), &Digest::of_bytes(b"t2")));
    assert_eq!(world.ran(), ["ask#1"]);

    let report = world.try_resume(&state.id, Resume { accept_plugin: true, ..Resume::default() }).await.unwrap();
    assert!(matches!(report.rest, Rest::Paused), "the approval was for other bytes");
    world.decide(&pauses(&report.state)[0].id, json!({"decision": "approve"})).await.unwrap();
    let report = world.resume(&state.id).await;
    assert_eq!(calls(&report.state), [r#"ask succeeded did {"n":0}"#]);
}

#[tokio::test]
async fn w63_an_accepted_plugin_without_the_tool_ends_the_call_honestly() {
    let world = World::new(json!([turn(&["ask"]), say("done")]));
    let state = world.run().await.state;
    world.decide(&pauses(&state)[0].id, json!({"decision": "approve"})).await.unwrap();
    replace_plugin(&world, &["ok"]);
    let report = world.try_resume(&state.id, Resume { accept_plugin: true, ..Resume::default() }).await.unwrap();
    assert!(calls(&report.state)[0].contains("not-found"));
    assert!(matches!(report.rest, Rest::Completed));
}

#[tokio::test]
async fn h45_s04_a_missing_plugin_blocks_and_its_return_unblocks() {
    let world = World::new(json!([turn(&["ask"]), say("done")]));
    let state = world.run().await.state;
    world.decide(&pauses(&state)[0].id, json!({"decision": "approve"})).await.unwrap();
    let tools = std::mem::take(&mut *world.plugins.tools.lock().unwrap());
    let report = world.resume(&state.id).await;
    assert!(matches!(report.rest, Rest::Blocked(Blocked::MissingPlugin { .. })));
    assert_eq!(report.state.status, ChainStatus::Blocked);
    *world.plugins.tools.lock().unwrap() = tools;
    assert!(matches!(world.resume(&state.id).await.rest, Rest::Completed));
}

#[tokio::test]
async fn h80_h81_a_decision_waits_for_years_and_asks_for_nothing_of_who_resumes() {
    let mut world = World::new(json!([turn(&["ask"]), say("done")]));
    let state = world.run().await.state;
    world.decide(&pauses(&state)[0].id, json!({"decision": "approve"})).await.unwrap();
    // Another process, other defaults, ten years on: no expiry stands anywhere.
    world = world.restarted(Grants::default());
    world.host.clock = crate::clock::Clock::fixed("2036-11-29T12:00:00Z".parse().unwrap());
    world.settings = crate::chain::Settings::default();
    assert!(matches!(world.resume(&state.id).await.rest, Rest::Completed));
}

#[tokio::test]
async fn h76_the_catalogue_is_pinned_with_the_chain() {
    let world = World::new(json!([turn(&["ask"]), turn(&["late"]), say("done")]));
    let state = world.run().await.state;
    world.plugins.tools.lock().unwrap().push(tool("late", Effects::Once));
    world.decide(&pauses(&state)[0].id, json!({"decision": "approve"})).await.unwrap();
    let report = world.resume(&state.id).await;
    assert!(calls(&report.state)[1].contains("there is no tool `t__late`"), "it was not offered to this chain");
    assert!(world.model.asked().iter().all(|asked| asked.tools.len() == 6));
}

#[tokio::test]
async fn h56_an_argument_that_is_absent_or_of_another_type_fails_closed() {
    let ask = Rule { args: vec![(vec!["path".into()], "/build/**".into())], ..rule("t__ok", Verdict::Ask) };
    for arguments in [json!({}), json!({"n": 1}), json!({"path": "/build/../etc"}), json!({"path": "/build//x"})] {
        let call = json!({"tool_calls": [{"id": "a", "name": "t__ok", "arguments": arguments}]});
        let world = World::with_rules(json!([call, say("done")]), vec![ask.clone()]);
        assert!(matches!(world.run().await.rest, Rest::Paused), "{arguments}");
    }
    let call = json!({"tool_calls": [{"id": "a", "name": "t__ok", "arguments": {"path": "/src/x"}}]});
    let world = World::with_rules(json!([call, say("done")]), vec![ask]);
    assert!(matches!(world.run().await.rest, Rest::Completed));
}
