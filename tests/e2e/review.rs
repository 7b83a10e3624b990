//! `review` and `pending --watch` on a terminal, on a pipe, and with a plugin that says what a terminal would act on.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::TestEnvironment;

fn waiting() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.script_of_the_main_job();
    assert_eq!(env.pausegate(&["run", "clean up", "--model", "script:turns.json"]).code, Some(75));
    env
}

/// In the order that the model asked for their calls, as they are gone through.
fn pauses(env: &TestEnvironment) -> Vec<Value> {
    let mut pauses = env.pausegate(&["inspect", &env.chains()[0], "--json"]).json()["pauses"].as_array().unwrap().clone();
    pauses.sort_by_key(|pause| pause["call"]["ordinal"].as_u64());
    pauses
}

fn statuses(env: &TestEnvironment) -> Vec<String> {
    pauses(env).iter().map(|pause| pause["status"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn without_a_terminal_nothing_is_asked_and_nothing_is_decided() {
    let env = waiting();
    insta::assert_snapshot!(env.with_input(&["review"], "y\ny\n"), @r"
    $ pausegate review
    --- stderr
    error: `review` needs a terminal for its questions
    hint: `pausegate pending --json` lists what waits, `pausegate approve PAUSE` and `pausegate deny PAUSE` decide
    --- exit 64
    ");
    assert_eq!(env.pending().len(), 2);
}

#[test]
fn each_pause_is_shown_in_full_and_decided_by_a_key() {
    let env = waiting();
    let (code, shown) = env.at_a_terminal("review", "\nmaybe\ny\nn\nkeep the logs\n");
    assert_eq!(code, Some(0), "{shown}");
    for said in
        ["1 of 2", "2 of 2", "approving opens, for this call alone", "digest     sha256:…", "`` is no answer here", "`maybe` is no answer here"]
    {
        assert!(shown.contains(said), "{said}: {shown}");
    }
    assert_eq!(statuses(&env), ["approved", "denied"]);
    assert_eq!(pauses(&env)[1]["decided"]["decision"]["note"], "keep the logs");
    assert!(shown.contains("pausegate resume ch_1"), "{shown}");
    assert_eq!(env.build().len(), 3, "nothing runs by it");
    let (code, shown) = env.at_a_terminal("review", "");
    assert_eq!((code, shown.contains("nothing waits")), (Some(0), true), "{shown}");
}

#[test]
fn what_is_skipped_or_left_stays_open() {
    let env = waiting();
    let (code, shown) = env.at_a_terminal("review", "s\nq\n");
    assert_eq!((code, env.pending().len()), (Some(0), 2), "{shown}");
    assert!(shown.contains("2 left as they were"), "{shown}");
    let (_, shown) = env.at_a_terminal("review", "y\n");
    assert_eq!(statuses(&env), ["approved", "open"], "the end of input answers nothing: {shown}");
}

/// The editor is a program that changes the file it is given.
fn edited_by(env: &TestEnvironment, script: &str, typed: &str) -> String {
    env.write("edit.sh", &format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(env.path("edit.sh"), PermissionsExt::from_mode(0o755)).unwrap();
    let editor = format!("EDITOR={} PATH=/usr/bin:/bin", env.path("edit.sh").display());
    env.at_a_terminal_with(&editor, "review", typed).1
}

#[test]
fn an_edit_approves_what_the_editor_left_and_nothing_it_could_not_mean() {
    let env = waiting();
    let shown = edited_by(&env, "true", "e\nq\n");
    assert!(shown.contains("nothing was changed"), "{shown}");
    let shown = edited_by(&env, "echo '{\"path\": 1, \"path\": 2}' > \"$1\"", "e\nq\n");
    assert!(shown.contains("what the editor left is not read"), "{shown}");
    let shown = edited_by(&env, "exit 3", "e\nq\n");
    assert!(shown.contains("the editor ended with exit status: 3"), "{shown}");
    // What the tool's schema does not take is asked again.
    let shown = edited_by(&env, "echo '{\"way\": \"/build/b.tmp\"}' > \"$1\"", "e\nq\n");
    assert!(shown.contains("error:"), "{shown}");
    assert_eq!(statuses(&env), ["open", "open"]);
    let shown = edited_by(&env, "echo '{\"path\": \"/build/keep.txt\"}' > \"$1\"", "e\nq\n");
    assert_eq!(statuses(&env), ["edited", "open"], "{shown}");
    let state = env.pausegate(&["inspect", &env.chains()[0], "--json"]).json();
    assert!(state["calls"].as_array().unwrap().iter().any(|call| call["arguments"]["path"] == "/build/keep.txt"), "{state}");
}

const HOSTILE: &str = "pay \u{202e}txt.exe \u{1b}[2J\u{1b}]52;c;aGk=\u{7} \u{9b}2J";

#[test]
fn h59_h61_what_a_plugin_says_reaches_no_terminal_as_it_stands() {
    let env = TestEnvironment::new();
    env.script(json!([{"tool_calls": [{"id": "q", "name": "survey__text", "arguments": {"reason": HOSTILE}}]}, {"text": "thanks"}]));
    assert_eq!(env.pausegate(&["run", "ask me", "--model", "script:turns.json"]).code, Some(75));
    let (code, shown) = env.at_a_terminal("review", "a\nFriday\n");
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains(r"pay \u{202e}txt.exe \u{1b}[2J"), "{shown}");
    for raw in ["\u{202e}", "\u{1b}[2J", "\u{1b}]52", "\u{9b}"] {
        assert!(!shown.contains(raw), "{shown:?}");
    }
    assert_eq!(statuses(&env), ["responded"]);

    env.script(json!([{"tool_calls": [{"id": "q", "name": "survey__text", "arguments": {"reason": HOSTILE}}]}, {"text": "thanks"}]));
    env.pausegate(&["run", "ask me", "--model", "script:turns.json"]);
    let mut watch = env.spawn(&["pending", "--watch"]);
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines().map_while(Result::ok);
    let line = lines.next().unwrap();
    assert!(line.starts_with("opened  pa_") && !line.chars().any(char::is_control) && !line.contains('\u{202e}'), "{line:?}");
    kill_process(Pid::from_child(&watch), Signal::INT).unwrap();
    assert_eq!(watch.wait().unwrap().code(), Some(130));
}

#[test]
fn on_a_pipe_each_pause_is_a_line_when_it_opens_and_when_it_is_over() {
    for json_lines in [false, true] {
        let env = TestEnvironment::new();
        let mut args = vec!["pending", "--watch"];
        args.extend(json_lines.then_some("--json"));
        let mut watch = env.spawn(&args);
        let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines().map_while(Result::ok);
        env.script_of_the_main_job();
        env.pausegate(&["run", "clean up", "--model", "script:turns.json"]);
        let opened = [lines.next().unwrap(), lines.next().unwrap()];
        let first = env.pending()[0].clone();
        env.pausegate(&["deny", &first]);
        let over = lines.next().unwrap();
        if json_lines {
            let of = |line: &str| serde_json::from_str::<Value>(line).unwrap();
            assert!(
                opened.iter().all(|line| of(line)["event"] == "opened") && opened.iter().any(|line| of(line)["id"] == json!(first)),
                "{opened:?}"
            );
            assert_eq!(of(&over), json!({"event": "over", "id": first, "chain": env.chains()[0]}));
        } else {
            assert!(opened.iter().all(|line| line.contains("asks for an approval  files__delete {\"path\":\"/build/")), "{opened:?}");
            assert_eq!(over, format!("over    {first}  {}", env.chains()[0]));
        }
        kill_process(Pid::from_child(&watch), Signal::TERM).unwrap();
        assert_eq!(watch.wait().unwrap().code(), Some(130));
    }
}

/// Reads on until the terminal has shown `wanted`.
fn until(from: &mut impl Read, shown: &mut Vec<u8>, wanted: &str) {
    while !String::from_utf8_lossy(shown).contains(wanted) {
        let mut some = [0; 4096];
        let read = from.read(&mut some).unwrap();
        assert!(read > 0, "{:?}", String::from_utf8_lossy(shown));
        shown.extend_from_slice(&some[..read]);
    }
}

#[test]
fn on_a_terminal_the_table_is_drawn_anew_as_it_changes() {
    let env = waiting();
    let mut watch = env.terminal("stty cols 200; TERM=xterm", "pending --watch").spawn().unwrap();
    let (mut terminal, mut shown) = (watch.stdout.take().unwrap(), Vec::new());
    until(&mut terminal, &mut shown, "Ctrl-C ends this");
    env.pausegate(&["cancel", &env.chains()[0]]);
    until(&mut terminal, &mut shown, "nothing waits");
    // As Ctrl-C is typed.
    watch.stdin.take().unwrap().write_all(b"\x03").unwrap();
    assert_eq!(watch.wait().unwrap().code(), Some(130));
    let shown = String::from_utf8(shown).unwrap();
    let screens: Vec<_> = shown.split("\u{1b}[H\u{1b}[2J").skip(1).collect();
    assert!(screens.len() >= 2 && screens[0].contains("PAUSE") && screens[0].contains("files__delete"), "{shown:?}");
}
