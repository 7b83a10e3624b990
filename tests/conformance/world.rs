//! Where the cases run: the plugin of one language, with a folder, a web server, values, settings and a variable granted to
//! it.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::{Value, json};

use super::Language;
use crate::e2e::TestEnvironment;

/// Of the server, which hands it back.
const SECRET: &str = "hunter2-hunter2-hunter2";
/// `DATA` and `SERVER` are put in.
const GRANTS: &str = r#"
[plugins.conform]
digest = "any"
env = { UNITS = "metric" }
config = { units = "metric", place = "here" }
kv = { scope = "plugin", quota = "1MiB" }
reconcile = "believe"
[[plugins.conform.fs]]
path = "DATA"
mount = "/data"
access = "write"
[[plugins.conform.http]]
url = "SERVER/page"
methods = ["GET"]
private = true
[[plugins.conform.http]]
url = "SERVER/missing"
methods = ["GET"]
private = true
[[plugins.conform.http]]
url = "SERVER/secret"
methods = ["GET"]
private = true
secret = { name = "TOKEN", source = "file", path = "token", header = "authorization", format = "Bearer {}" }
[[plugins.conform.http]]
url = "SERVER/missing-secret"
methods = ["GET"]
private = true
secret = { name = "LOST", source = "file", path = "lost", header = "authorization", format = "Bearer {}" }
"#;

pub struct World {
    pub env: TestEnvironment,
    server: String,
}

impl World {
    pub fn new(language: &Language) -> Self {
        Self::granting(language, GRANTS)
    }

    /// With these grants in place of all of them.
    pub fn granting(language: &Language, grants: &str) -> Self {
        let env = TestEnvironment::new();
        assert!(env.add_conform(language.name), "no conformance plugin in {}: run `{}` first", language.title, language.built_by);
        let server = serve();
        let data = env.path("work/data");
        env.write("work/data/hello.txt", "grüß dich\n");
        env.write("work/data/folder/b.txt", "");
        env.write("work/data/folder/a.txt", "");
        env.write("home/.config/pausegate/token", SECRET);
        env.grants(&grants.replace("DATA", data.to_str().unwrap()).replace("SERVER", &server));
        Self { env, server }
    }

    /// The chain that calling the tool alone makes.
    pub fn call(&self, tool: &str, arguments: &Value) -> Result<Value, String> {
        let arguments = self.filled_in(arguments).to_string();
        let shown = self.env.with_input(&["call", &format!("conform__{tool}"), "-", "--json"], &arguments);
        serde_json::from_str(&shown.stdout).map_err(|_| shown.to_string())
    }

    /// The chain after a decision.
    pub fn decide(&self, pause: &Value, answer: &Value, chain: &Value) -> Result<Value, String> {
        let id = pause["id"].as_str().ok_or("there is no pause")?;
        let value = answer["value"].to_string();
        let command = match answer["decision"].as_str() {
            Some("approve") => vec!["approve", id],
            Some("deny") => vec!["deny", id, "--note", answer["note"].as_str().unwrap_or_default()],
            _ => vec!["respond", id, "--value", &value],
        };
        let shown = self.env.pausegate(&command);
        if shown.code != Some(0) {
            return Err(shown.to_string());
        }
        let shown = self.env.pausegate(&["resume", chain["id"].as_str().unwrap_or_default(), "--json"]);
        shown.lines().pop().ok_or_else(|| shown.to_string())
    }

    pub fn data(&self, name: &str) -> String {
        std::fs::read_to_string(self.env.path("work/data").join(name)).unwrap_or_default()
    }

    fn filled_in(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => json!(text.replace("SERVER", &self.server)),
            Value::Array(items) => items.iter().map(|item| self.filled_in(item)).collect(),
            Value::Object(object) => match (object.get("repeat").and_then(Value::as_str), object.get("times").and_then(Value::as_u64)) {
                (Some(text), Some(times)) => json!(text.repeat(usize::try_from(times).unwrap())),
                _ => object.iter().map(|(key, value)| (key.clone(), self.filled_in(value))).collect(),
            },
            _ => value.clone(),
        }
    }
}

/// Answers `/page` with a text, `/secret` with the secret that came along, and all else with 404, on a port of its own, until
/// the tests end.
fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            answer(stream);
        }
    });
    address
}

fn answer(mut stream: TcpStream) {
    let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
    let first = lines.next().unwrap_or_default();
    // Up to the empty line that ends the headers.
    let headers: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
    let came = headers.iter().find_map(|line| line.split_once("Bearer ")).map_or("nothing", |(_, secret)| secret);
    let (status, body) = match first.split(' ').nth(1) {
        Some("/page") => ("200 OK", "héllo".to_owned()),
        Some("/secret") => ("200 OK", format!("it came: {came}")),
        _ => ("404 Not Found", String::new()),
    };
    let response = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
    // The other side may be gone.
    stream.write_all(response.as_bytes()).ok();
}
