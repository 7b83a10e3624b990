//! What goes wrong, in words a person can act on, with an exit code a script can.

use insta::assert_snapshot;
use serde_json::json;

use super::TestEnvironment;

#[test]
fn unknown_ids_are_66() {
    let env = TestEnvironment::new();
    assert_snapshot!(env.pausegate(&["approve", "pa_nothing"]), @r"
    $ pausegate approve pa_nothing
    --- stderr
    error: no pause has an id that starts with `pa_nothing`
    hint: `pausegate pending` lists open pauses
    --- exit 66
    ");
    assert_snapshot!(env.pausegate(&["resume", "ch_nothing"]), @r"
    $ pausegate resume ch_nothing
    --- stderr
    error: no chain has an id that starts with `ch_nothing`
    hint: `pausegate chains` lists chains
    --- exit 66
    ");
    assert_eq!(env.pausegate(&["inspect", "ch_"]).code, Some(66));
}

#[test]
fn a_prefix_of_two_ids_is_no_id() {
    let env = TestEnvironment::new();
    env.script_of_the_main_job();
    env.pausegate(&["run", "clean up", "--model", "script:turns.json"]);
    assert_snapshot!(env.pausegate(&["approve", "pa_"]), @r"
    $ pausegate approve pa_
    --- stderr
    error: `pa_` is the start of 2 pause ids; give more of it
    hint: `pa_2` is open, ch_1 clean up
    hint: `pa_1` is open, ch_1 clean up
    --- exit 64
    ");
    assert_eq!(env.pending().len(), 2);
}

#[test]
fn a_wrong_command_line_is_64() {
    let env = TestEnvironment::new();
    for args in [
        &["run"][..],
        &["run", ""],
        &["run", "x", "--max-turns", "0"],
        &["run", "x"],
        &["approve"],
        &["frobnicate"],
        &["pending", "--nope"],
        &["respond", "pa_1"],
    ] {
        assert_eq!(env.pausegate(args).code, Some(64), "{args:?}");
    }
    assert_snapshot!(env.pausegate(&["run", "hello"]), @r"
    $ pausegate run hello
    --- stderr
    error: no model is named; give `--model NAME` or set `PAUSEGATE_MODEL`
    --- exit 64
    ");
    assert!(!env.path("home/.local/state").exists(), "a usage error leaves no journal");
}

#[test]
fn a_broken_grants_file_is_78_with_its_line() {
    let env = TestEnvironment::new();
    env.script_of_the_main_job();
    env.grants("[plugins.files]\ndigest = \"any\"\nacess = \"read\"\n");
    assert_snapshot!(env.pausegate(&["run", "clean up", "--model", "script:turns.json"]), @r"
    $ pausegate run 'clean up' --model script:turns.json
    --- stderr
    error: [TMP]/home/.config/pausegate/grants.toml:4: unknown key `plugins.files.acess`
    hint: `plugins.files` may hold: digest, adapt, fs, http, kv, env, config, tools, reconcile, limits, on_missing
    --- exit 78
    ");
    assert_eq!(env.pausegate(&["pending"]).code, Some(0), "reading needs no grants");
    assert_eq!(env.pausegate(&["doctor"]).code, Some(78));
    assert_eq!(env.pausegate(&["plugins", "--grants", "nowhere.toml"]).code, Some(78));
}

#[test]
fn a_model_that_does_not_open_costs_no_chain() {
    let env = TestEnvironment::new();
    assert_snapshot!(env.pausegate(&["run", "hello", "--model", "script:missing.json"]), @r"
    $ pausegate run hello --model script:missing.json
    --- stderr
    error: script `[TMP]/work/missing.json` cannot be read: No such file or directory (os error 2)
    --- exit 69
    ");
    assert_snapshot!(env.pausegate(&["run", "hello", "--model", "claude-sonnet-4-5"]), @r"
    $ pausegate run hello --model claude-sonnet-4-5
    --- stderr
    error: ANTHROPIC_API_KEY is not set; model `claude-sonnet-4-5` needs it
    hint: set it with `export ANTHROPIC_API_KEY=…`
    --- exit 69
    ");
    assert_eq!(env.chains(), [""; 0]);
}

#[test]
fn a_script_that_ends_too_early_fails_the_chain() {
    let env = TestEnvironment::new();
    env.script(json!([{"tool_calls": [{"name": "files__list", "arguments": {"path": "/build"}}]}]));
    assert_snapshot!(env.pausegate(&["run", "list", "--model", "script:turns.json"]), @r#"
    $ pausegate run list --model script:turns.json
    --- stderr
    chain ch_1
    files__list {"path":"/build"}
    files__list done: a.tmp\nb.tmp\nkeep.txt
    chain ch_1 failed: script `[TMP]/work/turns.json`: turn 2 is asked for, the script has 1
    --- exit 1
    "#);
}

#[test]
fn s14_the_turn_limit_keeps_an_answer_and_else_blocks_resumably() {
    let env = TestEnvironment::new();
    env.script(json!([{"tool_calls": [{"name": "files__list", "arguments": {"path": "/build"}}]}, {"text": "three files"}]));
    assert_eq!(env.pausegate(&["run", "list", "--model", "script:turns.json", "--max-turns", "2"]).stdout, "three files\n");
    assert_snapshot!(env.pausegate(&["run", "list", "--model", "script:turns.json", "--max-turns", "1"]), @r#"
    $ pausegate run list --model script:turns.json --max-turns 1
    --- stderr
    chain ch_2
    files__list {"path":"/build"}
    files__list done: a.tmp\nb.tmp\nkeep.txt
    chain ch_2 is blocked
      the model was called once, the limit, and asks for more
      pausegate resume ch_2 --max-turns 2
    --- exit 75
    "#);
    let chain = &env.chains()[0];
    assert_eq!(env.pausegate(&["resume", chain]).code, Some(75));
    assert_eq!(env.pausegate(&["resume", chain, "--max-turns", "1"]).code, Some(65));
    assert_eq!(env.pausegate(&["resume", chain, "--max-turns", "2"]).stdout, "three files\n");
}

#[test]
fn a_missing_plugin_blocks_until_it_is_back() {
    let env = TestEnvironment::new();
    env.script_of_the_main_job();
    env.pausegate(&["run", "clean up", "--model", "script:turns.json"]);
    for pause in env.pending() {
        env.pausegate(&["approve", &pause]);
    }
    std::fs::remove_file(env.path("home/.local/share/pausegate/plugins/files.wasm")).unwrap();
    assert_snapshot!(env.pausegate(&["resume", &env.chains()[0]]), @r"
    $ pausegate resume ch_1
    --- stderr
    chain ch_1 is blocked
      plugin `files` is not loaded
      put `files.wasm` back into the plugin directory, then
      pausegate resume ch_1
    --- exit 75
    ");
    env.add_plugin("files");
    assert_eq!(env.pausegate(&["resume", &env.chains()[0]]).code, Some(0));
    assert_eq!(env.build(), ["keep.txt"]);
}

#[test]
fn a_refusal_prints_the_line_that_would_allow_it() {
    let env = TestEnvironment::new();
    assert_snapshot!(env.pausegate(&["call", "files__list", r#"{"path": "/etc"}"#]), @r#"
    $ pausegate call files__list '{"path": "/etc"}'
    --- stderr
    files__list failed (denied): list `/etc`: Permission denied
      refused: fs read /etc
      allowed by
        [[plugins.files.fs]]
        path = "./etc"
        mount = "/etc"
        access = "read"
        # a relative path counts from the folder of this file
    chain ch_1 is completed
    --- exit 1
    "#);
}

#[test]
fn explain_says_which_line_decides() {
    let env = TestEnvironment::new();
    assert_snapshot!(env.pausegate(&["explain", "files__delete", r#"{"path": "/build/a.tmp"}"#]), @r#"
    $ pausegate explain files__delete '{"path": "/build/a.tmp"}'
    files__delete (once) allowed
      because
        grants.toml: no rule matches, and the default is tools = "allow"
      holds without asking
        fs read everything below /build
      an approval opens
        fs write /build/a.tmp, exactly this entry
      lines of the plugin's section
        grants.toml:5: in force: fs read everything below /build
        grants.toml:9: in force once approved: fs write /build/a.tmp, exactly this entry
    --- exit 0
    "#);
    env.grants("[[rules]]\ntool = \"files__*\"\neffect = \"deny\"\n");
    assert_snapshot!(env.pausegate(&["explain", "files__delete"]), @r#"
    $ pausegate explain files__delete
    files__delete (once) denied
      because
        grants.toml:2: deny files__*
      lines of the plugin's section
        grants.toml: no section `[plugins.files]`, so it holds nothing
      rules for the tool
        grants.toml:2: deny files__*: denies
      needed to run without asking
        grants.toml:2: take the rule out; with the arguments, this shows how to let just one call pass
    --- exit 77
    "#);
}
