//! The main job: "clean up the temp files", one approved, one denied, and nothing runs twice.

use insta::assert_snapshot;

use super::TestEnvironment;

const PROMPT: &str = "clean up the temp files under ./build";

#[test]
fn what_was_approved_is_deleted_and_what_was_denied_stays() {
    let env = TestEnvironment::new();
    env.script_of_the_main_job();
    assert_snapshot!(env.pausegate(&["run", PROMPT, "--model", "script:turns.json"]), @r#"
    $ pausegate run 'clean up the temp files under ./build' --model script:turns.json
    --- stderr
    chain ch_1
    model: Looking first.
    files__list {"path":"/build"}
    files__list done: a.tmp\nb.tmp\nkeep.txt
    files__delete {"path":"/build/a.tmp"}
    files__delete {"path":"/build/b.tmp"}
    pause pa_1 asks for an approval
      chain      ch_1
      call       files__delete of plugin files, once, call a
      kind       tool: the plugin asked
      arguments
        {
          "path": "/build/a.tmp"
        }
      in the words of plugin files
        > Delete /build/a.tmp
      approving opens, for this call alone
        fs write /build/a.tmp, exactly this entry
      the call holds, whatever is decided here
        fs read everything below /build
      lines behind it
        grants.toml: no rule matches, and the default is tools = "allow"
      approvers  any user of this machine
      age        0 s
      digest     sha256:…
      pausegate approve pa_1
      pausegate deny pa_1 --note '…'

    pause pa_2 asks for an approval
      chain      ch_1
      call       files__delete of plugin files, once, call b
      kind       tool: the plugin asked
      arguments
        {
          "path": "/build/b.tmp"
        }
      in the words of plugin files
        > Delete /build/b.tmp
      approving opens, for this call alone
        fs write /build/b.tmp, exactly this entry
      the call holds, whatever is decided here
        fs read everything below /build
      lines behind it
        grants.toml: no rule matches, and the default is tools = "allow"
      approvers  any user of this machine
      age        0 s
      digest     sha256:…
      pausegate approve pa_2
      pausegate deny pa_2 --note '…'

    chain ch_1 is paused; after deciding, carry it on with
      pausegate resume ch_1
    --- exit 75
    "#);
    assert_eq!(env.build(), ["a.tmp", "b.tmp", "keep.txt"], "nothing was touched before anybody approved");

    let (chain, pauses) = (&env.chains()[0], env.pending());
    assert_snapshot!(env.pausegate(&["pending"]), @r#"
    $ pausegate pending
    PAUSE                          AGE  KIND  ASKS FOR     CALL                                   CHAIN
    pa_1                           0 s  tool  an approval  files__delete {"path":"/build/a.tmp"}  ch_1
    pa_2                           0 s  tool  an approval  files__delete {"path":"/build/b.tmp"}  ch_1
    --- stderr
    look at one with `pausegate pending PAUSE`, then `pausegate approve PAUSE` or `pausegate deny PAUSE`
    --- exit 0
    "#);
    assert_snapshot!(env.pausegate(&["approve", &pauses[0]]), @r#"
    $ pausegate approve pa_1
    approved pa_1: files__delete {"path":"/build/a.tmp"}
    --- stderr
    chain ch_1 still waits for pa_2
    carry it on with
      pausegate resume ch_1
    --- exit 0
    "#);
    assert_snapshot!(env.pausegate(&["deny", &pauses[1], "--note", "somebody needs it"]), @r#"
    $ pausegate deny pa_2 --note 'somebody needs it'
    denied pa_2: files__delete {"path":"/build/b.tmp"}
    --- stderr
    carry it on with
      pausegate resume ch_1
    --- exit 0
    "#);
    assert_eq!(env.build(), ["a.tmp", "b.tmp", "keep.txt"], "deciding runs nothing");

    assert_snapshot!(env.pausegate(&["resume", chain]), @r#"
    $ pausegate resume ch_1
    Deleted a.tmp; b.tmp stays.
    --- stderr
    files__delete {"path":"/build/a.tmp"}
    files__delete done: deleted /build/a.tmp
    chain ch_1 is completed
    --- exit 0
    "#);
    assert_eq!(env.build(), ["b.tmp", "keep.txt"]);
    assert_snapshot!(env.pausegate(&["inspect", chain]), @r#"
    $ pausegate inspect ch_1
    chain ch_1 completed
      started    0 s ago by [ME]
      model      script:[TMP]/work/turns.json, 3 of 20 calls
      events     19; `inspect --at N` shows it after one, `fork --at N` goes on from there
    user
      clean up the temp files under ./build
    model, event 2
      Looking first.
    call files__list {"path":"/build"}
      succeeded, 1 attempt, call list, event 5
      done: a.tmp\nb.tmp\nkeep.txt
    call files__delete {"path":"/build/a.tmp"}
      succeeded, 2 attempts, call a, event 17
      done: deleted /build/a.tmp
    call files__delete {"path":"/build/b.tmp"}
      denied, 1 attempt, call b, event 15
      failed (denied): a person denied this call: somebody needs it
    model, event 18
      Deleted a.tmp; b.tmp stays.
    pa_1 approved by [ME] at [TIME], event 13
    pa_2 denied by [ME] at [TIME], event 14: somebody needs it
    --- exit 0
    "#);
}

#[test]
fn h01_a_completed_sibling_is_not_run_again() {
    let env = TestEnvironment::new();
    env.script_of_the_main_job();
    env.pausegate(&["run", PROMPT, "--model", "script:turns.json"]);
    let chain = &env.chains()[0];
    for pause in env.pending() {
        env.pausegate(&["approve", &pause]);
    }
    assert_eq!(env.pausegate(&["resume", chain]).code, Some(0));
    let events = env.pausegate(&["inspect", chain, "--json"]).json()["events"].clone();
    let started: Vec<String> = events
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["kind"] == "CallsStarted")
        .map(|event| {
            event["payload"]["calls"]
                .as_array()
                .unwrap()
                .iter()
                .map(|call| format!("{}.{}", call["call"]["turn"], call["attempt"]))
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    // The list once; each deletion once to ask and once to act.
    assert_eq!(started, ["1.1", "2.1 2.1", "2.2 2.2"]);
    assert_eq!(env.build(), ["keep.txt"]);
}

#[test]
fn w01_a_chain_goes_on_from_another_directory_with_an_id_cut_short() {
    let env = TestEnvironment::new();
    env.script_of_the_main_job();
    env.pausegate(&["run", PROMPT, "--model", "script:turns.json"]);
    let pauses = env.pending();
    for pause in &pauses {
        assert_eq!(env.pausegate(&["deny", pause]).code, Some(0));
    }
    let chain = &env.chains()[0];
    let output = env.command().args(["resume", &chain[..20]]).current_dir(env.path("home")).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "Deleted a.tmp; b.tmp stays.\n");
}
