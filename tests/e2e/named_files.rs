//! Files that a person names, or that stand where the program looks: wrong ones are said, and cost nothing.

use std::os::unix::fs::symlink;

use insta::assert_snapshot;
use serde_json::json;

use super::TestEnvironment;
use super::environment::FILES_GRANTS;

fn pipe(env: &TestEnvironment, path: &str) {
    rustix::fs::mknodat(rustix::fs::CWD, env.path(path), rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
}

/// A chain whose one deletion was approved and has not run.
fn approved(env: &TestEnvironment) -> String {
    env.script_of_the_main_job();
    env.pausegate(&["run", "clean up", "--model", "script:turns.json"]);
    for pause in env.pending() {
        env.pausegate(&["approve", &pause]);
    }
    env.chains()[0].clone()
}

#[test]
fn d04_a_link_to_settings_that_are_not_there_yet_cannot_be_granted() {
    let env = TestEnvironment::new();
    symlink(env.path("work/build/config.toml"), env.path("home/.config/pausegate/config.toml")).unwrap();
    assert_snapshot!(env.pausegate(&["call", "files__list", r#"{"path": "/build"}"#]), @r#"
    $ pausegate call files__list '{"path": "/build"}'
    --- stderr
    error: [TMP]/home/.config/pausegate/grants.toml:6: `plugins.files.fs.path` would reach the settings file ([TMP]/work/build)
    hint: grant a folder of its own, apart from what runs the host
    --- exit 78
    "#);
    std::fs::remove_file(env.path("home/.config/pausegate/config.toml")).unwrap();
    symlink("build/journal.db", env.path("work/link.db")).unwrap();
    assert_eq!(env.pausegate(&["call", "files__list", r#"{"path": "/build"}"#, "--journal", "sqlite:link.db"]).code, Some(78));
    assert_eq!(env.build(), ["a.tmp", "b.tmp", "keep.txt"]);
    assert_eq!(env.pausegate(&["call", "files__list", r#"{"path": "/build"}"#]).code, Some(0));
}

#[test]
fn a_pipe_in_a_files_place_is_refused_and_not_waited_for() {
    let env = TestEnvironment::new();
    pipe(&env, "work/pausegate.toml");
    assert_snapshot!(env.pausegate(&["chains"]), @r"
    $ pausegate chains
    --- stderr
    error: [TMP]/work/pausegate.toml cannot be read
    caused by: it is no regular file
    --- exit 78
    ");
    std::fs::remove_file(env.path("work/pausegate.toml")).unwrap();
    pipe(&env, "work/pipe");
    for (args, code) in [
        (&["tools", "--grants", "pipe"][..], 78),
        (&["chains", "--config", "pipe"], 78),
        (&["chains", "--journal", "sqlite:pipe"], 78),
        (&["run", "x", "--model", "script:pipe"], 69),
        (&["run", "x", "--model", "script:turns.json", "--messages", "pipe"], 66),
    ] {
        assert_eq!(env.pausegate(args).code, Some(code), "{args:?}");
    }
}

#[test]
fn a_script_that_is_gone_when_a_chain_goes_on_costs_nothing() {
    let env = TestEnvironment::new();
    let chain = approved(&env);
    std::fs::rename(env.path("work/turns.json"), env.path("work/away.json")).unwrap();
    assert_snapshot!(env.pausegate(&["resume", &chain]), @r"
    $ pausegate resume ch_1
    --- stderr
    error: script `[TMP]/work/turns.json` cannot be read: No such file or directory (os error 2)
    --- exit 69
    ");
    assert_eq!(env.build(), ["a.tmp", "b.tmp", "keep.txt"]);
    env.write("work/turns.json", "{\"turns\": [");
    assert_eq!(env.pausegate(&["resume", &chain]).code, Some(65));
    std::fs::rename(env.path("work/away.json"), env.path("work/turns.json")).unwrap();
    assert_eq!(env.pausegate(&["resume", &chain]).stdout, "Deleted a.tmp; b.tmp stays.\n");
    assert_eq!(env.build(), ["keep.txt"]);
}

#[test]
fn a_place_that_cannot_be_recorded_into_is_said_before_anything_runs() {
    let env = TestEnvironment::new();
    let chain = approved(&env);
    env.write("work/notes.txt", "dear aunt");
    assert_snapshot!(env.pausegate(&["run", "x", "--model", "script:turns.json", "--record", "notes.txt"]), @r"
    $ pausegate run x --model script:turns.json --record notes.txt
    --- stderr
    error: `notes.txt` cannot be recorded into: it is there and holds no recorded turns (script `notes.txt`: expected value at line 1 column 1)
    hint: leave `--record` out to go on without it
    --- exit 64
    ");
    assert_snapshot!(env.pausegate(&["resume", &chain, "--record", "other.json"]), @r"
    $ pausegate resume ch_1 --record other.json
    --- stderr
    error: `other.json` cannot be recorded into: turn 3 comes next, and it holds 0; name the file that the recording began in
    hint: leave `--record` out to go on without it
    --- exit 64
    ");
    for record in ["nodir/x.json", "turns.json", "build"] {
        assert_eq!(env.pausegate(&["run", "x", "--model", "script:turns.json", "--record", record]).code, Some(64), "{record}");
        assert_eq!(env.pausegate(&["resume", &chain, "--record", record]).code, Some(64), "{record}");
    }
    assert_eq!((env.chains().len(), env.build()), (1, ["a.tmp", "b.tmp", "keep.txt"].map(str::to_owned).to_vec()));
    assert_eq!(std::fs::read_to_string(env.path("work/notes.txt")).unwrap(), "dear aunt");
    assert_eq!(env.pausegate(&["resume", &chain]).code, Some(0));
}

#[test]
fn what_is_no_script_and_what_are_no_arguments_is_65_and_costs_no_chain() {
    let env = TestEnvironment::new();
    for script in ["", "[]", "{\"turns\": [", "{\"turns\":[{\"text\":\"a\",\"text\":\"b\"}]}"] {
        env.write("work/turns.json", script);
        assert_eq!(env.pausegate(&["run", "x", "--model", "script:turns.json"]).code, Some(65), "{script}");
    }
    assert_eq!(env.pausegate(&["run", "x", "--model", "script:none.json"]).code, Some(69));
    for arguments in ["{", "[]", "{\"path\": \"/a\", \"path\": \"/b\"}"] {
        assert_eq!(env.pausegate(&["call", "files__list", arguments]).code, Some(65), "{arguments}");
    }
    assert_eq!(env.chains(), [""; 0]);
}

#[test]
fn doctor_ends_as_the_command_that_meets_the_trouble_would() {
    let env = TestEnvironment::new();
    assert_eq!(env.pausegate(&["doctor"]).code, Some(0));
    assert_eq!(env.pausegate(&["doctor", "--model", "claude-sonnet-4-5"]).code, Some(69));
    assert_eq!(env.pausegate(&["doctor", "--model", "script:none.json"]).code, Some(69));
    assert_eq!(env.pausegate(&["doctor", "--journal", "sqlite:/dev/null"]).code, Some(78));
    env.add_plugin("fetch");
    env.grants(&format!(
        "{}[plugins.fetch]\ndigest = \"any\"\n[[plugins.fetch.http]]\nurl = \"http://localhost:8080\"\nmethods = [\"GET\"]\n",
        FILES_GRANTS.replacen("BUILD", "./nowhere", 1).replacen("\"/build\"", "\"/nowhere\"", 1)
    ));
    let doctor = env.pausegate(&["doctor"]);
    assert_eq!(doctor.code, Some(0), "a line that gives nothing is a note");
    assert!(doctor.stdout.contains("grants.toml:5, `files`: the folder is not there"), "{doctor}");
    assert!(doctor.stdout.contains("grants.toml:17, `fetch`: its host is a private address, and the line lacks `private = true`"), "{doctor}");
    let explained = env.pausegate(&["explain", "files__list", r#"{"path": "/nowhere"}"#]);
    assert!(explained.stdout.contains("grants.toml:5: in force: fs read everything below /nowhere; but the folder is not there"), "{explained}");
    let explained = env.pausegate(&["explain", "fetch__get"]);
    assert!(explained.stdout.contains("; but its host is a private address"), "{explained}");
    env.grants(&FILES_GRANTS.replacen("BUILD", "~/build", 1));
    assert_snapshot!(env.pausegate(&["tools"]), @r"
    $ pausegate tools
    --- stderr
    error: [TMP]/home/.config/pausegate/grants.toml:6: `plugins.files.fs.path`: `~` is not expanded
    hint: write the whole path, such as `/home/me/build`; a folder that is really named so is `./~`
    --- exit 78
    ");
}

#[test]
fn a_journal_that_cannot_be_one_is_78_and_a_damaged_one_too() {
    let env = TestEnvironment::new();
    env.write("work/notes.txt", "a letter to my aunt, by far long enough to look like a file of some kind");
    for journal in ["sqlite:notes.txt", "sqlite:/dev/null", "sqlite:build", "sqlite:notes.txt/below/journal.db"] {
        for args in [&["chains"][..], &["call", "files__list", r#"{"path": "/build"}"#]] {
            let shown = env.pausegate(&[args, &["--journal", journal]].concat());
            assert_eq!(shown.code, Some(78), "{shown}");
        }
    }
    let chain = approved(&env);
    rusqlite::Connection::open(env.path("home/.local/state/pausegate/journal.db")).unwrap().execute("DELETE FROM event WHERE seq = 2", []).unwrap();
    assert_snapshot!(env.pausegate(&["resume", &chain]), @r"
    $ pausegate resume ch_1
    --- stderr
    error: the journal is damaged: event 2 of chain ch_1 is missing
    hint: nothing was written to it; put a copy from before in its place, other chains in it can be used
    --- exit 78
    ");
    for args in [&["inspect", &chain][..], &["cancel", &chain], &["say", &chain, "x"]] {
        assert_eq!(env.pausegate(args).code, Some(78), "{args:?}");
    }
    assert_eq!(env.pausegate(&["chains"]).code, Some(0));
    assert_eq!(env.build(), ["a.tmp", "b.tmp", "keep.txt"]);
}

#[test]
fn a_broken_grants_file_stops_no_denial_and_no_cancelling() {
    let env = TestEnvironment::new();
    env.script_of_the_main_job();
    env.pausegate(&["run", "clean up", "--model", "script:turns.json"]);
    let (chain, pauses) = (env.chains()[0].clone(), env.pending());
    env.write("home/.config/pausegate/grants.toml", "version = ");
    assert_eq!(env.pausegate(&["approve", &pauses[0]]).code, Some(78));
    assert_eq!(env.pausegate(&["edit", &pauses[0], "--arguments", "{}"]).code, Some(78));
    let denied = env.pausegate(&["deny", &pauses[0]]);
    assert_eq!(denied.code, Some(0), "{denied}");
    assert!(denied.stderr.contains("grants.toml:1: ") && denied.stderr.contains("this goes on without any grant"), "{denied}");
    assert_eq!(env.pending(), pauses[1..]);
    assert_eq!(env.pausegate(&["cancel", &chain, "--note", "wrong folder"]).code, Some(0));
    assert_snapshot!(env.pausegate(&["inspect", &chain]), @r#"
    $ pausegate inspect ch_1
    chain ch_1 cancelled
      started    0 s ago by [ME]
      model      script:[TMP]/work/turns.json, 2 of 20 calls
      events     18; `inspect --at N` shows it after one, `fork --at N` goes on from there
    user
      clean up
    model, event 2
      Looking first.
    call files__list {"path":"/build"}
      succeeded, 1 attempt, call list, event 5
      done: a.tmp\nb.tmp\nkeep.txt
    call files__delete {"path":"/build/a.tmp"}
      denied, 1 attempt, call a, event 14
      failed (denied): a person denied this call
    call files__delete {"path":"/build/b.tmp"}
      cancelled, 1 attempt, call b, event 17
      failed (cancelled): not run: the chain was stopped
    pa_2 cancelled: files__delete, event 16
    pa_1 denied by [ME] at [TIME], event 13
    cancelled by [ME]: wrong folder
    --- exit 0
    "#);
}

#[test]
fn a_called_tool_that_paused_ends_through_resume_as_call_would() {
    let env = TestEnvironment::new();
    let paused = |path: &str| {
        assert_eq!(env.pausegate(&["call", "files__delete", &json!({ "path": path }).to_string()]).code, Some(75));
        (env.chains()[0].clone(), env.pending()[0].clone())
    };
    let (chain, pause) = paused("/build/a.tmp");
    env.pausegate(&["approve", &pause]);
    let resumed = env.pausegate(&["resume", &chain]);
    assert_eq!((resumed.stdout.as_str(), resumed.code), ("deleted /build/a.tmp\n", Some(0)));
    let (chain, pause) = paused("/build/none.tmp");
    env.pausegate(&["approve", &pause]);
    assert_snapshot!(env.pausegate(&["resume", &chain]), @r#"
    $ pausegate resume ch_2
    --- stderr
    files__delete {"path":"/build/none.tmp"}
    files__delete failed (not-found): delete `/build/none.tmp`: No such file or directory
    chain ch_2 is completed
    --- exit 1
    "#);
    let (chain, pause) = paused("/build/b.tmp");
    env.pausegate(&["deny", &pause, "--note", "no"]);
    assert_snapshot!(env.pausegate(&["resume", &chain]), @r"
    $ pausegate resume ch_3
    --- stderr
    files__delete failed (denied): a person denied this call: no
    chain ch_3 is completed
    --- exit 1
    ");
    let (chain, pause) = paused("/build/b.tmp");
    env.pausegate(&["approve", &pause]);
    let last = env.pausegate(&["resume", &chain, "--json"]).lines().pop().unwrap();
    assert_eq!((&last["call_status"], &last["status"]), (&json!("succeeded"), &json!("completed")));
    assert!(last["result"].to_string().contains("deleted /build/b.tmp"), "{last}");
}

#[test]
fn an_answer_of_the_wrong_form_is_65() {
    let env = TestEnvironment::new();
    env.pausegate(&["call", "files__delete", r#"{"path": "/build/a.tmp"}"#]);
    let pause = env.pending()[0].clone();
    assert_snapshot!(env.pausegate(&["respond", &pause, "--choice", "foo"]), @r"
    $ pausegate respond pa_1 --choice foo
    --- stderr
    error: pa_1 asks for an approval; `--choice` does not answer that
    hint: `pausegate approve pa_1`
    hint: `pausegate deny pa_1 --note '…'`
    --- exit 65
    ");
    assert_eq!(env.pausegate(&["respond", &pause, "--text", "it was deleted before"]).code, Some(0));
}

#[test]
fn a_refusal_never_suggests_a_line_that_is_there() {
    let env = TestEnvironment::new();
    pipe(&env, "work/build/pipe");
    assert_snapshot!(env.pausegate(&["call", "files__read", r#"{"path": "/build/pipe"}"#]), @r#"
    $ pausegate call files__read '{"path": "/build/pipe"}'
    --- stderr
    files__read failed (denied): read `/build/pipe`: Permission denied
      refused: fs read /build/pipe
      allowed by
        # nothing allows a pipe, a socket or a device; only files and folders are opened
    chain ch_1 is completed
    --- exit 1
    "#);
    assert_eq!(env.pausegate(&["chains", "--limit", "0"]).code, Some(64));
}
