//! A provider's own message goes back as it came: on the next turn, and after a pause, an approval and a resume, each in
//! a process of its own.

use serde_json::{Value, json};

use super::aimock::Aimock;
use super::chain::{PROVIDERS, pausegate};
use super::recorder::Recorder;
use crate::e2e::TestEnvironment;

/// The bodies of the three requests that the chain made, with this provider.
fn carried(provider: (&str, &str, &str)) -> Vec<Value> {
    let asks = |at: u32| json!({"userMessage": "clean up", "sequenceIndex": at});
    let server = Aimock::start(&json!({"fixtures": [
        {"match": asks(0), "response": {
            "content": "One to go, one to look at.", "reasoning": "I weigh it.", "reasoningSignature": "c2lnbmVk",
            "toolCalls": [
                {"id": "call_go", "name": "files__delete", "arguments": {"path": "/build/a.tmp"}},
                {"id": "call_look", "name": "files__read", "arguments": {"path": "/build/keep.txt"}},
            ]}},
        {"match": asks(1), "response": {
            "content": "Once more.", "reasoning": "Is it gone?", "reasoningSignature": "dHdpY2U=",
            "toolCalls": [{"id": "call_again", "name": "files__list", "arguments": {"path": "/build"}}]}},
        {"match": {"userMessage": "clean up"}, "response": {"content": "It is gone."}},
    ]}));
    let recorder = Recorder::before(&server.address);
    let env = TestEnvironment::new();
    let ran = pausegate(&env, provider, &recorder.address, &["run", "clean up", "--model", provider.0]);
    assert_eq!((ran.code, recorder.bodies().len()), (Some(75), 1), "{ran}");
    assert_eq!(env.pausegate(&["approve", &env.pending()[0]]).code, Some(0));
    let resumed = pausegate(&env, provider, &recorder.address, &["resume", &env.chains()[0]]);
    assert_eq!((resumed.code, resumed.stdout.as_str()), (Some(0), "It is gone.\n"), "{resumed}");
    assert_eq!(env.build(), ["b.tmp", "keep.txt"]);
    recorder.bodies()
}

#[test]
fn s17_anthropics_thinking_goes_back_signed_and_results_follow_in_the_order_asked() {
    let bodies = carried(PROVIDERS[1]);
    let call = |id: &str, name: &str, path: &str| json!({"type": "tool_use", "id": id, "name": name, "input": {"path": path}});
    let result = |id: &str, content: &str| json!({"type": "tool_result", "tool_use_id": id, "content": content});
    let thought = |thinking: &str, signature: &str| json!({"type": "thinking", "thinking": thinking, "signature": signature});
    let text = |text: &str| json!({"type": "text", "text": text});
    assert_eq!(
        bodies[2]["messages"],
        json!([
            {"role": "user", "content": [text("clean up")]},
            {"role": "assistant", "content": [
                thought("I weigh it.", "c2lnbmVk"),
                text("One to go, one to look at."),
                call("call_go", "files__delete", "/build/a.tmp"),
                call("call_look", "files__read", "/build/keep.txt"),
            ]},
            {"role": "user", "content": [result("call_go", "deleted /build/a.tmp"), result("call_look", "keep.txt")]},
            {"role": "assistant", "content": [
                thought("Is it gone?", "dHdpY2U="),
                text("Once more."),
                call("call_again", "files__list", "/build"),
            ]},
            {"role": "user", "content": [result("call_again", "b.tmp\nkeep.txt")]},
        ])
    );
}

#[test]
fn s17_openais_reasoning_goes_back_and_results_follow_in_the_order_asked() {
    let bodies = carried(PROVIDERS[0]);
    let call = |id: &str, name: &str, path: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": json!({"path": path}).to_string()}});
    let result = |id: &str, content: &str| json!({"role": "tool", "tool_call_id": id, "content": content});
    let assistant = |content: &str, reasoning: &str, calls: Vec<Value>| json!({"role": "assistant", "content": content, "reasoning_content": reasoning, "tool_calls": calls});
    assert_eq!(
        bodies[2]["messages"],
        json!([
            {"role": "user", "content": "clean up"},
            assistant(
                "One to go, one to look at.",
                "I weigh it.",
                vec![call("call_go", "files__delete", "/build/a.tmp"), call("call_look", "files__read", "/build/keep.txt")]
            ),
            result("call_go", "deleted /build/a.tmp"),
            result("call_look", "keep.txt"),
            assistant("Once more.", "Is it gone?", vec![call("call_again", "files__list", "/build")]),
            result("call_again", "b.tmp\nkeep.txt"),
        ])
    );
}

#[test]
fn what_a_provider_was_told_before_it_is_told_again_word_for_word() {
    for provider in PROVIDERS {
        let bodies = carried(*provider);
        let told = |at: usize| -> Vec<Value> {
            let body = &bodies[at];
            ["messages", "input", "contents"].iter().find_map(|key| body[*key].as_array()).unwrap().clone()
        };
        for at in [1, 2] {
            let (before, now) = (told(at - 1), told(at));
            assert!(now.len() > before.len(), "{provider:?}");
            assert_eq!(now[..before.len()], before, "{provider:?}");
        }
    }
}
