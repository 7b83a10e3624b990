//! Facts in the journal, past tense. A stored format: what is written here must stay readable for ever.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::{CallKey, CallStatus, Effects, Recording, ToolResult, ToolSpec};
use crate::capability::{Refusal, Uses};
use crate::chain::message::{Message, Part};
use crate::chain::{Actor, Blocked, ChainId, Epoch, Fork, Parent, Seq, Settings};
use crate::digest::Digest;
use crate::pause::{Decision, Pause, PauseId, PauseStatus};

/// An event where it stands in its chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamped {
    pub seq: Seq,
    pub at: jiff::Timestamp,
    pub epoch: Epoch,
    #[serde(flatten)]
    pub event: Event,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "payload")]
pub enum Event {
    ChainStarted {
        started_by: Actor,
        settings: Settings,
        /// The tool catalogue, stored with the chain: what was offered before a pause is known after it.
        tools: Vec<ToolSpec>,
        /// Imported history and the prompt. Imported results decide nothing.
        messages: Vec<Message>,
        /// The chain whose history this one carries on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        continues: Option<ChainId>,
        /// Where this chain was forked from: the turns and results that follow at once are copies of what was there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        forked: Option<Fork>,
        /// Whose call started this chain and waits for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<Parent>,
    },
    /// A person's further message in the same chain.
    MessageAdded {
        by: Actor,
        message: Message,
    },
    /// A model's whole response with the calls it asks for (or calls that came with an import or from a person).
    TurnReceived {
        turn: u32,
        origin: Origin,
        parts: Vec<Part>,
        /// The provider's own message, sent back unchanged where the provider demands it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        verbatim: Option<Verbatim>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        calls: Vec<Requested>,
    },
    /// Calls that may start, with the digest each was judged under.
    CallsReadied {
        calls: Vec<Readied>,
    },
    PauseOpened {
        /// Shared with the state that it is folded into.
        pause: Arc<Pause>,
    },
    /// One person's decision where the rules want more people to say the same; the pause stays open.
    VoteCounted {
        pause: PauseId,
        call: CallKey,
        by: Actor,
        decision: Decision,
    },
    PauseDecided {
        pause: PauseId,
        call: CallKey,
        by: Actor,
        decision: Decision,
        status: PauseStatus,
    },
    /// Closed without a decision: superseded, cancelled, expired.
    PauseClosed {
        pause: PauseId,
        call: CallKey,
        status: PauseStatus,
        why: String,
    },
    /// New arguments in a call's place; its answers, state and approvals are dropped. The model's words stay.
    /// `approved` is the new call digest where the edit counts as the editor's approval.
    CallEdited {
        call: CallKey,
        by: Actor,
        arguments: Arc<Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approved: Option<Digest>,
    },
    /// An approval no longer holds, since what it hangs on changed.
    ApprovalLapsed {
        call: CallKey,
        why: String,
    },
    CallsStarted {
        calls: Vec<Started>,
    },
    /// A call of the host's own tool `chain`: with this event, in one transaction, the child chain begins. Its end is
    /// the call's `CallFinished`.
    ChildStarted {
        call: CallKey,
        digest: Digest,
        child: ChainId,
    },
    /// A started call's attempt ended in a pause; stands before its `PauseOpened`.
    AttemptPaused {
        call: CallKey,
        uses: Uses,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        refusals: Vec<Refusal>,
        /// What it got from outside beyond what earlier attempts got: the next one gets the same.
        #[serde(default, skip_serializing_if = "Recording::is_empty")]
        recorded: Recording,
        /// It asked for something else than the attempts before: what they got is not given again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        diverged: bool,
    },
    /// Its attempt ended without a result, and it may start again.
    CallRecovered {
        call: CallKey,
        why: String,
        /// What the attempt used, where the host that ran it lived to count.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        uses: Option<Uses>,
    },
    /// The one result of a call.
    CallFinished {
        call: CallKey,
        status: CallStatus,
        result: Arc<ToolResult>,
        /// Whose word the result is, where it is not an attempt's own: a person's who settled it, or `plugin:NAME`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        word_of: Option<Actor>,
        #[serde(default, skip_serializing_if = "is_default")]
        uses: Uses,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        refusals: Vec<Refusal>,
    },
    /// The operator took a plugin's new bytes into the chain.
    PluginAccepted {
        by: Actor,
        plugin: String,
        digest: Digest,
        tools: Vec<ToolSpec>,
    },
    TurnLimitRaised {
        by: Actor,
        max_turns: u32,
    },
    /// Another model answers from here on.
    ModelChanged {
        by: Actor,
        model: String,
    },
    /// Nothing new starts; with the last started call the chain ends as `end` says.
    StopRequested {
        by: Actor,
        end: StopEnd,
        note: Option<String>,
    },
    ChainBlocked {
        blocked: Blocked,
    },
    ChainUnblocked {
        why: String,
    },
    ChainCompleted,
    ChainRejected,
    ChainCancelled,
    ChainFailed {
        error: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    Model,
    /// The trailing unresolved calls of an imported history: newly requested.
    Imported,
    /// A person called a tool without a model.
    Person,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopEnd {
    Rejected,
    Cancelled,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verbatim {
    /// Which wire format it is in: `anthropic`, `openai-chat`, …
    pub format: String,
    pub message: Value,
}

/// A message of the history, with the provider's own form of it where a provider wrote it.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub message: Message,
    pub verbatim: Option<Verbatim>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
}

/// A call as the model asked for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requested {
    pub call: CallKey,
    /// The provider's id where it is usable, else `tc_` and a lower-case ULID.
    pub id: String,
    /// As the provider sent it, where it differs from `id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// As asked, known or not.
    pub tool: String,
    /// The model's own text.
    pub text: String,
    /// Canonical arguments; `None` where the text could not be read.
    pub arguments: Option<Arc<Value>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Readied {
    pub call: CallKey,
    pub digest: Digest,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    pub call: CallKey,
    /// From 1.
    pub attempt: u32,
    pub digest: Digest,
    pub effects: Effects,
    /// Effectful grants in force; empty means the attempt can have no effect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<String>,
    pub approved: bool,
}

impl Started {
    /// It held what an effect can come from, and was not held to reading.
    pub fn may_have_effect(&self) -> bool {
        !self.held.is_empty() && self.effects != Effects::ReadOnly
    }
}

fn is_default(uses: &Uses) -> bool {
    *uses == Uses::default()
}

impl Event {
    pub fn pause_opened(pause: Pause) -> Self {
        Self::PauseOpened { pause: Arc::new(pause) }
    }

    /// Calls whose projection this event changes.
    pub fn calls(&self) -> Vec<CallKey> {
        match self {
            Self::TurnReceived { calls, .. } => calls.iter().map(|call| call.call).collect(),
            Self::CallsReadied { calls } => calls.iter().map(|call| call.call).collect(),
            Self::CallsStarted { calls } => calls.iter().map(|call| call.call).collect(),
            Self::PauseOpened { pause } => vec![pause.call],
            Self::PauseDecided { call, .. }
            | Self::PauseClosed { call, .. }
            | Self::CallEdited { call, .. }
            | Self::ApprovalLapsed { call, .. }
            | Self::ChildStarted { call, .. }
            | Self::AttemptPaused { call, .. }
            | Self::CallRecovered { call, .. }
            | Self::CallFinished { call, .. } => vec![*call],
            _ => Vec::new(),
        }
    }

    /// The pause whose projection this event changes.
    pub fn pause(&self) -> Option<&PauseId> {
        match self {
            Self::PauseOpened { pause } => Some(&pause.id),
            Self::VoteCounted { pause, .. } | Self::PauseDecided { pause, .. } | Self::PauseClosed { pause, .. } => Some(pause),
            _ => None,
        }
    }

    /// A promise is on disk before anyone is told: an effectful start, a pause, a decision, an end.
    pub fn is_promise(&self) -> bool {
        match self {
            Self::CallsStarted { calls } => calls.iter().any(|call| !call.held.is_empty()),
            Self::PauseOpened { .. }
            | Self::VoteCounted { .. }
            | Self::PauseDecided { .. }
            | Self::StopRequested { .. }
            | Self::ChainBlocked { .. }
            | Self::ChainCompleted
            | Self::ChainRejected
            | Self::ChainCancelled
            | Self::ChainFailed { .. } => true,
            Self::CallFinished { uses, .. } | Self::AttemptPaused { uses, .. } => uses.effectful(),
            _ => false,
        }
    }
}
