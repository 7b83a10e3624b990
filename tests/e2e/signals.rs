//! Ctrl-C and a request to terminate let go in order.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::TestEnvironment;

/// A model server that takes a request and never answers.
fn silent_server() -> (std::net::TcpListener, String) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    (listener, url)
}

#[test]
fn an_interrupted_chain_can_be_resumed() {
    for signal in [Signal::INT, Signal::TERM] {
        let env = TestEnvironment::new();
        let (listener, url) = silent_server();
        let mut command = env.command();
        command.args(["run", "hello", "--model", "gpt-test", "--json"]).env("OPENAI_BASE_URL", url);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let started: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        let _asked = listener.accept().unwrap();
        kill_process(Pid::from_child(&child), signal).unwrap();
        let last: Value = serde_json::from_str(&lines.last().unwrap().unwrap()).unwrap();
        assert_eq!((child.wait().unwrap().code(), &last["status"], &last["id"]), (Some(130), &"interrupted".into(), &started["chain"]));
        let state = env.pausegate(&["inspect", started["chain"].as_str().unwrap(), "--json"]).json();
        assert_eq!(state["status"], "runnable");
    }
}

const POSTING: &str =
    "[plugins.fetch]\ndigest = \"any\"\n[[plugins.fetch.http]]\nurl = \"http://127.0.0.1:*\"\nmethods = [\"POST\"]\nprivate = true\n";

/// A `post` that its server has taken and not answered, the chain's process, and the lines of its standard error.
struct Posting {
    env: TestEnvironment,
    child: std::process::Child,
    stderr: std::io::Lines<BufReader<std::process::ChildStderr>>,
    asked: std::net::TcpStream,
}

impl Posting {
    fn new(command: &[&str]) -> Self {
        let env = TestEnvironment::new();
        env.add_plugin("fetch");
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        env.grants(&POSTING.replace('*', &port.to_string()));
        let arguments = serde_json::json!({"url": format!("http://127.0.0.1:{port}/"), "body": "x"});
        env.script(serde_json::json!([{"tool_calls": [{"id": "p", "name": "fetch__post", "arguments": arguments}]}, {"text": "Sent."}]));
        let arguments = arguments.to_string();
        let args: Vec<_> = command.iter().map(|arg| if *arg == "ARGUMENTS" { &arguments } else { *arg }).collect();
        let mut child = env.command().args(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let asked = listener.accept().unwrap().0;
        // An answer before the request is whole would be an error of its own.
        let head = BufReader::new(asked.try_clone().unwrap()).lines().map_while(Result::ok);
        assert!(head.take_while(|line| !line.is_empty()).count() > 0);
        let stderr = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { env, child, stderr, asked }
    }

    fn signal(&mut self, until: &str) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
        self.stderr.by_ref().map_while(Result::ok).find(|line| line.contains(until)).expect(until);
    }
}

#[test]
fn w57_the_first_interrupt_waits_for_a_call_that_may_have_had_its_effect() {
    use std::io::Write;
    for command in [&["run", "send", "--model", "script:turns.json"][..], &["call", "fetch__post", "ARGUMENTS"]] {
        let mut posting = Posting::new(command);
        posting.signal("waiting for 1 call that may have had its effect; once more exits at once");
        posting.asked.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok").unwrap();
        assert_eq!(posting.child.wait().unwrap().code(), Some(130));
        let env = &posting.env;
        let chain = env.chains()[0].clone();
        let state = env.pausegate(&["inspect", &chain, "--json"]).json();
        assert_eq!((&state["status"], &state["calls"][0]["status"]), (&"runnable".into(), &"succeeded".into()));
        let resumed = env.pausegate(&["resume", &chain]);
        assert_eq!(resumed.code, Some(0), "{resumed}");
    }
}

#[test]
fn a_journal_that_vanishes_under_a_running_chain_is_an_error_in_time_and_nothing_is_lost() {
    use std::io::Write;
    let mut posting = Posting::new(&["run", "send", "--model", "script:turns.json"]);
    let (state, aside) = (posting.env.path("home/.local/state"), posting.env.path("home/.local/aside"));
    std::fs::rename(&state, &aside).unwrap();
    posting.asked.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok").unwrap();
    assert_eq!(posting.child.wait().unwrap().code(), Some(75));
    let said: Vec<_> = posting.stderr.by_ref().map_while(Result::ok).collect();
    assert!(said.iter().any(|line| line.contains("was taken away or replaced while it was in use")), "{said:?}");
    let env = &posting.env;
    assert_eq!(env.pausegate(&["chains", "--json"]).json(), serde_json::json!([]), "no other journal was made in its place");

    std::fs::remove_dir_all(&state).ok();
    std::fs::rename(&aside, &state).unwrap();
    assert_eq!(env.pausegate(&["audit", "verify"]).code, Some(0));
    let call = &env.pausegate(&["inspect", &env.chains()[0], "--json"]).json()["calls"][0];
    assert_eq!(call["status"], "started", "what the journal could not be told is not known, and not run again by itself");
}

#[test]
fn the_second_interrupt_exits_at_once_and_the_call_is_not_run_again() {
    let mut posting = Posting::new(&["run", "send", "--model", "script:turns.json"]);
    posting.signal("once more exits at once");
    // What comes in the moment of the first counts as one with it.
    let ended = loop {
        kill_process(Pid::from_child(&posting.child), Signal::INT).unwrap();
        if let Some(ended) = posting.child.try_wait().unwrap() {
            break ended;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    };
    assert_eq!(ended.code(), Some(130));
    let resumed = posting.env.pausegate(&["resume", &posting.env.chains()[0]]);
    assert_eq!(resumed.code, Some(75));
    assert!(resumed.stderr.contains("nobody recorded how it ended"), "{resumed}");
}
