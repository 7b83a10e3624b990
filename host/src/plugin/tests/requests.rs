//! What a guest may put into a request, how many it may have, how long they may take, and which connection they use.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Barrier, mpsc};

use super::web::{OK, Server, read_head, request};
use super::*;
use crate::call::kind;
use crate::capability::Uses;
use crate::capability::secret::{Secret, Slot, Source};

async fn with_header(server: &Server, name: &str, value: &str) -> AttemptOutcome {
    let mut attempt = attempt("http", json!({"method": "GET", "url": server.url("/"), "headers": {name: value}}));
    attempt.held.http = vec![server.line("/**", &["GET"], true)];
    probe().call(attempt).await
}

/// Answers every request of a connection until the other side closes it, with the number of the connection.
fn keeping_open(each: &'static str) -> Server {
    let connections = Mutex::new(0);
    Server::start(move |mut stream| {
        let number = {
            let mut connections = connections.lock().unwrap();
            *connections += 1;
            *connections
        };
        while !read_head(&mut stream).is_empty() {
            let answer = format!("HTTP/1.1 200 OK\r\n{each}content-length: 1\r\n\r\n{number}");
            if stream.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    })
}

#[tokio::test]
async fn headers_that_smuggle_are_refused_before_anything_is_sent() {
    let server = Server::fixed(OK);
    for name in [
        "Host",
        "Connection",
        "Keep-Alive",
        "Proxy-Authorization",
        "Proxy-Connection",
        "Proxy-X",
        "Transfer-Encoding",
        "Upgrade",
        "TE",
        "Trailer",
        "Expect",
        "HTTP2-Settings",
        "X-HTTP-Method-Override",
    ] {
        assert_eq!(failure(&with_header(&server, name, "x").await).kind, "denied", "{name}");
    }
    for (name, value) in [
        ("x-a", "a\r\nhost: evil.test"),
        ("x-a", "a\nb"),
        ("x-a", "a\0b"),
        ("x-a\r\nhost", "evil.test"),
        ("x a", "b"),
        ("", "b"),
        (":path", "/evil"),
        ("content-length", "5"),
        ("content-length", "+0"),
        ("content-length", "1, 1"),
        ("content-length", "-1"),
    ] {
        let outcome = with_header(&server, name, value).await;
        assert!(matches!(&outcome.ended, Ended::Result(ToolResult::Failure(_))), "{name:?}: {value:?}: {outcome:?}");
        assert_eq!(outcome.uses, Uses::default(), "{name:?}: {value:?}");
    }
    assert_eq!(server.hits(), 0);
    assert_eq!(structured(&with_header(&server, "x-a", "b").await)["status"], 200);
}

#[tokio::test]
async fn w22_a_path_is_sent_as_it_was_judged() {
    let (seen, lines) = mpsc::channel();
    let seen = Mutex::new(seen);
    let server = Server::start(move |mut stream| {
        let head = read_head(&mut stream);
        seen.lock().unwrap().send(head.lines().next().unwrap_or_default().to_owned()).unwrap();
        stream.write_all(OK.as_bytes()).unwrap();
    });
    for (path, sent) in [
        ("/a/../b", "GET /b HTTP/1.1"),
        ("/a/%2e%2E/b", "GET /b HTTP/1.1"),
        ("/a\\..\\b", "GET /b HTTP/1.1"),
        ("//evil.test/x", "GET //evil.test/x HTTP/1.1"),
        ("/http://evil.test/", "GET /http://evil.test/ HTTP/1.1"),
        ("/a%2fb?x=/../y", "GET /a%2fb?x=/../y HTTP/1.1"),
        ("?q", "GET /?q HTTP/1.1"),
    ] {
        let outcome = request(vec![server.line("/**", &["GET"], true)], "GET", &server.url(path)).await;
        assert_eq!(structured(&outcome)["status"], 200, "{path}");
        assert_eq!(lines.recv_timeout(Duration::from_secs(5)).unwrap(), sent);
    }
}

#[tokio::test]
async fn sockets_and_names_stay_shut() {
    let server = Server::fixed(OK);
    let mut attempt = attempt("sockets", json!({"port": server.port}));
    attempt.held.http = vec![server.line("/**", &["GET"], true)];
    assert_eq!(text(&probe().call(attempt).await), "shut shut shut shut");
    assert_eq!(server.hits(), 0);
}

/// limit: plugin/http::CONNECTIONS_MAX
#[tokio::test]
async fn more_requests_at_once_than_the_limit_are_refused() {
    for (asked, refused) in [(8, "0 refused"), (9, "1 refused")] {
        let all_here = Arc::new(Barrier::new(8));
        let server = Server::start(move |mut stream| {
            read_head(&mut stream);
            all_here.wait();
            stream.write_all(OK.as_bytes()).unwrap();
        });
        let mut attempt = attempt("at_once", json!({"authority": format!("api.test:{}", server.port), "n": asked}));
        attempt.held.http = vec![server.line("/**", &["GET"], true)];
        assert_eq!(text(&probe().call(attempt).await), refused);
    }
}

/// limit: plugin/http/send::REQUEST_BODY_BYTES_MAX
#[tokio::test]
async fn a_request_body_over_the_limit_is_an_error_of_the_guests() {
    for (bytes, fits) in [(16 << 20, true), ((16 << 20) + 1, false)] {
        let server = Server::start(move |mut stream| {
            read_head(&mut stream);
            let mut left = bytes;
            let mut buffer = vec![0; 64 << 10];
            while left > 0 {
                match stream.read(&mut buffer) {
                    Ok(read) if read > 0 => left -= read,
                    _ => return,
                }
            }
            let _ = stream.write_all(OK.as_bytes());
        });
        let mut attempt = attempt("upload", json!({"url": server.url("/"), "bytes": bytes}));
        attempt.held.http = vec![server.line("/**", &["POST"], true)];
        let outcome = probe().call(attempt).await;
        match fits {
            true => assert_eq!(text(&outcome), "200"),
            false => assert_eq!(failure(&outcome).kind, kind::TOO_LARGE),
        }
    }
}

/// A server that sends this much and then nothing, until the other side closes.
fn stopping_after(start: &'static str) -> Server {
    Server::start(move |mut stream: TcpStream| {
        read_head(&mut stream);
        stream.write_all(start.as_bytes()).unwrap();
        let _ = stream.read(&mut [0; 1]);
    })
}

#[tokio::test]
async fn w01_the_guests_own_times_hold_for_the_first_byte_and_between_bytes() {
    // wasmtime tells a guest no more of an error inside a body than that the response is incomplete.
    for (start, told) in [("", "timeout"), ("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx", "unavailable")] {
        let server = stopping_after(start);
        let mut attempt = attempt("times_out", json!({"url": server.url("/"), "ms": 50}));
        attempt.held.http = vec![server.line("/**", &["GET"], true)];
        assert_eq!(failure(&probe().call(attempt).await).kind, told, "{start:?}");
    }
}

#[tokio::test]
async fn requests_of_a_plugin_share_a_connection_under_the_same_line_alone() {
    let server = keeping_open("");
    let connection = async |line: HeldHttp| structured(&request(vec![line], "GET", &server.url("/x")).await)["body"].as_str().unwrap().to_owned();
    let line = || server.line("/**", &["GET"], true);
    let secret = |name: &str| Some(Secret { name: name.into(), source: Source::Env, slot: Slot::Header("x-key".into()), format: "{}".into() });
    assert_eq!(connection(line()).await, "1");
    assert_eq!(connection(line()).await, "1");
    assert_eq!(connection(server.line("/x", &["GET"], true)).await, "2", "another line");
    assert_eq!(connection(HeldHttp { secret: secret("WEATHER_KEY"), ..line() }).await, "3", "with a secret");
    assert_eq!(connection(line()).await, "1", "never one that carried a secret");
    assert_eq!(connection(HeldHttp { secret: secret("OTHER_KEY"), ..line() }).await, "4", "another secret");
    assert_eq!(connection(HeldHttp { secret: secret("WEATHER_KEY"), ..line() }).await, "3");
}

#[tokio::test]
async fn a_request_that_cannot_be_sent_again_has_a_connection_of_its_own() {
    let server = keeping_open("");
    let held = || vec![server.line("/**", &["GET", "POST"], true)];
    for (method, connection) in [("GET", "1"), ("POST", "2"), ("POST", "3"), ("GET", "3")] {
        let outcome = request(held(), method, &server.url("/")).await;
        assert_eq!(structured(&outcome)["body"], connection, "{method}");
    }
}

#[tokio::test]
async fn a_kept_connection_that_was_closed_is_replaced() {
    // Answers once, promises to stay, and closes at the second request.
    let server = Server::start(|mut stream| {
        read_head(&mut stream);
        stream.write_all(OK.as_bytes()).unwrap();
        read_head(&mut stream);
    });
    for _ in 0..3 {
        let outcome = request(vec![server.line("/**", &["GET"], true)], "GET", &server.url("/")).await;
        assert_eq!((&structured(&outcome)["status"], outcome.uses.http_requests), (&json!(200), 1));
    }
}

#[tokio::test]
async fn a_server_that_wants_to_close_is_believed() {
    let server = keeping_open("connection: close\r\n");
    for connection in ["1", "2"] {
        let outcome = request(vec![server.line("/**", &["GET"], true)], "GET", &server.url("/")).await;
        assert_eq!(structured(&outcome)["body"], connection);
    }
}
