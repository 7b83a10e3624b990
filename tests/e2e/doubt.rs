//! A process is killed after its request went out: what a person sees, and what each way to settle it leads to.

use std::net::TcpListener;
use std::process::Stdio;

use serde_json::{Value, json};

use super::TestEnvironment;

/// A chain whose one call was sent, and whose process was killed before the answer.
pub fn killed() -> (TestEnvironment, String) {
    let env = TestEnvironment::new();
    env.add_plugin("fetch");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    env.grants(&format!(
        "[plugins.fetch]\ndigest = \"any\"\n[[plugins.fetch.http]]\nurl = \"http://127.0.0.1:{port}/\"\nmethods = [\"POST\"]\nprivate = true\n"
    ));
    let arguments = json!({"url": format!("http://127.0.0.1:{port}/"), "body": "one"});
    env.script(json!([{"tool_calls": [{"id": "pay", "name": "fetch__post", "arguments": arguments}]}, {"text": "As you say."}]));
    let mut command = env.command();
    command.args(["run", "pay", "--model", "script:turns.json"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let _asked = listener.accept().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let chain = env.chains()[0].clone();
    assert_eq!(env.pausegate(&["resume", &chain]).code, Some(75));
    (env, chain)
}

fn pending(env: &TestEnvironment) -> Value {
    env.pausegate(&["pending", "--json"]).json()[0].clone()
}

/// What the model was sent as the call's result.
fn told(env: &TestEnvironment, chain: &str) -> String {
    let messages = env.pausegate(&["inspect", chain, "--messages"]).json();
    let tool = messages.as_array().unwrap().iter().find(|message| message["role"] == "tool").unwrap();
    tool["parts"][0]["output"].as_str().unwrap().to_owned()
}

#[test]
fn w62_h31_a_call_in_doubt_waits_in_the_one_queue_for_somebody_who_knows() {
    let (env, chain) = killed();
    let pause = pending(&env);
    let id = pause["id"].as_str().unwrap();
    assert_eq!((&pause["kind"], &pause["ask"]), (&json!("in_doubt"), &json!({"type": "outcome"})));
    assert_eq!((&pause["context"]["attempt"], &pause["status"]), (&json!(1), &json!("open")));
    let next: Vec<_> = pause["next"].as_array().unwrap().iter().map(|command| command.as_str().unwrap().replace(id, "ID")).collect();
    assert_eq!(next, ["pausegate settle ID --happened --text '…'", "pausegate settle ID --run-again", "pausegate settle ID --give-up"]);
    assert!(env.pausegate(&["pending"]).stdout.contains("what became of a call"));

    for refused in
        [&["approve", id][..], &["deny", id], &["deny", id, "--stop"], &["respond", id, "--value", "1"], &["edit", id, "--arguments", "{}"]]
    {
        let refused = env.pausegate(refused);
        assert_eq!(refused.code, Some(65), "{refused}");
        assert!(refused.stderr.contains("settle"), "{refused}");
    }
    assert_eq!(env.pausegate(&["settle", id, "--happened", "{not json"]).code, Some(65));
    for usage in [&["settle", id][..], &["settle", id, "--run-again", "--give-up"], &["settle", id, "--run-again", "--text", "x"]] {
        assert_eq!(env.pausegate(usage).code, Some(64), "{usage:?}");
    }
    let message = env.pausegate(&["say", &chain, "hello?"]);
    assert_eq!(message.code, Some(2), "{message}");
    assert!(message.stderr.contains("pa_"), "{message}");
    assert_eq!(pending(&env)["id"], id, "none of it closed the question");
}

#[test]
fn what_happened_is_shown_as_somebodys_word_and_cannot_be_settled_twice() {
    let (env, chain) = killed();
    let id = pending(&env)["id"].as_str().unwrap().to_owned();
    let settled = env.with_input(&["settle", &id, "--happened", "-", "--note", "saw it"], r#"{"paid": 1}"#);
    assert_eq!(settled.code, Some(0), "{settled}");
    assert!(settled.stdout.starts_with("settled "), "{settled}");
    assert_eq!(env.pausegate(&["settle", &id, "--run-again"]).code, Some(2));
    let resumed = env.pausegate(&["resume", &chain]);
    assert_eq!((resumed.code, resumed.stdout.as_str()), (Some(0), "As you say.\n"), "{resumed}");
    assert_eq!(told(&env, &chain), "[the process that ran this call died; a person says that it happened, with this result]\n{\"paid\":1}");
    let shown = env.pausegate(&["inspect", &chain]);
    assert!(shown.stdout.contains("in the word of os:"), "{shown}");
    assert!(shown.stdout.contains(": saw it"), "{shown}");
}

#[test]
fn given_up_or_superseded_the_model_is_told_that_nobody_knows() {
    let (env, chain) = killed();
    let id = pending(&env)["id"].as_str().unwrap().to_owned();
    assert_eq!(env.pausegate(&["settle", &id, "--give-up", "--note", "the log is gone", "--json"]).json()["status"], "settled");
    assert_eq!(env.pausegate(&["resume", &chain]).code, Some(0));
    assert!(told(&env, &chain).contains("unknown-outcome") && told(&env, &chain).contains("the log is gone"));

    let (env, chain) = killed();
    assert_eq!(env.pausegate(&["say", &chain, "never mind", "--supersede"]).code, Some(0));
    assert!(told(&env, &chain).contains("unknown-outcome"));
}

#[test]
fn run_again_sends_it_again() {
    let (env, chain) = killed();
    let pause = pending(&env);
    assert_eq!(env.pausegate(&["settle", pause["id"].as_str().unwrap(), "--run-again"]).code, Some(0));
    // Nobody listens any more: the attempt fails, and that is its result.
    assert_eq!(env.pausegate(&["resume", &chain]).code, Some(0));
    let call = env.pausegate(&["inspect", &chain, "--json"]).json()["calls"][0].clone();
    assert_eq!((&call["attempts"], &call["status"]), (&json!(2), &json!("failed")));
    assert!(told(&env, &chain).contains("unavailable"), "{}", told(&env, &chain));
}
