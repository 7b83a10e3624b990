//! Who speaks slowly, or only listens: closed at the limit, while everybody else is served.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Resource, getrlimit, setrlimit};

use super::Serving;
use crate::e2e::TestEnvironment;

/// As `server/listen.rs` has it.
const CONNECTIONS_MAX: usize = 512;
/// Between two bytes, or lines, of whoever speaks slowly.
const PACE: Duration = Duration::from_secs(1);
/// Less than the limits of 20 and 30 s, and far more than they take on a busy machine.
const AT_LEAST: Duration = Duration::from_secs(15);
const AT_MOST: Duration = Duration::from_secs(90);

/// Says `begin`, then `piece` again and again, until the server has ended the connection: what it answered, and after how long.
fn dripping(port: u16, begin: &str, piece: &str) -> (String, Duration) {
    let start = Instant::now();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(PACE)).unwrap();
    stream.write_all(begin.as_bytes()).unwrap();
    let (mut answer, mut some) = (Vec::new(), [0; 4096]);
    while start.elapsed() < AT_MOST {
        match stream.read(&mut some) {
            Ok(0) => break,
            Ok(read) => answer.extend_from_slice(&some[..read]),
            // A server that has ended the connection hears no more.
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => drop(stream.write_all(piece.as_bytes())),
            Err(_) => break,
        }
    }
    (String::from_utf8(answer).unwrap(), start.elapsed())
}

/// Asks again and again and reads nothing, until the server has ended the connection: after how long.
fn deaf(port: u16) -> Duration {
    let start = Instant::now();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_write_timeout(Some(PACE)).unwrap();
    // Far more than the system keeps for who does not read.
    let asked = format!("GET /api/v1/openapi.json HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n\r\n");
    stream.write_all(asked.repeat(2000).as_bytes()).ok();
    while start.elapsed() < AT_MOST {
        match stream.write(b"GET ") {
            Err(error) if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => break,
            _ => std::thread::sleep(PACE),
        }
    }
    start.elapsed()
}

#[test]
fn slow_headers_slow_bodies_idle_and_deaf_connections_end_at_their_limit_while_others_are_served() {
    let env = TestEnvironment::new();
    let server = Serving::new(&env);
    let (alice, port) = (server.client("alice", "run"), server.port);
    let head = |method: &str, path: &str| format!("{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n");
    let token = alice.token.clone().unwrap();
    let body = "content-type: application/json\r\ncontent-length: 100000\r\n";
    let slow = [
        ("headers", head("GET", "/healthz"), "x-more: 1\r\n", ""),
        ("the first line", "GE".to_owned(), "T", ""),
        ("a body", format!("{}authorization: Bearer {token}\r\n{body}\r\n{{", head("POST", "/api/v1/chains")), " ", "HTTP/1.1 503 "),
        ("nothing after an answer", format!("{}\r\n", head("GET", "/healthz")), "", "HTTP/1.1 200 "),
        ("nothing at all", String::new(), "", ""),
    ];
    let ended = AtomicUsize::new(0);
    let seen: Vec<_> = std::thread::scope(|scope| {
        let count = slow.iter().flat_map(|case| std::iter::repeat_n(case, 4)).map(|(what, begin, piece, wanted)| {
            let ended = &ended;
            scope.spawn(move || {
                let seen = dripping(port, begin, piece);
                ended.fetch_add(1, Ordering::SeqCst);
                (what, wanted, seen)
            })
        });
        let slow: Vec<_> = count.collect();
        let deaf: Vec<_> = (0..4)
            .map(|_| {
                let ended = &ended;
                scope.spawn(move || {
                    let took = deaf(port);
                    ended.fetch_add(1, Ordering::SeqCst);
                    took
                })
            })
            .collect();
        while ended.load(Ordering::SeqCst) < slow.len() + deaf.len() {
            assert_eq!(alice.get("/api/v1/chains").status, 200, "others are served meanwhile");
        }
        let took: Vec<_> = deaf.into_iter().map(|deaf| deaf.join().unwrap()).collect();
        assert!(took.iter().all(|took| *took > AT_LEAST && *took < AT_MOST), "who never reads: {took:?}");
        slow.into_iter().map(|slow| slow.join().unwrap()).collect()
    });
    for (what, wanted, (answer, took)) in seen {
        assert!(took > AT_LEAST && took < AT_MOST, "{what}: after {took:?}");
        assert!(if wanted.is_empty() { !answer.contains(" 200 ") } else { answer.starts_with(wanted) }, "{what}: {answer}");
    }
    // Nobody who is not let in is waited for.
    let nobody = dripping(port, &format!("{}{body}\r\n{{", head("POST", "/api/v1/chains")), " ");
    assert!(nobody.0.starts_with("HTTP/1.1 401 ") && nobody.1 < AT_MOST, "{nobody:?}");
    assert_eq!(alice.get("/api/v1/chains").json(), serde_json::json!([]), "and nothing was started");
}

#[test]
fn connections_beyond_the_limit_wait_until_another_ends() {
    // Two for each connection, and what else this process has open.
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, rustix::process::Rlimit { current: limit.maximum, ..limit }).unwrap();
    let env = TestEnvironment::new();
    let server = Serving::new(&env);
    let connect = || TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    let mut open: Vec<_> = (0..CONNECTIONS_MAX).map(|_| connect()).collect();
    let mut next = connect();
    next.write_all(format!("GET /healthz HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nconnection: close\r\n\r\n", server.port).as_bytes()).unwrap();
    next.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let early = next.read(&mut [0; 1]).map_err(|error| error.kind());
    assert!(matches!(early, Err(ErrorKind::WouldBlock | ErrorKind::TimedOut)), "one more than the limit is served: {early:?}");
    open.pop();
    next.set_read_timeout(Some(AT_MOST)).unwrap();
    let mut answer = String::new();
    next.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}
