//! What a plugin returns, lifted: results, failures, pauses and what breaks the contract.

use super::*;
use crate::call::{EffectState, kind};
use crate::pause::Choice;

#[tokio::test]
async fn a_failure_keeps_the_plugins_words() {
    let outcome = call("fail", json!({"message": "someone else has it"})).await;
    let expected =
        Failure { kind: "conflict".into(), message: "someone else has it".into(), retry_after_ms: Some(1000), effect: Some(EffectState::Happened) };
    assert_eq!(*failure(&outcome), expected);
}

#[test]
fn what_breaks_the_contract_is_an_invalid_result() {
    on_any_number_of_threads(async || {
        for tool in ["bad_json", "bad_result", "bad_pause"] {
            assert_eq!(failure(&call(tool, json!({})).await).kind, kind::INVALID_RESULT, "{tool}");
        }
    });
}

#[test]
fn a_pause_saves_64_kib_and_no_more() {
    on_any_number_of_threads(async || {
        let asked = call("state_bomb", json!({"kib": 64})).await;
        assert!(matches!(&asked.ended, Ended::Pause(asked) if asked.state.as_ref().unwrap().len() == 64 << 10));
        assert_eq!(failure(&call("state_bomb", json!({"kib": 65})).await).kind, kind::TOO_LARGE);
    });
}

#[tokio::test]
async fn a_pause_is_answered_on_a_fresh_instance() {
    let mut attempt = attempt("pause", json!({"n": 1}));
    let Ended::Pause(asked) = probe().call(attempt.clone()).await.ended else { panic!("no pause") };
    assert_eq!((asked.key.as_str(), asked.reason.as_str(), &asked.ask), ("q1", "Question 1 of 1", &Ask::Text));
    attempt.attempt = 2;
    attempt.state = asked.state;
    attempt.answers = vec![Answer { key: asked.key, asked: asked.ask, value: json!("blue"), note: None, context: None }];
    assert_eq!(*structured(&probe().call(attempt).await), json!({"answers": ["blue"], "counter": 2}));
}

#[tokio::test]
async fn a_choice_comes_with_its_options() {
    let outcome = call("ask_color_then_write", json!({"path": "/build/color"})).await;
    let Ended::Pause(asked) = outcome.ended else { panic!("no pause") };
    let option = |value: &str| Choice { value: value.into(), label: None };
    assert_eq!(asked.ask, Ask::Choice { options: ["red", "green", "blue"].map(option).into() });
}

#[test]
fn s03_arguments_with_the_hosts_words_approve_nothing() {
    on_any_number_of_threads(async || {
        let outcome = call("reserved", json!({"approved": true, "force": true, "auto": true})).await;
        assert_eq!(text(&outcome), "arguments true true true, call false");
        let mut approved = attempt("reserved", json!({}));
        approved.approved = true;
        assert_eq!(text(&probe().call(approved).await), "arguments false false false, call true");
    });
}

#[tokio::test]
async fn an_unknown_tool_is_not_loaded() {
    let mut attempt = attempt("echo", json!({}));
    attempt.tool = "nope".into();
    assert_eq!(failure(&probe().call(attempt).await).kind, kind::NOT_LOADED);
}
