//! Requests of every shape.

use std::collections::BTreeMap;
use std::net::{TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::time::Duration;

use pausegate_sdk::http::{self as sdk_http, Request};
use pausegate_sdk::{Failure, Json, tool};
use schemars::JsonSchema;
use serde::Serialize;

use bindings::wasi::http::outgoing_handler;
use bindings::wasi::http::types::{ErrorCode, Fields, OutgoingRequest, Scheme};

/// More than any host allows in memory, so that its limit is met and not ours.
const DRIP_BYTES_MAX: usize = 1024 * 1024 * 1024;

#[derive(Serialize, JsonSchema)]
pub(crate) struct Got {
    status: u16,
    /// In the order they came.
    headers: Vec<(String, String)>,
    body: String,
    truncated: bool,
}

/// Sends any request.
#[tool]
pub(crate) fn http(
    method: String,
    url: String,
    #[serde(default)] headers: BTreeMap<String, String>,
    #[serde(default)] body: String,
) -> Result<Json<Got>, Failure> {
    send(method, url, headers, body)
}

/// The same as `http`, declared read-only.
#[tool(effects = "read-only")]
pub(crate) fn http_as_reader(
    method: String,
    url: String,
    #[serde(default)] headers: BTreeMap<String, String>,
    #[serde(default)] body: String,
) -> Result<Json<Got>, Failure> {
    send(method, url, headers, body)
}

/// Reads a body to its end and tells how many bytes it had.
#[tool(effects = "read-only")]
pub(crate) fn drip(url: String) -> Result<String, Failure> {
    Ok(sdk_http::get(url).body_bytes_max(DRIP_BYTES_MAX).send()?.body.len().to_string())
}

/// Sends this many bytes.
#[tool]
pub(crate) fn upload(url: String, bytes: usize) -> Result<String, Failure> {
    Ok(sdk_http::post(url, vec![b'x'; bytes]).send()?.status.to_string())
}

/// Gets the URL, and where a redirect points, once.
#[tool(effects = "read-only")]
pub(crate) fn follow(url: String) -> Result<String, Failure> {
    let response = sdk_http::get(url).send()?;
    match response.header("location") {
        Some(location) => Ok(format!("{} then {}", response.status, sdk_http::get(location).send()?.status)),
        None => Ok(response.status.to_string()),
    }
}

/// Gets the URL and waits this long for anything.
#[tool(effects = "read-only")]
pub(crate) fn times_out(url: String, ms: u64) -> Result<String, Failure> {
    Ok(sdk_http::get(url).timeout(Duration::from_millis(ms)).send()?.status.to_string())
}

/// Starts this many requests at once, and tells how many were taken and how the others were refused.
#[tool(effects = "read-only")]
pub(crate) fn at_once(authority: String, n: u32) -> anyhow::Result<String> {
    let start = |_| {
        let request = OutgoingRequest::new(Fields::new());
        request.set_scheme(Some(&Scheme::Http)).expect("a scheme");
        request.set_authority(Some(&authority)).expect("an authority");
        request.set_path_with_query(Some("/")).expect("a path");
        outgoing_handler::handle(request, None)
    };
    let pending: Vec<_> = (0..n).map(start).collect::<Result<_, _>>()?;
    let mut refused = 0;
    for one in &pending {
        one.subscribe().block();
        refused += u32::from(matches!(one.get(), Some(Ok(Err(ErrorCode::ConnectionLimitReached)))));
    }
    Ok(format!("{refused} refused"))
}

/// Tries every door of `wasi:sockets` to this port of the own host.
#[tool]
pub(crate) fn sockets(port: u16) -> anyhow::Result<String> {
    let tried = [
        TcpStream::connect(("127.0.0.1", port)).map(drop),
        TcpListener::bind("127.0.0.1:0").map(drop),
        UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.send_to(b"x", ("127.0.0.1", port)).map(drop)),
        ("localhost", port).to_socket_addrs().map(drop),
    ];
    Ok(tried.map(|tried| if tried.is_ok() { "open" } else { "shut" }).join(" "))
}

fn send(method: String, url: String, headers: BTreeMap<String, String>, body: String) -> Result<Json<Got>, Failure> {
    let request = Request::new(method, url).body(body);
    let request = headers.into_iter().fold(request, |request, (name, value)| request.header(name, value));
    let response = request.send()?;
    let body = response.text();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let headers = response.headers.into_iter().map(|(name, value)| (name, text(value))).collect();
    Ok(Json(Got { status: response.status, headers, body, truncated: response.truncated }))
}

mod bindings {
    wit_bindgen::generate!({
        path: "../../../wit",
        inline: "package probe:web; world imports { import wasi:http/outgoing-handler@0.2.12; }",
        world: "probe:web/imports",
        generate_all,
    });
}
