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
