//! What may happen while a chain waits for a person: nothing that was asked for runs otherwise than it was shown, and
//! nothing runs twice.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};

use super::TestEnvironment;

fn paused() -> (TestEnvironment, String) {
    let env = TestEnvironment::new();
    env.script_of_the_main_job();
    assert_eq!(env.pausegate(&["run", "clean up", "--model", "script:turns.json"]).code, Some(75));
    let chain = env.chains()[0].clone();
    (env, chain)
}

fn plugin(env: &TestEnvironment, name: &str) -> PathBuf {
    env.path(&format!("home/.local/share/pausegate/plugins/{name}.wasm"))
}

fn state(env: &TestEnvironment, chain: &str) -> Value {
    env.pausegate(&["inspect", chain, "--json"]).json()
}

#[test]
fn h79_a_plugin_rebuilt_for_another_contract_blocks_the_chain_and_leaves_nobody_holding_it() {
    let (env, chain) = paused();
    env.pending().iter().for_each(|pause| assert_eq!(env.pausegate(&["approve", pause]).code, Some(0)));
    let (file, before) = (plugin(&env, "files"), state(&env, &chain));
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, crate::hostile::all()["wants-contract-9"].component()).unwrap();
    for _ in 0..2 {
        let resumed = env.pausegate(&["resume", &chain]);
        assert_eq!(resumed.code, Some(75), "{resumed}");
        assert!(resumed.stderr.contains("is blocked") && resumed.stderr.contains("plugin `files` is not loaded"), "{resumed}");
        assert!(resumed.stderr.contains("9.0.0") && !resumed.stderr.contains("panicked"), "{resumed}");
        let now = state(&env, &chain);
        assert_eq!((&now["status"], &now["held_by"]), (&json!("blocked"), &Value::Null));
        assert_eq!(now["calls"].as_array().unwrap().len(), before["calls"].as_array().unwrap().len());
    }
    assert_eq!(env.build().len(), 3, "nothing ran");
    std::fs::write(&file, whole).unwrap();
    assert_eq!(env.pausegate(&["resume", &chain]).code, Some(0));
    assert_eq!(env.build(), ["keep.txt"]);
}

#[test]
fn w60_a_decision_on_arguments_that_were_edited_on_disk_is_refused() {
    for (edited, of) in [("TurnReceived", "payload"), ("PauseOpened", "payload")] {
        let (env, chain) = paused();
        let pauses = env.pending();
        let sql = rusqlite::Connection::open(env.path("home/.local/state/pausegate/journal.db")).unwrap();
        let edit = format!("UPDATE event SET {of} = replace({of}, '/build/a.tmp', '/build/keep.txt') WHERE kind = '{edited}'");
        assert!(sql.execute(&edit, []).unwrap() > 0);
        for command in [&["approve", &*pauses[0]][..], &["approve", &pauses[1]], &["edit", &pauses[0], "--arguments", "{\"path\":\"/build/b.tmp\"}"]]
        {
            let refused = env.pausegate(command);
            assert_eq!(refused.code, Some(78), "{edited}: {refused}");
            assert!(refused.stderr.contains("the journal is damaged: event "), "{edited}: {refused}");
        }
        assert_ne!(env.pausegate(&["resume", &chain]).code, Some(0));
        let events: u32 = sql.query_row("SELECT count(*) FROM event WHERE kind = 'PauseDecided'", [], |row| row.get(0)).unwrap();
        assert_eq!((events, env.build().len()), (0, 3), "{edited}: nothing was decided, and nothing ran");
    }
}

const SLOW: &str = r#"
[plugins.probe]
digest = "any"
[[plugins.probe.fs]]
path = "BUILD"
mount = "/build"
access = "write"
[[rules]]
tool = "probe__append_then_sleep"
effect = "ask"
"#;

#[test]
fn h83_a_second_approval_while_the_call_runs_is_told_who_decided_and_runs_nothing() {
    let env = TestEnvironment::new();
    env.add_guest("probe");
    env.grants(SLOW);
    let arguments = json!({"path": "/build/log.txt", "line": "once", "ms": 5000});
    env.script(json!([{"tool_calls": [{"id": "a", "name": "probe__append_then_sleep", "arguments": arguments}]}, {"text": "done"}]));
    assert_eq!(env.pausegate(&["run", "go", "--model", "script:turns.json"]).code, Some(75));
    let (chain, pause) = (env.chains()[0].clone(), env.pending()[0].clone());
    assert_eq!(env.pausegate(&["approve", &pause]).code, Some(0));
    let mut child = env.command().args(["resume", &chain, "--json"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("CallsStarted")));

    let again = env.pausegate(&["approve", &pause]);
    assert_eq!(again.code, Some(0), "{again}");
    assert!(again.stdout.contains("was already approved by os:") && again.stdout.contains("nothing changed"), "{again}");
    assert_eq!(env.pausegate(&["deny", &pause]).code, Some(2));
    assert_eq!(env.pending(), [] as [String; 0], "it is asked no more");
    assert!(child.try_wait().unwrap().is_none(), "the answers did not wait for the call");

    let last: Value = serde_json::from_str(&lines.last().unwrap()).unwrap();
    assert_eq!((child.wait().unwrap().code(), &last["status"]), (Some(0), &json!("completed")));
    assert_eq!(std::fs::read_to_string(env.path("work/build/log.txt")).unwrap(), "once\n");
    assert_eq!(state(&env, &chain)["calls"][0]["attempts"], 1);
}
