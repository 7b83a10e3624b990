//! Web pages and APIs, where the operator allows them.

use std::collections::BTreeMap;

use pausegate_sdk::http::{self, Request};
use pausegate_sdk::{Failure, Json, Want, tool};
use schemars::JsonSchema;
use serde::Serialize;

/// The most bytes of a response that go to a model; more than fits in a context window.
const BODY_BYTES_MAX: usize = 256 * 1024;

/// What came back. A status such as 404 is a result too: the model decides what it means.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct Fetched {
    /// The HTTP status.
    status: u16,
    /// The `content-type` header.
    content_type: Option<String>,
    /// Where a redirect points to; it is not followed.
    location: Option<String>,
    /// The body as text.
    body: String,
    /// Whether the body was longer and is cut here.
    truncated: bool,
}

/// Reads a web page or an API by GET. Redirects are not followed.
#[tool(effects = "read-only")]
fn get(
    /// The whole address, such as `https://example.org/a?b=c`.
    url: String,
    /// Headers to send, by name.
    #[serde(default)]
    headers: BTreeMap<String, String>,
) -> Result<Json<Fetched>, Failure> {
    fetch(http::get(url), headers)
}

/// Sends text to an API by POST.
#[tool(effects = "once")]
fn post(
    /// The whole address, such as `https://example.org/a?b=c`.
    url: String,
    /// Headers to send, by name; `content-type` says what the body is.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// The body to send.
    body: String,
) -> Result<Json<Fetched>, Failure> {
    fetch(http::post(url, body), headers)
}

fn fetch(request: Request, headers: BTreeMap<String, String>) -> Result<Json<Fetched>, Failure> {
    let request = headers.into_iter().fold(request, |request, (name, value)| request.header(name, value));
    let response = request.body_bytes_max(BODY_BYTES_MAX).send()?;
    Ok(Json(Fetched {
        status: response.status,
        content_type: response.header("content-type").map(Into::into),
        location: response.header("location").map(Into::into),
        body: response.text(),
        truncated: response.truncated,
    }))
}

pausegate_sdk::export! {
    tools: [get, post],
    wants: [
        Want::http("https://**", &["GET"], "reads the pages that you allow; name hosts rather than all of them"),
        Want::http("https://**", &["POST"], "sends to the APIs that you allow"),
    ],
}

#[cfg(test)]
mod tests;
