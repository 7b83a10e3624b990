//! The operator's finer words: single tools, values and settings, people and quorums, chains held to some tools.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::TestEnvironment;

/// A script of one turn that calls tools of the probe, each with arguments, and a last word.
fn script(env: &TestEnvironment, calls: &[(&str, Value)]) {
    let call =
        |(n, (tool, arguments)): (usize, &(&str, Value))| json!({"id": format!("c{n}"), "name": format!("probe__{tool}"), "arguments": arguments});
    let calls: Vec<_> = calls.iter().enumerate().map(call).collect();
    env.script(json!([{"tool_calls": calls}, {"text": "done"}]));
}

fn probing(grants: &str) -> TestEnvironment {
    let env = TestEnvironment::new();
    env.add_guest("probe");
    env.grants(grants);
    env
}

/// The results of the newest chain's calls, as the model saw them.
fn results(env: &TestEnvironment) -> Vec<String> {
    let state = env.pausegate(&["inspect", &env.chains()[0], "--messages"]).json();
    let parts = state.as_array().unwrap().iter().flat_map(|message| message["parts"].as_array().unwrap());
    parts.filter(|part| part["type"] == "tool_result").map(|part| part["output"].as_str().unwrap().to_owned()).collect()
}

fn tools(env: &TestEnvironment) -> Vec<String> {
    let tools = env.pausegate(&["tools", "--json"]).json();
    tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

const RUN: &[&str] = &["run", "go", "--model", "script:turns.json"];

#[test]
fn w49_one_block_serves_many_tools_and_narrows_each() {
    let env = probing(
        r#"
[plugins.probe]
digest = "any"
config = { units = "metric" }
[plugins.probe.tools.echo]
enabled = false
[plugins.probe.tools.kv]
effects = "read-only"
[[plugins.probe.fs]]
path = "BUILD"
mount = "/build"
access = "write"
tools = ["fs", "append_then_sleep"]
[plugins.probe.kv]
"#,
    );
    let fs = json!({"op": "read", "path": "/build/a.tmp", "to": "", "text": ""});
    script(
        &env,
        &[
            ("fs", fs.clone()),
            ("fs_as_reader", fs),
            ("settings", json!({})),
            ("kv", json!({"op": "set", "key": "a", "value": "x"})),
            ("echo", json!({"text": "x"})),
            ("env", json!({})),
        ],
    );
    assert_eq!(env.pausegate(RUN).code, Some(0));
    let results = results(&env);
    assert_eq!(results[0], "ok: a.tmp");
    assert!(results[1].starts_with("error: "), "a line for other tools: {}", results[1]);
    assert_eq!(results[2], r#"{"units":"metric"}"#);
    assert_eq!(results[3], "error: access denied", "the operator says it only reads");
    assert!(results[4].contains("there is no tool `probe__echo`"), "{}", results[4]);
    assert!(!tools(&env).contains(&"probe__echo".to_owned()) && tools(&env).contains(&"probe__echo_once".to_owned()));
    let listed = env.pausegate(&["tools", "--json"]).json();
    let kv = listed.as_array().unwrap().iter().find(|tool| tool["name"] == "probe__kv").unwrap();
    assert_eq!((&kv["effects"], &kv["declared_effects"]), (&json!("read-only"), &json!("once")));
    assert_eq!(env.pausegate(&["call", "probe__echo", "{\"text\": \"x\"}"]).code, Some(66));
    assert_eq!(env.pausegate(&["explain", "probe__echo"]).code, Some(77));
    assert!(env.pausegate(&["trust", "probe"]).stdout.contains("probe__kv (read-only (the plugin says once))"));
}

#[test]
fn a_tool_that_no_plugin_has_is_warned_about() {
    let env = probing("[plugins.files]\ndigest = \"any\"\n[plugins.files.tools.remove]\nenabled = false\n");
    script(&env, &[]);
    let ran = env.pausegate(RUN);
    assert!(ran.stderr.contains("warning: grants.toml:4: plugin `files` has no tool `remove`; it offers"), "{ran}");
    assert_eq!(ran.code, Some(0));
}

#[test]
fn w53_the_tools_are_those_of_the_enabled_plugins_that_load() {
    let env = TestEnvironment::new();
    env.add_plugin("fetch");
    env.write("home/.local/share/pausegate/plugins/broken.wasm", "no component");
    let all = tools(&env);
    for mask in 0_u32..16 {
        let names: Vec<_> =
            ["broken", "fetch", "files", "survey"].into_iter().enumerate().filter(|(n, _)| mask >> n & 1 == 1).map(|(_, name)| name).collect();
        // A list of nobody is written as one that names no plugin there is.
        let list = if names.is_empty() { json!(["nobody"]) } else { json!(names) };
        env.write("work/pausegate.toml", &format!("only_plugins = {list}\n"));
        let expected: Vec<_> = all.iter().filter(|tool| names.iter().any(|name| tool.starts_with(&format!("{name}__")))).cloned().collect();
        assert_eq!(tools(&env), expected, "{names:?}");
    }
    assert!(all.len() >= 3 && !all.iter().any(|tool| tool.starts_with("broken")));
}

#[test]
fn values_stay_with_their_chain_and_live_through_a_pause() {
    let env = probing(
        "[plugins.probe]\ndigest = \"any\"\nkv = { quota = \"1KiB\" }\n[[rules]]\ntool = \"probe__kv\"\nargs = { op = \"increment\" }\neffect = \"ask\"\n",
    );
    let kv = |op: &str, number: u32| ("kv", json!({"op": op, "key": "n", "value": "40", "number": number}));
    env.script(json!([
        {"tool_calls": [{"id": "a", "name": "probe__kv", "arguments": kv("set", 0).1}]},
        {"tool_calls": [{"id": "b", "name": "probe__kv", "arguments": kv("increment", 2).1}]},
        {"tool_calls": [{"id": "c", "name": "probe__kv", "arguments": kv("get", 0).1}, {"id": "d", "name": "probe__kv", "arguments": kv("set_bytes", 1100).1}]},
        {"text": "done"}
    ]));
    assert_eq!(env.pausegate(RUN).code, Some(75));
    env.pausegate(&["approve", &env.pending()[0]]);
    assert_eq!(env.pausegate(&["resume", &env.chains()[0]]).code, Some(0));
    assert_eq!(results(&env), ["ok: set", "ok: 42", "ok: 42", "error: over the quota: 1101 bytes of keys and values, the limit is 1024"]);
    script(&env, &[kv("get", 0)]);
    env.pausegate(RUN);
    assert_eq!(results(&env), ["ok: nothing"], "another chain");
    let state = env.pausegate(&["inspect", &env.chains()[1], "--json"]).json();
    let used: Vec<_> = state["calls"].as_array().unwrap().iter().map(|call| call["uses"]["kv_writes"].clone()).collect();
    assert_eq!(used, [json!(1), json!(1), Value::Null, Value::Null], "a change that was refused is none");
}

#[test]
fn shared_values_are_there_for_every_chain_of_the_plugin() {
    let env = probing("[plugins.probe]\ndigest = \"any\"\nkv = { scope = \"plugin\" }\n");
    for expected in ["ok: 1", "ok: 2"] {
        script(&env, &[("kv", json!({"op": "increment", "key": "n", "number": 1}))]);
        env.pausegate(RUN);
        assert_eq!(results(&env), [expected]);
    }
    let without = "[plugins.probe]\ndigest = \"any\"\n";
    env.grants(without);
    let called = env.pausegate(&["call", "probe__kv", r#"{"op": "get", "key": "n"}"#]);
    assert_eq!(called.stdout, "error: access denied\n");
    let (_, line) = called.stderr.split_once("allowed by\n").unwrap();
    let line: Vec<_> = line.lines().take_while(|line| line.starts_with("    ")).map(str::trim).collect();
    env.grants(&format!("{without}{}\n", line.join("\n").replace("\"chain\"", "\"plugin\"")));
    assert_eq!(env.pausegate(&["call", "probe__kv", r#"{"op": "get", "key": "n"}"#]).stdout, "ok: 2\n", "the line that was printed allows it");
}

#[test]
fn an_approved_only_line_holds_for_approved_calls() {
    let env = probing(
        "[plugins.probe]\ndigest = \"any\"\nkv = { when = \"approved\", on_missing = \"refuse\" }\n[[rules]]\ntool = \"probe__kv\"\nargs = { op = \"set\" }\neffect = \"ask\"\n",
    );
    script(&env, &[("kv", json!({"op": "set", "key": "a", "value": "x"})), ("kv", json!({"op": "get", "key": "a"}))]);
    assert_eq!(env.pausegate(RUN).code, Some(75));
    let pause = env.pausegate(&["pending", "--json"]).json()[0].clone();
    assert_eq!(pause["opens_text"], json!(["kv write values of this chain"]));
    env.pausegate(&["approve", &env.pending()[0]]);
    assert_eq!(env.pausegate(&["resume", &env.chains()[0]]).code, Some(0));
    assert_eq!(results(&env), ["ok: set", "error: access denied"]);
}

/// The main job's first turn paused under these lines.
fn paused(lines: &str) -> TestEnvironment {
    let env = TestEnvironment::new();
    env.grants(&format!(
        "{lines}\n[plugins.files]\ndigest = \"any\"\n[[plugins.files.fs]]\npath = \"BUILD\"\nmount = \"/build\"\naccess = \"read\"\n"
    ));
    env.script(json!([{"tool_calls": [{"id": "list", "name": "files__list", "arguments": {"path": "/build"}}]}, {"text": "done"}]));
    assert_eq!(env.pausegate(RUN).code, Some(75));
    env
}

const ASK: &str = "[[rules]]\ntool = \"files__list\"\neffect = \"ask\"\n";

#[test]
fn a_vote_is_counted_and_leaves_the_quorum_open() {
    let env = paused(&format!("{ASK}quorum = 2\n"));
    let pause = &env.pending()[0];
    assert_snapshot!(env.pausegate(&["approve", pause, "--note", "fine"]), @r"
    $ pausegate approve pa_1 --note fine
    vote counted, quorum open: pa_1, 1 of 2 people: approve by [ME]
    --- exit 0
    ");
    assert_snapshot!(env.pausegate(&["approve", pause]), @r"
    $ pausegate approve pa_1
    vote counted before, quorum open: pa_1, 1 of 2 people: approve by [ME]
    --- exit 0
    ");
    assert_snapshot!(env.pausegate(&["pending", pause]), @r#"
    $ pausegate pending pa_1
    pause pa_1 asks for an approval
      chain      ch_1
      call       files__list of plugin files, read-only, call list
      kind       gate: a rule asks, no plugin code has run for it
      arguments
        {
          "path": "/build"
        }
      asked because
        > a rule asks a person before `files__list` runs
      approving opens nothing beyond running the call
      the call holds, whatever is decided here
        fs read everything below /build
      lines behind it
        grants.toml:2: ask files__list
      approvers  any user of this machine; 2 people must say the same
      votes      1 of 2 people: approve by [ME]
      age        0 s
      digest     sha256:…
      pausegate approve pa_1
      pausegate deny pa_1 --note '…'

    --- exit 0
    "#);
    assert!(env.pausegate(&["pending"]).stdout.contains("an approval, 1 of 2"));
    let row = env.pausegate(&["pending", "--json"]).json()[0].clone();
    assert_eq!((&row["quorum"], row["votes"].as_array().unwrap().len()), (&json!(2), 1));
    assert_eq!(env.pausegate(&["resume", &env.chains()[0]]).code, Some(75), "one vote is not enough");
    assert_snapshot!(env.pausegate(&["deny", pause]), @r#"
    $ pausegate deny pa_1
    denied pa_1: files__list {"path":"/build"}
    --- stderr
    carry it on with
      pausegate resume ch_1
    --- exit 0
    "#);
    assert_eq!(env.pausegate(&["resume", &env.chains()[0]]).code, Some(0));
    assert!(env.pausegate(&["inspect", &env.chains()[0]]).stdout.contains("vote: approve by"));
}

#[test]
fn auto_approve_answers_nothing_that_takes_more_than_one_person() {
    for lines in ["quorum = 2", "exclude_requester = true", "approvers = [\"somebody-else\"]"] {
        let env = paused(&format!("{ASK}{lines}\n"));
        let mut run = RUN.to_vec();
        run.push("--auto-approve");
        assert_eq!(env.pausegate(&run).code, Some(75), "{lines}");
        assert_eq!(env.pausegate(&["pending", "--json"]).json()[1]["votes"], json!([]), "{lines}");
    }
    let env = paused(ASK);
    let mut run = RUN.to_vec();
    run.push("--auto-approve");
    assert_eq!(env.pausegate(&run).code, Some(0));
}

#[test]
fn h54_whoever_asked_is_told_that_somebody_else_decides() {
    let env = paused(&format!("{ASK}exclude_requester = true\n"));
    let pause = &env.pending()[0];
    assert_snapshot!(env.pausegate(&["approve", pause]), @r"
    $ pausegate approve pa_1
    --- stderr
    error: [ME] started the chain and may not decide pa_1; its rules want somebody else
    --- exit 77
    ");
    assert_eq!(env.pausegate(&["deny", pause]).code, Some(77));
    assert_eq!(env.pending().len(), 1);
}

#[test]
fn h53_s22_a_pause_says_which_people_decide_and_refuses_the_others() {
    let people = "[people]\nalice = [\"os:alice@laptop\", \"token:alice\"]\n";
    let env = paused(&format!("{people}{ASK}approvers = [\"alice\", \"token:bob\"]\n"));
    let pause = &env.pending()[0];
    let shown = env.pausegate(&["pending", pause]);
    assert!(shown.stdout.contains("alice (os:alice@laptop, token:alice) or token:bob"), "{}", shown.stdout);
    assert_snapshot!(env.pausegate(&["approve", pause]), @r"
    $ pausegate approve pa_1
    --- stderr
    error: [ME] may not decide pa_1; its rules name alice ([ME], token:alice) or token:bob
    --- exit 77
    ");
}

#[test]
fn a_chain_held_to_some_tools_says_so_and_stays_held() {
    let env = TestEnvironment::new();
    env.script(json!([
        {"tool_calls": [
            {"id": "list", "name": "files__list", "arguments": {"path": "/build"}},
            {"id": "read", "name": "files__read", "arguments": {"path": "/build/a.tmp"}}]},
        {"text": "done"},
        {"tool_calls": [{"id": "list", "name": "files__list", "arguments": {"path": "/build"}}]},
        {"text": "done"}
    ]));
    let mut run = RUN.to_vec();
    run.extend(["--only", "files__l*,survey__*"]);
    assert_eq!(env.pausegate(&run).code, Some(0));
    let results = results(&env);
    assert!(results[0].contains("a.tmp") && results[1].contains("there is no tool `files__read`"), "{results:?}");
    let first = env.chains()[0].clone();
    assert!(env.pausegate(&["inspect", &first]).stdout.contains("  only       files__l* or survey__*\n"));
    // Of a chain that carries it on, a further list takes away and gives nothing back.
    assert_snapshot!(env.pausegate(&["run", "--continue", &first, "again", "--only", "files__read"]), @r"
    $ pausegate run --continue ch_1 again --only files__read
    --- stderr
    error: `--only files__read` fits no tool
    hint: there are files__list, survey__approve, survey__choose, survey__text, survey__form, survey__other, survey__trip
    --- exit 64
    ");
    assert_eq!(env.pausegate(&["run", "--continue", &first, "again", "--only", "files__*", "--model", "script:turns.json"]).code, Some(0));
    let second = env.pausegate(&["inspect", &env.chains()[0], "--json"]).json();
    assert_eq!(second["settings"]["only"], json!([["files__l*", "survey__*"], ["files__*"]]));
    let offered: Vec<_> = second["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(offered, ["files__list"]);
}

#[test]
fn a_pattern_that_fits_no_tool_starts_no_chain() {
    let env = TestEnvironment::new();
    env.script(json!([{"text": "done"}]));
    let mut run = RUN.to_vec();
    run.extend(["--only", "files__list", "--only", "file__*"]);
    assert_snapshot!(env.pausegate(&run), @r"
    $ pausegate run go --model script:turns.json --only files__list --only 'file__*'
    --- stderr
    error: `--only file__*` fits no tool
    hint: there are files__list, files__read, files__write, files__delete, survey__approve, survey__choose, survey__text, survey__form, survey__other, survey__trip
    --- exit 64
    ");
    assert_eq!(env.chains(), Vec::<String>::new());
}
