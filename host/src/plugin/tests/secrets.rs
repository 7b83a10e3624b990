//! Secrets: they go where their line says, come back to no guest, and leave with nothing a guest says.

use std::io::{Read, Write};
use std::net::TcpStream;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::web::{OK, Server, read_head};
use super::*;
use crate::call::kind;
use crate::capability::secret::{Secret, Slot, Source};
use crate::capability::{Refusal, Uses};

pub const CANARY: &str = "canary/+K3y_0123456789~=?>";
const OTHER: &str = "another-canary-9876543210";

/// Secrets of the tests.
pub struct TestSecrets;

impl ReadSecret for TestSecrets {
    fn read(&self, secret: &Secret) -> Result<secrecy::SecretString, SecretError> {
        match secret.name.as_str() {
            "WEATHER_KEY" => Ok(CANARY.into()),
            "OTHER_KEY" => Ok(OTHER.into()),
            "SHORT_KEY" => Err(SecretError::TooShort(11)),
            _ => Err(SecretError::Missing),
        }
    }
}

fn secret(name: &str, slot: Slot, format: &str) -> Secret {
    Secret { name: name.into(), source: Source::Env, slot, format: format.into() }
}

pub fn bearer(name: &str) -> Secret {
    secret(name, Slot::Header("authorization".into()), "Bearer {}")
}

fn line(server: &Server, path: &str, secret: Option<Secret>) -> HeldHttp {
    HeldHttp { secret, ..server.line(path, &["GET", "POST"], true) }
}

/// Answers with what it got, and keeps what it got.
pub fn echoing() -> (Server, Arc<Mutex<Vec<String>>>) {
    let heads = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&heads);
    let server = Server::start(move |mut stream| {
        let head = read_head(&mut stream);
        // Before the answer: whoever has it may look.
        seen.lock().unwrap().push(head.clone());
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{head}", head.len()).unwrap();
    });
    (server, heads)
}

pub async fn sent(held: Vec<HeldHttp>, arguments: Value) -> AttemptOutcome {
    let mut attempt = attempt("http", arguments);
    attempt.held.http = held;
    probe().call(attempt).await
}

fn spellings() -> [String; 5] {
    let encoded = utf8_percent_encode(CANARY, NON_ALPHANUMERIC).to_string();
    [CANARY.into(), STANDARD.encode(CANARY), URL_SAFE_NO_PAD.encode(CANARY), URL_SAFE_NO_PAD.encode(format!("user:{CANARY}")), encoded]
}

#[track_caller]
pub fn without_canary(said: &impl std::fmt::Debug) -> String {
    let said = format!("{said:?}");
    for spelling in spellings() {
        // The part that neither offset nor padding changes.
        let core = &spelling[8..spelling.len() - 4];
        assert!(!said.contains(core), "{core} in {said}");
    }
    said
}

#[tokio::test]
async fn w32_a_secret_arrives_where_its_line_says_and_nowhere_else() {
    let (server, heads) = echoing();
    let held = || {
        vec![
            line(&server, "/v1/**", Some(bearer("WEATHER_KEY"))),
            line(&server, "/q/**", Some(secret("WEATHER_KEY", Slot::Query("key".into()), "{}"))),
            line(&server, "/v1/two", Some(secret("OTHER_KEY", Slot::Header("x-app".into()), "{}"))),
            line(&server, "/**", None),
        ]
    };
    for path in ["/v1/a?b=1", "/q/a?b=1", "/v1/two", "/open"] {
        let outcome = sent(held(), json!({"method": "GET", "url": server.url(path), "headers": {"accept-encoding": "gzip"}})).await;
        assert_eq!(structured(&outcome)["status"], 200, "{path}: {outcome:?}");
        without_canary(&outcome);
    }
    let heads = heads.lock().unwrap();
    let count = |index: usize, text: &str| heads[index].matches(text).count();
    assert_eq!((count(0, &format!("authorization: Bearer {CANARY}\r\n")), count(0, "GET /v1/a?b=1 HTTP")), (1, 1), "{}", heads[0]);
    assert_eq!((count(0, "accept-encoding: identity\r\n"), count(0, "gzip")), (1, 0), "{}", heads[0]);
    assert_eq!(count(1, "GET /q/a?b=1&key=canary%2F%2BK3y_0123456789%7E%3D%3F%3E HTTP"), 1, "{}", heads[1]);
    assert_eq!((count(2, CANARY), count(2, &format!("x-app: {OTHER}\r\n"))), (1, 1), "{}", heads[2]);
    assert_eq!((count(3, "authorization"), count(3, CANARY), count(3, "gzip")), (0, 0, 1), "{}", heads[3]);
}

#[tokio::test]
async fn w32_what_a_guest_writes_itself_is_refused_before_anything_is_sent() {
    let server = Server::fixed(OK);
    let held = || vec![line(&server, "/v1/**", Some(bearer("WEATHER_KEY"))), line(&server, "/open/**", None)];
    let mut tried = vec![
        json!({"method": "GET", "url": server.url("/v1/a"), "headers": {"Authorization": "Bearer mine"}}),
        json!({"method": "GET", "url": server.url("/v1/a"), "headers": {CANARY.replace(['/', '+', '=', '?', '>'], "x"): "y", "x-k": CANARY}}),
    ];
    for path in ["/v1/a", "/open/a"] {
        for spelt in spellings() {
            tried.push(json!({"method": "GET", "url": server.url(path), "headers": {"x-other": format!("a {spelt}")}}));
            tried.push(json!({"method": "POST", "url": server.url(path), "body": format!("key: {spelt}.")}));
            // What is encoded twice is another text.
            let spelt = if spelt.contains('%') { spelt } else { utf8_percent_encode(&spelt, NON_ALPHANUMERIC).to_string() };
            tried.push(json!({"method": "GET", "url": server.url(&format!("{path}?k={spelt}"))}));
            tried.push(json!({"method": "GET", "url": server.url(&format!("{path}/{spelt}/b"))}));
        }
    }
    for arguments in tried {
        let outcome = sent(held(), arguments.clone()).await;
        assert_eq!((failure(&outcome).kind.as_str(), outcome.uses), ("denied", Uses::default()), "{arguments}: {outcome:?}");
        assert!(outcome.refusals[0].allow_with.starts_with("# nothing allows a plugin to "), "{arguments}: {outcome:?}");
        without_canary(&outcome);
    }
    assert_eq!(server.hits(), 0);
    let outcome = sent(held(), json!({"method": "POST", "url": server.url("/v1/a"), "body": &CANARY[1..]})).await;
    assert_eq!(structured(&outcome)["status"], 200, "a part of it is no secret");
}

#[tokio::test]
async fn w32_a_query_parameter_of_a_secret_is_the_hosts_alone() {
    let (server, heads) = echoing();
    let held = || vec![line(&server, "/**", Some(secret("WEATHER_KEY", Slot::Query("key".into()), "{}")))];
    for query in ["key=1", "a=1&key=2", "KEY=1", "k%65y=1", "a;key=1", "key"] {
        let outcome = sent(held(), json!({"method": "GET", "url": server.url(&format!("/?{query}"))})).await;
        assert_eq!(failure(&outcome).kind, "denied", "{query}");
    }
    assert_eq!(structured(&sent(held(), json!({"method": "GET", "url": server.url("/?keys=1")})).await)["status"], 200);
    assert_eq!(heads.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn w32_a_long_body_is_broken_off_where_a_secret_begins() {
    let (got, all) = std::sync::mpsc::channel();
    let got = Mutex::new(got);
    let server = Server::start(move |mut stream: TcpStream| {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        got.lock().unwrap().send(bytes).unwrap();
    });
    let body = format!("{}{CANARY}{}", "x".repeat(600 << 10), "y".repeat(600 << 10));
    let outcome =
        sent(vec![line(&server, "/**", Some(bearer("WEATHER_KEY")))], json!({"method": "POST", "url": server.url("/"), "body": body})).await;
    assert_eq!(failure(&outcome).kind, "denied", "{outcome:?}");
    assert!(outcome.refusals[0].allow_with.contains("into the body"), "{outcome:?}");
    let bytes = tokio::task::spawn_blocking(move || all.recv_timeout(Duration::from_secs(10))).await.unwrap().unwrap();
    let text = String::from_utf8(bytes).unwrap();
    assert_eq!(text.matches(CANARY).count(), 1, "the one in its header");
    assert!(!text.contains("xcanary") && !text.contains('y'.to_string().repeat(9).as_str()));
}

#[tokio::test]
async fn w33_what_a_server_echoes_reaches_no_guest() {
    for spelt in spellings() {
        let (first, second) = spelt.split_at(spelt.len() / 2);
        let answer = format!(
            "HTTP/1.1 200 OK\r\nx-echo: <{spelt}>\r\ntransfer-encoding: chunked\r\ntrailer: x-end\r\n\r\n\
             {:x}\r\n<{first}\r\n{:x}\r\n{second}>\r\n0\r\nx-end: {spelt}\r\n\r\n",
            first.len() + 1,
            second.len() + 1,
        );
        let server = Server::start(move |mut stream| {
            read_head(&mut stream);
            // Written byte by byte: a value may be cut anywhere.
            let sent = answer.bytes().try_for_each(|byte| stream.write_all(&[byte]));
            sent.unwrap();
        });
        let outcome = sent(vec![line(&server, "/**", Some(bearer("WEATHER_KEY")))], json!({"method": "GET", "url": server.url("/")})).await;
        without_canary(&outcome);
        let body = structured(&outcome)["body"].as_str().unwrap();
        assert!(body.starts_with('<') && body.contains("[secret WEATHER_KEY]") && body.ends_with('>'), "{body}");
        assert!(structured(&outcome)["headers"].to_string().contains("[secret WEATHER_KEY]"), "{outcome:?}");
    }
}

#[tokio::test]
async fn w33_an_answer_in_a_form_that_cannot_be_searched_is_refused() {
    for coding in ["content-encoding: gzip\r\ncontent-length: 0", "transfer-encoding: gzip, chunked"] {
        let server = Server::fixed(format!("HTTP/1.1 200 OK\r\n{coding}\r\n\r\n0\r\n\r\n"));
        let with = sent(vec![line(&server, "/**", Some(bearer("WEATHER_KEY")))], json!({"method": "GET", "url": server.url("/")})).await;
        assert!(matches!(with.ended, Ended::Result(ToolResult::Failure(_))), "{coding}: {with:?}");
        let without = sent(vec![line(&server, "/**", None)], json!({"method": "GET", "url": server.url("/")})).await;
        assert_eq!(structured(&without)["status"], 200, "{coding}");
    }
}

#[tokio::test]
async fn w33_nothing_a_guest_says_holds_a_secret() {
    let server = Server::fixed(OK);
    for how in [
        "text",
        "json",
        "key",
        "blob",
        "error",
        "log",
        "progress",
        "stdout",
        "pieces",
        "panic",
        "pause-key",
        "pause-reason",
        "pause-kind",
        "pause-schema",
        "pause-context",
        "pause-state",
        "pause-choice",
    ] {
        for spelt in spellings() {
            let heard = Arc::new(Heard::default());
            let mut attempt = attempt("say", json!({"how": how, "text": format!("<{spelt}>")}));
            attempt.held.http = vec![line(&server, "/**", Some(bearer("WEATHER_KEY")))];
            attempt.watcher = Some(heard.clone());
            let mut outcome = probe().call(attempt).await;
            let mut bytes = Vec::new();
            match &mut outcome.ended {
                Ended::Result(ToolResult::Success { content }) => {
                    for piece in content {
                        if let Content::Blob { data, .. } = piece {
                            bytes.extend(STANDARD.decode(std::mem::take(data)).unwrap());
                        }
                    }
                }
                Ended::Pause(asked) => bytes.extend(asked.state.take().unwrap_or_default()),
                Ended::Result(ToolResult::Failure(_)) | Ended::HeldBack(_) | Ended::Diverged(_) => {}
            }
            let said =
                without_canary(&(&outcome, &*heard.lines.lock().unwrap(), &*heard.progress.lock().unwrap(), String::from_utf8(bytes).unwrap()));
            assert!(said.contains("[secret WEATHER_KEY]"), "{how} said nothing: {said}");
        }
    }
}

#[tokio::test]
async fn w33_a_refusal_holds_no_secret() {
    let server = Server::fixed(OK);
    let url = format!("http://elsewhere.test/{}", utf8_percent_encode(CANARY, NON_ALPHANUMERIC));
    let outcome = sent(vec![line(&server, "/**", Some(bearer("WEATHER_KEY")))], json!({"method": "GET", "url": url})).await;
    assert!(without_canary(&outcome.refusals).contains("[secret WEATHER_KEY]"));
}

#[tokio::test]
async fn w30_a_missing_secret_is_auth_required_before_any_request() {
    let server = Server::fixed(OK);
    for (name, why) in [("GONE_KEY", "is missing"), ("SHORT_KEY", "has 11 bytes, and a secret needs at least 12")] {
        let held = vec![line(&server, "/v1/**", Some(bearer(name))), line(&server, "/open", None)];
        let outcome = sent(held.clone(), json!({"method": "GET", "url": server.url("/v1/a")})).await;
        let failed = failure(&outcome);
        assert_eq!(failed.kind, kind::AUTH_REQUIRED);
        assert!(failed.message.starts_with(&format!("the request needs the secret `{name}`, which this host cannot read")), "{}", failed.message);
        let told = Refusal {
            attempted: format!("http GET {}", server.url("/v1/a")),
            allow_with: format!("# secret `{name}`: environment variable `{name}` {why}"),
        };
        assert_eq!((outcome.refusals, outcome.uses), (vec![told], Uses::default()));
        let outcome = sent(held, json!({"method": "GET", "url": server.url("/open")})).await;
        assert_eq!(structured(&outcome)["status"], 200, "what needs no secret works");
    }
    assert_eq!(server.hits(), 2);
}

#[tokio::test]
async fn w35_a_guest_never_has_the_value() {
    let backwards = |text: &str| text.chars().rev().collect::<String>();
    let (server, heads) = echoing();
    for (text, found) in [(CANARY, "200 false"), ("Bearer [secret WEATHER_KEY]", "200 true")] {
        let mut attempt = attempt("remembers", json!({"url": server.url("/"), "backwards": backwards(text)}));
        attempt.held.http = vec![line(&server, "/**", Some(bearer("WEATHER_KEY")))];
        assert_eq!(super::text(&probe().call(attempt).await), found, "{text}");
    }
    assert!(heads.lock().unwrap().iter().all(|head| head.contains(CANARY)));
}
