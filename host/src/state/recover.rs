//! Calls that a dead process left behind: made again where that does no harm, else somebody says what became of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::admit::{self, Asked};
use super::judged::Judged;
use super::start::Startable;
use super::{Call, ChainState, Rules};
use crate::call::{CallKey, CallStatus, Effects, Finding, ToolResult, ToolSpec, kind};
use crate::capability::Uses;
use crate::chain::Actor;
use crate::event::{Event, Started};
use crate::pause::{Ask, Pause, PauseKind};

/// What plugins found out about calls in doubt.
pub type Findings = BTreeMap<CallKey, Finding>;

/// What may be done with a call whose attempt ended unrecorded.
enum Fate {
    /// It can have had no effect.
    Harmless,
    /// Made twice, it ends as made once.
    Repeatable,
    InDoubt,
}

impl Fate {
    fn of(call: &Call) -> Self {
        match &call.started {
            Some(started) if started.may_have_effect() && started.effects == Effects::Once => Self::InDoubt,
            Some(started) if started.may_have_effect() => Self::Repeatable,
            _ => Self::Harmless,
        }
    }
}

/// Started calls that nobody runs any more.
pub fn recover(state: &ChainState, rules: &Rules<'_>, findings: &Findings) -> Vec<Event> {
    state.calls_in(CallStatus::Started).map(|call| recovered(state, rules, call, findings.get(&call.key))).collect()
}

/// The same but for what plugins are still to be asked about.
pub fn recover_certain(state: &ChainState) -> Vec<Event> {
    let certain = state.calls_in(CallStatus::Started).filter(|_| state.stop.is_none());
    certain.filter_map(|call| again(call, &Fate::of(call))).collect()
}

fn recovered(state: &ChainState, rules: &Rules<'_>, call: &Call, finding: Option<&Finding>) -> Event {
    let fate = Fate::of(call);
    if state.stop.is_some() {
        return match fate {
            Fate::Harmless => {
                let result = ToolResult::failure(kind::CANCELLED, "the chain was stopped while this call ran");
                admit::finished(call.key, CallStatus::Cancelled, result)
            }
            Fate::Repeatable | Fate::InDoubt => unknown_outcome(call.key, None),
        };
    }
    match again(call, &fate) {
        Some(event) => event,
        None => in_doubt(state, rules, call, finding),
    }
}

fn again(call: &Call, fate: &Fate) -> Option<Event> {
    let why = match fate {
        Fate::Harmless => "its process ended before the result; it held no effectful grant",
        Fate::Repeatable => "its process ended before the result; it is idempotent and keeps its idempotency key",
        Fate::InDoubt => return None,
    };
    Some(made_again(call, why))
}

fn made_again(call: &Call, why: &str) -> Event {
    Event::CallRecovered { call: call.key, why: why.to_owned(), uses: None }
}

/// The honest result of a call that was started and never heard of again.
pub fn unknown_outcome(call: CallKey, note: Option<&str>) -> Event {
    let mut message = "the call was started and its process ended before the result; whether it had its effect is not known".to_owned();
    if let Some(note) = note {
        message += &format!("; a person adds: {note}");
    }
    admit::finished(call, CallStatus::Failed, ToolResult::failure(kind::UNKNOWN_OUTCOME, message))
}

fn in_doubt(state: &ChainState, rules: &Rules<'_>, call: &Call, finding: Option<&Finding>) -> Event {
    let believed = finding.filter(|_| state.tool(&call.tool).is_some_and(|tool| rules.grants.believes(tool)));
    match (believed, finding) {
        (Some(Finding::Happened(result)), _) => {
            let status = if result.as_failure().is_none() { CallStatus::Succeeded } else { CallStatus::Failed };
            let word_of = state.tool(&call.tool).map(|tool| Actor(format!("{PLUGIN_WORD}{}", tool.plugin)));
            said(call, status, result.clone(), word_of)
        }
        (Some(Finding::NotHappened), _) => made_again(call, "its process ended before the result; its plugin found that it had not happened"),
        (_, finding) => {
            let why = "the call was started and its process ended before the result; it may have had its effect, and must not have it twice";
            Event::pause_opened(question(state, rules, call, why, facts(state, call, finding)))
        }
    }
}

/// The same question of a call that, made again after a pause, went another way than before.
pub(super) fn diverged(state: &ChainState, rules: &Rules<'_>, call: &Call, uses: Uses, why: &str) -> Pause {
    let mut all = call.uses;
    all.add(uses);
    let mut facts = facts(state, call, None);
    facts["recorded_uses"] = json!(all);
    Pause { uses: all, ..question(state, rules, call, why, facts) }
}

const PLUGIN_WORD: &str = "plugin:";

/// A result that no attempt returned.
pub fn said(call: &Call, status: CallStatus, result: ToolResult, word_of: Option<Actor>) -> Event {
    Event::CallFinished { call: call.key, status, result: Arc::new(result), word_of, uses: Default::default(), refusals: Vec::new() }
}

impl Call {
    /// For the model, which is told what is an attempt's result and what is somebody's word.
    pub(super) fn whose_word(&self) -> Option<&'static str> {
        let word_of = self.word_of.as_ref()?;
        Some(match word_of.0.starts_with(PLUGIN_WORD) {
            true => "[the process that ran this call died; its plugin looked and says that it happened, with this result]",
            false => "[the process that ran this call died; a person says that it happened, with this result]",
        })
    }
}

/// Asks what became of the attempt; it hangs on the digest the attempt was started under, so an approval stays.
fn question(state: &ChainState, rules: &Rules<'_>, call: &Call, why: &str, facts: Value) -> Pause {
    let gone = tool_gone(call);
    let tool = state.tool(&call.tool).unwrap_or(&gone);
    let arguments = call.arguments.clone().unwrap_or_default();
    let judged = state.judge(rules, tool, call, &arguments);
    let (digest, effects) = match &call.started {
        Some(started) => (started.digest.clone(), started.effects),
        None => (judged.digest.clone(), judged.judgement.effects),
    };
    let asked = Asked {
        kind: PauseKind::InDoubt,
        key: String::new(),
        reason: why.to_owned(),
        ask: Ask::Outcome,
        context: Some(facts),
        saved: None,
        difference: None,
    };
    let pause = admit::pause(state, rules, call, tool, &arguments, &Judged { digest, ..judged }, asked);
    Pause { effects, ..pause }
}

/// What is known, frozen into the question.
fn facts(state: &ChainState, call: &Call, finding: Option<&Finding>) -> Value {
    let held = call.started.as_ref().map(|started| started.held.as_slice()).unwrap_or_default();
    let mut facts = json!({
        "attempt": call.attempts,
        "started_at": call.attempted_at,
        "held": held,
        "approved": call.started.as_ref().is_some_and(|started| started.approved),
        "recorded_uses": call.uses,
        "idempotency_key": call.idempotency_key(state),
    });
    if let Some(finding) = finding {
        facts["plugin"] = finding.shown();
    }
    facts
}

/// A call outlives its tool where the operator accepted bytes that have it no more; rules by its name still hold.
fn tool_gone(call: &Call) -> ToolSpec {
    let (plugin, tool) = call.tool.split_once("__").unwrap_or((&call.tool, ""));
    ToolSpec {
        name: call.tool.clone(),
        plugin: plugin.to_owned(),
        tool: tool.to_owned(),
        title: None,
        description: String::new(),
        input_schema: Value::Null.into(),
        output_schema: None,
        effects: Effects::Once,
        plugin_digest: crate::digest::Digest::of_bytes(b""),
    }
}

/// Calls that a plugin may be asked about before a person is, as attempts that read and reach for nothing.
pub fn lookups(state: &ChainState, rules: &Rules<'_>) -> Vec<Startable> {
    let doubtful = state.calls_in(CallStatus::Started).filter(|call| matches!(Fate::of(call), Fate::InDoubt) && state.stop.is_none());
    doubtful.filter_map(|call| lookup(state, rules, call)).collect()
}

fn lookup(state: &ChainState, rules: &Rules<'_>, call: &Call) -> Option<Startable> {
    let (tool, arguments, started) = (state.tool(&call.tool)?, call.arguments.as_ref()?, call.started.as_ref()?);
    let judged = state.judge(rules, tool, call, arguments);
    let opens = if started.approved && started.digest == judged.digest { judged.judgement.opens.as_slice() } else { &[] };
    let mut held = judged.judgement.held.with(opens);
    held.reach.clear();
    held.uses.clear();
    let started = Started { effects: Effects::ReadOnly, held: Vec::new(), ..started.clone() };
    Some(Startable { started, held, limits: judged.judgement.limits, arguments: judged.arguments })
}
