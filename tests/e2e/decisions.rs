//! One door for decisions: who decided, what, and what nobody can decide.

use insta::assert_snapshot;
use serde_json::json;

use super::TestEnvironment;
use super::environment::FILES_GRANTS;

fn paused() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.script_of_the_main_job();
    env.pausegate(&["run", "clean up", "--model", "script:turns.json"]);
    env
}

#[test]
fn the_identical_decision_again_changes_nothing_and_another_is_told_who_decided() {
    let env = paused();
    let pause = &env.pending()[0];
    env.pausegate(&["approve", pause]);
    assert_snapshot!(env.pausegate(&["approve", pause]), @r"
    $ pausegate approve pa_1
    pa_1 was already approved by [ME] at [TIME]; nothing changed
    --- stderr
    chain ch_1 still waits for pa_2
    carry it on with
      pausegate resume ch_1
    --- exit 0
    ");
    assert_snapshot!(env.pausegate(&["deny", pause]), @r"
    $ pausegate deny pa_1
    --- stderr
    error: pa_1 was already decided: approve by [ME] at [TIME]
    --- exit 2
    ");
}

#[test]
fn a_decision_on_something_that_changed_is_refused() {
    let env = paused();
    let (pause, other) = (&env.pending()[0], format!("sha256:{}", "0".repeat(64)));
    assert_snapshot!(env.pausegate(&["approve", pause, "--digest", &other]), @r"
    $ pausegate approve pa_1 --digest sha256:…
    --- stderr
    error: the digest differs: pa_1 is now sha256:…; look at it again before deciding
    hint: `pausegate pending` shows it as it is now
    --- exit 65
    ");
    let digest = env.pausegate(&["pending", "--json"]).json()[0]["digest"].as_str().unwrap().to_owned();
    assert_eq!(env.pausegate(&["approve", pause, "--digest", &digest]).code, Some(0));
}

#[test]
fn an_edit_runs_instead_of_what_was_asked() {
    let env = paused();
    let pauses = env.pending();
    assert_snapshot!(env.pausegate(&["edit", &pauses[0], "--arguments", r#"{"path": "/build/keep.txt"}"#]), @r#"
    $ pausegate edit pa_1 --arguments '{"path": "/build/keep.txt"}'
    edited pa_1: files__delete {"path":"/build/keep.txt"}
    --- stderr
    chain ch_1 still waits for pa_2
    carry it on with
      pausegate resume ch_1
    --- exit 0
    "#);
    assert_eq!(env.with_input(&["edit", &pauses[1], "--arguments", "-"], r#"{"pth": 1}"#).code, Some(65));
    assert_eq!(env.pausegate(&["deny", &pauses[1]]).code, Some(0));
    assert_eq!(env.pausegate(&["resume", &env.chains()[0]]).code, Some(0));
    assert_eq!(env.build(), ["a.tmp", "b.tmp"]);
}

#[test]
fn a_stop_rejects_the_whole_chain() {
    let env = paused();
    let pauses = env.pending();
    assert_snapshot!(env.pausegate(&["deny", &pauses[0], "--stop", "--note", "wrong folder"]), @r#"
    $ pausegate deny pa_1 --stop --note 'wrong folder'
    denied pa_1: files__delete {"path":"/build/a.tmp"}
    --- stderr
    chain ch_1 is rejected
    --- exit 0
    "#);
    assert_snapshot!(env.pausegate(&["approve", &pauses[1]]), @r"
    $ pausegate approve pa_2
    --- stderr
    error: pa_2 is cancelled: nothing waits for it any more
    --- exit 2
    ");
    assert_eq!(env.pausegate(&["resume", &env.chains()[0]]).code, Some(2));
    assert_eq!(env.build().len(), 3);
}

#[test]
fn h54_only_those_a_rule_names_decide() {
    let env = TestEnvironment::new();
    env.grants(&format!("{FILES_GRANTS}\n[[rules]]\ntool = \"files__delete\"\neffect = \"ask\"\napprovers = [\"nobody-here\"]\n"));
    env.script_of_the_main_job();
    assert_eq!(env.pausegate(&["run", "clean up", "--model", "script:turns.json", "--auto-approve"]).code, Some(75));
    let pause = &env.pending()[0];
    let refused = env.pausegate(&["approve", pause]);
    assert_eq!(refused.code, Some(77));
    assert!(refused.stderr.contains("nobody-here"), "{refused}");
    assert_eq!(env.build().len(), 3);
}

#[test]
fn a_gate_asks_before_any_plugin_code_and_one_approval_is_enough() {
    let env = TestEnvironment::new();
    env.grants(&format!("{FILES_GRANTS}\n[[rules]]\ntool = \"files__*\"\nargs = {{ path = \"/build/**\" }}\neffect = \"ask\"\n"));
    env.script(json!([{"tool_calls": [{"name": "files__delete", "arguments": {"path": "/build/a.tmp"}}]}, {"text": "done"}]));
    assert_snapshot!(env.pausegate(&["run", "delete it", "--model", "script:turns.json"]), @r#"
    $ pausegate run 'delete it' --model script:turns.json
    --- stderr
    chain ch_1
    pause pa_1 asks for an approval
      chain      ch_1
      call       files__delete of plugin files, once, call tc_1
      kind       gate: a rule asks, no plugin code has run for it
      arguments
        {
          "path": "/build/a.tmp"
        }
      asked because
        > a rule asks a person before `files__delete` runs
      approving opens, for this call alone
        fs write /build/a.tmp, exactly this entry
      the call holds, whatever is decided here
        fs read everything below /build
      lines behind it
        grants.toml:16: ask files__* args.path = "/build/**"
      approvers  any user of this machine
      age        0 s
      digest     sha256:…
      pausegate approve pa_1
      pausegate deny pa_1 --note '…'

    chain ch_1 is paused; after deciding, carry it on with
      pausegate resume ch_1
    --- exit 75
    "#);
    env.pausegate(&["approve", &env.pending()[0]]);
    assert_eq!(env.pausegate(&["resume", &env.chains()[0]]).code, Some(0));
    assert_eq!(env.build(), ["b.tmp", "keep.txt"]);
}

#[test]
fn auto_approve_is_journalled_as_the_person_who_asked_for_it() {
    let env = TestEnvironment::new();
    env.script_of_the_main_job();
    let run = env.pausegate(&["run", "clean up", "--model", "script:turns.json", "--auto-approve"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "Deleted a.tmp; b.tmp stays.\n"));
    assert_eq!(env.build(), ["keep.txt"]);
    let state = env.pausegate(&["inspect", &env.chains()[0], "--json"]).json();
    assert_eq!(state["pauses"][0]["decided"]["decision"]["note"], "--auto-approve");
}

#[test]
fn at_a_terminal_nothing_is_assumed_and_each_pause_is_answered_by_a_word() {
    let env = TestEnvironment::new();
    env.script_of_the_main_job();
    // An empty line, an unknown word and half of an object ask again; a denial asks for its note.
    let arguments = r#"{"path":"/build/keep.txt"}"#;
    let typed = format!("\nyes\ndeny\nkeep it\nedit\n{{\n{arguments}\n");
    let (code, shown) = env.at_a_terminal("run 'clean up' --model script:turns.json --interactive", &typed);
    assert_eq!(code, Some(0), "{shown}");
    for said in ["`` is no answer here", "`yes` is no answer here; type approve, deny, edit, respond or skip", "why (the model reads it"] {
        assert!(shown.contains(said), "{said}: {shown}");
    }
    assert_eq!(env.build(), ["a.tmp", "b.tmp"]);
    let pauses = env.pausegate(&["inspect", &env.chains()[0], "--json"]).json()["pauses"].take();
    let decided: Vec<_> = pauses.as_array().unwrap().iter().map(|pause| (&pause["status"], &pause["decided"]["decision"]["note"])).collect();
    assert_eq!(decided, [(&json!("denied"), &json!("keep it")), (&json!("edited"), &json!(null))]);
    // Whoever skips, or hangs up, leaves the pause open.
    let (code, shown) = env.at_a_terminal("run again --model script:turns.json --interactive", "skip\n");
    assert_eq!((code, env.pending().len()), (Some(75), 2), "{shown}");
}

#[test]
fn s13_without_a_terminal_interactive_pauses_and_leaves_standard_input_alone() {
    let env = TestEnvironment::new();
    env.script_of_the_main_job();
    let shown = env.with_input(&["run", "clean up", "--model", "script:turns.json", "--interactive"], "approve\napprove\n");
    assert_eq!(shown.code, Some(75));
    assert!(shown.stderr.contains("`--interactive` needs a terminal"), "{shown}");
    assert_eq!(env.pending().len(), 2);
}
