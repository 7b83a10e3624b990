//! A notice: what somebody outside is told of a chain, once for each channel that wants to hear of it.
//!
//! It is written in the transaction of the event that causes it, with all that a message needs: whoever delivers it later
//! reads no chain. Foreign words in it are cut, not escaped; whoever shows them escapes them.

use serde::{Deserialize, Serialize};

use crate::chain::{Actor, ChainId, Seq};
use crate::digest::Digest;
use crate::pause::{PauseId, PauseKind};

/// Bytes kept of the words of a plugin, a model or a person.
pub const WORDS_BYTES_MAX: usize = 2 << 10;
/// Times that a pause is reminded of; whoever did not look by then does not look here.
pub const REMINDERS_MAX: u32 = 100;

/// Who hears of what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audience(pub Vec<Listener>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    pub channel: String,
    pub hears: Vec<Topic>,
}

/// What a channel can be told of, as the operator names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// A pause opened, was forgotten about, or others may decide it now.
    Pause,
    /// A pause is over.
    Decided,
    Blocked,
    Ended,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Happening {
    #[serde(rename = "pause.opened")]
    PauseOpened,
    #[serde(rename = "pause.reminder")]
    PauseReminder,
    #[serde(rename = "pause.escalated")]
    PauseEscalated,
    #[serde(rename = "pause.decided")]
    PauseDecided,
    #[serde(rename = "pause.closed")]
    PauseClosed,
    #[serde(rename = "chain.blocked")]
    ChainBlocked,
    #[serde(rename = "chain.completed")]
    ChainCompleted,
    #[serde(rename = "chain.rejected")]
    ChainRejected,
    #[serde(rename = "chain.cancelled")]
    ChainCancelled,
    #[serde(rename = "chain.failed")]
    ChainFailed,
}

/// All that a message is made of. Kept as JSON: a key that is added later has a default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    pub what: Happening,
    pub at: jiff::Timestamp,
    pub chain: ChainId,
    /// Of the event that caused it.
    pub seq: Seq,
    pub title: String,
    pub started_by: Actor,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<Asked>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<Said>,
    /// Why it is blocked, how it failed, why a pause is over without a decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A pause as far as a message shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    pub id: PauseId,
    pub kind: PauseKind,
    pub tool: String,
    pub plugin: String,
    /// Canonical JSON.
    pub arguments: String,
    pub reason: String,
    /// `approval`, `choice`, `text`, `form`, …
    pub asks: String,
    pub opens: Vec<String>,
    /// These are all that a person would see of it: nothing is cut, and there is no context, difference or frozen use besides.
    #[serde(default)]
    pub whole: bool,
    pub approvers: String,
    pub digest: Digest,
    pub opened_at: jiff::Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<jiff::Timestamp>,
    /// Who may decide too from now on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub escalated_to: Vec<Actor>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    pub by: Actor,
    /// `approve`, `deny`, …
    pub decision: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// One message to one channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// `no_` and 32 hex digits: the same for the same event, channel and cause, however often it is written or sent.
    pub id: String,
    pub channel: String,
    pub facts: Facts,
    /// After its event.
    pub after_seconds: u64,
    /// Again and again, while the pause is open.
    pub every_seconds: Option<u64>,
    /// Nothing is said any more once this pause is over.
    pub while_open: Option<PauseId>,
}

impl Happening {
    pub fn topic(self) -> Topic {
        match self {
            Self::PauseOpened | Self::PauseReminder | Self::PauseEscalated => Topic::Pause,
            Self::PauseDecided | Self::PauseClosed => Topic::Decided,
            Self::ChainBlocked => Topic::Blocked,
            Self::ChainCompleted | Self::ChainRejected | Self::ChainCancelled | Self::ChainFailed => Topic::Ended,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::PauseOpened => "pause.opened",
            Self::PauseReminder => "pause.reminder",
            Self::PauseEscalated => "pause.escalated",
            Self::PauseDecided => "pause.decided",
            Self::PauseClosed => "pause.closed",
            Self::ChainBlocked => "chain.blocked",
            Self::ChainCompleted => "chain.completed",
            Self::ChainRejected => "chain.rejected",
            Self::ChainCancelled => "chain.cancelled",
            Self::ChainFailed => "chain.failed",
        }
    }
}

impl Audience {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Channels that want to hear of it.
    pub fn of(&self, topic: Topic) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |listener| listener.hears.contains(&topic)).map(|listener| listener.channel.as_str())
    }
}

impl Notice {
    /// At once, and once.
    pub fn new(channel: &str, facts: Facts) -> Self {
        Self { id: id(channel, &facts, 0), channel: channel.to_owned(), facts, after_seconds: 0, every_seconds: None, while_open: None }
    }

    /// Later, unless the pause is over by then.
    pub fn later(channel: &str, facts: Facts, after_seconds: u64, pause: &PauseId) -> Self {
        let id = id(channel, &facts, after_seconds);
        Self { id, after_seconds, while_open: Some(pause.clone()), ..Self::new(channel, facts) }
    }
}

fn id(channel: &str, facts: &Facts, after_seconds: u64) -> String {
    let text = format!("pausegate-notice/1\0{}\0{}\0{channel}\0{}\0{after_seconds}", facts.chain, facts.seq, facts.what.as_str());
    format!("no_{}", &Digest::of_bytes(text.as_bytes()).hex()[..32])
}

/// No more than is kept, cut between two characters.
pub fn cut(text: &str) -> String {
    if text.len() <= WORDS_BYTES_MAX {
        return text.to_owned();
    }
    let end = (0..=WORDS_BYTES_MAX).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}… ({} more bytes)", &text[..end], text.len() - end)
}
