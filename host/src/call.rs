//! A tool call: which, with what arguments, how far it has come, and its one result.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::digest::Digest;

pub mod arguments;
pub mod finding;
pub mod recording;
pub mod result;
pub mod schema;

pub use finding::Finding;
pub use recording::Recording;
pub use result::{Content, EffectState, Failure, ToolResult, kind};

/// The host's own key of a call inside its chain. Provider ids may repeat, be empty or missing; this does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CallKey {
    /// From 1: which model response asked.
    pub turn: u32,
    /// From 0: the position inside that response.
    pub ordinal: u32,
}

impl fmt::Display for CallKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.turn, self.ordinal)
    }
}

/// What running a call twice would do, as the plugin declares it; the host holds it to its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effects {
    ReadOnly,
    Idempotent,
    Once,
}

impl Effects {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Idempotent => "idempotent",
            Self::Once => "once",
        }
    }
}

impl fmt::Display for Effects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One tool as the catalogue of a chain holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// `<plugin>__<tool>`, as the model sees it.
    pub name: String,
    pub plugin: String,
    /// The plugin's own name for it.
    pub tool: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub description: String,
    /// Shared, as below: a catalogue is taken along with every chain.
    pub input_schema: Arc<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Arc<Value>>,
    pub effects: Effects,
    /// Of the plugin's bytes.
    pub plugin_digest: Digest,
}

/// In the plugin's place of a tool that is the host's own; no plugin can have this name.
pub const HOST: &str = "(host)";

impl ToolSpec {
    /// No plugin runs for it.
    pub fn is_hosts(&self) -> bool {
        self.plugin == HOST
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    Requested,
    Ready,
    Paused,
    Started,
    /// For the chain that it started.
    Waiting,
    /// Started, may have had its effect, and nobody recorded how it ended.
    InDoubt,
    Succeeded,
    Failed,
    Denied,
    /// A person gave the result in the tool's place.
    Answered,
    Expired,
    Cancelled,
}

impl CallStatus {
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Requested | Self::Ready | Self::Paused | Self::Started | Self::Waiting | Self::InDoubt)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::Ready => "ready",
            Self::Paused => "paused",
            Self::Started => "started",
            Self::Waiting => "waiting",
            Self::InDoubt => "in_doubt",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Denied => "denied",
            Self::Answered => "answered",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for CallStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A tool call as the provider sent it: nothing repaired, nothing trusted.
#[derive(Clone, Debug, PartialEq)]
pub struct AskedCall {
    /// May be missing, empty, or the same as another's.
    pub id: Option<String>,
    pub name: String,
    /// The model's own text; may be no JSON at all.
    pub arguments: String,
}
