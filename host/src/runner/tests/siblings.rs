//! Several calls in one turn: each has its own pause, its own result, and nothing runs twice.

use serde_json::{Value, json};

use super::twins::{World, behave, calls, pauses, say, turn};
use crate::capability::Grants;
use crate::chain::ChainStatus;
use crate::chain::message::Part;
use crate::runner::Rest;

#[tokio::test]
async fn s05_w56_siblings_of_a_paused_call_run_once_and_are_kept() {
    let world = World::new(json!([turn(&["ok", "ask", "ok"]), say("done")]));
    let report = world.run().await;
    assert!(matches!(report.rest, Rest::Paused));
    assert_eq!(calls(&report.state), [r#"ok succeeded ok {"n":0}"#, "ask paused", r#"ok succeeded ok {"n":2}"#]);

    let other = world.restarted(Default::default());
    other.decide(&pauses(&report.state)[0].id, json!({"decision": "approve"})).await.unwrap();
    let report = other.resume(&report.state.id).await;
    assert!(matches!(report.rest, Rest::Completed));
    assert_eq!(world.ran(), ["ok#1", "ask#1", "ok#1", "ask#2"]);
    assert_eq!(world.model.asked().len(), 2, "the model was called once for each turn");
}

#[tokio::test]
async fn s17_results_reach_the_model_in_one_group_in_the_order_asked() {
    let world = World::new(json!([turn(&["ask", "ok", "boom"]), say("done")]));
    let report = world.run().await;
    world.decide(&pauses(&report.state)[0].id, json!({"decision": "approve"})).await.unwrap();
    world.resume(&report.state.id).await;
    let asked = world.model.asked();
    let results = &asked[1].history.last().unwrap().message;
    let ids: Vec<_> = results.parts.iter().filter_map(Part::as_tool_result).map(|result| result.id.unwrap()).collect();
    assert_eq!(ids, ["c0", "c1", "c2"]);
    assert_eq!(asked[1].history.len(), 3, "prompt, assistant, one group of results");
}

#[tokio::test]
async fn h01_h03_h11_calls_under_one_id_are_three_calls_with_three_pauses() {
    let call = json!({"id": "same", "name": "t__ask", "arguments": {"n": 1}});
    let world = World::new(json!([{"tool_calls": [call, call, call]}, say("done")]));
    let report = world.run().await;
    let open = pauses(&report.state);
    assert_eq!(open.iter().map(|pause| pause.call.ordinal).collect::<Vec<_>>(), [0, 1, 2]);
    let mut ids: Vec<_> = report.state.calls.values().map(|call| call.id.clone()).collect();
    assert_eq!(ids.remove(0), "same");
    assert!(ids.iter().all(|id| id.starts_with("tc_")) && ids[0] != ids[1]);

    let state = world.decide(&open[1].id, json!({"decision": "approve"})).await.unwrap();
    assert_eq!(pauses(&state).len(), 2, "answering one leaves two open");
}

#[tokio::test]
async fn h11_missing_and_empty_ids_are_given() {
    let world = World::new(json!([{"tool_calls": [{"name": "t__ok", "arguments": {}}, {"id": "", "name": "t__ok", "arguments": {}}]}, say("done")]));
    let report = world.run().await;
    assert!(report.state.calls.values().all(|call| call.id.starts_with("tc_") && call.id == call.id.to_lowercase()));
    assert_eq!(world.ran(), ["ok#1", "ok#1"]);
}

#[tokio::test]
async fn h15_h21_a_partial_answer_keeps_the_rest_open() {
    let world = World::new(json!([turn(&["ask", "ask", "ask"]), say("done")]));
    let report = world.run().await;
    let open = pauses(&report.state);
    // In reverse order: nothing pairs by position or name.
    for (index, pause) in open.iter().rev().enumerate() {
        world.decide(&pause.id, json!({"decision": "approve"})).await.unwrap();
        let report = world.resume(&report.state.id).await;
        assert_eq!(pauses(&report.state).len(), 2 - index);
    }
    let state = world.journal.state(&report.state.id);
    assert_eq!(state.status, ChainStatus::Completed);
    assert_eq!(world.ran(), ["ask#1", "ask#1", "ask#1", "ask#2", "ask#2", "ask#2"]);
}

#[tokio::test]
async fn s02_h04_h08_h42_one_answer_answers_one_question() {
    let world = World::new(json!([turn(&["pick"]), say("done")]));
    let mut report = world.run().await;
    for (key, value) in [("first", "a"), ("second", "b")] {
        let open = pauses(&report.state);
        assert_eq!(open.iter().map(|pause| pause.key.as_str()).collect::<Vec<_>>(), [key]);
        world.decide(&open[0].id, json!({"decision": "respond", "value": value})).await.unwrap();
        report = world.resume(&report.state.id).await;
    }
    assert_eq!(calls(&report.state), [r#"pick succeeded "a","b""#]);
    assert_eq!(world.ran(), ["pick#1", "pick#2", "pick#3"]);
    let ran = world.plugins.ran.lock().unwrap();
    assert_eq!(ran[2].state.as_deref(), Some(&b"second"[..]), "the last saved state comes back");
    assert!(ran.iter().all(|attempt| attempt.idempotency_key == ran[0].idempotency_key));
}

#[tokio::test]
async fn h13_chains_with_the_same_ids_and_arguments_are_two_chains() {
    let world = World::new(json!([turn(&["ask"]), say("done")]));
    let (one, two) = (world.run().await.state, world.run().await.state);
    world.decide(&pauses(&one)[0].id, json!({"decision": "approve"})).await.unwrap();
    assert_eq!(world.resume(&one.id).await.state.status, ChainStatus::Completed);
    assert_eq!(world.journal.state(&two.id).status, ChainStatus::Paused);
    assert_ne!(pauses(&one)[0].digest, pauses(&two)[0].digest);
}

#[tokio::test]
async fn s21_two_identical_calls_are_two_calls() {
    let call = json!({"id": "a", "name": "t__ok", "arguments": {"n": 1}});
    let mut second = call.clone();
    second["id"] = "b".into();
    let world = World::new(json!([{"tool_calls": [call, second]}, say("done")]));
    world.run().await;
    let ran = world.plugins.ran.lock().unwrap();
    assert_eq!(ran.len(), 2);
    assert_ne!(ran[0].idempotency_key, ran[1].idempotency_key);
}

#[tokio::test]
async fn s18_s19_w36_unknown_tools_and_bad_arguments_are_results() {
    let call = |name: &str, arguments: Value| json!({"id": name, "name": name, "arguments": arguments});
    let world = World::new(json!([
        {"tool_calls": [call("grant", json!({"all": true})), call("t__ok", json!({"n": "notint"})), call("t__ok2", json!("{broken")), call("t__ask", json!("{\"n\":1,\"n\":2}"))]},
        say("done")
    ]));
    let report = world.run().await;
    assert_eq!(
        calls(&report.state),
        [
            r#"grant failed {"error":{"kind":"not-found","message":"there is no tool `grant`"}}"#,
            r#"ok failed {"error":{"kind":"invalid-input","message":"`n`: \"notint\" is not of type \"integer\""}}"#,
            r#"ok2 failed {"error":{"kind":"not-found","message":"there is no tool `t__ok2`"}}"#,
            r#"ask failed {"error":{"kind":"invalid-input","message":"arguments are not valid JSON: key `n` stands twice at line 1 column 13"}}"#,
        ]
    );
    assert_eq!(world.ran(), Vec::<String>::new());
}

#[tokio::test]
async fn w37_a_model_cannot_write_to_hosts_nor_approve_itself() {
    let claims = json!({"n": 1, "approved": true, "force": true, "auto": true, "approval_id": "pa_1"});
    let world = World::new(json!([
        {"tool_calls": [
            {"id": "a", "name": "t__ok", "arguments": {"n": 1, "__config": {"approved": true}}},
            {"id": "b", "name": "t__ask", "arguments": claims}]},
        say("done")
    ]));
    let report = world.run().await;
    let message = "`__config`: keys that begin with `__` are reserved for hosts, and the tool's schema does not name this one";
    let refused = json!({"error": {"kind": "invalid-input", "message": message}});
    assert_eq!(calls(&report.state), [format!("ok failed {refused}"), "ask paused".to_owned()]);
    let pause = &pauses(&report.state)[0];
    let edit = |arguments: Value| json!({"decision": "edit", "arguments": arguments});
    let refused = world.decide(&pause.id, edit(json!({"__ctx": 1}))).await.unwrap_err();
    assert!(refused.to_string().contains("`__ctx`: keys that begin with `__`"), "{refused}");
    world.decide(&pause.id, json!({"decision": "approve"})).await.unwrap();
    world.resume(&report.state.id).await;
    let ran = world.plugins.ran.lock().unwrap();
    assert_eq!(ran.iter().map(|attempt| (&*attempt.tool, attempt.approved)).collect::<Vec<_>>(), [("ask", false), ("ask", true)]);
    assert!(ran.iter().all(|attempt| attempt.arguments == crate::digest::canonical(&claims)), "they are the tool's own words");
}

/// limit: settings.repeats
#[tokio::test]
async fn w46_the_third_identical_invalid_call_trips_the_loop_guard() {
    let invalid = json!({"tool_calls": [{"id": "x", "name": "t__ok", "arguments": {"n": "a"}}]});
    let world = World::new(json!([invalid, invalid, invalid, say("done")]));
    let report = world.run().await;
    let kinds: Vec<_> = report.state.calls.values().map(|call| call.result.as_ref().unwrap().as_failure().unwrap().kind.as_str()).collect();
    assert_eq!(kinds, ["invalid-input", "invalid-input", "repeated-call"]);
}

/// limit: settings.pauses_per_call
#[tokio::test]
async fn w12_a_call_that_pauses_for_ever_ends_with_its_own_kind() {
    let mut world = World::new(json!([turn(&["forever"]), say("done")]));
    world.settings.pauses_per_call = 3;
    let mut report = world.run().await;
    for _ in 0..3 {
        world.decide(&pauses(&report.state)[0].id, json!({"decision": "approve"})).await.unwrap();
        report = world.resume(&report.state.id).await;
    }
    assert_eq!(calls(&report.state), [r#"forever failed {"error":{"kind":"too-many-pauses","message":"the call paused more than 3 times"}}"#]);
    assert!(matches!(report.rest, Rest::Completed));
}

/// limit: settings.calls_per_turn
#[tokio::test]
async fn calls_beyond_those_of_one_turn_are_answered_and_not_run() {
    let mut world = World::new(json!([turn(&["ok", "ok", "ok"]), say("done")]));
    world.settings.calls_per_turn = 2;
    let report = world.run().await;
    let kinds: Vec<_> =
        report.state.calls.values().map(|call| call.result.as_ref().unwrap().as_failure().map(|failure| failure.kind.as_str())).collect();
    assert_eq!(kinds, [None, None, Some("too-large")]);
    assert_eq!(world.ran(), ["ok#1", "ok#1"]);
}

/// limit: settings.parallel_calls
#[tokio::test]
async fn no_more_calls_run_side_by_side_than_the_limit() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static RUNNING: AtomicUsize = AtomicUsize::new(0);
    static MOST: AtomicUsize = AtomicUsize::new(0);
    let mut world = World::with(json!([turn(&["ok"; 6]), say("done")]), Grants::default(), |attempt| {
        let done = behave(attempt);
        Box::pin(async move {
            MOST.fetch_max(RUNNING.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            // Gives every other one the chance to run meanwhile.
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            RUNNING.fetch_sub(1, Ordering::SeqCst);
            done.await
        })
    });
    world.settings.parallel_calls = 2;
    let report = world.run().await;
    assert!(matches!(report.rest, Rest::Completed));
    assert_eq!((world.ran().len(), MOST.load(Ordering::SeqCst)), (6, 2));
}
