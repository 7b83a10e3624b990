//! Chains over their life: messages, continuations, imports, cancels, trust.

use insta::assert_snapshot;
use serde_json::json;

use super::TestEnvironment;

#[test]
fn a_message_to_a_paused_chain_is_refused_or_closes_its_pauses() {
    let env = TestEnvironment::new();
    env.script_of_the_main_job();
    env.pausegate(&["run", "clean up", "--model", "script:turns.json"]);
    let chain = &env.chains()[0];
    assert_snapshot!(env.pausegate(&["say", chain, "only list them"]), @r"
    $ pausegate say ch_1 'only list them'
    --- stderr
    error: chain ch_1 waits for pa_1, pa_2
    hint: decide them first: `pausegate pending`
    hint: or close them unanswered: `pausegate say ch_1 … --supersede`
    --- exit 2
    ");
    assert_snapshot!(env.pausegate(&["say", chain, "only list them", "--supersede"]), @r"
    $ pausegate say ch_1 'only list them' --supersede
    Deleted a.tmp; b.tmp stays.
    --- stderr
    pa_1 is superseded: a new message took its place
    pa_2 is superseded: a new message took its place
    files__delete failed (cancelled): not run: superseded
    files__delete failed (cancelled): not run: superseded
    chain ch_1 is completed
    --- exit 0
    ");
    assert_eq!(env.build().len(), 3);
}

#[test]
fn a_completed_chain_is_carried_on_by_a_new_one() {
    let env = TestEnvironment::new();
    env.script(json!([{"text": "one"}]));
    env.pausegate(&["run", "first", "--model", "script:turns.json"]);
    let first = env.chains()[0].clone();
    assert_snapshot!(env.pausegate(&["run", "--continue", "second"]), @r"
    $ pausegate run --continue second
    one
    --- stderr
    chain ch_2 carries ch_1 on
    chain ch_2 is completed
    --- exit 0
    ");
    assert_snapshot!(env.pausegate(&["say", &first, "third"]), @r"
    $ pausegate say ch_1 third
    one
    --- stderr
    chain ch_3 carries ch_1 on
    chain ch_3 is completed
    --- exit 0
    ");
    assert_eq!(env.chains().len(), 3);
    let messages = env.pausegate(&["inspect", &env.chains()[1], "--messages"]).json();
    let texts: Vec<_> = messages.as_array().unwrap().iter().map(|message| message["parts"][0]["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["first", "one", "second", "one"]);
}

#[test]
fn history_goes_out_and_in_and_decides_nothing() {
    let env = TestEnvironment::new();
    env.script_of_the_main_job();
    env.pausegate(&["run", "clean up", "--model", "script:turns.json"]);
    let chain = &env.chains()[0];
    env.write("work/history.json", &env.pausegate(&["inspect", chain, "--messages"]).stdout);
    env.pausegate(&["cancel", chain]);
    env.script(json!([{"text": "imported"}]));
    let shown = env.pausegate(&["run", "--messages", "history.json", "--model", "script:turns.json"]);
    assert_eq!(shown.code, Some(75), "its trailing calls are asked anew: {shown}");
    assert_eq!(env.pending().len(), 2);
    env.write("work/broken.json", "[{\"role\": \"nobody\"}]");
    assert_eq!(env.pausegate(&["run", "x", "--messages", "broken.json", "--model", "script:turns.json"]).code, Some(65));
}

#[test]
fn cancel_closes_what_waits() {
    let env = TestEnvironment::new();
    env.script_of_the_main_job();
    env.pausegate(&["run", "clean up", "--model", "script:turns.json"]);
    let (chain, pause) = (&env.chains()[0], &env.pending()[0]);
    assert_snapshot!(env.pausegate(&["cancel", chain]), @r"
    $ pausegate cancel ch_1
    chain ch_1 is cancelled
    --- exit 0
    ");
    assert_eq!(env.pausegate(&["cancel", chain]).code, Some(2));
    assert_snapshot!(env.pausegate(&["approve", pause]), @r"
    $ pausegate approve pa_1
    --- stderr
    error: pa_1 is cancelled: nothing waits for it any more
    --- exit 2
    ");
    assert_eq!(env.pending(), [""; 0]);
}

#[test]
fn a_tool_is_called_without_a_model() {
    let env = TestEnvironment::new();
    assert_snapshot!(env.pausegate(&["call", "files__list", r#"{"path": "/build"}"#]), @r#"
    $ pausegate call files__list '{"path": "/build"}'
    a.tmp
    b.tmp
    keep.txt
    --- stderr
    chain ch_1 is completed
    --- exit 0
    "#);
    assert_eq!(env.pausegate(&["call", "files__read", r#"{"path": "/build/none"}"#]).code, Some(1));
    assert_eq!(env.pausegate(&["call", "files__nothing"]).code, Some(66));
    let paused = env.pausegate(&["call", "files__delete", r#"{"path": "/build/a.tmp"}"#, "--json"]);
    assert_eq!((paused.code, &paused.json()["status"]), (Some(75), &json!("paused")));
    env.pausegate(&["approve", &env.pending()[0]]);
    assert_eq!(env.pausegate(&["resume", &env.chains()[0]]).code, Some(0));
    assert_eq!(env.build(), ["b.tmp", "keep.txt"]);
}

#[test]
fn other_bytes_hold_nothing_until_trusted() {
    let env = TestEnvironment::new();
    let other = format!("sha256:{}", "0".repeat(64));
    env.grants(&super::environment::FILES_GRANTS.replace("any", &other));
    assert_eq!(env.pausegate(&["call", "files__list", r#"{"path": "/build"}"#]).code, Some(1));
    assert_snapshot!(env.pausegate(&["trust", "files"]), @r#"
    $ pausegate trust files
    plugin `files` offers
      files__list (read-only): Lists what is in a folder, one name per line. Folders end with a slash.
      files__read (read-only): Reads a text file.
      files__write (idempotent): Writes a text file, in place of what was there.
      files__delete (once): Deletes a file for good. A person is asked first.
    in its own words it would like; nothing of it is granted by this
      > fs {"access":"write","mount":"/build"}: lists, reads, writes and deletes files there
        [[plugins.files.fs]]
        path = "./build"
        mount = "/build"
        access = "write"
    what was trusted before is not kept here, so only the digests can be compared
    `[TMP]/home/.config/pausegate/grants.toml` held for `sha256:…`
    now it holds for sha256:…
    --- exit 0
    "#);
    assert_eq!(env.pausegate(&["call", "files__list", r#"{"path": "/build"}"#]).code, Some(0));
    assert_eq!(env.pausegate(&["trust", "nothing"]).code, Some(66));
    assert_eq!(env.pausegate(&["trust"]).code, Some(64));
}

#[test]
fn w64_one_rule_changed_frees_every_chain_that_waits_on_it() {
    let env = TestEnvironment::new();
    let grants = |rules: &str| env.grants(&format!("{}{rules}", super::environment::FILES_GRANTS));
    grants("[[rules]]\ntool = \"files__list\"\neffect = \"ask\"\n");
    env.script(json!([{"tool_calls": [{"name": "files__list", "arguments": {"path": "/build"}}]}, {"text": "listed"}]));
    for _ in 0..3 {
        assert_eq!(env.pausegate(&["run", "list", "--model", "script:turns.json"]).code, Some(75));
    }
    assert_eq!(env.pending().len(), 3);
    grants("");
    for chain in env.chains() {
        assert_eq!(env.pausegate(&["resume", &chain]).stdout, "listed\n");
    }
    assert_eq!(env.pending(), [""; 0]);
}
