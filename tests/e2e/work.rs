//! Workers and many processes, on both stores.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::TestEnvironment;

fn both() -> [TestEnvironment; 2] {
    [TestEnvironment::new(), TestEnvironment::on_postgres()]
}

#[test]
fn what_was_approved_is_carried_on_by_a_worker() {
    for env in both() {
        env.script_of_the_main_job();
        assert_eq!(env.pausegate(&["run", "clean up", "--model", "script:turns.json"]).code, Some(75));
        assert_eq!(env.pausegate(&["work", "--once"]).code, Some(0));
        let pauses = env.pending();
        assert_eq!(pauses.len(), 2, "nobody answers in a person's place");
        env.pausegate(&["approve", &pauses[0]]);
        env.pausegate(&["deny", &pauses[1]]);
        let chain = &env.chains()[0];
        let worked = env.pausegate(&["work", "--once"]);
        assert_eq!(worked.code, Some(0), "{worked}");
        assert!(worked.stdout.ends_with(&format!("{chain} is completed\n")), "{worked}");
        assert_eq!(env.build(), ["b.tmp", "keep.txt"]);
        assert_eq!(env.pausegate(&["work", "--once"]).stdout, "");
    }
}

/// One tool in eight processes that decide this way and that, and eight that carry on: it runs once, and each is told.
#[test]
fn s06_w60_of_many_processes_at_once_one_decides_and_one_runs() {
    for env in both() {
        env.script(json!([
            {"tool_calls": [{"id": "a", "name": "files__delete", "arguments": {"path": "/build/a.tmp"}}]},
            {"text": "Done."}
        ]));
        env.pausegate(&["run", "clean up", "--model", "script:turns.json"]);
        let (chain, pause) = (env.chains()[0].clone(), env.pending()[0].clone());
        let decide = |number: usize| env.spawn(&[if number.is_multiple_of(2) { "approve" } else { "deny" }, &pause]);
        let codes = codes((0..8).map(decide).collect());
        let approved = codes.iter().step_by(2).all(|code| *code == 0) && codes.iter().skip(1).step_by(2).all(|code| *code == 2);
        let denied = codes.iter().step_by(2).all(|code| *code == 2) && codes.iter().skip(1).step_by(2).all(|code| *code == 0);
        assert!(approved || denied, "{codes:?}");

        let carry_on = |number: usize| if number.is_multiple_of(2) { env.spawn(&["resume", &chain]) } else { env.spawn(&["work", "--once"]) };
        let codes = self::codes((0..8).map(carry_on).collect());
        assert!(codes.iter().all(|code| [0, 2].contains(code)), "{codes:?}");
        let state = env.pausegate(&["inspect", &chain, "--json"]).json();
        let attempts = &state["calls"][0]["attempts"];
        assert_eq!((&state["status"], attempts), (&"completed".into(), &json!(if approved { 2 } else { 1 })), "{state}");
        assert_eq!(env.build().contains(&"a.tmp".to_owned()), denied);
    }
}

fn codes(children: Vec<Child>) -> Vec<i32> {
    children.into_iter().map(|child| child.wait_with_output().unwrap().status.code().unwrap()).collect()
}

#[test]
fn w64_a_worker_frees_what_waits_on_a_rule_once_the_rule_is_edited_and_ends_when_told() {
    for env in both() {
        env.script(json!([{"tool_calls": [{"id": "l", "name": "files__list", "arguments": {"path": "/build"}}]}, {"text": "Two files."}]));
        let rule = "[[rules]]\ntool = \"files__list\"\neffect = \"ask\"\n";
        env.grants(&format!("{}{rule}", super::environment::FILES_GRANTS));
        for _ in 0..3 {
            assert_eq!(env.pausegate(&["run", "look", "--model", "script:turns.json"]).code, Some(75));
        }
        assert_eq!(env.pending().len(), 3);
        let mut worker = env.spawn(&["work"]);
        let mut lines = BufReader::new(worker.stdout.take().unwrap()).lines().map_while(Result::ok);
        // It runs: what is started beside it is its to carry on too.
        env.script(json!([{"text": "Hello."}]));
        let beside = env.pausegate(&["run", "hello", "--model", "script:turns.json"]);
        assert_eq!(beside.code, Some(0), "{beside}");
        env.script(json!([{"tool_calls": [{"id": "l", "name": "files__list", "arguments": {"path": "/build"}}]}, {"text": "Two files."}]));
        env.grants(super::environment::FILES_GRANTS);
        let completed: Vec<_> = lines.by_ref().filter(|line| line.ends_with("is completed")).take(3).collect();
        assert_eq!((completed.len(), env.pending().len()), (3, 0));
        kill_process(Pid::from_child(&worker), Signal::TERM).unwrap();
        assert_eq!(worker.wait().unwrap().code(), Some(0), "to end in order when told to is no failure");
    }
}

#[test]
fn h29_a_chain_that_is_held_is_left_to_its_holder() {
    for env in both() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut command = env.command();
        command.args(["run", "hello", "--model", "gpt-test"]).env("OPENAI_BASE_URL", format!("http://{}/v1", listener.local_addr().unwrap()));
        let mut holder = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let _asked = listener.accept().unwrap();
        let chain = env.chains()[0].clone();
        let second = env.pausegate(&["resume", &chain]);
        assert_eq!(second.code, Some(2), "{second}");
        assert!(second.stderr.contains(&format!("is held by pid {} on ", holder.id())), "{second}");
        assert_eq!(env.pausegate(&["work", "--once"]).stdout, "");
        kill_process(Pid::from_child(&holder), Signal::TERM).unwrap();
        assert_eq!(holder.wait().unwrap().code(), Some(130));
    }
}

#[test]
fn a_journal_that_cannot_be_reached_is_told_without_its_password() {
    let env = TestEnvironment::new();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("postgres://u:s3cret-word@localhost:{port}/d");
    for command in ["pending", "doctor"] {
        let mut asked = env.command();
        let output = asked.args([command, "--journal", &url, "--json"]).output().unwrap();
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(75), "{text}");
        assert!(text.contains(&format!("postgres://u@localhost:{port}/d")) && !text.contains("s3cret"), "{text}");
    }
}
