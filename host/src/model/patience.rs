//! How long a provider is waited for, and which answers are worth another try.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use reqwest::StatusCode;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use serde_json::Value;

use super::remote::Fault;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// In all, the first included.
    pub attempts_max: usize,
    /// Before the second attempt; doubled for each further one, with as much again at random.
    pub delay_base: Duration,
    pub delay_max: Duration,
    /// The longest `Retry-After` that is waited out; a longer one ends the attempts.
    pub retry_after_max: Duration,
    pub connect_max: Duration,
    /// Without one byte.
    pub silence_max: Duration,
}

impl Default for Patience {
    /// Rides out a busy minute; a person is not left waiting for an outage.
    fn default() -> Self {
        Self {
            attempts_max: 5,
            delay_base: Duration::from_millis(500),
            delay_max: Duration::from_secs(30),
            retry_after_max: Duration::from_secs(60),
            connect_max: Duration::from_secs(10),
            silence_max: Duration::from_secs(120),
        }
    }
}

impl Patience {
    /// One wait per further attempt.
    pub fn delays(&self) -> impl Iterator<Item = Duration> + Send + use<> {
        ExponentialBuilder::new()
            .with_min_delay(self.delay_base)
            .with_max_delay(self.delay_max)
            .with_factor(2.0)
            .with_max_times(self.attempts_max.saturating_sub(1))
            .with_jitter()
            .build()
    }
}

/// What an answer that is no success means.
pub fn fault(status: StatusCode, headers: &HeaderMap, body: &str) -> Fault {
    let json: Option<Value> = serde_json::from_str(body).ok();
    let message = match json.as_ref().and_then(error_message) {
        Some(message) => super::excerpt_text(message),
        None if body.trim().is_empty() => status.canonical_reason().unwrap_or("no reason given").to_owned(),
        None => super::excerpt_text(body),
    };
    let wait = retry_after(headers).or_else(|| json.as_ref().and_then(gemini_retry_delay));
    let again = matches!(status.as_u16(), 408 | 409 | 429 | 500..);
    match again && !json.as_ref().is_some_and(|error| is_quota(error, wait)) {
        true => Fault::Away { message: format!("{}: {message}", status.as_u16()), wait },
        false => Fault::Refused { status: status.as_u16(), message },
    }
}

/// What an error inside a stream means: `error` as it would have stood in a body.
pub fn stream_fault(body: &Value) -> Fault {
    let error = &body["error"];
    let word = |key: &str| error[key].as_str().unwrap_or_default();
    let status = error["code"].as_u64().and_then(|code| StatusCode::from_u16(u16::try_from(code).ok()?).ok()).filter(|status| !status.is_success());
    let status = status.unwrap_or_else(|| match (word("type"), word("code")) {
        ("invalid_request_error", _) => StatusCode::BAD_REQUEST,
        ("authentication_error", _) => StatusCode::UNAUTHORIZED,
        ("permission_error", _) => StatusCode::FORBIDDEN,
        ("not_found_error", _) => StatusCode::NOT_FOUND,
        ("request_too_large", _) => StatusCode::PAYLOAD_TOO_LARGE,
        ("rate_limit_error", _) | (_, "rate_limit_exceeded" | "insufficient_quota") => StatusCode::TOO_MANY_REQUESTS,
        ("overloaded_error", _) => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    });
    fault(status, &HeaderMap::new(), &body.to_string())
}

/// `error.message`, `error` or `message`, as all the providers have it in one of these places.
pub fn error_message(body: &Value) -> Option<&str> {
    // Gemini wraps some errors in a list.
    let body = body.get(0).unwrap_or(body);
    let error = body.get("error").filter(|error| !error.is_null());
    error
        .and_then(|error| error.get("message"))
        .and_then(Value::as_str)
        .or_else(|| error.and_then(Value::as_str))
        .or_else(|| body.get("message").and_then(Value::as_str))
}

/// Used up, rather than too fast: waiting seconds does not help. Gemini says "quota" for both and gives a short wait
/// only for the second.
fn is_quota(body: &Value, wait: Option<Duration>) -> bool {
    let error = &body.get(0).unwrap_or(body)["error"];
    let word = |key: &str| error[key].as_str().unwrap_or_default();
    let code = [word("code"), word("type")];
    if code.iter().any(|code| ["insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "billing_error"].contains(code)) {
        return true;
    }
    word("status") == "RESOURCE_EXHAUSTED" && word("message").contains("quota") && wait.is_none()
}

/// Seconds or a date; a date counts from the server's own `Date`, so its clock may be wrong.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name).and_then(|value: &reqwest::header::HeaderValue| value.to_str().ok()).map(str::trim);
    if let Some(milliseconds) = text(reqwest::header::HeaderName::from_static("retry-after-ms")) {
        return milliseconds.parse().ok().map(Duration::from_millis);
    }
    let value = text(RETRY_AFTER)?;
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = |text: &str| jiff::fmt::rfc2822::parse(text).ok().map(|date| date.timestamp());
    let from = text(DATE).and_then(date)?;
    Some(Duration::try_from(date(value)?.duration_since(from)).unwrap_or(Duration::ZERO))
}

/// `{"error":{"details":[{"@type":"…RetryInfo","retryDelay":"34s"}]}}`
fn gemini_retry_delay(body: &Value) -> Option<Duration> {
    let details = body.get(0).unwrap_or(body)["error"]["details"].as_array()?;
    let delay = details.iter().find_map(|detail| detail["retryDelay"].as_str())?;
    Duration::try_from_secs_f64(delay.strip_suffix('s')?.parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(status: u16, headers: &[(&'static str, &str)], body: &str) -> String {
        let headers = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        match fault(StatusCode::from_u16(status).unwrap(), &headers, body) {
            Fault::Away { message, wait } => format!("again after {wait:?}: {message}"),
            Fault::Refused { status, message } => format!("never ({status}): {message}"),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn busy_is_asked_again() {
        assert_eq!(check(429, &[("retry-after", "7")], r#"{"error":{"message":"slow down"}}"#), "again after Some(7s): 429: slow down");
        assert_eq!(check(429, &[("retry-after-ms", "250"), ("retry-after", "1")], ""), "again after Some(250ms): 429: Too Many Requests");
        assert_eq!(
            check(529, &[], r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#),
            "again after None: 529: Overloaded"
        );
        assert_eq!(check(502, &[], "<html>\n<b>Bad\tGateway</b>"), "again after None: 502: <html> <b>Bad Gateway</b>");
        for status in [408, 409, 500, 503, 504] {
            assert!(check(status, &[], "").starts_with("again"), "{status}");
        }
    }

    #[test]
    fn what_another_try_cannot_change_is_not_tried() {
        for status in [301, 400, 401, 403, 404, 413, 422] {
            assert!(check(status, &[("retry-after", "1")], "").starts_with("never"), "{status}");
        }
        assert_eq!(
            check(429, &[], r#"{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}"#),
            "never (429): You exceeded your current quota"
        );
        let daily = r#"[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota"}}]"#;
        assert_eq!(check(429, &[], daily), "never (429): You exceeded your current quota");
        let minute = r#"{"error":{"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota","details":[{"retryDelay":"34s"}]}}"#;
        assert_eq!(check(429, &[], minute), "again after Some(34s): 429: You exceeded your current quota");
    }

    #[test]
    fn a_date_counts_from_the_servers_own() {
        let server = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(check(503, &[("retry-after", "Sun, 06 Nov 1994 08:49:57 GMT"), server], "x"), "again after Some(20s): 503: x");
        assert_eq!(check(503, &[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT"), server], "x"), "again after Some(0ns): 503: x");
        assert_eq!(check(503, &[("retry-after", "soon"), server], "x"), "again after None: 503: x");
    }

    #[test]
    fn there_is_one_wait_less_than_attempts() {
        let delays: Vec<_> = Patience::default().delays().collect();
        assert_eq!(delays.len(), 4);
        assert!(delays[0] >= Duration::from_millis(500) && delays[0] <= Duration::from_secs(1), "{delays:?}");
        assert!(delays[3] >= Duration::from_secs(4) && delays[3] <= Duration::from_secs(8), "{delays:?}");
    }
}
