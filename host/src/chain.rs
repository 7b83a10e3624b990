//! A chain: one request carried on until the model asks for no more tools.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::call::CallKey;
use crate::capability::pattern::tool_matches;
use crate::digest::Digest;

pub mod message;

/// `ch_` and a lower-case ULID.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ChainId(pub String);

impl fmt::Display for ChainId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who asked or decided, as the edge authenticated it: `os:alice@host`, later `token:alice`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Actor(pub String);

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Position of an event in its chain; the first is 1, 0 stands before it.
pub type Seq = u64;

/// The point of another chain that a chain was forked from: the last event it knows of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fork {
    pub chain: ChainId,
    pub seq: Seq,
}

/// Where a child chain stands: which call it is for, and the chains above it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    pub chain: ChainId,
    /// The parent's call that waits for this chain and for nobody else.
    pub call: CallKey,
    /// Chains above the parent, the root first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub above: Vec<ChainId>,
}

impl Parent {
    /// From the root to the parent.
    pub fn path(&self) -> Vec<ChainId> {
        self.above.iter().chain([&self.chain]).cloned().collect()
    }

    /// Of the child; 0 is a chain that somebody started.
    pub fn depth(&self) -> usize {
        self.above.len() + 1
    }
}

/// Counts the holders of a chain; a write under an older epoch is refused.
pub type Epoch = u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChainStatus {
    Runnable,
    /// Held by a live process; never stored, read off the lock.
    Running,
    Paused,
    /// For chains that its calls started, and for nobody's decision of its own.
    Waiting,
    Blocked,
    Completed,
    Rejected,
    Failed,
    Cancelled,
}

impl ChainStatus {
    /// Terminal states absorb.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Rejected | Self::Failed | Self::Cancelled)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Runnable => "runnable",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Waiting => "waiting",
            Self::Blocked => "blocked",
            Self::Completed => "completed",
            Self::Rejected => "rejected",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for ChainStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a chain waits for its operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Blocked {
    /// The model has been called `limit` times and wants to go on; `resume --max-turns` lifts it.
    MaxTurns { limit: u32 },
    /// A call needs a plugin that is not loaded; `why` is the load error where there is one.
    MissingPlugin { plugin: String, why: Option<String> },
    /// The bytes under the plugin's name are not those the chain started with; `resume --accept-plugin` takes them.
    PluginChanged { plugin: String, pinned: Digest, found: Digest },
    /// Calls that were started, held effectful grants and have no result. Only earlier versions wrote it: a chain that is
    /// taken up now asks what became of them.
    UnknownOutcome { calls: Vec<UnknownCall> },
}

impl Blocked {
    pub fn name(&self) -> &'static str {
        match self {
            Self::MaxTurns { .. } => "max_turns",
            Self::MissingPlugin { .. } => "missing_plugin",
            Self::PluginChanged { .. } => "plugin_changed",
            Self::UnknownOutcome { .. } => "unknown_outcome",
        }
    }
}

/// The facts about a started call whose result nobody knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownCall {
    pub call_id: String,
    pub tool: String,
    pub arguments: serde_json::Value,
    pub attempt: u32,
    /// Effectful grants that were in force when it started.
    pub held: Vec<String>,
}

/// What a chain was started with; never changes but for the model and the turn limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// As given to `--model`; `None` where a person called one tool without a model.
    pub model: Option<String>,
    pub system: Option<String>,
    /// Model calls allowed.
    pub max_turns: u32,
    /// Tool calls of one turn that may run side by side.
    pub parallel_calls: u32,
    /// Pauses that one call may make before it fails with `too-many-pauses`.
    pub pauses_per_call: u32,
    /// Identical invalid calls before the answer becomes `repeated-call`.
    pub repeats: u32,
    /// Tool calls one turn may ask for; those beyond it fail with `too-large`.
    pub calls_per_turn: u32,
    /// Tools this chain is narrowed to: a tool must fit some pattern of every list. A chain that carries another on
    /// can add a list and take none away.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<Vec<String>>,
    /// Where alone workers claim the chain: the folders it was granted stand there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// What becomes of unfinished calls whose plugin has other bytes by now.
    #[serde(default, skip_serializing_if = "OnChange::is_default")]
    pub on_change: OnChange,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnChange {
    /// They go on with the bytes that were kept when the chain paused.
    #[default]
    Keep,
    /// The chain is blocked until somebody accepts the new ones.
    Block,
    /// A pause of each call asks which bytes to go on with.
    Ask,
}

impl OnChange {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Settings {
    /// Whether the chain offers and calls this tool.
    pub fn admit(&self, tool: &str) -> bool {
        self.only.iter().all(|patterns| patterns.iter().any(|pattern| tool_matches(pattern, tool)))
    }

    pub fn only_in_words(&self) -> String {
        self.only.iter().map(|patterns| patterns.join(" or ")).collect::<Vec<_>>().join(", and ")
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            model: None,
            system: None,
            max_turns: 20,
            parallel_calls: 4,
            pauses_per_call: 20,
            repeats: 3,
            calls_per_turn: 128,
            only: Vec::new(),
            place: None,
            on_change: OnChange::default(),
        }
    }
}
