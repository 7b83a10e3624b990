//! A secret from the operator's environment or file, on every way to a call, and on no way out.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::json;

use super::TestEnvironment;
use super::environment::Shown;

const CANARY: &str = "canary-K3y-0123456789";

/// Echoes what it gets, and keeps it.
fn server() -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heads = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&heads);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, mut head, mut byte) = (stream.unwrap(), Vec::new(), [0]);
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
                head.push(byte[0]);
            }
            let head = String::from_utf8(head).unwrap();
            // Seen before it is answered, so that whoever got the answer finds it.
            seen.lock().unwrap().push(head.clone());
            write!(stream, "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{head}", head.len()).unwrap();
        }
    });
    (port, heads)
}

fn grants(port: u16, source: &str) -> String {
    format!(
        "[plugins.probe]\ndigest = \"any\"\n[[plugins.probe.http]]\nurl = \"http://127.0.0.1:{port}/**\"\nmethods = [\"GET\", \"HEAD\"]\nprivate = true\n\
         secret = {{ name = \"WEATHER_KEY\", {source}, header = \"x-key\", format = \"key {{}}\" }}\n\
         [[rules]]\ntool = \"probe__http\"\nargs = {{ method = \"HEAD\" }}\neffect = \"ask\"\n"
    )
}

fn probing(port: u16, source: &str) -> TestEnvironment {
    let env = TestEnvironment::new();
    env.add_guest("probe");
    env.grants(&grants(port, source));
    env
}

fn with_key(env: &TestEnvironment, args: &[&str]) -> Shown {
    let output = env.command().env("WEATHER_KEY", CANARY).args(args).output().unwrap();
    env.shown(args, &output)
}

/// Every file below holds no secret.
fn without_canary(folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            without_canary(&entry.path());
        } else if entry.file_name() != "weather.key" {
            let bytes = std::fs::read(entry.path()).unwrap();
            assert!(!bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes()), "{}", entry.path().display());
        }
    }
}

#[test]
fn w30_w33_a_secret_arrives_by_every_way_and_is_kept_nowhere() {
    for source in ["source = \"env\"", "source = \"file\", path = \"keys/weather.key\""] {
        let (port, heads) = server();
        let env = probing(port, source);
        env.write("home/.config/pausegate/keys/weather.key", &format!("{CANARY}\n"));
        let url = |path: &str| format!("http://127.0.0.1:{port}{path}");
        let called = with_key(&env, &["call", "probe__http", &json!({"method": "GET", "url": url("/call")}).to_string()]);
        let call = |id: &str, method: &str, path: &str| json!({"id": id, "name": "probe__http", "arguments": {"method": method, "url": url(path)}});
        env.script(json!([{"tool_calls": [call("a", "GET", "/run"), call("b", "HEAD", "/asked")]}, {"text": "done"}]));
        let run = with_key(&env, &["run", "go", "--model", "script:turns.json"]);
        assert_eq!(run.code, Some(75), "{run}");
        assert_eq!(with_key(&env, &["approve", &env.pending()[0]]).code, Some(0));
        let resumed = with_key(&env, &["resume", &env.chains()[0]]);
        assert_eq!(resumed.code, Some(0), "{resumed}");
        let messages = with_key(&env, &["inspect", &env.chains()[0], "--messages"]);
        let explained = with_key(&env, &["explain", "probe__http"]);
        for shown in [called, run, resumed, messages, explained] {
            assert!(!shown.stdout.contains(CANARY) && !shown.stderr.contains(CANARY), "{shown}");
        }
        let heads = heads.lock().unwrap();
        let paths: Vec<_> = heads.iter().map(|head| head.split(' ').nth(1).unwrap()).collect();
        assert_eq!(paths, ["/call", "/run", "/asked"]);
        assert!(heads.iter().all(|head| head.contains(&format!("x-key: key {CANARY}\r\n"))), "{heads:?}");
        without_canary(&env.path("home"));
        without_canary(&env.path("work"));
    }
}

#[test]
fn w30_a_missing_secret_is_told_before_any_request() {
    let (port, heads) = server();
    let env = probing(port, "source = \"env\"");
    let arguments = json!({"method": "GET", "url": format!("http://127.0.0.1:{port}/")}).to_string();
    let called = env.pausegate(&["call", "probe__http", &arguments]);
    assert_eq!(called.code, Some(1));
    assert!(called.to_string().contains("auth-required"), "{called}");
    assert!(called.stderr.contains("secret `WEATHER_KEY`: environment variable `WEATHER_KEY` is missing"), "{called}");
    let explained = env.pausegate(&["explain", "probe__http", &arguments]);
    assert!(explained.stdout.contains("with secret WEATHER_KEY in header x-key"), "{explained}");
    assert!(explained.stderr.contains("environment variable `WEATHER_KEY` is missing"), "{explained}");
    let status = |shown: Shown| shown.json().as_array().unwrap().iter().find(|check| check["name"] == "secret").unwrap()["status"].clone();
    assert_eq!(status(env.pausegate(&["doctor", "--json"])), "wrong");
    assert_eq!(status(with_key(&env, &["doctor", "--json"])), "ok");
    assert_eq!(heads.lock().unwrap().len(), 0);
}
