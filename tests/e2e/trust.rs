//! What an operator trusts, sees change, allows for good and takes back.

use std::fs;

use insta::assert_snapshot;
use serde_json::json;

use super::TestEnvironment;
use super::environment::FILES_GRANTS;

const LIST: [&str; 3] = ["call", "files__list", r#"{"path": "/build"}"#];

fn grants_file(env: &TestEnvironment) -> String {
    fs::read_to_string(env.path("home/.config/pausegate/grants.toml")).unwrap()
}

/// The plugin's file with one text in place of another of the same length.
fn swap(env: &TestEnvironment, old: &str, new: &str) {
    assert_eq!(old.len(), new.len());
    let file = env.path("home/.local/share/pausegate/plugins/files.wasm");
    let mut bytes = fs::read(&file).unwrap();
    let places: Vec<_> = bytes.windows(old.len()).enumerate().filter(|(_, window)| *window == old.as_bytes()).map(|(at, _)| at).collect();
    assert!(!places.is_empty(), "`{old}` is not in the plugin");
    places.iter().for_each(|at| bytes[*at..at + new.len()].copy_from_slice(new.as_bytes()));
    fs::write(&file, bytes).unwrap();
}

#[test]
fn w42_a_changed_description_takes_the_grants_away_and_is_shown_line_by_line() {
    let env = TestEnvironment::new();
    env.grants(&FILES_GRANTS.replace("digest = \"any\"\n", ""));
    assert_eq!(env.pausegate(&["trust", "files"]).code, Some(0));
    assert_eq!(env.pausegate(&LIST).code, Some(0));
    swap(&env, "Lists what is in a folder", "Mails what \u{202e}in a folder");
    assert_snapshot!(env.pausegate(&LIST), @r#"
    $ pausegate call files__list '{"path": "/build"}'
    --- stderr
    plugin `files` has other bytes than were trusted and holds nothing: `pausegate trust files --dry-run` shows what changed, `pausegate trust files` trusts it
    files__list failed (denied): list `/build`: Permission denied
      refused: fs read /build
      allowed by
        # after `pausegate trust files`, since its section is for other bytes
        [[plugins.files.fs]]
        path = "./build"
        mount = "/build"
        access = "read"
        # a relative path counts from the folder of this file
    chain ch_2 is completed
    --- exit 1
    "#);
    let before = grants_file(&env);
    assert_snapshot!(env.pausegate(&["trust", "files", "--dry-run"]), @r#"
    $ pausegate trust files --dry-run
    plugin `files` offers
      files__list (read-only): Mails what \u{202e}in a folder, one name per line. Folders end with a slash.
      files__read (read-only): Reads a text file.
      files__write (idempotent): Writes a text file, in place of what was there.
      files__delete (once): Deletes a file for good. A person is asked first.
    in its own words it would like; nothing of it is granted by this
      > fs {"access":"write","mount":"/build"}: lists, reads, writes and deletes files there
        [[plugins.files.fs]]
        path = "./build"
        mount = "/build"
        access = "write"
    changed since it was trusted
      description of `list`
        > -Lists what is in a folder, one name per line. Folders end with a slash.
        > +Mails what \u{202e}in a folder, one name per line. Folders end with a slash.
    `[TMP]/home/.config/pausegate/grants.toml` held for `sha256:…`
    now it would hold for sha256:…
    --- exit 0
    "#);
    assert_eq!(grants_file(&env), before, "a dry run wrote");
    assert_snapshot!(env.pausegate(&["plugins"]), @r"
    $ pausegate plugins
    PLUGIN  TRUSTED      TOOLS  DIGEST
    files   other bytes  4      sha256:…
    survey  no           6      sha256:…
    --- stderr
    plugin `files` has other bytes than were trusted and holds nothing: `pausegate trust files --dry-run` shows what changed, `pausegate trust files` trusts it
    --- exit 0
    ");
    let changes = env.pausegate(&["trust", "files", "--json"]).json();
    assert_eq!((&changes["changes"][0]["part"], &changes["written"]), (&json!("description"), &json!(true)));
    assert_eq!(env.pausegate(&LIST).code, Some(0));
}

#[test]
fn w42_where_only_code_changed_or_nothing_is_kept_that_is_said() {
    let env = TestEnvironment::new();
    env.grants(&FILES_GRANTS.replace("digest = \"any\"\n", ""));
    assert_eq!(env.pausegate(&["trust", "files"]).code, Some(0));
    let file = env.path("home/.local/share/pausegate/plugins/files.wasm");
    let mut bytes = fs::read(&file).unwrap();
    bytes.extend_from_slice(&[0, 5, 4, b'n', b'o', b't', b'e']);
    fs::write(&file, bytes).unwrap();
    let shown = env.pausegate(&["trust", "files", "--dry-run"]);
    assert!(shown.stdout.contains("only its code changed"), "{shown}");
    fs::remove_dir_all(env.path("home/.local/state/pausegate/journal.db.trusted")).unwrap();
    let shown = env.pausegate(&["trust", "files"]);
    assert!(shown.stdout.contains("only the digests can be compared"), "{shown}");
}

/// The probe's `echo_once`, which a rule asks about.
const ASKED: &str = "# mine\n[[rules]]\ntool = \"probe__echo_once\"  # careful\neffect = \"ask\"\n\n[defaults]\ntools = \"allow\"\n";

fn asking() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.add_guest("probe");
    env.grants(ASKED);
    env
}

#[test]
fn w68_a_standing_approval_is_written_used_and_taken_back() {
    let env = asking();
    let call = ["call", "probe__echo_once", r#"{"text": "a*"}"#];
    assert_eq!(env.pausegate(&call).code, Some(75));
    let pause = env.pending()[0].clone();
    assert_snapshot!(env.pausegate(&["trust", "--always", &pause, "--until", "2099-12-31", "--dry-run"]), @r#"
    $ pausegate trust --always pa_1 --until 2099-12-31 --dry-run
    would be written to `[TMP]/home/.config/pausegate/grants.toml`, as an exception of the rule at line 3
        { exact = '{"text":"a*"}', until = 2099-12-31 }
    a standing approval: this call, with exactly these arguments, passes without asking
    through 2099-12-31, or until the entry is taken out by hand
    --- exit 0
    "#);
    assert_eq!(grants_file(&env), format!("version = 1\n{ASKED}"));
    assert_eq!(env.pausegate(&["trust", "--always", &pause, "--until", "2099-12-31"]).code, Some(0));
    let entry = "except = [{ exact = '{\"text\":\"a*\"}', until = 2099-12-31 }]\n";
    let with_entry = ASKED.replace("effect = \"ask\"\n", &format!("effect = \"ask\"\n{entry}"));
    assert_eq!(grants_file(&env), format!("version = 1\n{with_entry}"), "only the entry is added");
    assert_snapshot!(env.pausegate(&["trust", "--always", &pause]), @r"
    $ pausegate trust --always pa_1
    `[TMP]/home/.config/pausegate/grants.toml` lets this call of probe__echo_once pass already; nothing changed
    --- exit 0
    ");

    assert_eq!(env.pausegate(&call).code, Some(0));
    assert_eq!(env.pausegate(&["call", "probe__echo_once", r#"{"text": "ab"}"#]).code, Some(75), "a star stands for itself");
    assert_snapshot!(env.pausegate(&["explain", "probe__echo_once", r#"{"text": "a*"}"#]), @r#"
    $ pausegate explain probe__echo_once '{"text": "a*"}'
    probe__echo_once (once) allowed
      because
        grants.toml:3: ask probe__echo_once, skipped by except exactly {"text":"a*"} until 2099-12-31
      holds without asking
        nothing
      an approval opens
        nothing beyond running the call
      lines of the plugin's section
        grants.toml: no section `[plugins.probe]`, so it holds nothing
      rules for the tool
        grants.toml:3: ask probe__echo_once: skipped by except exactly {"text":"a*"} until 2099-12-31
    --- exit 0
    "#);

    env.grants(ASKED);
    assert_eq!(env.pausegate(&call).code, Some(75), "taken out by hand, it asks again");
}

#[test]
fn w68_a_revoked_grant_is_gone_for_the_next_attempt() {
    let env = TestEnvironment::new();
    env.script_of_the_main_job();
    assert_eq!(env.pausegate(&["run", "go", "--model", "script:turns.json"]).code, Some(75));
    // Approved while the grant stood, and revoked before it is used.
    for pause in env.pending() {
        assert_eq!(env.pausegate(&["approve", &pause]).code, Some(0));
    }
    env.grants("[plugins.files]\ndigest = \"any\"\n");
    let chain = env.chains()[0].clone();
    env.pausegate(&["resume", &chain]);
    for pause in env.pending() {
        assert_eq!(env.pausegate(&["approve", &pause]).code, Some(0));
    }
    assert_eq!(env.pausegate(&["resume", &chain]).code, Some(0));
    assert_eq!(env.build(), ["a.tmp", "b.tmp", "keep.txt"]);
    assert_eq!(env.pausegate(&LIST).code, Some(1));
}

#[test]
fn only_an_approval_stands_and_only_for_what_is_not_denied() {
    let env = asking();
    assert_eq!(env.pausegate(&["call", "survey__choose", r#"{"reason": "which", "choices": ["a"]}"#]).code, Some(75));
    let choice = env.pending()[0].clone();
    assert_eq!(env.pausegate(&["trust", "--always", &choice]).code, Some(65));
    assert_eq!(env.pausegate(&["trust", "--always", "pa_nothing"]).code, Some(66));
    assert_eq!(env.pausegate(&["call", "probe__echo_once", r#"{"text": "a"}"#]).code, Some(75));
    let gate = env.pending()[1].clone();
    assert_eq!(env.pausegate(&["trust", "--always", &gate, "--until", "1999-01-01"]).code, Some(64));
    assert_eq!(env.pausegate(&["trust", "--always", &gate, "--until", "soon"]).code, Some(64));
    assert_eq!(env.pausegate(&["trust", "probe", "--always", &gate]).code, Some(64));
    env.grants("[[rules]]\ntool = \"probe__*\"\neffect = \"deny\"\n");
    assert_snapshot!(env.pausegate(&["trust", "--always", &gate]), @r"
    $ pausegate trust --always pa_2
    --- stderr
    error: these arguments of probe__echo_once are denied now, and no standing approval lifts that
    caused by: grants.toml:2: deny probe__*
    --- exit 65
    ");
}

#[test]
fn a_standing_approval_opens_exactly_what_its_arguments_name() {
    let env = TestEnvironment::new();
    env.add_guest("probe");
    env.grants(&FILES_GRANTS.replace("plugins.files", "plugins.probe"));
    let write = |path: &str| env.pausegate(&["call", "probe__fs", &json!({"op": "write", "path": path, "text": "new"}).to_string()]);
    assert_eq!(write("/build/a.tmp").code, Some(75), "an approved-only line is reached for");
    let shown = env.pausegate(&["trust", "--always", &env.pending()[0]]);
    assert_eq!((shown.code, shown.stderr.as_str()), (Some(0), ""), "{shown}");
    assert_eq!(write("/build/a.tmp").code, Some(0));
    assert_eq!(fs::read_to_string(env.path("work/build/a.tmp")).unwrap(), "new");
    assert_eq!(write("/build/b.tmp").code, Some(75), "the rule asks for every other call");

    // What hangs on no argument is opened by nobody beforehand.
    env.grants(&FILES_GRANTS.replace("plugins.files", "plugins.probe").replace("within = \"args.path\"", "scope = \"whole\""));
    assert_eq!(write("/build/keep.txt").code, Some(75));
    let shown = env.pausegate(&["trust", "--always", env.pending().last().unwrap()]);
    assert!(shown.stderr.contains("asked about each time all the same"), "{shown}");
    assert_eq!(write("/build/keep.txt").code, Some(75));
}

#[test]
fn a_question_of_the_plugin_gets_a_rule_of_its_own() {
    let env = TestEnvironment::new();
    assert_eq!(env.pausegate(&["call", "files__delete", r#"{"path": "/build/a.tmp"}"#]).code, Some(75));
    assert_snapshot!(env.pausegate(&["trust", "--always", &env.pending()[0], "--until", "2099-12-31"]), @r#"
    $ pausegate trust --always pa_1 --until 2099-12-31
    written to `[TMP]/home/.config/pausegate/grants.toml`, a rule of its own
        [[rules]]
        tool = "files__delete"
        effect = "ask"
        except = [{ exact = '{"path":"/build/a.tmp"}', until = 2099-12-31 }]
    a standing approval: this call, with exactly these arguments, passes without asking
    through 2099-12-31, or until the entry is taken out by hand
    every other call of files__delete is asked by that rule from now on
    --- exit 0
    "#);
}

#[test]
fn explain_says_what_would_let_a_denied_call_run() {
    let env = TestEnvironment::new();
    let none = "[[plugins.files.fs]]\nmount = \"/build/keep.txt\"\naccess = \"none\"\n";
    env.grants(&format!("{FILES_GRANTS}{none}"));
    assert_snapshot!(env.pausegate(&["explain", "files__delete", r#"{"path": "/build/keep.txt"}"#]), @r#"
    $ pausegate explain files__delete '{"path": "/build/keep.txt"}'
    files__delete (once) denied
      because
        grants.toml:15: none /build/keep.txt covers args.path = "/build/keep.txt"
      lines of the plugin's section
        grants.toml:5: in force: fs read everything below /build
        grants.toml:9: stays shut: fs write within args.path: args.path = "/build/keep.txt" is covered by none /build/keep.txt
        grants.toml:15: in force: fs none everything below /build/keep.txt
      needed to run without asking
        grants.toml:15: take the line `access = "none"` at mount /build/keep.txt out
    --- exit 77
    "#);
    let past = "except = [{ args.path = \"/build/**\", until = 2020-01-01 }]\napprovers = [\"alice\"]\n";
    env.grants(&format!(
        "[[rules]]\ntool = \"files__*\"\neffect = \"ask\"\n{past}[[rules]]\ntool = \"*\"\neffect = \"deny\"\nargs.path = \"/etc/**\"\n"
    ));
    assert_snapshot!(env.pausegate(&["explain", "files__delete", r#"{"path": "/build/a.tmp"}"#]), @r#"
    $ pausegate explain files__delete '{"path": "/build/a.tmp"}'
    files__delete (once) asks a person first
      because
        grants.toml:2: ask files__*
      holds without asking
        nothing
      an approval opens
        nothing beyond running the call
      lines of the plugin's section
        grants.toml: no section `[plugins.files]`, so it holds nothing
      rules for the tool
        grants.toml:2: ask files__*: asks [ME]; except args.path = "/build/**" until 2020-01-01 ran out
        grants.toml:7: deny * args.path = "/etc/**": does not match these arguments
      who may approve
        [ME]
      needed to run without asking
        an approval each time; after the first, `pausegate trust --always PAUSE` lets exactly these arguments pass
    --- exit 0
    "#);
    assert_snapshot!(env.pausegate(&["explain", "files__delete", r#"{"path": "/etc/passwd"}"#]), @r#"
    $ pausegate explain files__delete '{"path": "/etc/passwd"}'
    files__delete (once) denied
      because
        grants.toml:7: deny * args.path = "/etc/**"
      lines of the plugin's section
        grants.toml: no section `[plugins.files]`, so it holds nothing
      rules for the tool
        grants.toml:2: ask files__*: asks [ME]
        grants.toml:7: deny * args.path = "/etc/**": denies
      needed to run without asking
        grants.toml:7: take the rule out, or let just this call pass with `except = [{ tool = "files__delete", exact = '{"path":"/etc/passwd"}' }]`
    --- exit 77
    "#);

    // The line that is named, pasted, allows it.
    env.grants("[defaults]\ntools = \"deny\"\n");
    let needed = env.pausegate(&["explain", "files__delete", "--json"]).json()["needed"].clone();
    let lines: Vec<_> = needed.as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    env.grants(&format!("[defaults]\ntools = \"deny\"\n{}\n", lines.join("\n")));
    assert_eq!(env.pausegate(&["explain", "files__delete"]).code, Some(0));
}
