//! What went wrong, as RFC 9457 has it: classified once for HTTP, as `commands/failure.rs` does for exit codes.
//!
//! Nothing of ours that is secret, and no path of this machine, is in an answer to somebody who is not known yet.

use std::error::Error;

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use super::tokens::TokensError;
use crate::journal::JournalError;
use crate::report::escape;
use crate::runner::HostError;
use crate::state::decide::Refused;

/// After which a journal that is busy may be tried again.
const RETRY_SECONDS: u64 = 1;

/// `application/problem+json`; `kind` is the last part of its `type` and stays what it is.
#[derive(Clone, Debug)]
pub struct Problem {
    pub status: StatusCode,
    pub kind: &'static str,
    pub detail: String,
    /// Members beside the standard ones: who decided, what is open.
    pub more: Box<Map<String, Value>>,
    headers: Vec<(HeaderName, String)>,
}

impl Problem {
    pub fn new(status: StatusCode, kind: &'static str, detail: impl Into<String>) -> Self {
        Self { status, kind, detail: detail.into(), more: Box::default(), headers: Vec::new() }
    }

    pub fn unauthenticated(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "not-authenticated", detail).header(header::WWW_AUTHENTICATE, "Bearer realm=\"pausegate\"")
    }

    pub fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", detail)
    }

    /// For what is not there, and for what a token may not know of: nobody can tell the two apart.
    pub fn unknown(what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "unknown", format!("there is no such {what}"))
    }

    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad-request", detail)
    }

    pub fn does_not_fit(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "does-not-fit", detail)
    }

    pub fn conflict(kind: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, kind, detail)
    }

    pub fn unavailable(kind: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, kind, detail).header(header::RETRY_AFTER, RETRY_SECONDS)
    }

    /// The detail goes nowhere but to the operator's log.
    pub fn internal() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "this is a bug of the server")
    }

    pub fn header(mut self, name: HeaderName, value: impl ToString) -> Self {
        self.headers.push((name, value.to_string()));
        self
    }

    pub fn with(mut self, member: &str, value: Value) -> Self {
        self.more.insert(member.to_owned(), value);
        self
    }

    pub fn title(&self) -> &'static str {
        self.status.canonical_reason().unwrap_or("Error")
    }

    fn body(&self) -> Value {
        let mut body = json!({
            "type": format!("urn:pausegate:problem:{}", self.kind),
            "title": self.title(),
            "status": self.status.as_u16(),
            "detail": self.detail,
        });
        for (member, value) in self.more.iter() {
            body[member] = value.clone();
        }
        body
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, escape::json(&self.body().to_string())).into_response();
        // Whoever shows it to a person takes it from here.
        response.extensions_mut().insert(self.clone());
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        for (name, value) in self.headers {
            if let Ok(value) = HeaderValue::from_str(&value) {
                response.headers_mut().insert(name, value);
            }
        }
        response
    }
}

impl From<HostError> for Problem {
    fn from(error: HostError) -> Self {
        match error {
            HostError::Journal(error) => error.into(),
            HostError::Refused(refused) => refused.into(),
            HostError::Model(error) => Self::unavailable("model-away", in_words(&error)),
            HostError::Import(error) => Self::does_not_fit(in_words(&error)),
            HostError::Ended { status, .. } => Self::conflict("ended", error.to_string()).with("chain_status", json!(status)),
            HostError::Waiting { ref pauses, .. } => Self::conflict("waiting", error.to_string()).with("pauses", json!(pauses)),
            HostError::HasChild { ref child, .. } => Self::conflict("has-child", error.to_string()).with("child", json!(child)),
            HostError::Unfinished { .. } => Self::conflict("unfinished", error.to_string()),
            HostError::NoEvent { .. } | HostError::TurnLimit { .. } | HostError::BadCall(_) => Self::does_not_fit(error.to_string()),
        }
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        let detail = refused.to_string();
        match refused {
            Refused::Unknown(_) => Self::unknown("pause"),
            Refused::Already { decided, .. } => Self::conflict("already-decided", detail).with("decided", json!(decided)),
            Refused::Gone { status, .. } => Self::new(StatusCode::GONE, "gone", detail).with("pause_status", json!(status)),
            Refused::NotEligible { .. } => Self::new(StatusCode::FORBIDDEN, "not-eligible", detail),
            Refused::Requester { .. } => Self::new(StatusCode::FORBIDDEN, "requester", detail),
            Refused::DigestDiffers { expected, .. } => {
                Self::new(StatusCode::PRECONDITION_FAILED, "digest-differs", detail).with("digest", json!(expected))
            }
            Refused::DoesNotFit(_) => Self::does_not_fit(detail),
        }
    }
}

impl From<JournalError> for Problem {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Unknown { what, .. } | JournalError::Ambiguous { what, .. } => Self::unknown(what),
            JournalError::Held { ref holder, .. } => Self::conflict("held", error.to_string()).with("held_by", json!(holder)),
            JournalError::Fenced { .. } => Self::conflict("held", error.to_string()),
            JournalError::Values(_) => Self::does_not_fit(error.to_string()),
            JournalError::Moved { .. } | JournalError::Busy { .. } => Self::unavailable("journal-busy", "the journal is busy; try again"),
            JournalError::Lapsed { .. } | JournalError::WentBack { .. } | JournalError::Away { .. } => {
                Self::unavailable("journal-away", "the journal cannot be used just now; try again")
            }
            JournalError::Newer { .. } | JournalError::Unreadable { .. } | JournalError::Damaged { .. } | JournalError::Unusable { .. } => {
                Self::unavailable("journal-unusable", "the journal cannot be used; its operator finds why with `pausegate doctor`")
            }
        }
    }
}

impl From<TokensError> for Problem {
    fn from(_: TokensError) -> Self {
        Self::unavailable("tokens-unusable", "the token store cannot be used; its operator finds why with `pausegate token list`")
    }
}

fn in_words(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        words += &format!(": {cause}");
        source = cause.source();
    }
    words
}
