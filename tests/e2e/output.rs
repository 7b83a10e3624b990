//! Data on standard output, all else on standard error; JSON that a program can rely on; nothing foreign that steers a terminal.

use std::process::Stdio;

use serde_json::{Value, json};

use super::TestEnvironment;

#[test]
fn run_json_streams_events_and_ends_with_id_and_status() {
    let env = TestEnvironment::new();
    env.script_of_the_main_job();
    let shown = env.pausegate(&["run", "clean up", "--model", "script:turns.json", "--json"]);
    let lines = shown.lines();
    assert_eq!((shown.code, shown.stderr.as_str()), (Some(75), ""));
    let chain = &lines[0]["chain"];
    let last = lines.last().unwrap();
    assert_eq!((&last["id"], &last["status"], &last["answer"]), (chain, &json!("paused"), &Value::Null));
    assert_eq!(last["pauses"].as_array().unwrap().len(), 2);
    let events: Vec<_> = lines[..lines.len() - 1].iter().filter(|line| line.get("seq").is_some()).collect();
    assert!(events.iter().all(|event| event["chain"] == *chain && event["at"].is_string() && event["kind"].is_string()));
    assert_eq!(events.iter().map(|event| event["seq"].as_u64().unwrap()).collect::<Vec<_>>(), (1..=events.len() as u64).collect::<Vec<_>>());
    assert!(lines.iter().any(|line| line["kind"] == "text" && line["text"] == "Looking first."));

    let listed = env.pausegate(&["pending", "--json"]).json();
    assert_eq!(last["pauses"][0]["id"], listed[0]["id"]);
    for pause in env.pending() {
        env.pausegate(&["approve", &pause]);
    }
    let last = env.pausegate(&["resume", chain.as_str().unwrap(), "--json"]).lines().pop().unwrap();
    assert_eq!((&last["status"], &last["answer"]), (&json!("completed"), &json!("Deleted a.tmp; b.tmp stays.")));
}

#[test]
fn h03_h07_pending_shows_every_pause_in_the_order_asked_with_every_key() {
    let env = TestEnvironment::new();
    env.script_of_the_main_job();
    env.pausegate(&["run", "clean up", "--model", "script:turns.json"]);
    let rows = env.pausegate(&["pending", "--json"]).json();
    assert_eq!(rows.as_array().unwrap().iter().map(|row| row["call_id"].as_str().unwrap()).collect::<Vec<_>>(), ["a", "b"]);
    for key in
        ["chain", "tool", "plugin", "kind", "ask", "reason", "arguments", "context", "opens", "digest", "approvers", "opened_at", "age_seconds"]
    {
        assert!(rows[0].get(key).is_some(), "{key}");
    }
}

#[test]
fn lists_are_arrays_also_for_none() {
    let env = TestEnvironment::new();
    for list in ["pending", "chains"] {
        assert_eq!(env.pausegate(&[list, "--json"]).stdout, "[]\n");
    }
    assert!(!env.path("home/.local/state").exists(), "reading creates nothing");
    let tools = env.pausegate(&["tools", "--json"]).json();
    assert_eq!(tools[0]["name"], "files__list");
    assert!(tools[0]["input_schema"].is_object());
    let plugins = env.pausegate(&["plugins", "--json"]).json();
    assert_eq!((&plugins[0]["name"], &plugins[0]["trusted"], &plugins[1]["trusted"]), (&json!("files"), &json!(true), &json!(false)));
}

#[test]
fn w36_no_tool_widens_what_plugins_may_do() {
    let env = TestEnvironment::new();
    let tools = env.pausegate(&["tools", "--json"]).json();
    assert!(tools.as_array().unwrap().iter().all(|tool| tool["name"].as_str().unwrap().contains("__")));
    let before = std::fs::read(env.path("home/.config/pausegate/grants.toml")).unwrap();
    let calls: Vec<_> = ["grant", "trust", "allow", "load_plugin", "set_policy"].map(|name| json!({"name": name, "arguments": {}})).into();
    env.script(json!([{"tool_calls": calls}, {"text": "nothing worked"}]));
    assert_eq!(env.pausegate(&["run", "widen", "--model", "script:turns.json"]).code, Some(0));
    let state = env.pausegate(&["inspect", &env.chains()[0], "--json"]).json();
    assert!(state["calls"].as_array().unwrap().iter().all(|call| call["result"]["kind"] == "not-found"), "{state}");
    assert_eq!(std::fs::read(env.path("home/.config/pausegate/grants.toml")).unwrap(), before);
}

#[test]
fn h59_h61_no_raw_control_or_bidi_reaches_the_terminal() {
    let env = TestEnvironment::new();
    let hostile = "/build/\u{1b}[2J\u{1b}]8;;http://evil\u{7}\u{202e}x\u{200b}";
    env.script(json!([
        {"text": hostile, "tool_calls": [{"id": "a\u{1b}[2J", "name": "files__delete", "arguments": {"path": hostile}}, {"name": hostile, "arguments": {}}]},
        {"text": hostile}
    ]));
    let run = env.pausegate(&["run", hostile, "--model", "script:turns.json"]);
    assert_eq!(run.code, Some(75));
    let chain = &env.chains()[0];
    let pause = &env.pending()[0];
    let mut shown = vec![run];
    for args in [
        &["pending"][..],
        &["pending", pause],
        &["pending", "--json"],
        &["chains"],
        &["chains", "--json"],
        &["inspect", chain],
        &["inspect", chain, "--json"],
        &["inspect", chain, "--messages"],
        &["approve", pause, "--json"],
        &["resume", chain],
    ] {
        shown.push(env.pausegate(args));
    }
    for shown in shown {
        let raw = format!("{}{}", shown.stdout, shown.stderr);
        let bad: Vec<_> = raw.chars().filter(|c| (c.is_control() && *c != '\n') || matches!(c, '\u{202e}' | '\u{200b}')).collect();
        assert!(bad.is_empty(), "{bad:?} in {shown}");
    }
}

#[test]
fn only_the_answer_is_on_standard_output() {
    let env = TestEnvironment::new();
    env.script(json!([{"text": "Let me look.", "tool_calls": [{"name": "files__list", "arguments": {"path": "/build"}}]}, {"text": "Three files."}]));
    assert_eq!(env.pausegate(&["run", "how many?", "--model", "script:turns.json"]).stdout, "Three files.\n");
    assert_eq!(env.with_input(&["run", "-", "--model", "script:turns.json"], "how many?").stdout, "Three files.\n");
    let title = env.pausegate(&["chains", "--json"]).json()[0]["title"].clone();
    assert_eq!(title, "how many?");
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let env = TestEnvironment::new();
    let mut child = env.command().args(["tools", "--json"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap()), (Some(0), String::new()));
}

#[test]
fn a_recording_plays_the_same_chain_again() {
    let env = TestEnvironment::new();
    env.script(json!([{"tool_calls": [{"name": "files__list", "arguments": {"path": "/build"}}]}, {"text": "Three files."}]));
    assert_eq!(env.pausegate(&["run", "list", "--model", "script:turns.json", "--record", "again.json"]).code, Some(0));
    assert_eq!(env.pausegate(&["run", "list", "--model", "script:again.json"]).stdout, "Three files.\n");
}

#[test]
fn s25_version_touches_nothing() {
    let env = TestEnvironment::new();
    let shown = env.pausegate(&["--version"]);
    assert_eq!((shown.code, shown.stdout.starts_with("pausegate ")), (Some(0), true));
    assert!(!env.path("home/.local/state").exists());
}

#[test]
fn every_command_has_examples() {
    let env = TestEnvironment::new();
    let help = env.pausegate(&["--help"]);
    assert_eq!(help.code, Some(0));
    for command in
        "run resume approve deny edit respond pending chains inspect say cancel tools call plugins check trust explain grants doctor completions"
            .split(' ')
    {
        assert!(help.stdout.contains(&format!("\n  {command} ")), "{command}");
        let help = env.pausegate(&[command, "--help"]);
        assert!(help.stdout.contains("Examples:\n  pausegate ") || help.stdout.contains("Examples:\n"), "{help}");
    }
    assert!(env.pausegate(&["completions", "bash"]).stdout.contains("_pausegate"));
}
