//! Effects before a pause, with the real binary, process after process, and a server that counts.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::TestEnvironment;

/// Answers each request with its number, and keeps what was asked.
struct Server {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, asked) = (listener.local_addr().unwrap().port(), Arc::new(Mutex::new(Vec::new())));
        let kept = Arc::clone(&asked);
        std::thread::spawn(move || listener.incoming().for_each(|stream| answer(&mut stream.unwrap(), &kept)));
        Self { port, asked }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn answer(stream: &mut TcpStream, asked: &Mutex<Vec<String>>) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
        head.push(byte[0]);
    }
    let line = String::from_utf8_lossy(&head).lines().next().unwrap_or_default().to_owned();
    let count = {
        let mut asked = asked.lock().unwrap();
        asked.push(line);
        asked.len().to_string()
    };
    let _ = write!(stream, "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{count}", count.len());
}

fn env(server: &Server, more: &str, steps: Value) -> TestEnvironment {
    set_up(TestEnvironment::new(), server, more, steps)
}

fn set_up(env: TestEnvironment, server: &Server, more: &str, steps: Value) -> TestEnvironment {
    env.add_guest("probe");
    let line = format!(
        "[plugins.probe]\ndigest = \"any\"\nkv = {{ scope = \"chain\" }}\n[[plugins.probe.http]]\nurl = \"{}\"\nmethods = [\"POST\"]\nprivate = true\n",
        server.url("/v1/*")
    );
    env.grants(&format!("{line}{more}"));
    env.script(json!([{"tool_calls": [{"id": "c0", "name": "probe__retold", "arguments": {"steps": steps, "save": true}}]}, {"text": "done"}]));
    assert_eq!(env.pausegate(&["run", "go", "--model", "script:turns.json"]).code, Some(75));
    env
}

fn call(env: &TestEnvironment) -> Value {
    env.pausegate(&["inspect", &env.chains()[0], "--json"]).json()["calls"][0].clone()
}

#[test]
fn w57_an_effect_is_seen_once_by_the_world_over_six_pauses() {
    let server = Server::start();
    let mut steps = vec![json!({"post": server.url("/v1/first")}), json!({"increment": "k"})];
    steps.extend((1..=6).map(|n| json!({"ask": format!("q{n}")})));
    steps.push(json!({"post": server.url("/v1/last")}));
    let env = env(&server, "", steps.into());
    let chain = env.chains()[0].clone();
    for number in 1..=6 {
        env.pausegate(&["respond", &env.pending()[0], "--text", &format!("a{number}")]);
        assert_eq!(env.pausegate(&["resume", &chain]).code, Some(if number == 6 { 0 } else { 75 }));
    }
    assert_eq!(server.asked(), ["POST /v1/first HTTP/1.1", "POST /v1/last HTTP/1.1"]);
    let call = call(&env);
    assert_eq!(call["result"]["content"][0]["text"], "200 1\nok: 1\na1\na2\na3\na4\na5\na6\n200 2");
    assert_eq!((&call["attempts"], &call["uses"]["http_effects"], &call["uses"]["kv_writes"]), (&json!(7), &json!(2), &json!(1)));
    assert_eq!(env.pausegate(&["audit", "verify"]).code, Some(0));
}

#[test]
fn a_use_after_an_effect_waits_for_a_person_and_neither_is_made_twice() {
    let server = Server::start();
    let waits = format!(
        "[[plugins.probe.http]]\nurl = \"{}\"\nmethods = [\"POST\"]\nprivate = true\nwhen = \"approved\"\nscope = \"whole\"\n",
        server.url("/pay")
    );
    let env = env(&server, &waits, json!([{"post": server.url("/v1/first")}, {"post": server.url("/pay"), "body": "10"}]));
    let pending = env.pausegate(&["pending", "--json"]).json();
    assert_eq!((&pending[0]["kind"], server.asked().len()), (&json!("capability"), 1));
    assert_eq!(env.pausegate(&["approve", &env.pending()[0]]).code, Some(0));
    assert_eq!(env.pausegate(&["resume", &env.chains()[0]]).code, Some(0));
    assert_eq!(server.asked(), ["POST /v1/first HTTP/1.1", "POST /pay HTTP/1.1"]);
    assert_eq!(call(&env)["result"]["content"][0]["text"], "200 1\n200 2");
}

#[test]
fn a_call_that_asks_for_something_else_after_a_pause_is_in_doubt_and_does_nothing() {
    let server = Server::start();
    // Not from saved state: there it may.
    let env = TestEnvironment::new();
    env.add_guest("probe");
    env.grants(&format!(
        "[plugins.probe]\ndigest = \"any\"\n[[plugins.probe.http]]\nurl = \"{}\"\nmethods = [\"POST\"]\nprivate = true\n",
        server.url("/v1/*")
    ));
    let steps = json!([{"post_attempt": server.url("/v1/a")}, {"ask": "q"}]);
    env.script(json!([{"tool_calls": [{"id": "c0", "name": "probe__retold", "arguments": {"steps": steps}}]}, {"text": "done"}]));
    assert_eq!(env.pausegate(&["run", "go", "--model", "script:turns.json"]).code, Some(75));
    env.pausegate(&["respond", &env.pending()[0], "--text", "yes"]);
    let chain = env.chains()[0].clone();
    assert_eq!(env.pausegate(&["resume", &chain]).code, Some(75));
    let pending = env.pausegate(&["pending", "--json"]).json();
    assert_eq!((&pending[0]["kind"], server.asked().len()), (&json!("in_doubt"), 1));
    assert!(pending[0]["reason"].as_str().unwrap().contains("asked for something else than before"), "{pending}");
    assert_eq!(env.pausegate(&["settle", &env.pending()[0], "--give-up"]).code, Some(0));
    assert_eq!(env.pausegate(&["resume", &chain]).code, Some(0));
    assert_eq!(server.asked().len(), 1);
    assert_eq!(env.pausegate(&["replay", &chain]).code, Some(0));
}

/// The plugin directory as somebody left it who put another plugin in the probe's place.
fn replace_the_probe(env: &TestEnvironment) {
    let plugins = env.path("home/.local/share/pausegate/plugins");
    std::fs::copy(plugins.join("survey.wasm"), plugins.join(".probe.new")).unwrap();
    std::fs::rename(plugins.join(".probe.new"), plugins.join("probe.wasm")).unwrap();
}

#[test]
fn w63_h67_a_plugin_replaced_while_its_call_waits_goes_on_as_the_person_saw_it() {
    let server = Server::start();
    let env = env(&server, "", json!([{"post": server.url("/v1/first")}, {"ask": "q"}]));
    env.pausegate(&["respond", &env.pending()[0], "--text", "yes"]);
    replace_the_probe(&env);
    let chain = env.chains()[0].clone();
    let resumed = env.pausegate(&["resume", &chain]);
    assert_eq!(resumed.code, Some(0), "{resumed}");
    assert!(resumed.stderr.contains("plugin `probe` is another one now"), "{resumed}");
    assert_eq!(call(&env)["result"]["content"][0]["text"], "200 1\nyes");
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn w63_h79_where_the_operator_wants_it_a_replaced_plugin_blocks_with_the_command_that_goes_on() {
    let server = Server::start();
    let env = TestEnvironment::new();
    env.write("home/.config/pausegate/config.toml", "plugin_changed = \"block\"\n");
    let env = set_up(env, &server, "", json!([{"post": server.url("/v1/first")}, {"ask": "q"}]));
    env.pausegate(&["respond", &env.pending()[0], "--text", "yes"]);
    replace_the_probe(&env);
    let chain = env.chains()[0].clone();
    for _ in 0..2 {
        let resumed = env.pausegate(&["resume", &chain]);
        assert_eq!(resumed.code, Some(75), "{resumed}");
        assert!(resumed.stderr.contains("the bytes of plugin `probe` changed") && resumed.stderr.contains("--accept-plugin"), "{resumed}");
    }
    assert_eq!(env.pausegate(&["resume", &chain, "--accept-plugin"]).code, Some(0));
    assert!(call(&env)["result"]["message"].as_str().unwrap().contains("no tool"));
    assert_eq!(server.asked().len(), 1);
}

/// A call that was answered, and whose plugin was replaced before it went on, where the operator wants to be asked.
fn asked_about_other_bytes(server: &Server) -> (TestEnvironment, String) {
    let env = TestEnvironment::new();
    env.write("home/.config/pausegate/config.toml", "plugin_changed = \"ask\"\n");
    let env = set_up(env, server, "", json!([{"post": server.url("/v1/first")}, {"ask": "q"}]));
    env.pausegate(&["respond", &env.pending()[0], "--text", "yes"]);
    replace_the_probe(&env);
    let chain = env.chains()[0].clone();
    let resumed = env.pausegate(&["resume", &chain]);
    assert_eq!(resumed.code, Some(75), "{resumed}");
    (env, chain)
}

#[test]
fn w63_where_the_operator_wants_it_a_person_chooses_the_bytes_with_both_before_their_eyes() {
    let server = Server::start();
    let (env, chain) = asked_about_other_bytes(&server);
    let pause = env.pending()[0].clone();
    let listed = env.pausegate(&["pending", "--json"]).json();
    assert_eq!(listed[0]["kind"], "plugin_changed");
    let shown = env.pausegate(&["resume", &chain]).stderr;
    for told in
        ["plugin_changed: the plugin's bytes were replaced", "pinned sha256:", "new    sha256:", " bytes", "tool `retold` is gone", "--choice pinned"]
    {
        assert!(shown.contains(told), "{told}: {shown}");
    }
    let nonsense = env.pausegate(&["respond", &pause, "--choice", "both"]);
    assert_eq!(nonsense.code, Some(65), "{nonsense}");
    assert_eq!(env.pausegate(&["respond", &pause, "--choice", "pinned"]).code, Some(0));
    let resumed = env.pausegate(&["resume", &chain]);
    assert_eq!(resumed.code, Some(0), "{resumed}");
    assert_eq!(call(&env)["result"]["content"][0]["text"], "200 1\nyes");
    assert_eq!(server.asked().len(), 1);
    assert_eq!(env.pausegate(&["replay", &chain]).code, Some(0));
}

#[test]
fn w63_new_bytes_that_a_person_takes_are_those_that_run() {
    let server = Server::start();
    let (env, chain) = asked_about_other_bytes(&server);
    assert_eq!(env.pausegate(&["approve", &env.pending()[0]]).code, Some(0));
    assert_eq!(env.pausegate(&["resume", &chain]).code, Some(0));
    assert!(call(&env)["result"]["message"].as_str().unwrap().contains("no tool"), "{}", call(&env));
    assert_eq!(env.pausegate(&["replay", &chain]).code, Some(0));
}
