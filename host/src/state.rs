//! The state of a chain: a fold of its events, and the rules over it.
//!
//! Pure: no I/O, no clock, no async. Rules return events or say what to do next; the runner does it and appends what
//! happened. Any prefix of a journal folds, and replay is the same fold.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::call::{CallKey, CallStatus, Recording, ToolResult, ToolSpec};
use crate::capability::{FrozenUse, Refusal, Uses};
use crate::chain::message::{Message, Part};
use crate::chain::{Actor, Blocked, ChainId, ChainStatus, Fork, Parent, Seq, Settings};
use crate::digest::Digest;
use crate::event::{Origin, Started, StopEnd, Usage, Verbatim};
use crate::pause::{Ask, Pause, PauseId};

pub mod accept;
pub mod admit;
pub mod bytes;
pub mod child;
pub mod decide;
pub mod expire;
mod fold;
pub mod fork;
pub mod history;
pub mod import;
mod judged;
pub mod next;
pub mod notices;
mod pasteable;
pub mod recheck;
pub mod recover;
pub mod replay;
mod settle;
pub mod settle_attempt;
pub mod start;
pub mod stop;
#[cfg(test)]
mod tests;

pub use judged::{JudgedCalls, Rules, Schemas, idempotency_key};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChainState {
    pub id: ChainId,
    /// The last event folded in; 0 before the first.
    pub seq: Seq,
    /// Never `Running`: that is the lock's to say.
    pub status: ChainStatus,
    pub blocked: Option<Blocked>,
    /// Why the chain failed.
    pub error: Option<String>,
    pub stop: Option<Stop>,
    pub started_by: Actor,
    pub started_at: Timestamp,
    pub updated_at: Timestamp,
    pub settings: Settings,
    /// Shared, since a state is taken along more often than it gets other tools.
    pub tools: Arc<Vec<ToolSpec>>,
    pub continues: Option<ChainId>,
    pub forked: Option<Fork>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// Imported history and the prompt.
    pub messages: Vec<Message>,
    pub turns: Vec<Arc<Turn>>,
    /// In the order asked.
    #[serde(serialize_with = "values")]
    pub calls: BTreeMap<CallKey, Arc<Call>>,
    /// In the order opened.
    pub pauses: Vec<Arc<Pause>>,
    /// How many of `turns` came from the model.
    pub model_calls: u32,
    /// First line of what the person asked last, limited, for lists; of a chain without a prompt, its first call.
    #[serde(skip)]
    pub title: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Turn {
    pub number: u32,
    pub origin: Origin,
    pub at: Timestamp,
    /// Without the tool calls: those are in `calls`.
    pub parts: Vec<Part>,
    pub verbatim: Option<Verbatim>,
    pub usage: Option<Usage>,
    pub calls: Vec<CallKey>,
    /// Messages a person added after this turn.
    pub added: Vec<Message>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Call {
    pub key: CallKey,
    pub id: String,
    pub provider_id: Option<String>,
    pub tool: String,
    /// The model's own words.
    pub text: String,
    /// What runs: canonical, possibly edited by a person.
    pub arguments: Option<Arc<Value>>,
    /// Who changed the arguments.
    pub edited_by: Option<Actor>,
    pub status: CallStatus,
    pub attempts: u32,
    /// The call digest a person approved; holds over attempts until it changes.
    pub approved: Option<Digest>,
    /// The call digest whose gate was passed.
    pub gate_passed: Option<Digest>,
    /// Uses a person approved, each under the call digest of then. None is left once an attempt had an effect.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub opened: Vec<(Digest, FrozenUse)>,
    pub answers: Vec<Answered>,
    /// What the plugin's last pause saved, base64.
    pub saved: Option<String>,
    /// What its attempts got from outside before they paused.
    #[serde(skip)]
    pub recording: Recording,
    /// How often it paused.
    pub pauses: u32,
    /// Of all attempts.
    pub uses: Uses,
    /// An attempt that may have had an effect ended unrecorded.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
    /// The attempt under way, or in doubt.
    pub started: Option<Started>,
    /// The chain that it started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub child: Option<ChainId>,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempted_at: Option<Timestamp>,
    pub requested_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    pub result: Option<Arc<ToolResult>>,
    /// Whose word the result is, where no attempt returned it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub word_of: Option<Actor>,
    pub refusals: Vec<Refusal>,
}

/// An answer to one of the plugin's own pauses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answered {
    pub key: String,
    pub asked: Ask,
    pub value: Value,
    pub note: Option<String>,
    pub context: Option<Value>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stop {
    pub by: Actor,
    pub end: StopEnd,
    pub note: Option<String>,
}

impl ChainState {
    pub fn tool(&self, name: &str) -> Option<&ToolSpec> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    pub fn pause(&self, id: &PauseId) -> Option<&Pause> {
        self.pauses.iter().find(|pause| &pause.id == id).map(|pause| &**pause)
    }

    pub fn call(&self, key: CallKey) -> Option<&Call> {
        self.calls.get(&key).map(|call| &**call)
    }

    /// In the order their calls were asked, whichever opened first; a call has at most one.
    pub fn open_pauses(&self) -> impl Iterator<Item = &Pause> {
        let mut open: Vec<_> = self.pauses.iter().map(|pause| &**pause).filter(|pause| pause.is_open()).collect();
        open.sort_by_key(|pause| pause.call);
        open.into_iter()
    }

    /// Calls of the last turn, in the order asked. No other call can be open: the model is not called while one is.
    pub fn current_calls(&self) -> impl Iterator<Item = &Call> {
        let first = CallKey { turn: self.turns.last().map_or(0, |turn| turn.number), ordinal: 0 };
        self.calls.range(first..).map(|(_, call)| &**call)
    }

    /// Current calls of one status, in the order asked.
    pub fn calls_in(&self, status: CallStatus) -> impl Iterator<Item = &Call> {
        self.current_calls().filter(move |call| call.status == status)
    }

    /// Chains that calls of this one started and wait for.
    pub fn children(&self) -> impl Iterator<Item = &ChainId> {
        self.calls_in(CallStatus::Waiting).filter_map(|call| call.child.as_ref())
    }

    /// Chains above this one, the root first.
    pub fn path(&self) -> Vec<ChainId> {
        self.parent.as_ref().map(Parent::path).unwrap_or_default()
    }

    /// The model's last words: the answer of a completed chain.
    pub fn answer(&self) -> String {
        let turn = self.turns.iter().rfind(|turn| turn.origin == Origin::Model);
        turn.map(|turn| turn.parts.iter().filter_map(Part::as_text).collect()).unwrap_or_default()
    }
}

fn values<S: serde::Serializer>(calls: &BTreeMap<CallKey, Arc<Call>>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(calls.values())
}
