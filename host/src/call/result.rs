//! The one result of a call, as stored and as the model sees it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Failure kinds that the host itself gives; plugins have a list of their own in `wit/plugin.wit`.
pub mod kind {
    pub const INVALID_INPUT: &str = "invalid-input";
    pub const NOT_FOUND: &str = "not-found";
    pub const DENIED: &str = "denied";
    pub const AUTH_REQUIRED: &str = "auth-required";
    pub const TOO_LARGE: &str = "too-large";
    pub const INVALID_RESULT: &str = "invalid-result";
    pub const TRAPPED: &str = "trapped";
    pub const OUT_OF_MEMORY: &str = "out-of-memory";
    /// Wall time.
    pub const OUT_OF_TIME: &str = "out-of-time";
    pub const OUT_OF_CPU: &str = "out-of-cpu";
    pub const TOO_MANY_PAUSES: &str = "too-many-pauses";
    pub const REPEATED_CALL: &str = "repeated-call";
    pub const EXPIRED: &str = "expired";
    pub const NOT_LOADED: &str = "not-loaded";
    pub const CANCELLED: &str = "cancelled";
    /// Made again after a pause, a call asked for something else than before.
    pub const NONDETERMINISTIC: &str = "nondeterministic";
    pub const UNKNOWN_OUTCOME: &str = "unknown-outcome";
    pub const FAILED: &str = "failed";
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum ToolResult {
    Success { content: Vec<Content> },
    Failure(Failure),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    Text {
        text: String,
    },
    /// One JSON value.
    Structured {
        value: Value,
    },
    /// `data` is standard base64.
    Blob {
        media_type: String,
        data: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub kind: String,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u32>,
    /// The plugin's word on whether something happened: shown, never acted on. `None` from the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<EffectState>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectState {
    None,
    Maybe,
    Happened,
}

impl Failure {
    pub fn new(kind: &str, message: impl Into<String>) -> Self {
        Self { kind: kind.to_owned(), message: message.into(), retry_after_ms: None, effect: None }
    }
}

impl ToolResult {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Success { content: vec![Content::Text { text: text.into() }] }
    }

    pub fn structured(value: Value) -> Self {
        Self::Success { content: vec![Content::Structured { value }] }
    }

    /// A result that a person gives: text as it is, all else as structured content.
    pub fn given(value: &Value) -> Self {
        match value {
            Value::String(text) => Self::text(text.clone()),
            other => Self::structured(other.clone()),
        }
    }

    pub fn failure(kind: &str, message: impl Into<String>) -> Self {
        Self::Failure(Failure::new(kind, message))
    }

    pub fn as_failure(&self) -> Option<&Failure> {
        match self {
            Self::Failure(failure) => Some(failure),
            Self::Success { .. } => None,
        }
    }

    /// What the model reads: text as it is, structured content as JSON, a failure as an `error` object.
    pub fn for_model(&self) -> String {
        match self {
            Self::Success { content } => match content.as_slice() {
                [one] => one.for_model(),
                several => several.iter().map(Content::for_model).collect::<Vec<_>>().join("\n"),
            },
            Self::Failure(failure) => {
                let mut error = json!({"kind": failure.kind, "message": failure.message});
                if let Some(ms) = failure.retry_after_ms {
                    error["retry_after_ms"] = ms.into();
                }
                if let Some(effect) = failure.effect {
                    error["effect"] = serde_json::to_value(effect).expect("an enum of words");
                }
                json!({"error": error}).to_string()
            }
        }
    }

    /// `kind: message` for the `exception` key of the `llm` message JSON.
    pub fn exception(&self) -> Option<String> {
        self.as_failure().map(|failure| format!("{}: {}", failure.kind, failure.message))
    }
}

/// Bytes from the base64 that blobs and saved states are stored in.
pub fn from_base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

pub fn to_base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

impl Content {
    fn for_model(&self) -> String {
        match self {
            Self::Text { text } => text.clone(),
            Self::Structured { value } => value.to_string(),
            Self::Blob { media_type, data } => format!("[{media_type}, {} bytes]", data.len() / 4 * 3),
        }
    }
}
