//! A server for one test, and a client that says byte for byte what a test wants said.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::e2e::TestEnvironment;

/// Far beyond what anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Serving<'e> {
    env: &'e TestEnvironment,
    child: Child,
    pub port: u16,
    /// What it said on standard error so far.
    said: Arc<Mutex<String>>,
}

impl<'e> Serving<'e> {
    /// With the test's script as its model.
    pub fn new(env: &'e TestEnvironment) -> Self {
        Self::with(env, &["--model", "script:turns.json"])
    }

    pub fn with(env: &'e TestEnvironment, args: &[&str]) -> Self {
        if !env.path("work/turns.json").exists() {
            env.script(json!([{"text": "Done."}]));
        }
        let mut child = env.spawn(&[&["serve", "--listen", "127.0.0.1:0"], args].concat());
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut before = String::new();
        let port = loop {
            let mut line = String::new();
            assert!(stderr.read_line(&mut line).unwrap() > 0, "it ended: {before}");
            match line.trim().strip_prefix("serving on http://127.0.0.1:") {
                Some(port) => break port.parse().unwrap(),
                None => before += &line,
            }
        };
        // Pipes that nobody reads would stop it.
        let mut stdout = child.stdout.take().unwrap();
        std::thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()));
        let said = Arc::new(Mutex::new(before));
        let more = Arc::clone(&said);
        std::thread::spawn(move || stderr.lines().map_while(Result::ok).for_each(|line| *more.lock().unwrap() += &format!("{line}\n")));
        Self { env, child, port, said }
    }

    /// Somebody with a new token that may do `can`.
    pub fn client(&self, name: &str, can: &str) -> Client {
        let made = self.env.pausegate(&["token", "create", name, "--can", can]);
        assert_eq!(made.code, Some(0), "{made}");
        Client { port: self.port, token: Some(made.stdout.trim().to_owned()) }
    }

    pub fn nobody(&self) -> Client {
        Client { port: self.port, token: None }
    }

    /// Asks it to end; its exit code.
    pub fn end(mut self) -> Option<i32> {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        self.child.wait().unwrap().code()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }
}

impl Drop for Serving<'_> {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[derive(Clone)]
pub struct Client {
    pub port: u16,
    pub token: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The last part of a problem's type.
    pub fn problem(&self) -> String {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let problem = self.json();
        assert_eq!(problem["status"], self.status, "{self:?}");
        problem["type"].as_str().unwrap().strip_prefix("urn:pausegate:problem:").unwrap().to_owned()
    }
}

impl Client {
    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], "")
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &[("content-type", "application/json")], &body.to_string())
    }

    /// A chain with the server's own model.
    pub fn start(&self, prompt: &str) -> String {
        let started = self.post("/api/v1/chains", &json!({"prompt": prompt}));
        assert_eq!(started.status, 201, "{started:?}");
        started.json()["id"].as_str().unwrap().to_owned()
    }

    /// Decides by what the pause looks like now.
    pub fn decide(&self, pause: &str, decision: &Value) -> Answer {
        let seen = self.get(&format!("/api/v1/pauses/{pause}"));
        let Some(tag) = seen.header("etag") else { return seen };
        self.decide_as_seen(pause, tag, decision)
    }

    pub fn decide_as_seen(&self, pause: &str, tag: &str, decision: &Value) -> Answer {
        let headers = [("content-type", "application/json"), ("if-match", tag)];
        self.send("POST", &format!("/api/v1/pauses/{pause}/decision"), &headers, &decision.to_string())
    }

    /// Its own `host` and `authorization` stand in the place of the usual ones.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = self.sent(method, path, &[headers, &[("connection", "close")]].concat(), body);
        let mut bytes = Vec::new();
        // A server that refuses a body may close the connection while it is on its way.
        stream.read_to_end(&mut bytes).ok();
        parsed(&bytes)
    }

    fn sent(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        let has = |name: &str| headers.iter().any(|(own, _)| *own == name);
        if !has("host") {
            head += &format!("host: 127.0.0.1:{}\r\n", self.port);
        }
        if let Some(token) = self.token.as_ref().filter(|_| !has("authorization")) {
            head += &format!("authorization: Bearer {token}\r\n");
        }
        if !body.is_empty() && !has("content-length") {
            head += &format!("content-length: {}\r\n", body.len());
        }
        headers.iter().for_each(|(name, value)| head += &format!("{name}: {value}\r\n"));
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).ok();
        stream
    }

    /// The status of an answer that may have no end, and its first bytes.
    pub fn begun(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
        let mut stream = self.sent(method, path, &[headers, &[("connection", "close")]].concat(), body);
        let (mut text, mut some) = (String::new(), [0; 4096]);
        // Of a problem all of it; of a stream what its head came with.
        while !text.contains("\r\n\r\n") || (text.contains("application/problem+json") && !text.ends_with('}')) {
            let read = stream.read(&mut some).unwrap();
            assert!(read > 0, "the answer is cut: {text}");
            text += &String::from_utf8_lossy(&some[..read]);
        }
        (text.split(' ').nth(1).unwrap().parse().unwrap(), text)
    }

    /// Live changes, once the server has said that none is missed from here on.
    pub fn listen(&self, last: Option<&str>) -> Changes {
        let headers: Vec<_> = last.iter().map(|last| ("last-event-id", *last)).collect();
        let stream = self.sent("GET", "/api/v1/changes", &headers, "");
        let mut changes = Changes { lines: BufReader::new(stream), first: String::new(), last: String::new() };
        changes.first = changes.next().expect("the stream begins").0;
        changes
    }

    /// Looks again after every change until `what` is there.
    pub fn until<T>(&self, what: impl Fn(&Self) -> Option<T>) -> T {
        let mut changes = self.listen(None);
        loop {
            match what(self) {
                Some(found) => return found,
                None => drop(changes.next().expect("the server goes on")),
            }
        }
    }

    pub fn until_paused(&self, chain: &str, count: usize) -> Vec<Value> {
        self.until(|client| {
            let all = client.get("/api/v1/pauses?limit=1000").json();
            let own: Vec<_> = all.as_array().unwrap().iter().filter(|pause| pause["chain"] == *chain).cloned().collect();
            (own.len() == count).then_some(own)
        })
    }

    pub fn until_status(&self, chain: &str, status: &str) -> Value {
        self.until(|client| {
            let shown = client.get(&format!("/api/v1/chains/{chain}")).json();
            (shown["status"] == status).then_some(shown)
        })
    }
}

fn parsed(bytes: &[u8]) -> Answer {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap().parse().unwrap();
    let headers = lines.filter_map(|line| line.split_once(": ")).map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    Answer { status, headers, body: body.to_owned() }
}

/// Server-sent events, through the chunks they come in.
pub struct Changes {
    lines: BufReader<TcpStream>,
    /// `hello` or `reset`.
    pub first: String,
    /// The id of the last one.
    pub last: String,
}

impl Iterator for Changes {
    type Item = (String, Value);

    fn next(&mut self) -> Option<Self::Item> {
        let mut name = String::new();
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if let Some(id) = line.strip_prefix("id: ") {
                id.trim().clone_into(&mut self.last);
            } else if let Some(event) = line.strip_prefix("event: ") {
                event.trim().clone_into(&mut name);
            } else if let Some(data) = line.strip_prefix("data: ") {
                return Some((name, serde_json::from_str(data).unwrap()));
            } else {
                assert!(!line.starts_with("HTTP/1.1 ") || line.contains(" 200 "), "{line}");
            }
        }
    }
}
