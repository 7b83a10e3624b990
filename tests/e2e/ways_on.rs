//! What somebody who is stuck is told: which id was meant, which model goes on, what a pause is about, what came before.

use serde_json::json;

use super::{FILES_GRANTS, TestEnvironment};

/// A chain that waits for an approval, and then for a turn that its script does not have.
fn waiting() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.script_of_the_main_job();
    assert_eq!(env.pausegate(&["run", "clean up", "--model", "script:turns.json"]).code, Some(75));
    env.pending().iter().for_each(|pause| assert_eq!(env.pausegate(&["approve", pause]).code, Some(0)));
    env
}

#[test]
fn a_chain_goes_on_with_another_model_which_is_written_down() {
    let env = waiting();
    let chain = env.chains()[0].clone();
    env.write("work/other.json", &json!({"turns": [{"text": ""}, {"text": ""}, {"text": "said by another"}]}).to_string());
    for (name, code) in [("frobnicate", 64), ("script:nowhere.json", 69), ("gpt-x", 69)] {
        let refused = env.pausegate(&["resume", &chain, "--model", name]);
        assert_eq!(refused.code, Some(code), "{refused}");
    }
    assert!(!env.pausegate(&["inspect", &chain, "--json"]).stdout.contains("ModelChanged"), "a name that cannot be asked is not written down");
    let resumed = env.pausegate(&["resume", &chain, "--model", "script:other.json"]);
    assert_eq!((resumed.code, resumed.stdout.trim()), (Some(0), "said by another"), "{resumed}");
    let state = env.pausegate(&["inspect", &chain, "--json"]).json();
    let changed: Vec<_> = state["events"].as_array().unwrap().iter().filter(|event| event["kind"] == "ModelChanged").collect();
    assert_eq!(
        (changed.len(), &changed[0]["payload"]["model"], &state["settings"]["model"]),
        (1, &json!("script:other.json"), &json!("script:other.json"))
    );
    assert_eq!(env.pausegate(&["chains", "--json"]).json()[0]["model"], "script:other.json");
    assert_eq!(env.pausegate(&["replay", &chain]).code, Some(0));
}

#[test]
fn a_call_without_a_model_gets_none() {
    let env = TestEnvironment::new();
    assert_eq!(env.pausegate(&["call", "files__delete", r#"{"path": "/build/a.tmp"}"#]).code, Some(75));
    let refused = env.pausegate(&["resume", &env.chains()[0], "--model", "script:turns.json"]);
    assert!([65, 69].contains(&refused.code.unwrap()), "{refused}");
    env.script(json!([{"text": "hello"}]));
    let refused = env.pausegate(&["resume", &env.chains()[0], "--model", "script:turns.json"]);
    assert_eq!(refused.code, Some(65), "{refused}");
}

#[test]
fn a_provider_that_is_away_is_said_before_each_wait() {
    let env = TestEnvironment::new();
    // Nobody listens on a port that was just let go of; each wait is told before it begins, so the first line is enough.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = env.command();
    command.args(["run", "hello", "--model", "gpt-x"]).env("OPENAI_BASE_URL", format!("http://127.0.0.1:{port}/v1"));
    let mut child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let lines = std::io::BufRead::lines(std::io::BufReader::new(child.stderr.take().unwrap()));
    let told = lines.map_while(Result::ok).find(|line| line.contains("asking again in "));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(told.as_ref().is_some_and(|told| told.contains("did not answer after 1 attempt: ")), "{told:?}");
}

#[test]
fn a_denied_call_is_explained_without_what_it_would_have_held() {
    let env = TestEnvironment::new();
    env.grants(&format!("{FILES_GRANTS}[[rules]]\ntool = \"files__delete\"\neffect = \"deny\"\n"));
    let explained = env.pausegate(&["explain", "files__delete", r#"{"path": "/build/a.tmp"}"#]);
    assert_eq!(explained.code, Some(77), "{explained}");
    assert!(!explained.stdout.contains("an approval opens") && !explained.stdout.contains("holds without asking"), "{explained}");
    assert!(explained.stdout.contains("let just this call pass with `except = [{ exact = "), "{explained}");
    let of_the_tool = env.pausegate(&["explain", "files__delete"]);
    assert!(!of_the_tool.stdout.contains("except = ") && of_the_tool.stdout.contains("take the rule out; with the arguments"), "{of_the_tool}");
}

#[test]
fn a_rule_that_holds_nothing_back_is_told_before_a_call_runs() {
    let env = TestEnvironment::new();
    env.grants("[[rules]]\ntool = \"files__delte\"\neffect = \"deny\"\n");
    env.script(json!([{"text": "hello"}]));
    for args in [&["run", "hello", "--model", "script:turns.json"][..], &["explain", "files__delete"], &["call", "files__list", r#"{"path": "/"}"#]] {
        let shown = env.pausegate(args);
        assert!(shown.stderr.contains("this rule holds nothing back: no loaded tool fits `files__delte`"), "{shown}");
    }
}

#[test]
fn what_the_model_says_beside_its_calls_is_not_lost_on_a_pipe() {
    let env = TestEnvironment::new();
    env.script(json!([
        {"text": "Looking first.\u{1b}[2J", "tool_calls": [{"id": "a", "name": "files__list", "arguments": {"path": "/build"}}]},
        {"text": "Done."}
    ]));
    let shown = env.pausegate(&["run", "look", "--model", "script:turns.json"]);
    assert_eq!(shown.stdout, "Done.\n", "standard output is the answer's");
    assert!(shown.stderr.contains("model: Looking first.") && !shown.stderr.contains('\u{1b}'), "{shown}");
}

#[test]
fn a_pause_says_what_its_call_holds_whatever_is_decided() {
    let env = TestEnvironment::new();
    env.grants(&format!("{FILES_GRANTS}[[rules]]\ntool = \"files__list\"\neffect = \"ask\"\n"));
    assert_eq!(env.pausegate(&["call", "files__list", r#"{"path": "/build"}"#]).code, Some(75));
    let shown = env.pausegate(&["pending", &env.pending()[0]]);
    assert!(shown.stdout.contains("the call holds, whatever is decided here\n    fs read everything below /build"), "{shown}");
    assert!(env.pausegate(&["pending", "--json"]).json()[0]["holds"].to_string().contains("fs read everything below /build"));
}

#[test]
fn a_pause_after_a_file_was_changed_warns_whoever_wrote_the_tool_and_whoever_decides() {
    let env = TestEnvironment::new();
    env.add_guest("probe");
    std::fs::create_dir_all(env.path("work/out")).unwrap();
    env.grants(&format!(
        "[plugins.probe]\ndigest = \"any\"\n[[plugins.probe.fs]]\npath = \"{}\"\nmount = \"/out\"\naccess = \"write\"\n",
        env.path("work/out").display()
    ));
    let steps = json!({"steps": [{"write": "/out/a"}, {"ask": "q"}]});
    let called = env.pausegate(&["call", "probe__retold", &steps.to_string()]);
    assert_eq!(called.code, Some(75), "{called}");
    let told = "to files, which the next attempt makes again";
    assert!(called.stderr.contains("warning: it paused after ") && called.stderr.contains(told), "{called}");
    let shown = env.pausegate(&["pending", &env.pending()[0]]);
    assert!(shown.stdout.contains("worth a look") && shown.stdout.contains(told), "{shown}");
}

#[test]
fn an_answer_that_does_not_fit_is_asked_for_again_and_a_number_is_enough() {
    let env = TestEnvironment::new();
    let choose = json!([{"tool_calls": [{"id": "q", "name": "survey__choose", "arguments": {"reason": "which?", "choices": ["red", "blue"]}}]}, {"text": "thanks"}]);
    env.script(choose.clone());
    let line = "run ask --model script:turns.json --interactive";
    let (code, shown) = env.at_a_terminal(line, "respond\ngreen\nrespond\n3\nrespond\n2\n");
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("1  red") && shown.contains("2  blue") && shown.matches("must be one of `red`, `blue`").count() == 2, "{shown}");
    let answered = env.pausegate(&["inspect", &env.chains()[0], "--json"]).json();
    assert_eq!(answered["pauses"][0]["decided"]["decision"]["value"], "blue");

    env.script(choose);
    let (code, shown) = env.at_a_terminal(line, &"respond\ngreen\n".repeat(9));
    assert_eq!((code, shown.contains("5 answers did not fit")), (Some(75), true), "{shown}");
    let (code, shown) = env.at_a_terminal("review", "a\n1\n");
    assert_eq!(code, Some(0), "{shown}");
    let pauses = env.pausegate(&["inspect", &env.chains()[0], "--json"]).json();
    assert_eq!(pauses["pauses"][0]["decided"]["decision"]["value"], "red");
}

#[test]
fn events_have_the_numbers_that_a_fork_takes() {
    let env = waiting();
    let chain = env.chains()[0].clone();
    let shown = env.pausegate(&["inspect", &chain]);
    let state = env.pausegate(&["inspect", &chain, "--json"]).json();
    let seq = |kind: &str| state["events"].as_array().unwrap().iter().find(|event| event["kind"] == kind).unwrap()["seq"].clone();
    assert!(shown.stdout.contains(&format!("events     {}; `inspect --at N`", state["seq"])), "{shown}");
    assert!(shown.stdout.contains(&format!(", event {}\n", seq("PauseDecided"))), "{shown}");
    assert_eq!(env.pausegate(&["fork", &chain, "--at", &seq("TurnReceived").to_string()]).code, Some(0));
}
