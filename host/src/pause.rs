//! A pause: a durable question that a call waits on, and the decision that answers it.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::{CallKey, Effects};
use crate::capability::judge::Requirements;
use crate::capability::{FrozenUse, Opening, Then, Uses};
use crate::chain::{Actor, ChainId};
use crate::digest::Digest;

pub mod replaced;
pub mod settle;

pub use settle::{Settle, Settled};

/// `pa_` and a lower-case ULID.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PauseId(pub String);

impl fmt::Display for PauseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseKind {
    /// The plugin returned it.
    Tool,
    /// A rule made it, before any plugin code.
    Gate,
    /// The plugin reached for an approved-only grant; its use was held back.
    Capability,
    /// The call was started, may have had its effect once, and nobody recorded how it ended.
    InDoubt,
    /// The plugin's bytes are others than those the chain started with, and the operator wants to be asked.
    PluginChanged,
}

impl PauseKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Gate => "gate",
            Self::Capability => "capability",
            Self::InDoubt => "in_doubt",
            Self::PluginChanged => "plugin_changed",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseStatus {
    Open,
    Approved,
    Edited,
    Denied,
    Responded,
    Settled,
    Expired,
    Cancelled,
    Superseded,
}

impl PauseStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Approved => "approved",
            Self::Edited => "edited",
            Self::Denied => "denied",
            Self::Responded => "responded",
            Self::Settled => "settled",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
            Self::Superseded => "superseded",
        }
    }
}

/// What is asked of the person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Ask {
    Approval,
    Choice {
        options: Vec<Choice>,
    },
    Text,
    /// JSON Schema of the answer.
    Form {
        schema: Value,
    },
    /// A kind this host does not know; the answer is JSON that fits the schema.
    Other {
        kind: String,
        schema: Value,
    },
    /// What became of a call in doubt.
    Outcome,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    pub value: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// A pause as it is frozen when it opens. Nothing here changes afterwards but `status`, `votes` and `decided`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    pub id: PauseId,
    pub call: CallKey,
    /// Chains above the one it holds, the root first, where that is a child chain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<ChainId>,
    pub call_id: String,
    pub kind: PauseKind,
    /// `<plugin>__<tool>`
    pub tool: String,
    pub plugin: String,
    pub effects: Effects,
    /// Canonical arguments.
    pub arguments: Arc<Value>,
    /// The plugin's name for the question; empty for a gate.
    pub key: String,
    /// The plugin's or the rule's words.
    pub reason: String,
    pub ask: Ask,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Value>,
    /// What the plugin handed over to get back on the next attempt, base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// What approving brings into force; empty where only an answer is asked.
    pub opens: Vec<Opening>,
    /// What the call holds without this pause's approval, in words; digests of the call are over it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holds: Vec<String>,
    /// Approved-only grants that stay shut for these arguments, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shut: Vec<String>,
    /// The grant and rule lines behind it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<String>,
    pub requirements: Requirements,
    /// Effectful uses of all attempts so far: an edit is refused once there is one.
    pub uses: Uses,
    /// What changed since the person was last asked about this call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<String>,
    pub call_digest: Digest,
    pub digest: Digest,
    pub opened_at: jiff::Timestamp,
    pub status: PauseStatus,
    /// Counted while the quorum was open, oldest first; the one that reached it is in `decided`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub votes: Vec<Decided>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<Decided>,
}

impl Pause {
    pub fn is_open(&self) -> bool {
        self.status == PauseStatus::Open
    }

    /// From when on nobody can decide it.
    pub fn expires_at(&self) -> Option<jiff::Timestamp> {
        let seconds = i64::try_from(self.requirements.expires_seconds?).ok()?;
        self.opened_at.checked_add(jiff::SignedDuration::from_secs(seconds)).ok()
    }

    /// Open, and its time is over.
    pub fn is_due(&self, now: jiff::Timestamp) -> bool {
        self.is_open() && self.expires_at().is_some_and(|at| at <= now)
    }

    /// The use that a `capability` pause is about.
    pub fn frozen(&self) -> Option<&FrozenUse> {
        self.opens.iter().find_map(|opening| match opening {
            Opening::Use(frozen) => Some(frozen),
            Opening::Fs(_) | Opening::Http(_) | Opening::Kv(_) => None,
        })
    }

    /// The last vote of the person behind `by`.
    pub fn vote_of(&self, by: &Actor) -> Option<&Decided> {
        let people = &self.requirements.people;
        self.votes.iter().rfind(|vote| people.person(&vote.by) == people.person(by))
    }

    /// Of each person the last vote, which is the one that counts.
    pub fn last_votes(&self) -> Vec<&Decided> {
        let people = &self.requirements.people;
        let persons = people.persons(self.votes.iter().map(|vote| &vote.by));
        persons.iter().filter_map(|person| self.votes.iter().rfind(|vote| people.person(&vote.by) == *person)).collect()
    }

    /// How many people are for `decision`.
    pub fn votes_for(&self, decision: &Decision) -> usize {
        self.last_votes().iter().filter(|vote| vote.decision.agrees_with(decision)).count()
    }

    /// Of what most people are for.
    pub fn votes_most(&self) -> usize {
        self.last_votes().iter().map(|vote| self.votes_for(&vote.decision)).max().unwrap_or(0)
    }

    /// The decisions that its kind and its question admit; the rules may still refuse one.
    pub fn offers(&self) -> &'static [&'static str] {
        match (self.kind, self.asks_approval()) {
            (PauseKind::InDoubt, _) => &["settle"],
            (PauseKind::Capability | PauseKind::PluginChanged, _) => &["approve", "deny", "respond"],
            (_, true) if self.uses.effectful() => &["approve", "deny", "respond"],
            (_, true) => &["approve", "deny", "edit", "respond"],
            (_, false) => &["deny", "respond"],
        }
    }

    /// Whether `approve` of this pause opens what it lists: a gate, or a tool's `approval`.
    pub fn asks_approval(&self) -> bool {
        matches!(self.ask, Ask::Approval)
    }
}

/// Who decided what, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    pub by: Actor,
    pub at: jiff::Timestamp,
    pub decision: Decision,
}

/// A person's answer to a pause; strict JSON, one shape each, no default and no truthiness.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "lowercase", deny_unknown_fields)]
pub enum Decision {
    Approve {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<Digest>,
    },
    Deny {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        then: Option<Then>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<Digest>,
    },
    Edit {
        arguments: Value,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<Digest>,
    },
    Respond {
        value: Value,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<Digest>,
    },
    Settle(Settle),
}

impl Decision {
    /// Reads one decision as every door takes it.
    pub fn read(text: &str) -> Result<Self, String> {
        let value = crate::call::arguments::read_json(text).map_err(|error| error.to_string())?;
        Self::of_value(value)
    }

    /// The same of JSON that was read strictly.
    pub fn of_value(value: Value) -> Result<Self, String> {
        let decision: Self = serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
        // serde takes a list for an object and an object for a word; a decision is written in one way.
        let written = serde_json::to_value(&decision).map_err(|error| error.to_string())?;
        let given = value.as_object().ok_or("a decision is a JSON object")?;
        match given.iter().find(|(key, value)| written.get(key.as_str()) != Some(value) && !value.is_null()) {
            Some((key, _)) => Err(format!("`{key}` is not written as a decision has it")),
            None => Ok(decision),
        }
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::Approve { .. } => "approve",
            Self::Deny { .. } => "deny",
            Self::Edit { .. } => "edit",
            Self::Respond { .. } => "respond",
            Self::Settle(_) => "settle",
        }
    }

    pub fn digest(&self) -> Option<&Digest> {
        match self {
            Self::Approve { digest, .. } | Self::Deny { digest, .. } | Self::Edit { digest, .. } | Self::Respond { digest, .. } => digest.as_ref(),
            Self::Settle(settle) => settle.digest.as_ref(),
        }
    }

    pub fn note(&self) -> Option<&str> {
        match self {
            Self::Approve { note, .. } | Self::Deny { note, .. } | Self::Edit { note, .. } | Self::Respond { note, .. } => note.as_deref(),
            Self::Settle(settle) => settle.note.as_deref(),
        }
    }

    /// The same for a pause that has this digest.
    pub fn about(mut self, seen: Digest) -> Self {
        match &mut self {
            Self::Approve { digest, .. } | Self::Deny { digest, .. } | Self::Edit { digest, .. } | Self::Respond { digest, .. } => {
                *digest = Some(seen)
            }
            Self::Settle(settle) => settle.digest = Some(seen),
        }
        self
    }

    /// Whether two decisions ask for the same thing; the digest they carry does not matter.
    pub fn same_as(&self, other: &Self) -> bool {
        self.without(&["digest"]) == other.without(&["digest"])
    }

    /// Whether two votes are for the same thing; their notes may differ.
    pub fn agrees_with(&self, other: &Self) -> bool {
        self.without(&["digest", "note"]) == other.without(&["digest", "note"])
    }

    fn without(&self, keys: &[&str]) -> Value {
        let mut value = serde_json::to_value(self).expect("decisions serialize");
        keys.iter().for_each(|key| drop(value.as_object_mut().expect("tagged").remove(*key)));
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s03_h19_h55_s22_nothing_but_the_closed_shapes_is_a_decision() {
        for text in [
            "",
            "{}",
            "null",
            "true",
            "\"approve\"",
            r#"["approve"]"#,
            r#"["deny","no"]"#,
            r#"{"decision":["approve"]}"#,
            r#"{"decision":"deny","then":{"stop":null}}"#,
            r#"{"approved":true}"#,
            r#"{"decision":true}"#,
            r#"{"decision":"Approve"}"#,
            r#"{"decision":"approve","approved":true}"#,
            r#"{"decision":"approve","value":1}"#,
            r#"{"decision":"edit"}"#,
            r#"{"decision":"respond"}"#,
            r#"{"decision":"deny","then":"maybe"}"#,
            r#"{"decision":"deny","decision":"approve"}"#,
            r#"{"decision":"settle","outcome":"happened"}"#,
            // An edit names no tool, and nobody names the approver.
            r#"{"decision":"edit","arguments":{},"tool":"files__delete"}"#,
            r#"{"decision":"approve","by":"os:boss@host"}"#,
        ] {
            assert!(Decision::read(text).is_err(), "{text} was taken for a decision");
        }
        assert_eq!(Decision::read(r#"{"decision":"approve"}"#), Ok(Decision::Approve { note: None, digest: None }));
        assert_eq!(
            Decision::read(r#"{"decision":"deny","note":"no","then":"stop"}"#),
            Ok(Decision::Deny { note: Some("no".into()), then: Some(Then::Stop), digest: None })
        );
    }
}
