//! HTTP: only the granted origin is reached, at an address that was checked, and nothing is followed.

use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use futures_util::future::BoxFuture;

use super::*;
use crate::call::kind;
use crate::capability::{Refusal, Uses};

/// Names of the tests: `rebind.test` has a public address and a loopback one, `again.test` another one at each lookup.
pub struct TestNames;

/// Of `again.test`.
static LOOKUPS: AtomicU8 = AtomicU8::new(0);

impl Resolve for TestNames {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, std::io::Result<Vec<IpAddr>>> {
        let addresses: Vec<IpAddr> = match host {
            "api.test" | "localhost" => vec!["127.0.0.1".parse().unwrap()],
            "again.test" => vec![IpAddr::from([127, 0, 0, 1 + LOOKUPS.fetch_add(1, Ordering::SeqCst)])],
            "rebind.test" => vec!["93.184.215.14".parse().unwrap(), "127.0.0.1".parse().unwrap()],
            _ => Vec::new(),
        };
        Box::pin(async move { Ok(addresses) })
    }
}

/// A server that answers every connection with `answer`, and counts them.
pub struct Server {
    pub port: u16,
    hits: Arc<AtomicUsize>,
}

impl Server {
    pub fn start(answer: impl Fn(TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let hits = Arc::new(AtomicUsize::new(0));
        let (counter, answer) = (Arc::clone(&hits), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                counter.fetch_add(1, Ordering::SeqCst);
                let answer = Arc::clone(&answer);
                std::thread::spawn(move || answer(stream.unwrap()));
            }
        });
        Self { port, hits }
    }

    /// Reads a request's head (and small body) and writes `response`.
    pub fn fixed(response: impl Into<Vec<u8>>) -> Self {
        let response = response.into();
        Self::start(move |mut stream| {
            read_head(&mut stream);
            // The client may have given up on a long one.
            let _ = stream.write_all(&response);
        })
    }

    pub fn hits(&self) -> usize {
        self.hits.load(Ordering::SeqCst)
    }

    pub fn line(&self, path: &str, methods: &[&str], private: bool) -> HeldHttp {
        let methods = methods.iter().map(|method| (*method).to_owned()).collect();
        HeldHttp { url: format!("http://api.test:{}{path}", self.port), methods, private, secret: None }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://api.test:{}{path}", self.port)
    }
}

pub fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
        head.push(byte[0]);
    }
    String::from_utf8_lossy(&head).into_owned()
}

pub const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";

pub async fn request(held: Vec<HeldHttp>, method: &str, url: &str) -> AttemptOutcome {
    request_by("http", held, method, url, "").await
}

async fn request_by(tool: &str, held: Vec<HeldHttp>, method: &str, url: &str, body: &str) -> AttemptOutcome {
    let mut attempt = attempt(tool, json!({"method": method, "url": url, "body": body}));
    attempt.held.http = held;
    probe().call(attempt).await
}

#[tokio::test]
async fn a_granted_request_is_sent_and_counted() {
    let server = Server::start(|mut stream| {
        let head = read_head(&mut stream);
        let body = head.replace("\r\n", "|");
        write!(stream, "HTTP/1.1 200 OK\r\nx-seen: 1\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
    });
    let held = vec![server.line("/v1/*", &["GET", "POST"], true)];
    let outcome = request(held.clone(), "GET", &server.url("/v1/a?q=1")).await;
    let got = structured(&outcome);
    assert_eq!(got["status"], 200);
    let head = got["body"].as_str().unwrap();
    assert!(head.starts_with("GET /v1/a?q=1 HTTP/1.1|") && head.contains(&format!("host: api.test:{}|", server.port)), "{head}");
    assert_eq!(outcome.uses, Uses { http_requests: 1, ..Uses::default() });
    let outcome = request(held, "POST", &server.url("/v1/a")).await;
    assert_eq!(outcome.uses, Uses { http_requests: 1, http_effects: 1, ..Uses::default() });
}

#[tokio::test]
async fn w22_only_the_granted_origin_is_reached() {
    let server = Server::fixed(OK);
    let port = server.port;
    let held = || vec![server.line("/**", &["GET"], true)];
    for url in [
        "http://169.254.169.254/latest/meta-data".to_owned(),
        format!("http://127.0.0.1:{port}/"),
        format!("http://[::1]:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        format!("http://0x7f000001:{port}/"),
        format!("http://127.1:{port}/"),
        format!("http://[64:ff9b::7f00:1]:{port}/"),
        format!("http://localhost.:{port}/"),
        format!("http://api.test.evil:{port}/"),
        format!("http://sub.api.test:{port}/"),
        format!("http://api.test:{}/", port ^ 1),
        format!("https://api.test:{port}/"),
    ] {
        let outcome = request(held(), "GET", &url).await;
        assert_eq!(failure(&outcome).kind, "denied", "{url}: {outcome:?}");
        assert_eq!((outcome.uses, outcome.refusals.len()), (Uses::default(), 1), "{url}");
    }
    assert_eq!(server.hits(), 0);
    for url in [format!("http://API.TEST.:{port}/"), format!("http://api.test:{port}/x/../y"), server.url("/")] {
        assert_eq!(structured(&request(held(), "GET", &url).await)["status"], 200, "{url}");
    }
    assert_eq!(failure(&request(held(), "POST", &server.url("/")).await).kind, "denied");
    assert_eq!(server.hits(), 3);
}

#[tokio::test]
async fn w23_a_name_with_a_private_address_is_refused_before_any_connection() {
    let server = Server::fixed(OK);
    let held = |private| vec![HeldHttp { url: format!("http://rebind.test:{}/*", server.port), methods: vec!["GET".into()], private, secret: None }];
    let url = format!("http://rebind.test:{}/x", server.port);
    let outcome = request(held(false), "GET", &url).await;
    assert_eq!(failure(&outcome).kind, "denied");
    assert_eq!(outcome.uses, Uses::default());
    assert!(outcome.refusals[0].allow_with.ends_with("private = true"), "{:?}", outcome.refusals);
    assert_eq!(server.hits(), 0);
}

#[tokio::test]
async fn w23_a_name_is_looked_up_once_and_that_address_is_reached() {
    let server = Server::fixed(OK);
    let held = vec![HeldHttp { url: format!("http://again.test:{}/*", server.port), methods: vec!["GET".into()], private: true, secret: None }];
    let outcome = request(held, "GET", &format!("http://again.test:{}/x", server.port)).await;
    assert_eq!(structured(&outcome)["status"], 200);
    assert_eq!((server.hits(), LOOKUPS.load(Ordering::SeqCst)), (1, 1), "a second lookup would lead elsewhere");
}

#[tokio::test]
async fn w24_redirects_go_to_the_guest() {
    let target = Server::fixed(OK);
    for (status, location) in
        [(301, target.url("/")), (302, "file:///etc/passwd".into()), (307, "http://elsewhere.test/".into()), (308, target.url("/same"))]
    {
        let server = Server::fixed(format!("HTTP/1.1 {status} Moved\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n"));
        let held = vec![server.line("/**", &["GET"], true), target.line("/**", &["GET"], true)];
        let outcome = request(held, "GET", &server.url("/")).await;
        let got = structured(&outcome);
        assert_eq!(got["status"], status);
        assert!(got["headers"].as_array().unwrap().contains(&json!(["location", location])), "{got}");
        assert_eq!((server.hits(), target.hits(), outcome.uses.http_requests), (1, 0, 1));
    }
}

/// status, where it points, and what a guest gets that follows it under a grant for `http://api.test:PORT/**` alone.
#[tokio::test]
async fn w24_a_guest_that_follows_is_judged_anew() {
    let mut table = Vec::new();
    for status in [301, 302, 303, 307, 308] {
        for target in [
            "/other",
            "http://api.test:PORT/other",
            "http://sub.api.test:PORT/",
            "http://elsewhere.test/",
            "https://api.test:PORT/",
            "http://api.test:1/",
            "http://127.0.0.1:PORT/",
        ] {
            let server = Server::start(move |mut stream| {
                let head = read_head(&mut stream);
                let port = stream.local_addr().unwrap().port();
                let location = target.replace("PORT", &port.to_string());
                let location = if location.starts_with('/') { format!("http://api.test:{port}{location}") } else { location };
                let answer = match head.starts_with("GET /other") {
                    true => OK.to_owned(),
                    false => format!("HTTP/1.1 {status} Moved\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n"),
                };
                stream.write_all(answer.as_bytes()).unwrap();
            });
            let mut attempt = attempt("follow", json!({"url": server.url("/")}));
            attempt.held.http = vec![server.line("/**", &["GET"], true)];
            let outcome = probe().call(attempt).await;
            let got = match &outcome.ended {
                Ended::Result(ToolResult::Failure(failure)) => failure.kind.clone(),
                _ => text(&outcome).to_owned(),
            };
            table.push(format!("{status} {target}: {got}, {} reached the server", server.hits()));
        }
    }
    // All statuses are alike.
    let of = |status: &str| table.iter().filter_map(|row| row.strip_prefix(status)).map(|row| row.replace(status, "STATUS")).collect::<Vec<_>>();
    let all = of("301");
    ["302", "303", "307", "308"].into_iter().for_each(|status| assert_eq!(of(status), all, "{status}"));
    let threats = include_str!("../../../../THREATS.md");
    let rows = all.iter().map(|row| row.trim_start()).collect::<Vec<_>>().join("\n");
    assert!(threats.contains(&rows), "the table in THREATS.md differs from\n{rows}");
    insta::assert_snapshot!(all.join("\n"), @r"
     /other: STATUS then 200, 2 reached the server
     http://api.test:PORT/other: STATUS then 200, 2 reached the server
     http://sub.api.test:PORT/: denied, 1 reached the server
     http://elsewhere.test/: denied, 1 reached the server
     https://api.test:PORT/: denied, 1 reached the server
     http://api.test:1/: denied, 1 reached the server
     http://127.0.0.1:PORT/: denied, 1 reached the server
    ");
}

#[tokio::test]
async fn w25_w26_the_line_a_refusal_prints_lets_it_pass() {
    let server = Server::fixed(OK);
    let url = format!("http://localhost:{}/x?token=1", server.port);
    let outcome = request(Vec::new(), "GET", &url).await;
    let expected = Refusal {
        attempted: format!("http GET http://localhost:{}/x", server.port),
        allow_with: format!("[[plugins.probe.http]]\nurl = \"http://localhost:{}/x\"\nmethods = [\"GET\"]\nprivate = true", server.port),
    };
    assert_eq!(outcome.refusals, std::slice::from_ref(&expected));
    let pasted: toml::Table = toml::from_str(&expected.allow_with).unwrap();
    let line = &pasted["plugins"]["probe"]["http"][0];
    let held = HeldHttp {
        url: line["url"].as_str().unwrap().into(),
        methods: line["methods"].as_array().unwrap().iter().map(|method| method.as_str().unwrap().into()).collect(),
        private: line["private"].as_bool().unwrap(),
        secret: None,
    };
    assert_eq!(structured(&request(vec![held.clone()], "GET", &url).await)["status"], 200);
    let unasked = HeldHttp { private: false, ..held };
    assert_eq!(failure(&request(vec![unasked], "GET", &url).await).kind, "denied");
    assert_eq!(server.hits(), 1);
}

#[tokio::test]
async fn w28_a_refused_upload_is_an_ordinary_error() {
    let outcome = request_by("http", Vec::new(), "POST", "https://api.test/", &"x".repeat(1 << 20)).await;
    assert_eq!(failure(&outcome).kind, "denied");
}

#[tokio::test]
async fn a_read_only_tool_sends_get_and_head_only() {
    let server = Server::fixed(OK);
    let held = vec![server.line("/**", &["GET", "POST"], true)];
    let outcome = request_by("http_as_reader", held.clone(), "GET", &server.url("/"), "").await;
    assert_eq!(structured(&outcome)["status"], 200);
    let outcome = request_by("http_as_reader", held, "POST", &server.url("/"), "").await;
    assert_eq!((failure(&outcome).kind.as_str(), server.hits()), ("denied", 1));
}

#[tokio::test]
async fn w01_a_dripping_body_ends_with_the_calls_time() {
    let (closed, was_closed) = std::sync::mpsc::channel();
    let closed = Mutex::new(closed);
    let server = Server::start(move |mut stream| {
        read_head(&mut stream);
        let mut alive = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n").is_ok();
        while alive {
            std::thread::sleep(Duration::from_millis(100));
            alive = stream.write_all(b"x").is_ok();
        }
        closed.lock().unwrap().send(()).unwrap();
    });
    let mut attempt = attempt("drip", json!({"url": server.url("/")}));
    attempt.held.http = vec![server.line("/**", &["GET"], true)];
    attempt.limits.time = Duration::from_millis(800);
    let began = Instant::now();
    assert_eq!(failure(&probe().call(attempt).await).kind, kind::OUT_OF_TIME);
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    // Waited for off the runtime's thread: the runtime has to run to let go of the connection.
    let waited = tokio::task::spawn_blocking(move || was_closed.recv_timeout(Duration::from_secs(5))).await.unwrap();
    waited.expect("the connection is closed with the call");
}

/// limit: plugin/http/send::RESPONSE_BODY_BYTES_MAX
#[tokio::test]
async fn a_body_over_the_limit_is_an_error_of_the_guests() {
    let body = |bytes: usize| [format!("HTTP/1.1 200 OK\r\ncontent-length: {bytes}\r\n\r\n").into_bytes(), vec![b'x'; bytes]].concat();
    for (bytes, fits) in [(16 << 20, true), ((16 << 20) + 1, false)] {
        let server = Server::fixed(body(bytes));
        let mut attempt = attempt("drip", json!({"url": server.url("/")}));
        attempt.held.http = vec![server.line("/**", &["GET"], true)];
        let outcome = probe().call(attempt).await;
        match fits {
            true => assert_eq!(text(&outcome), bytes.to_string()),
            false => assert!(outcome.ended != Ended::Result(ToolResult::text(bytes.to_string())), "{outcome:?}"),
        }
    }
}

/// limit: plugin/http/send::RESPONSE_HEADER_BYTES_MAX
#[tokio::test]
async fn huge_response_headers_are_refused() {
    for (kib, fits) in [(60, true), (100, false), (1000, false)] {
        let server = Server::fixed(format!("HTTP/1.1 200 OK\r\nx: {}\r\ncontent-length: 0\r\n\r\n", "y".repeat(kib << 10)));
        let outcome = request(vec![server.line("/**", &["GET"], true)], "GET", &server.url("/")).await;
        let said = match &outcome.ended {
            Ended::Result(ToolResult::Failure(failure)) => failure.kind.as_str(),
            _ => "success",
        };
        assert_eq!(said, if fits { "success" } else { "too-large" }, "{kib} KiB");
    }
}
