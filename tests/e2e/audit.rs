//! `audit`, and what it says of a journal that somebody changed.

use insta::assert_snapshot;
use serde_json::json;

use super::TestEnvironment;

fn journal(env: &TestEnvironment) -> rusqlite::Connection {
    rusqlite::Connection::open(env.path("home/.local/state/pausegate/journal.db")).unwrap()
}

fn of_two_chains() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.script(json!([{"text": "one"}]));
    env.pausegate(&["run", "first", "--model", "script:turns.json"]);
    env.script_of_the_main_job();
    env.pausegate(&["run", "clean up", "--model", "script:turns.json"]);
    env
}

#[test]
fn a_sound_journal_is_said_to_be_sound() {
    let env = of_two_chains();
    assert_snapshot!(env.pausegate(&["audit", "verify"]), @r"
    $ pausegate audit verify
    2 chains, 15 events: sound
    --- stderr
    only a head that was kept elsewhere shows that nothing was cut off: `pausegate audit head --json`
    --- exit 0
    ");
    let chain = &env.chains()[0];
    let one = env.pausegate(&["audit", "verify", chain, "--json"]).json();
    assert_eq!((&one["sound"], &one["chains"], &one["findings"]), (&json!(true), &json!(1), &json!([])));
    assert_eq!(env.pausegate(&["audit", "verify", "ch_z"]).code, Some(66));
    let none = TestEnvironment::new();
    let told = none.pausegate(&["audit", "verify"]);
    assert!(told.code == Some(66) && told.stderr.contains("there is no journal at"), "what is not there is not sound: {told}");
    assert!(!none.path("home/.local/state").exists(), "an audit makes nothing");
}

#[test]
fn h65_what_was_cut_off_is_found_by_a_head_that_was_kept() {
    let env = of_two_chains();
    let (chain, first) = (env.chains()[0].clone(), env.chains()[1].clone());
    env.write("work/head.json", &env.pausegate(&["audit", "head", "--json"]).stdout);
    assert_snapshot!(env.pausegate(&["audit", "verify", "--head", "head.json"]), @r"
    $ pausegate audit verify --head head.json
    2 chains, 15 events: sound
    compared with the head of 2 chains, sha256:…
    --- exit 0
    ");

    let sql = journal(&env);
    sql.execute("DELETE FROM event WHERE chain = ?1 AND seq > 2", [&chain]).unwrap();
    sql.execute("UPDATE chain SET head = 2, head_hash = (SELECT hash FROM event WHERE chain = ?1 AND seq = 2) WHERE id = ?1", [&chain]).unwrap();
    sql.execute("DELETE FROM event WHERE chain = ?1", [&first]).unwrap();
    sql.execute("DELETE FROM chain WHERE id = ?1", [&first]).unwrap();
    let shown = env.pausegate(&["audit", "verify", "--head", "head.json"]);
    assert_eq!(shown.code, Some(1), "{shown}");
    let found = env.pausegate(&["audit", "verify", "--head", "head.json", "--json"]).json();
    let mut names: Vec<_> = found["findings"].as_array().unwrap().iter().map(|finding| (finding["id"].clone(), finding["what"].clone())).collect();
    names.sort_by_key(|(_, what)| what.to_string());
    assert_eq!(names, [(json!(chain), json!("cut")), (json!(first), json!("gone"))]);

    env.write("work/head.json", "{}");
    assert_eq!(env.pausegate(&["audit", "verify", "--head", "head.json"]).code, Some(65));
    assert_eq!(env.pausegate(&["audit", "verify", "--head", "nowhere.json"]).code, Some(65));
}

#[test]
fn an_edit_is_named_with_chain_and_event() {
    let env = of_two_chains();
    journal(&env).execute("UPDATE event SET payload = replace(payload, 'a.tmp', 'c.tmp') WHERE kind = 'PauseOpened'", []).unwrap();
    assert_snapshot!(env.pausegate(&["audit", "verify"]), @r"
    $ pausegate audit verify
    chain ch_2 is damaged: event 10 is not what was written there
    2 chains, 15 events: 1 damaged
    --- stderr
    only a head that was kept elsewhere shows that nothing was cut off: `pausegate audit head --json`
    --- exit 1
    ");
}

#[test]
fn an_export_is_verified_without_the_journal() {
    let env = of_two_chains();
    let export = env.pausegate(&["audit", "export"]);
    let chain = &env.chains()[1];
    assert_eq!(env.pausegate(&["audit", "export", chain]).lines().last().unwrap()["end"]["id"], json!(chain));
    env.write("work/export.ndjson", &export.stdout);
    std::fs::remove_dir_all(env.path("home/.local/state")).unwrap();
    assert_snapshot!(env.pausegate(&["audit", "verify", "--file", "export.ndjson"]), @r"
    $ pausegate audit verify --file export.ndjson
    2 chains, 15 events: sound
    --- stderr
    only a head that was kept elsewhere shows that nothing was cut off: `pausegate audit head --json`
    --- exit 0
    ");
    env.write("work/export.ndjson", &export.stdout.replacen("clean up", "clean all", 1));
    assert_snapshot!(env.pausegate(&["audit", "verify", "--file", "export.ndjson"]), @r"
    $ pausegate audit verify --file export.ndjson
    chain ch_2 is damaged: event 1 is not what was written there
    2 chains, 15 events: 1 damaged
    --- stderr
    only a head that was kept elsewhere shows that nothing was cut off: `pausegate audit head --json`
    --- exit 1
    ");
    assert_eq!(env.pausegate(&["audit", "verify", "--file", "nowhere.ndjson"]).code, Some(65));
}
