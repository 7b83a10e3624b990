//! Help with the grants file: lines that refusals print, lines that do nothing, the schema, another program's policy.

use std::fs;
use std::io::{BufRead, BufReader, Write};

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::TestEnvironment;
use super::environment::FILES_GRANTS;

/// Answers every request with `hello`, until the test ends.
fn web_server() -> String {
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

/// What the tool said: `ok…`, or the status and body of a response.
fn said(shown: &Value) -> String {
    shown["result"].to_string()
}

const SECTION: &str = "[plugins.probe]\ndigest = \"any\"\n";

#[test]
fn w26_every_refusal_prints_lines_that_allow_it_when_they_are_pasted() {
    let url = web_server();
    let fs_call = |op: &str, path: &str| ("fs", json!({"op": op, "path": path, "to": "/build/to", "text": "x"}));
    let read = "[[plugins.probe.fs]]\npath = \"BUILD\"\nmount = \"/build\"\naccess = \"read\"\n";
    let approved = read.replace("\"read\"", "\"write\"") + "when = \"approved\"\nscope = \"whole\"\non_missing = \"refuse\"\n";
    let inner = read.replace("\"/build\"", "\"/build/inner\"");
    let get = format!("[[plugins.probe.http]]\nurl = \"{url}\"\nmethods = [\"GET\"]\nprivate = true\n");
    let shy = get.replace("private = true\n", "");
    let cases: Vec<(&str, String, (&str, Value))> = vec![
        ("no section", String::new(), fs_call("read", "/build/a.tmp")),
        ("no line", SECTION.into(), fs_call("read", "/build/a.tmp")),
        ("list", SECTION.into(), fs_call("list", "/build")),
        ("stat", SECTION.into(), fs_call("stat", "/build/a.tmp")),
        ("write", SECTION.into(), fs_call("write", "/build/new")),
        ("write beside read", format!("{SECTION}{read}"), fs_call("write", "/build/new")),
        ("append beside read", format!("{SECTION}{read}"), fs_call("append", "/build/a.tmp")),
        ("delete beside read", format!("{SECTION}{read}"), fs_call("unlink", "/build/a.tmp")),
        ("rename beside read", format!("{SECTION}{read}"), fs_call("rename", "/build/a.tmp")),
        ("make a folder beside read", format!("{SECTION}{read}"), fs_call("mkdir", "/build/folder")),
        ("approved only", format!("{SECTION}{approved}"), fs_call("write", "/build/new")),
        ("beside a mount below", format!("{SECTION}{inner}"), fs_call("write", "/build/new/x")),
        ("get", SECTION.into(), ("http", json!({"method": "GET", "url": url}))),
        ("get without a section", String::new(), ("http", json!({"method": "GET", "url": url}))),
        ("post beside get", format!("{SECTION}{get}"), ("http", json!({"method": "POST", "url": url, "body": "x"}))),
        ("private", format!("{SECTION}{shy}"), ("http", json!({"method": "GET", "url": url}))),
        ("a value", SECTION.into(), ("kv", json!({"op": "get", "key": "a"}))),
        ("a value without a section", String::new(), ("kv", json!({"op": "get", "key": "a"}))),
        ("a star in the path", SECTION.into(), ("http", json!({"method": "GET", "url": url.replace("/v1/x", "/v1/*")}))),
    ];
    for (name, grants, (tool, arguments)) in cases {
        let env = TestEnvironment::new();
        env.add_guest("probe");
        env.grants(&grants);
        let (tool, arguments) = (format!("probe__{tool}"), arguments.to_string());
        let call = ["call", tool.as_str(), arguments.as_str(), "--json"];
        let before = env.pausegate(&call).json();
        let refusals = before["refusals"].as_array().unwrap();
        assert!(!refusals.is_empty() && !said(&before).contains("\"ok") && !said(&before).contains("hello"), "{name}: {before}");
        let lines = refusals[0]["allow_with"].as_str().unwrap();
        // A guest's path is a guess of the host's: the folder's name is for the operator to correct.
        env.grants(&format!("{grants}{}\n", lines.replace("\"./build\"", "\"BUILD\"").replace("\"./new\"", "\"BUILD\"")));
        let after = env.pausegate(&call).json();
        assert!(after["refusals"].as_array().unwrap().is_empty(), "{name}: {lines}\n{after}");
        assert!(said(&after).contains("ok") || said(&after).contains("hello"), "{name}: {lines}\n{after}");
    }
}

#[test]
fn w26_a_value_that_a_read_line_keeps_and_a_secret_that_is_missing_come_with_what_helps() {
    let env = TestEnvironment::new();
    env.add_guest("probe");
    let read = format!("{SECTION}[plugins.probe.kv]\naccess = \"read\"\n");
    env.grants(&read);
    let set = ["call", "probe__kv", r#"{"op": "set", "key": "a", "value": "x"}"#, "--json"];
    let told = env.pausegate(&set).json()["refusals"][0]["allow_with"].as_str().unwrap().to_owned();
    let line = told.split('`').nth(1).unwrap();
    assert!(told.starts_with("# ") && line == "access = \"write\"", "{told}");
    env.grants(&read.replace("access = \"read\"", line));
    assert!(said(&env.pausegate(&set).json()).contains("ok: set"));

    let url = web_server();
    let secret = "secret = { name = \"PASTED_KEY\", source = \"env\", header = \"x-key\" }";
    env.grants(&format!("{SECTION}[[plugins.probe.http]]\nurl = \"{url}\"\nmethods = [\"GET\"]\nprivate = true\n{secret}\n"));
    let arguments = json!({"method": "GET", "url": url}).to_string();
    let get = ["call", "probe__http", &arguments, "--json"];
    let told = env.pausegate(&get).json()["refusals"][0]["allow_with"].as_str().unwrap().to_owned();
    assert_eq!(told, "# secret `PASTED_KEY`: environment variable `PASTED_KEY` is missing");
    let variable = told.split('`').nth(3).unwrap();
    let output = env.command().env(variable, "0123456789abcdef").args(get).output().unwrap();
    assert!(said(&env.shown(&get, &output).json()).contains("hello"));
}

#[test]
fn w26_a_none_line_is_named_and_taken_out_it_allows() {
    let env = TestEnvironment::new();
    env.add_guest("probe");
    let read = format!("{SECTION}[[plugins.probe.fs]]\npath = \"BUILD\"\nmount = \"/build\"\naccess = \"read\"\n");
    let none = "[[plugins.probe.fs]]\nmount = \"/build/keep.txt\"\naccess = \"none\"\n";
    env.grants(&format!("{read}{none}"));
    let call = ["call", "probe__fs", r#"{"op": "read", "path": "/build/keep.txt"}"#, "--json"];
    let refused = env.pausegate(&call).json();
    let told = refused["refusals"][0]["allow_with"].as_str().unwrap();
    assert!(told.starts_with("# ") && told.contains("/build/keep.txt") && told.contains("take that line out"), "{told}");
    env.grants(&read);
    assert!(said(&env.pausegate(&call).json()).contains("ok: keep.txt"));
}

#[test]
fn w26_a_tool_that_says_it_only_reads_is_told_that_no_line_helps() {
    let env = TestEnvironment::new();
    env.add_guest("probe");
    env.grants(SECTION);
    for (tool, arguments) in [
        ("probe__fs_as_reader", json!({"op": "write", "path": "/build/new", "text": "x"})),
        ("probe__http_as_reader", json!({"method": "POST", "url": "http://127.0.0.1:9/"})),
    ] {
        let refused = env.pausegate(&["call", tool, &arguments.to_string(), "--json"]).json();
        let told = refused["refusals"][0]["allow_with"].as_str().unwrap();
        assert!(told.starts_with("# ") && told.contains("read-only"), "{told}");
    }
}

/// With a slip of each kind.
const SLIPS: &str = r#"
[[plugins.files.fs]]
path = "BUILD"
mount = "/build/keep.txt"
access = "read"
[[plugins.files.fs]]
mount = "/build/keep.txt"
access = "none"
[plugins.fils]
digest = "any"
[[rules]]
tool = "files__delte"
effect = "deny"
[[rules]]
tool = "survey__*"
effect = "ask"
except = [{ args.reason = "x", until = 2020-01-01 }]
"#;

#[test]
fn lines_that_do_nothing_are_warned_about_and_stop_nothing() {
    let env = TestEnvironment::new();
    env.grants(
        &format!("{FILES_GRANTS}{SLIPS}")
            .replace("path = \"BUILD\"\nmount = \"/build/keep.txt\"", "path = \"BUILD/keep.txt\"\nmount = \"/build/keep.txt\""),
    );
    assert_snapshot!(env.pausegate(&["plugins"]), @r#"
    $ pausegate plugins
    PLUGIN  TRUSTED  TOOLS  DIGEST
    files   any      4      sha256:…
    survey  no       6      sha256:…
    --- stderr
    grants.toml:16: never in force: the `none` line 20 covers all of /build/keep.txt
    grants.toml:23: `[plugins.fils]` grants nothing: there is no plugin `fils`
    grants.toml:25: the rule matches nothing: no loaded tool fits `files__delte`
    grants.toml:28: its except args.reason = "x" until 2020-01-01 ran out; take it out, or give it a later day
    --- exit 0
    "#);
    let doctor = env.pausegate(&["doctor", "--json"]);
    assert_eq!(doctor.code, Some(0), "{doctor}");
    for slip in ["the `none` line", "`fils`", "`files__delte`", "ran out"] {
        let told = doctor.json().as_array().unwrap().iter().any(|check| check["status"] == "note" && check["text"].as_str().unwrap().contains(slip));
        assert!(told, "{slip}: {doctor}");
    }
    let call = env.pausegate(&["call", "files__list", r#"{"path": "/build"}"#]);
    assert_eq!((call.code, call.stderr.matches("grants.toml:").count()), (Some(0), 1), "a run says only which rule guards nothing: {call}");
    assert!(call.stderr.contains("grants.toml:25: this rule holds nothing back"), "{call}");
}

#[test]
fn the_schema_is_printed_as_it_is_checked_in() {
    let env = TestEnvironment::new();
    let shown = env.pausegate(&["grants", "schema"]);
    assert_eq!((shown.code, shown.json()["title"].clone()), (Some(0), json!("Pausegate grants file")));
}

#[test]
fn a_wassette_policy_is_printed_as_lines_and_written_nowhere() {
    let env = TestEnvironment::new();
    let policy = "version: \"1.0\"\ndescription: \"fetches\"\npermissions:\n  storage:\n    allow:\n      - uri: \"fs://build/**\"\n        access: [\"read\"]\n  network:\n    allow:\n      - host: \"api.weather.example\"\n      - host: \"a\\u202e.example\"\n  environment:\n    allow:\n      - key: \"TOKEN\"\n  resources:\n    limits: {cpu: \"500m\", memory: \"64Mi\"}\n";
    env.write("work/files.policy.yaml", policy);
    let before = fs::read_to_string(env.path("home/.config/pausegate/grants.toml")).unwrap();
    let shown = env.pausegate(&["grants", "import", "files.policy.yaml"]);
    assert_snapshot!(shown, @r#"
    $ pausegate grants import files.policy.yaml
    [plugins.files] # `pausegate trust files` writes the digest here
    # not carried over: environment.allow {"key":"TOKEN"}: write the value itself, below `[plugins.files.env]`; nothing is taken from the surroundings
    # not carried over: resources.limits.cpu "500m": a share of a processor; the limit `cpu` here is processor time of one attempt
    [plugins.files.limits]
    memory = "64MiB"
    [[plugins.files.fs]]
    path = "./build"
    mount = "/build"
    access = "read"
    # a wassette host admits http, too; write such a line where it is meant, and fewer methods where they are enough
    [[plugins.files.http]]
    url = "https://api.weather.example/**"
    methods = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"]
    # left out: an entry with hidden characters, or of great length
    --- exit 0
    "#);
    assert_eq!(fs::read_to_string(env.path("home/.config/pausegate/grants.toml")).unwrap(), before);

    // Pasted, and pinned by `trust`, it holds.
    env.grants(&shown.stdout.replace("\"./build\"", "\"BUILD\""));
    assert_eq!(env.pausegate(&["trust", "files"]).code, Some(0));
    assert_eq!(env.pausegate(&["call", "files__list", r#"{"path": "/build"}"#]).code, Some(0));

    env.write("work/policy.yaml", policy);
    assert_snapshot!(env.pausegate(&["grants", "import", "policy.yaml"]), @r"
    $ pausegate grants import policy.yaml
    --- stderr
    error: `policy.yaml` does not say for which plugin
    hint: give `--plugin NAME`
    --- exit 64
    ");
    assert_eq!(env.pausegate(&["grants", "import", "policy.yaml", "--plugin", "files"]).code, Some(0));
    assert_eq!(env.pausegate(&["grants", "import", "none.policy.yaml"]).code, Some(66));
    env.write("work/bad.policy.yaml", "version: '7'\n");
    assert_eq!(env.pausegate(&["grants", "import", "bad.policy.yaml"]).code, Some(65));
}
