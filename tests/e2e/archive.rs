//! `archive`, and what `doctor` says of the journal.

use insta::assert_snapshot;
use serde_json::json;

use super::TestEnvironment;

/// A chain that ended alone, one that was carried on, the one that carries it on, and one that waits.
fn journal() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.script(json!([{"text": "one"}]));
    env.pausegate(&["run", "alone", "--model", "script:turns.json"]);
    env.pausegate(&["run", "first", "--model", "script:turns.json"]);
    env.pausegate(&["run", "--continue", "second"]);
    env.script_of_the_main_job();
    env.pausegate(&["run", "clean up", "--model", "script:turns.json"]);
    env
}

#[test]
fn ended_chains_go_into_a_file_that_is_verified_without_the_journal() {
    let env = journal();
    let [waits, second, first, alone] = &env.chains()[..] else { panic!("four chains") };
    env.write("work/head.json", &env.pausegate(&["audit", "head", "--json"]).stdout);
    let planned = env.pausegate(&["archive", "--older-than", "0d", "--dry-run", "--json"]).json();
    assert_eq!((&planned["archived"], &planned["needed"]), (&json!([alone, first, second]), &json!([])));
    assert_eq!(env.chains().len(), 4);
    assert_eq!(env.pausegate(&["archive", "--older-than", "1d"]).code, Some(0), "none is that old");
    assert_eq!(env.chains().len(), 4);

    // While a chain that stays carries one on, that one stays as well.
    env.script(json!([{"tool_calls": [{"id": "d", "name": "files__delete", "arguments": {"path": "/build/b.tmp"}}]}, {"text": "done"}]));
    let third = env.pausegate(&["say", second, "third"]);
    assert_eq!(third.code, Some(75), "{third}");
    let shown = env.pausegate(&["archive", "--older-than", "0d", "--json", "--to", "old"]).json();
    assert_eq!((&shown["archived"], &shown["needed"], &shown["events"]), (&json!([alone]), &json!([first, second]), &json!(3)));
    let left = env.chains();
    assert_eq!((left.len(), left.contains(alone), left.contains(waits)), (4, false, true));
    assert_eq!(env.pausegate(&["inspect", alone]).code, Some(66));
    assert_eq!(env.pausegate(&["inspect", second, "--messages"]).json().as_array().unwrap().len(), 4, "its history is there as before");

    let file = shown["file"].as_str().unwrap();
    assert_snapshot!(env.pausegate(&["audit", "verify", "--file", file]).stdout, @"1 chain, 3 events: sound");
    let gone = env.pausegate(&["audit", "verify", "--head", "head.json"]);
    assert_eq!(gone.code, Some(1), "a kept head names a chain that is gone");
    assert!(gone.stderr.contains("in their exports with `--archive FILE`"), "{gone}");
    let whole = env.pausegate(&["audit", "verify", "--head", "head.json", "--archive", file]);
    assert_eq!(whole.code, Some(0), "{whole}");
    assert!(!whole.stderr.contains("--archive"), "{whole}");
}

#[test]
fn an_archive_stands_beside_the_journal_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let env = journal();
    let shown = env.pausegate(&["archive", "--older-than", "0d"]);
    let file = std::path::PathBuf::from(shown.stdout.trim());
    assert_eq!(file.parent().unwrap(), env.path("home/.local/state/pausegate/journal.db.archive"));
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    assert_eq!(env.chains().len(), 1);
    env.grants(&format!(
        "[plugins.files]\ndigest = \"any\"\n[[plugins.files.fs]]\npath = \"{}\"\nmount = \"/x\"\naccess = \"read\"\n",
        file.display()
    ));
    assert_eq!(env.pausegate(&["explain", "files__list"]).code, Some(78), "no grant reaches it");
    for args in [&["archive"][..], &["archive", "--older-than", "x"], &["archive", "--older-than", "1d", "--before", "2026-01-01"]] {
        assert_eq!(env.pausegate(args).code, Some(64), "{args:?}");
    }
    env.write("work/file", "");
    let none = TestEnvironment::new();
    assert_eq!(none.pausegate(&["archive", "--before", "2999-01-01"]).code, Some(0));
    assert!(!none.path("home/.local/state").exists());
}

#[test]
fn a_damaged_chain_is_not_archived() {
    let env = journal();
    let alone = &env.chains()[3];
    let sql = rusqlite::Connection::open(env.path("home/.local/state/pausegate/journal.db")).unwrap();
    sql.execute("UPDATE event SET payload = replace(payload, 'alone', 'other') WHERE chain = ?1 AND seq = 1", [alone]).unwrap();
    let shown = env.pausegate(&["archive", "--older-than", "0d"]);
    assert_eq!(shown.code, Some(1), "{shown}");
    assert!(shown.stderr.contains("is damaged and stays: event 1 is not what was written there"), "{shown}");
    assert!(env.chains().contains(alone));
    // A folder that cannot be made: nothing is taken out.
    let env = journal();
    env.write("work/file", "");
    assert_eq!(env.pausegate(&["archive", "--older-than", "0d", "--to", "file"]).code, Some(78));
    assert_eq!(env.chains().len(), 4);
}

#[test]
fn doctor_looks_at_the_journal_its_clock_and_who_was_left_behind_and_mends_lists() {
    let env = journal();
    let checks = |name: &str| -> Vec<(String, String)> {
        let all = env.pausegate(&["doctor", "--json"]).json();
        let of = all.as_array().unwrap().iter().filter(|check| check["name"] == name);
        of.map(|check| (check["status"].as_str().unwrap().to_owned(), check["text"].as_str().unwrap().to_owned())).collect()
    };
    assert!(checks("journal")[0].1.contains(": 4 chains, version "), "{:?}", checks("journal"));
    assert_eq!(checks("clock")[0].0, "ok");
    let sql = rusqlite::Connection::open(env.path("home/.local/state/pausegate/journal.db")).unwrap();
    sql.execute_batch("UPDATE chain SET holder = 'pid 1 on host', updated_at = '2999-01-01T00:00:00Z', title = 'x'").unwrap();
    let left = checks("chain");
    assert!(left.len() == 1 && left[0].1.contains("was left by a process that died (pid 1 on host)"), "{left:?}");
    assert_eq!(checks("clock")[0].0, "note");
    assert_eq!(env.pausegate(&["audit", "verify"]).code, Some(1));
    assert_snapshot!(env.pausegate(&["doctor", "--rebuild"]), @r"
    $ pausegate doctor --rebuild
    the lists of 4 chains were written anew from their events
    --- exit 0
    ");
    assert_eq!(env.pausegate(&["audit", "verify"]).code, Some(0));
    sql.execute_batch("UPDATE event SET payload = 'null' WHERE kind = 'PauseOpened'").unwrap();
    assert_eq!(env.pausegate(&["doctor", "--rebuild"]).code, Some(78));
}
