//! Effects that a server can count, one tool for each kind, and a way to tell after a crash what became of them.

use pausegate_sdk::http::{self, Request};
use pausegate_sdk::{Call, Failure, Kind, Result, Verdict, tool};

const KEY: &str = "idempotency-key";

/// Posts; made twice, it counts twice.
#[tool(effects = "once")]
fn post(call: &Call, url: String) -> Result<String> {
    send(http::post(url, "").header(KEY, call.idempotency_key()))
}

/// Puts, under the call's idempotency key.
#[tool(effects = "idempotent")]
fn put(call: &Call, url: String) -> Result<String> {
    send(Request::new("PUT", url).header(KEY, call.idempotency_key()))
}

/// Reads.
#[tool(effects = "read-only")]
fn look(call: &Call, url: String) -> Result<String> {
    send(http::get(url).header(KEY, call.idempotency_key()))
}

fn send(request: Request) -> Result<String> {
    let response = request.send()?;
    match response.status {
        200 => Ok(response.text()),
        status => Err(Failure::new(Kind::Unavailable, format!("the server says {status}")).into()),
    }
}

/// The server knows by the key; `url` of the call tells where it is.
fn found(call: &Call) -> Result<Verdict> {
    let arguments: serde_json::Value = serde_json::from_str(call.arguments())?;
    let url = arguments["url"].as_str().unwrap_or_default();
    let response = http::get(format!("{url}?key={}", call.idempotency_key())).send()?;
    match response.status {
        200 => Verdict::happened(response.text()),
        404 => Ok(Verdict::NotHappened),
        500 => panic!("it gives up"),
        _ => Ok(Verdict::Unknown),
    }
}

pausegate_sdk::export! { tools: [post, put, look], reconcile: found }
