//! A chain held to some tools, and tools that the operator takes out.

use serde_json::json;

use super::twins::{World, calls, pauses, say, tool, turn};
use crate::call::Effects;
use crate::capability::{Grants, Pin, PluginGrants, ToolGrants};
use crate::runner::{Rest, Resume, Said};
use tokio_util::sync::CancellationToken;

fn only(lists: &[&[&str]]) -> Vec<Vec<String>> {
    lists.iter().map(|list| list.iter().map(|pattern| (*pattern).to_owned()).collect()).collect()
}

fn offered(world: &World) -> Vec<Vec<String>> {
    world.model.asked().iter().map(|asked| asked.tools.iter().map(|tool| tool.tool.clone()).collect()).collect()
}

#[tokio::test]
async fn a_narrowed_chain_offers_and_calls_nothing_else() {
    for (lists, expected) in [
        (only(&[&["t__ok", "t__p*"]]), vec!["ok", "pick"]),
        (only(&[&["t__*"], &["t__ok"]]), vec!["ok"]),
        (only(&[&["t__ok"], &["t__boom"]]), vec![]),
        (only(&[]), vec!["ask", "boom", "forever", "ok", "pick", "wait"]),
    ] {
        let mut world = World::new(json!([turn(&["boom", "ok"]), say("done")]));
        world.settings.only = lists.clone();
        let state = world.run().await.state;
        assert_eq!(offered(&world), [expected.clone(), expected.clone()], "{lists:?}");
        let ran = |tool: &str| world.ran().contains(&format!("{tool}#1"));
        assert_eq!((ran("boom"), ran("ok")), (expected.contains(&"boom"), expected.contains(&"ok")), "{lists:?}");
        assert_eq!(calls(&state)[0].contains("there is no tool `t__boom`"), !expected.contains(&"boom"), "{lists:?}");
    }
}

#[tokio::test]
async fn the_narrowing_holds_after_a_pause_new_bytes_and_in_linked_chains() {
    let mut world = World::new(json!([turn(&["ask"]), turn(&["late"]), say("done"), turn(&["ok"]), say("again")]));
    world.settings.only = only(&[&["t__ask"]]);
    let state = world.run().await.state;
    world.decide(&pauses(&state)[0].id, json!({"decision": "approve"})).await.unwrap();
    let changed = |name: &str| crate::call::ToolSpec { plugin_digest: crate::digest::Digest::of_bytes(b"t2"), ..tool(name, Effects::Once) };
    *world.plugins.tools.lock().unwrap() = ["ask", "late", "ok"].map(changed).to_vec();
    // A process with other defaults takes it up.
    world.settings.only = Vec::new();
    let report = world.try_resume(&state.id, Resume { accept_plugin: true, ..Resume::default() }).await.unwrap();
    world.decide(&pauses(&report.state)[0].id, json!({"decision": "approve"})).await.unwrap();
    let report = world.resume(&state.id).await;
    assert!(matches!(report.rest, Rest::Completed));
    assert!(calls(&report.state)[1].contains("there is no tool `t__late`"), "{:?}", calls(&report.state));
    let said = world.host.say(&state.id, &super::twins::alice(), "and now?", false, CancellationToken::new()).await.unwrap();
    let Said::Linked(linked) = said else { panic!("a completed chain is carried on by another") };
    assert_eq!(linked.state.settings.only, only(&[&["t__ask"]]));
    assert!(offered(&world).iter().all(|tools| *tools == ["ask"]), "{:?}", offered(&world));
}

fn without(name: &str) -> Grants {
    let tools = [(name.to_owned(), ToolGrants { enabled: false, effects: None, line: 3 })].into();
    let section = PluginGrants { tools, ..PluginGrants::holding_nothing(Pin::Any, 1) };
    Grants { plugins: [("t".to_owned(), section)].into(), ..Grants::default() }
}

#[tokio::test]
async fn w49_a_tool_that_is_taken_out_is_not_offered_and_not_called() {
    let world = World::new(json!([turn(&["boom", "ok"]), say("done")])).restarted(without("boom"));
    let state = world.run().await.state;
    assert!(calls(&state)[0].contains("there is no tool `t__boom`"));
    assert_eq!(world.ran(), ["ok#1"]);
    assert!(offered(&world).iter().all(|tools| *tools == ["ask", "forever", "ok", "pick", "wait"]));
}

#[tokio::test]
async fn a_tool_that_is_taken_out_while_its_call_waits_is_denied_and_offered_no_more() {
    let world = World::new(json!([turn(&["ask"]), say("done")]));
    let state = world.run().await.state;
    world.decide(&pauses(&state)[0].id, json!({"decision": "approve"})).await.unwrap();
    let report = world.restarted(without("ask")).resume(&state.id).await;
    assert!(calls(&report.state)[0].contains("enabled = false for t__ask"), "{:?}", calls(&report.state));
    assert_eq!(world.ran(), ["ask#1"], "the approval is worth nothing now");
    assert!(!offered(&world)[1].contains(&"ask".to_owned()));
}

#[tokio::test]
async fn the_operators_word_on_effects_is_what_an_attempt_starts_with() {
    let tools = [("ok".to_owned(), ToolGrants { enabled: true, effects: Some(Effects::ReadOnly), line: 3 })].into();
    let section = PluginGrants { tools, ..PluginGrants::holding_nothing(Pin::Any, 1) };
    let grants = Grants { plugins: [("t".to_owned(), section)].into(), ..Grants::default() };
    let world = World::new(json!([turn(&["ok", "ask"]), say("done")])).restarted(grants);
    let state = world.run().await.state;
    let effects: Vec<_> = world.plugins.ran.lock().unwrap().iter().map(|attempt| (attempt.tool.clone(), attempt.effects)).collect();
    assert_eq!(effects, [("ok".to_owned(), Effects::ReadOnly), ("ask".to_owned(), Effects::Once)]);
    assert_eq!(pauses(&state)[0].effects, Effects::Once);
    let started = world.journal.stamped(&state.id).into_iter().filter_map(|stamped| match stamped.event {
        crate::event::Event::CallsStarted { calls } => Some(calls),
        _ => None,
    });
    assert_eq!(started.flatten().map(|started| started.effects).collect::<Vec<_>>(), [Effects::ReadOnly, Effects::Once]);
}
