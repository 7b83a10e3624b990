//! Several processes at one journal, and what becomes of a call whose process is told to end, or is ended.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::TestEnvironment;
use super::sandbox::{BOUND, probing, results};

#[test]
fn s06_of_many_processes_that_decide_at_once_one_wins_and_none_sees_the_database() {
    let env = TestEnvironment::new();
    env.script_of_the_main_job();
    env.pausegate(&["run", "go", "--model", "script:turns.json"]);
    let pause = env.pending()[0].clone();
    let spawn = |n: usize| {
        let decision: &[&str] = if n.is_multiple_of(2) { &["approve"] } else { &["deny", "--note", "no"] };
        env.command().args(decision).arg(&pause).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let racing: Vec<_> = (0..16).map(spawn).collect();
    let outputs: Vec<_> = racing.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    let codes: Vec<_> = outputs.iter().map(|output| output.status.code().unwrap()).collect();
    // Those of the winner's mind decided the same; the others are told who won.
    assert_eq!(codes.iter().filter(|code| **code == 0).count(), 8, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| **code == 2).count(), 8, "{codes:?}");
    for output in outputs.iter().filter(|output| output.status.code() == Some(2)) {
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains("already decided") && !stderr.contains("locked"), "{stderr}");
    }
}

/// A run with a call that has started, and the rest of its events. They are to be kept: a closed pipe would be another way
/// to end.
fn started(env: &TestEnvironment) -> (Child, Lines<BufReader<ChildStdout>>) {
    let mut command = env.command();
    command.args(["run", "go", "--model", "script:turns.json", "--json"]).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("CallsStarted")), "the call started");
    (child, lines)
}

/// Sends a signal to such a run. Returns its exit code, where it has one.
fn signalled_mid_call(env: &TestEnvironment, signal: Signal) -> Option<i32> {
    let (mut child, _lines) = started(env);
    kill_process(Pid::from_child(&child), signal).unwrap();
    child.wait().unwrap().code()
}

#[test]
fn ctrl_c_in_the_middle_of_a_tool_leaves_a_chain_that_goes_on() {
    let env = probing("", &[("sleep", json!({"ms": 1500}))]);
    assert_eq!(signalled_mid_call(&env, Signal::INT), Some(130));
    let chain = env.chains()[0].clone();
    let state = env.pausegate(&["inspect", &chain, "--json"]).json();
    assert_eq!(state["calls"][0]["status"], "ready");
    assert_eq!(env.pausegate(&["resume", &chain]).code, Some(0));
}

#[test]
fn h34_a_killed_call_that_could_have_no_effect_runs_again() {
    let env = probing("", &[("sleep", json!({"ms": 1500}))]);
    signalled_mid_call(&env, Signal::KILL);
    assert_eq!(env.pausegate(&["resume", &env.chains()[0]]).code, Some(0));
    let state = env.pausegate(&["inspect", &env.chains()[0], "--json"]).json();
    assert_eq!((&state["status"], &state["calls"][0]["attempts"]), (&json!("completed"), &json!(2)));
}

#[test]
fn a_killed_call_that_held_a_write_grant_is_never_run_again_by_itself() {
    let writable = BOUND.replace("when = \"approved\"\nwithin = \"args.path\"\n", "");
    let slow = ("append_then_sleep", json!({"path": "/build/log.txt", "line": "once", "ms": 60_000}));
    let env = probing(&writable, &[slow, ("echo", json!({"text": "sibling"}))]);
    let limits = writable.replace("digest = \"any\"\n", "digest = \"any\"\nlimits = { time = \"90s\" }\n");
    env.grants(&limits);
    signalled_mid_call(&env, Signal::KILL);
    let chain = env.chains()[0].clone();
    for _ in 0..2 {
        let resumed = env.pausegate(&["resume", &chain]);
        assert_eq!(resumed.code, Some(75), "{resumed}");
        assert!(resumed.stderr.contains("probe__append_then_sleep"), "the facts are shown: {resumed}");
    }
    assert_eq!(env.pausegate(&["chains", "--json"]).json()[0]["status"], "paused");
    let said = env.pausegate(&["say", &chain, "hello?"]);
    assert_ne!(said.code, Some(0), "{said}");
    assert_eq!(env.pausegate(&["cancel", &chain]).code, Some(0));
    assert!(results(&env)[0].contains("unknown-outcome"));
    // The guest may have been killed before it wrote; it was never run twice.
    let log = std::fs::read_to_string(env.path("work/build/log.txt")).unwrap_or_default();
    assert!(log.lines().count() <= 1, "{log}");
}

#[test]
fn w06_a_sleeping_call_is_cancelled_by_another_process() {
    // No limit of the call's own could end it in time.
    let env = probing("[plugins.probe]\ndigest = \"any\"\nlimits = { time = \"10m\" }\n", &[("sleep", json!({"ms": 300_000}))]);
    let (mut child, lines) = started(&env);
    let chain = env.chains()[0].clone();
    let asked = std::time::Instant::now();
    let cancelled = env.pausegate(&["cancel", &chain]);
    assert_eq!(cancelled.code, Some(0), "{cancelled}");
    let last: Value = serde_json::from_str(&lines.last().unwrap().unwrap()).unwrap();
    assert_eq!((&last["status"], &last["id"]), (&json!("cancelled"), &json!(chain)));
    assert_eq!(child.wait().unwrap().code(), Some(1));
    // A quarter of a second after the command is the promise; a busy machine may take longer, and the guest sleeps for 300 s.
    assert!(asked.elapsed() < std::time::Duration::from_secs(10), "{:?}", asked.elapsed());
    let state = env.pausegate(&["inspect", &chain, "--json"]).json();
    assert_eq!((&state["status"], &state["calls"][0]["status"]), (&json!("cancelled"), &json!("cancelled")));
}

#[test]
fn a_second_resume_is_told_who_holds_the_chain() {
    let env = probing("", &[("sleep", json!({"ms": 4000}))]);
    let (mut child, lines) = started(&env);
    let chain = env.chains()[0].clone();
    let second = env.pausegate(&["resume", &chain]);
    assert_eq!(second.code, Some(2), "{second}");
    assert!(second.stderr.contains(&format!("pid {}", child.id())), "{second}");
    assert!(lines.last().unwrap().unwrap().contains("completed"));
    child.wait().unwrap();
}
