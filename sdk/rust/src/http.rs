//! HTTP requests, one at a time, with a limit on what is read.
//!
//! A response of any status is a [`Response`]; only a request that got none is a [`Failure`]: `denied` without a
//! grant of the operator, `timeout`, `unavailable`, `invalid-input` and so on. Redirects are not followed.
//!
//! ```no_run
//! use pausegate_sdk::{Result, http, tool};
//!
//! /// Tells the weather.
//! #[tool(effects = "read-only")]
//! fn weather() -> Result<String> {
//!     let response = http::get("https://api.weather.example/v1/today").header("accept", "text/plain").send()?;
//!     Ok(response.text())
//! }
//! ```

#[cfg(not(target_family = "wasm"))]
mod stub;
mod target;
#[cfg(target_family = "wasm")]
mod wasi;

#[cfg(not(target_family = "wasm"))]
pub use stub::stub;

use std::borrow::Cow;
use std::time::Duration;

use crate::failure::{Failure, Kind};
use target::Target;

/// How many bytes of a body are read unless told otherwise.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;

/// A request to be sent.
#[derive(Clone, Debug)]
#[must_use = "nothing is sent before `send`"]
pub struct Request {
    method: String,
    url: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    body_bytes_max: usize,
    timeout: Option<Duration>,
}

/// What came back, whatever the status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// 100 to 599.
    pub status: u16,
    /// In the order they came; names in lower case.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body, or its beginning.
    pub body: Vec<u8>,
    /// The body was longer than the limit, and its rest was not read.
    pub truncated: bool,
}

/// Asks for `url`.
pub fn get(url: impl Into<String>) -> Request {
    Request::new("GET", url)
}

/// Sends `body` to `url`.
pub fn post(url: impl Into<String>, body: impl Into<Vec<u8>>) -> Request {
    Request::new("POST", url).body(body)
}

impl Request {
    /// Any method, and a URL with scheme and host.
    pub fn new(method: impl Into<String>, url: impl Into<String>) -> Self {
        Self { method: method.into(), url: url.into(), headers: Vec::new(), body: Vec::new(), body_bytes_max: BODY_BYTES_MAX, timeout: None }
    }

    /// Adds a header.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the body.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Reads at most this many bytes of the response's body; [`BODY_BYTES_MAX`] unless set.
    pub fn body_bytes_max(mut self, bytes: usize) -> Self {
        self.body_bytes_max = bytes;
        self
    }

    /// Waits at most this long to connect, for the first byte, and between bytes. The attempt's own time limit holds
    /// in any case.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// The method as it was given.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The URL as it was given.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The body to send.
    pub fn sent_body(&self) -> &[u8] {
        &self.body
    }

    /// The value of the first header of this name, in any case.
    pub fn sent_header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Sends the request and reads the response.
    ///
    /// # Errors
    /// When no whole response came back. Its effect says whether the request may have arrived.
    pub fn send(&self) -> Result<Response, Failure> {
        let target =
            Target::parse(&self.url).ok_or_else(|| Failure::new(Kind::InvalidInput, format!("`{}` is no URL with scheme and host", self.url)))?;
        #[cfg(target_family = "wasm")]
        let response = wasi::exchange(self, &target);
        #[cfg(not(target_family = "wasm"))]
        let response = stub::exchange(self, &target);
        response
    }
}

impl Response {
    /// The body as text; what is no UTF-8 becomes `�`.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The value of the first header of this name, in any case.
    pub fn header(&self, name: &str) -> Option<Cow<'_, str>> {
        let found = self.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
        found.map(|(_, value)| String::from_utf8_lossy(value))
    }

    /// Whether the status is 200 to 299.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}
