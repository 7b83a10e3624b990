//! The operator's word against plugins and models that try around it, seen from the command line.

use std::io::{BufRead, BufReader};

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::TestEnvironment;

/// With the probe, a script of one turn that calls its `tool`, and a last word.
pub fn probing(grants: &str, calls: &[(&str, Value)]) -> TestEnvironment {
    let env = TestEnvironment::new();
    env.add_guest("probe");
    env.grants(grants);
    let calls: Vec<_> = calls
        .iter()
        .enumerate()
        .map(|(n, (tool, arguments))| json!({"id": format!("c{n}"), "name": format!("probe__{tool}"), "arguments": arguments}))
        .collect();
    env.script(json!([{"tool_calls": calls}, {"text": "done"}]));
    env
}

pub const BOUND: &str = r#"
[plugins.probe]
digest = "any"
[[plugins.probe.fs]]
path = "BUILD"
mount = "/build"
access = "read"
[[plugins.probe.fs]]
path = "BUILD"
mount = "/build"
access = "write"
when = "approved"
within = "args.path"
"#;

fn run(env: &TestEnvironment) -> Option<i32> {
    env.pausegate(&["run", "go", "--model", "script:turns.json"]).code
}

/// The results of a chain's calls, as the model saw them.
pub fn results(env: &TestEnvironment) -> Vec<String> {
    let state = env.pausegate(&["inspect", &env.chains()[0], "--messages"]).json();
    let parts = state.as_array().unwrap().iter().flat_map(|message| message["parts"].as_array().unwrap());
    parts.filter(|part| part["type"] == "tool_result").map(|part| part["output"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn d01_an_answer_opens_nothing() {
    let env = probing(BOUND, &[("ask_color_then_write", json!({"path": "/build/a.tmp"}))]);
    assert_eq!(run(&env), Some(75));
    env.pausegate(&["respond", &env.pending()[0], "--choice", "red"]);
    // The write that the answer did not open is a question of its own.
    assert_eq!(env.pausegate(&["resume", &env.chains()[0]]).code, Some(75));
    assert_eq!(std::fs::read_to_string(env.path("work/build/a.tmp")).unwrap(), "a.tmp");
    assert_eq!(env.pausegate(&["pending", "--json"]).json()[0]["kind"], "capability");
    env.pausegate(&["deny", &env.pending()[0]]);
    assert_eq!(env.pausegate(&["resume", &env.chains()[0]]).code, Some(0));
    assert_eq!(std::fs::read_to_string(env.path("work/build/a.tmp")).unwrap(), "a.tmp");
    assert!(results(&env)[0].contains("denied"), "{:?}", results(&env));
}

#[test]
fn a_use_that_only_an_approval_opens_is_held_back_shown_and_made_once() {
    let env = probing(BOUND, &[("fs", json!({"op": "write", "path": "/build/b.tmp", "text": "new"}))]);
    assert_snapshot!(env.pausegate(&["run", "go", "--model", "script:turns.json"]), @r#"
    $ pausegate run go --model script:turns.json
    --- stderr
    chain ch_1
    probe__fs {"op":"write","path":"/build/b.tmp","text":"new"}
    pause pa_1 asks for an approval
      chain      ch_1
      call       probe__fs of plugin probe, once, call c0
      kind       capability: the plugin reached for it, and had no effect before
      arguments
        {
          "op": "write",
          "path": "/build/b.tmp",
          "text": "new"
        }
      held back by the host
        > the plugin reached for what only an approval opens: fs write /build/b.tmp
      approving opens, for this call alone
        once: fs write /build/b.tmp
      the call holds, whatever is decided here
        fs read everything below /build
      lines behind it
        grants.toml:9: fs write everything below /build, only what is approved
      approvers  any user of this machine
      age        0 s
      digest     sha256:…
      pausegate approve pa_1
      pausegate deny pa_1 --note '…'

    chain ch_1 is paused; after deciding, carry it on with
      pausegate resume ch_1
    --- exit 75
    "#);
    assert_eq!(std::fs::read_to_string(env.path("work/build/b.tmp")).unwrap(), "b.tmp");
    let edit = env.pausegate(&["edit", &env.pending()[0], "--arguments", r#"{"op":"read","path":"/build/b.tmp"}"#]);
    assert_eq!(edit.code, Some(65), "{edit}");
    assert_eq!(env.pausegate(&["approve", &env.pending()[0]]).code, Some(0));
    assert_snapshot!(env.pausegate(&["resume", &env.chains()[0]]), @r#"
    $ pausegate resume ch_1
    done
    --- stderr
    probe__fs {"op":"write","path":"/build/b.tmp","text":"new"}
    probe__fs done: ok
    chain ch_1 is completed
    --- exit 0
    "#);
    assert_eq!(std::fs::read_to_string(env.path("work/build/b.tmp")).unwrap(), "new");
}

#[test]
fn on_missing_refuse_makes_an_error_of_it() {
    let refuse = BOUND.replace("when = \"approved\"", "when = \"approved\"\non_missing = \"refuse\"");
    let env = probing(&refuse, &[("fs", json!({"op": "write", "path": "/build/b.tmp", "text": "new"}))]);
    assert_eq!(run(&env), Some(0));
    assert_eq!(results(&env), ["error: PermissionDenied"]);
}

#[test]
fn d01_an_approval_opens_what_the_pause_listed_and_no_more() {
    let env = probing(BOUND, &[("approve_then_empty", json!({"path": "/build/a.tmp"}))]);
    assert_eq!(run(&env), Some(75));
    let pause = env.pausegate(&["pending", "--json"]).json()[0].clone();
    assert_eq!(pause["opens"].as_array().unwrap().len(), 1);
    assert_eq!(pause["opens"][0]["only"], "/build/a.tmp");
    env.pausegate(&["approve", &env.pending()[0]]);
    let resumed = env.pausegate(&["resume", &env.chains()[0]]);
    assert_eq!(resumed.code, Some(0));
    assert_eq!(env.build(), ["b.tmp", "keep.txt"]);
    assert!(resumed.stderr.contains("[[plugins.probe.fs]]"), "a refusal prints the line that would allow it: {resumed}");
}

#[test]
fn d01_an_approved_payment_of_10_cannot_post_1000() {
    use std::io::Write;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (tell, paid) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            tell.send(lines.next().unwrap()).unwrap();
            lines.find(String::is_empty).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok").unwrap();
        }
    });
    let grants = format!(
        "[plugins.probe]\ndigest = \"any\"\n[[plugins.probe.http]]\nurl = \"http://127.0.0.1:{port}/pay/{{args.body}}\"\n\
         methods = [\"POST\"]\nprivate = true\nwhen = \"approved\"\non_missing = \"refuse\"\n[[rules]]\ntool = \"probe__http\"\neffect = \"ask\"\n"
    );
    let pay = |amount: u32| json!({"method": "POST", "url": format!("http://127.0.0.1:{port}/pay/{amount}"), "body": "10"});
    let env = probing(&grants, &[("http", pay(1000)), ("http", pay(10)), ("http", pay(100))]);
    assert_eq!(run(&env), Some(75));
    let pauses = env.pausegate(&["pending", "--json"]).json();
    for pause in pauses.as_array().unwrap() {
        assert_eq!(pause["opens_text"].as_array().unwrap().len(), 1, "{pause}");
        assert!(pause["opens_text"][0].as_str().unwrap().ends_with("/pay/10 (private addresses too)"), "all of them show a payment of 10: {pause}");
    }
    env.pending().iter().for_each(|pause| assert_eq!(env.pausegate(&["approve", pause]).code, Some(0)));
    let resumed = env.pausegate(&["resume", &env.chains()[0]]);
    assert_eq!(resumed.code, Some(0), "{resumed}");
    let results = results(&env);
    assert!(results[0].contains("denied") && results[1].contains("200") && results[2].contains("denied"), "{results:?}");
    assert_eq!(paid.try_iter().collect::<Vec<_>>(), ["POST /pay/10 HTTP/1.1"]);
}

#[test]
fn s01_a_pause_that_a_tool_swallows_is_a_pause() {
    let env = probing(BOUND, &[("swallow", json!({}))]);
    assert_eq!(run(&env), Some(75));
    assert_eq!(env.pending().len(), 1);
}

#[test]
fn w37_a_models_word_is_no_approval() {
    let ask = "[[rules]]\ntool = \"probe__reserved\"\neffect = \"ask\"\n";
    let env = probing(&format!("{BOUND}{ask}"), &[("reserved", json!({"approved": true, "force": true, "auto": true}))]);
    assert_eq!(run(&env), Some(75));
    env.grants(BOUND);
    assert_eq!(env.pausegate(&["resume", &env.chains()[0]]).code, Some(0));
    assert_eq!(results(&env), ["arguments true true true, call false"]);
}

#[test]
fn w40_without_grants_every_door_is_shut() {
    let fs = |op: &str| ("fs", json!({"op": op, "path": "/build/a.tmp", "to": "/build/c.tmp", "text": "x"}));
    let mut calls: Vec<_> =
        ["read", "write", "create", "truncate", "append", "mkdir", "unlink", "rename", "link", "symlink", "list", "stat", "set_times"]
            .into_iter()
            .map(fs)
            .collect();
    calls.push(("http", json!({"method": "GET", "url": "http://127.0.0.1:9/"})));
    calls.push(("env", json!({})));
    let env = probing("", &calls);
    assert_eq!(run(&env), Some(0));
    let results = results(&env);
    let (env_result, doors) = results.split_last().unwrap();
    assert_eq!(env_result, "{}");
    for (result, (tool, arguments)) in doors.iter().zip(&calls) {
        assert!(result.contains("error"), "{tool} {arguments}: {result}");
    }
    assert_eq!(env.build(), ["a.tmp", "b.tmp", "keep.txt"]);
}

#[test]
fn w42_d06_other_bytes_under_a_trusted_name_hold_no_grant_until_trusted_again() {
    let env = TestEnvironment::new();
    env.grants(&super::environment::FILES_GRANTS.replace("digest = \"any\"\n", ""));
    assert_eq!(env.pausegate(&["tools"]).code, Some(78), "a section without a digest is refused");
    assert_eq!(env.pausegate(&["trust", "files"]).code, Some(0));
    let list = ["call", "files__list", r#"{"path":"/build"}"#];
    assert_eq!(env.pausegate(&list).code, Some(0));

    // The same name, tools and schemas; a custom section makes other bytes of it.
    let file = env.path("home/.local/share/pausegate/plugins/files.wasm");
    let mut bytes = std::fs::read(&file).unwrap();
    bytes.extend_from_slice(&[0, 5, 4, b'n', b'o', b't', b'e']);
    std::fs::write(&file, bytes).unwrap();
    assert_eq!(env.pausegate(&list).code, Some(1));
    let plugins = env.pausegate(&["plugins", "--json"]).json();
    let files = plugins.as_array().unwrap().iter().find(|plugin| plugin["name"] == "files").unwrap();
    assert_eq!(files["trusted"], false, "{files}");
    assert_eq!(env.pausegate(&["trust", "files"]).code, Some(0));
    assert_eq!(env.pausegate(&list).code, Some(0));
}

#[test]
fn w45_two_plugins_with_the_same_tool_names_keep_both() {
    let env = TestEnvironment::new();
    let plugins = env.path("home/.local/share/pausegate/plugins");
    std::fs::copy(plugins.join("files.wasm"), plugins.join("again.wasm")).unwrap();
    let tools = env.pausegate(&["tools", "--json"]).json();
    let names: Vec<_> = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    for name in ["again__list", "files__list", "again__delete", "files__delete"] {
        assert_eq!(names.iter().filter(|known| **known == name).count(), 1, "{names:?}");
    }
}

#[test]
fn w49_one_section_grants_all_tools_of_a_component() {
    let read = ("fs", json!({"op": "read", "path": "/build/a.tmp"}));
    let env = probing(BOUND, &[read, ("fs_as_reader", json!({"op": "read", "path": "/build/b.tmp"}))]);
    assert_eq!(run(&env), Some(0));
    assert_eq!(results(&env), ["ok: a.tmp", "ok: b.tmp"]);
}

#[test]
fn w57_six_pauses_in_a_row_are_six_questions_each_asked_once() {
    let env = probing("", &[("pause", json!({"n": 6})), ("echo", json!({"text": "sibling"}))]);
    assert_eq!(run(&env), Some(75));
    let chain = env.chains()[0].clone();
    for number in 1..=6 {
        let pending = env.pausegate(&["pending", "--json"]).json();
        assert_eq!((pending.as_array().unwrap().len(), &pending[0]["key"]), (1, &json!(format!("q{number}"))));
        env.pausegate(&["respond", &env.pending()[0], "--text", &format!("a{number}")]);
        assert_eq!(env.pausegate(&["resume", &chain]).code, Some(if number == 6 { 0 } else { 75 }));
    }
    assert_eq!(results(&env), [r#"{"answers":["a1","a2","a3","a4","a5","a6"],"counter":7}"#, "sibling"]);
    let state = env.pausegate(&["inspect", &chain, "--json"]).json();
    let attempts: Vec<_> = state["calls"].as_array().unwrap().iter().map(|call| call["attempts"].clone()).collect();
    assert_eq!(attempts, [7, 1]);
}

#[test]
fn s09_auto_approve_goes_through_the_same_rules() {
    let others = "[[rules]]\ntool = \"probe__echo_once\"\neffect = \"ask\"\napprovers = [\"somebody-else\"]\n";
    let own = "[[rules]]\ntool = \"probe__echo_once\"\neffect = \"ask\"\n";
    let denied = "[[rules]]\ntool = \"probe__echo_once\"\neffect = \"deny\"\n";
    for (rule, code, pending) in [(others, 75, 1), (own, 0, 0), (denied, 0, 0)] {
        let env = probing(rule, &[("echo_once", json!({"text": "x"}))]);
        let shown = env.pausegate(&["run", "go", "--model", "script:turns.json", "--auto-approve"]);
        assert_eq!((shown.code, env.pending().len()), (Some(code), pending), "{shown}");
    }
}

/// Answers every request with `hello`, until the test ends.
fn web_server() -> String {
    use std::io::Write;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1/x", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let head = BufReader::new(&connection).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
            assert!(head.count() > 0);
            connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello").unwrap();
        }
    });
    url
}

#[test]
fn w26_the_line_that_a_refusal_prints_makes_the_call_pass_when_it_is_pasted() {
    let env = TestEnvironment::new();
    env.add_plugin("fetch");
    let arguments = json!({"url": web_server()}).to_string();
    let call = ["call", "fetch__get", arguments.as_str(), "--json"];
    let refused = env.pausegate(&call);
    assert_eq!(refused.code, Some(1), "{refused}");
    let line = refused.json()["refusals"][0]["allow_with"].as_str().unwrap().to_owned();
    env.grants(&line);
    let allowed = env.pausegate(&call);
    assert_eq!(allowed.code, Some(0), "{line}\n{allowed}");
    assert!(allowed.stdout.contains("hello"));

    // The same for a file, below the section that is there now.
    let files = ["call", "files__write", r#"{"path":"/build/new.txt","content":"x"}"#, "--json"];
    let refused = env.pausegate(&files);
    let fs = refused.json()["refusals"][0]["allow_with"].as_str().unwrap().replace("./build", "BUILD");
    env.grants(&format!("{line}\n{fs}"));
    assert_eq!(env.pausegate(&files).code, Some(0), "{fs}");
}

/// A server that edits the grants file at each request, before it answers.
fn editing(env: &TestEnvironment, edits: Vec<String>) -> (u16, std::thread::JoinHandle<()>) {
    use std::io::Write;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, file) = (listener.local_addr().unwrap().port(), env.path("home/.config/pausegate/grants.toml"));
    let serving = std::thread::spawn(move || {
        for edit in edits {
            let mut stream = listener.accept().unwrap().0;
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            lines.find(String::is_empty).expect("a whole head");
            std::fs::write(&file, edit.replace("PORT", &port.to_string())).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
        }
    });
    (port, serving)
}

const GATED: &str = "version = 1\n[plugins.probe]\ndigest = \"any\"\n[[plugins.probe.http]]\nurl = \"http://127.0.0.1:PORT/gate\"\nmethods = [\"GET\"]\nprivate = true\n";

#[test]
fn w68_a_grant_taken_away_during_a_call_is_gone_at_the_next_effect() {
    let env = TestEnvironment::new();
    env.add_guest("probe");
    let build = env.path("work/build");
    let fs = format!("[[plugins.probe.fs]]\npath = {:?}\nmount = \"/build\"\naccess = \"write\"\n", build.to_str().unwrap());
    let broken = format!("{GATED}{fs}access = \"none\"\n");
    let (port, serving) = editing(&env, vec![broken, GATED.to_owned()]);
    let granted = format!("{GATED}{fs}").replace("PORT", &port.to_string());
    env.write("home/.config/pausegate/grants.toml", &granted);
    let write = |name: &str| json!({"fs": {"op": "write", "path": format!("/build/{name}")}});
    let steps = json!({"gate": format!("http://127.0.0.1:{port}/gate"), "steps": [write("1"), write("2"), write("3")]});
    let call = |id: &str, arguments: &Value| json!({"id": id, "name": "probe__step_by_step", "arguments": arguments});
    let one = json!({"gate": "", "steps": [write("4")]});
    env.script(json!([{"tool_calls": [call("c1", &steps)]}, {"tool_calls": [call("c2", &one)]}, {"text": "done"}]));
    let run = env.pausegate(&["run", "go", "--model", "script:turns.json"]);
    assert_eq!(run.code, Some(0), "{run}");
    serving.join().unwrap();
    assert_eq!(
        results(&env),
        ["ok\nok\nerror: PermissionDenied", "error: PermissionDenied"],
        "a broken edit keeps the grant, the next takes it: {run}"
    );
    assert_eq!(env.build(), ["1", "2", "a.tmp", "b.tmp", "keep.txt"]);
    assert_eq!(run.stderr.matches("the grants file changed: it is in force").count(), 1, "{run}");
    assert!(run.stderr.contains("[[plugins.probe.fs]]"), "the refusal prints the line that was taken away: {run}");
    // Grant, use, revoke: what the operator has left is the file without that line, and the list is without it too.
    let now = std::fs::read_to_string(env.path("home/.config/pausegate/grants.toml")).unwrap();
    assert_eq!(now.replacen(&fs, "", 1), granted.replacen(&fs, "", 1));
    let explained = env.pausegate(&["explain", "probe__fs", r#"{"op":"write","path":"/build/1"}"#]);
    assert!(!explained.stdout.contains("/build everything") && !explained.stdout.contains("fs write"), "{explained}");
}

#[test]
fn w68_a_grants_file_that_cannot_be_followed_any_more_is_told_once_and_changes_nothing() {
    let env = TestEnvironment::new();
    env.add_guest("probe");
    let (port, serving) = editing(&env, vec!["version = 1\n[plugins.probe]\nacess = 1\n".to_owned()]);
    env.write("home/.config/pausegate/grants.toml", &GATED.replace("PORT", &port.to_string()));
    let looks = json!({"fs": {"op": "stat", "path": "/"}});
    let steps = json!({"gate": format!("http://127.0.0.1:{port}/gate"), "steps": [looks, looks]});
    let call = |id: &str, name: &str, arguments: &Value| json!({"tool_calls": [{"id": id, "name": name, "arguments": arguments}]});
    let echo = json!({"text": "x"});
    env.script(json!([
        call("c1", "probe__step_by_step", &steps), call("c2", "probe__echo", &echo), call("c3", "probe__echo", &echo), {"text": "done"}
    ]));
    let run = env.pausegate(&["run", "go", "--model", "script:turns.json"]);
    assert_eq!(run.code, Some(0), "{run}");
    serving.join().unwrap();
    assert_eq!(run.stderr.matches("so the grants from before stay in force whole").count(), 1, "{run}");
    assert!(run.stderr.contains("grants.toml:3: "), "{run}");
}
