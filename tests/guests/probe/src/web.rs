//! Requests of every shape.

use std::collections::BTreeMap;

use pausegate_sdk::http::{self as sdk_http, Request};
use pausegate_sdk::{Failure, Json, tool};
use schemars::JsonSchema;
use serde::Serialize;

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

fn send(method: String, url: String, headers: BTreeMap<String, String>, body: String) -> Result<Json<Got>, Failure> {
    let request = Request::new(method, url).body(body);
    let request = headers.into_iter().fold(request, |request, (name, value)| request.header(name, value));
    let response = request.send()?;
    let body = response.text();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let headers = response.headers.into_iter().map(|(name, value)| (name, text(value))).collect();
    Ok(Json(Got { status: response.status, headers, body, truncated: response.truncated }))
}
