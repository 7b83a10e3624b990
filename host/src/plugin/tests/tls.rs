//! HTTPS: a server is who its certificate says, by an authority that is trusted, or hears no word of a request.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use super::secrets::{CANARY, bearer, sent, without_canary};
use super::web::{OK, Server};
use super::*;
use crate::capability::Uses;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/plugin/tests/tls");

/// A server's thread has told by then what it saw.
const SOON: Duration = Duration::from_secs(10);

/// The one authority that the tests trust.
pub fn roots() -> Arc<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(Path::new(FOLDER).join("ca.pem")).unwrap()).unwrap();
    Arc::new(roots)
}

/// What a server saw of each connection: the name asked for and the request, or that there was no handshake.
type Seen = Receiver<Result<(String, String), String>>;

/// Answers over TLS, as who `certificate` says, with the request's head as header and body.
fn serving(certificate: &str) -> (Server, Seen) {
    let certificate = CertificateDer::from_pem_file(Path::new(FOLDER).join(certificate)).unwrap();
    let key = PrivateKeyDer::from_pem_file(Path::new(FOLDER).join("server.key")).unwrap();
    let builder = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let config = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth().with_single_cert(vec![certificate], key).unwrap();
    let (config, (tell, seen)) = (Arc::new(config), channel());
    let server = Server::start(move |stream| {
        let answered = answer(ServerConnection::new(Arc::clone(&config)).unwrap(), stream);
        // A test that failed listens no more.
        let _ = tell.send(answered.map_err(|error| error.to_string()));
    });
    (server, seen)
}

fn answer(connection: ServerConnection, stream: TcpStream) -> std::io::Result<(String, String)> {
    let mut stream = StreamOwned::new(connection, stream);
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let key = head.lines().find_map(|line| line.strip_prefix("authorization: ")).unwrap_or_default();
    write!(stream, "HTTP/1.1 200 OK\r\nx-echo: {key}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{head}", head.len())?;
    stream.flush()?;
    Ok((stream.conn.server_name().unwrap_or_default().to_owned(), head))
}

fn held(server: &Server, host: &str) -> Vec<HeldHttp> {
    let url = format!("https://{host}:{}/**", server.port);
    vec![HeldHttp { url, methods: vec!["GET".into(), "POST".into()], private: true, secret: Some(bearer("WEATHER_KEY")) }]
}

fn posted(server: &Server, host: &str) -> Value {
    json!({"method": "POST", "url": format!("https://{host}:{}/v1/a?q=1", server.port), "body": "hi"})
}

/// The name is the URL's, the address the one that was looked up and checked for it.
#[tokio::test]
async fn w32_w33_a_secret_goes_out_over_tls_and_comes_back_to_no_guest() {
    let (server, seen) = serving("server.pem");
    let outcome = sent(held(&server, "api.test"), posted(&server, "api.test")).await;
    let got = structured(&outcome);
    assert_eq!(got["status"], 200, "{outcome:?}");
    assert!(got["body"].as_str().unwrap().contains("authorization: Bearer [secret WEATHER_KEY]"), "{outcome:?}");
    assert!(got["headers"].to_string().contains("Bearer [secret WEATHER_KEY]"), "{outcome:?}");
    without_canary(&outcome);
    assert_eq!(outcome.uses, Uses { http_requests: 1, http_effects: 1, ..Uses::default() });
    let (name, head) = seen.recv_timeout(SOON).unwrap().unwrap();
    assert_eq!(name, "api.test");
    assert!(head.starts_with("POST /v1/a?q=1 HTTP/1.1\r\n") && head.contains(&format!("host: api.test:{}\r\n", server.port)), "{head}");
    assert_eq!(head.matches(&format!("authorization: Bearer {CANARY}\r\n")).count(), 1, "{head}");
}

#[tokio::test]
async fn a_server_that_is_not_who_it_should_be_hears_no_request() {
    for (certificate, host) in [
        ("other.pem", "api.test"),
        ("expired.pem", "api.test"),
        ("untrusted.pem", "api.test"),
        ("server.pem", "localhost"),
        ("server.pem", "127.0.0.1"),
    ] {
        let (server, seen) = serving(certificate);
        let outcome = sent(held(&server, host), posted(&server, host)).await;
        let failed = failure(&outcome);
        assert_eq!(failed.kind, "unavailable", "{certificate} {host}: {outcome:?}");
        assert!(failed.message.ends_with(": TlsCertificateError"), "{certificate} {host}: {}", failed.message);
        assert_eq!(outcome.uses, Uses::default(), "{certificate} {host}: nothing was sent");
        let seen = seen.recv_timeout(SOON).unwrap();
        assert!(seen.is_err(), "{certificate} {host}: {seen:?}");
    }
}

#[tokio::test]
async fn a_server_without_tls_hears_nothing_but_a_greeting() {
    let (tell, heard) = channel();
    let server = Server::start(move |mut stream| {
        let mut bytes = vec![0; 1 << 16];
        let read = stream.read(&mut bytes).unwrap();
        stream.write_all(OK.as_bytes()).unwrap();
        bytes.truncate(read);
        // The greeting's answer is no TLS: the client says no more than that, and closes.
        stream.read_to_end(&mut bytes).unwrap_or_default();
        let _ = tell.send(bytes);
    });
    let outcome = sent(held(&server, "api.test"), posted(&server, "api.test")).await;
    assert_eq!(failure(&outcome).kind, "unavailable");
    assert!(failure(&outcome).message.ends_with(": TlsProtocolError"), "{outcome:?}");
    let heard = heard.recv_timeout(SOON).unwrap();
    // The type of a handshake's record.
    assert_eq!(heard[0], 22);
    assert!(!String::from_utf8_lossy(&heard).contains("v1/a"));
}
