//! A recorded chain put through the rules again: no plugin, no model, no effect.
//!
//! Two questions are answered. Would the grants and rules of today let the same calls through, ask for the same and
//! deny the same? And could the rules have produced the events that are there: if not, it is a fault of ours, or
//! somebody wrote them.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::admit::with_admission;
use super::{ChainState, Rules};
use crate::call::{CallKey, CallStatus};
use crate::capability::Verdict;
use crate::chain::{ChainId, Seq};
use crate::digest::Digest;
use crate::event::{Event, Stamped};
use crate::pause::PauseKind;

mod fault;

/// What becomes of a call that a model asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "admission", rename_all = "snake_case")]
pub enum Admission {
    Allowed,
    Asked,
    Denied,
    /// No such tool, arguments that do not fit, one call too many.
    Failed {
        kind: String,
    },
}

/// One call under the rules of then and of now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    pub call: CallKey,
    pub id: String,
    pub tool: String,
    pub arguments: Option<Arc<Value>>,
    /// The event that asked for it, or that changed its arguments.
    pub seq: Seq,
    pub then: Admission,
    pub now: Admission,
    /// The lines of today's grants file behind `now`.
    pub because: Vec<String>,
    /// Whether the call digest is the same: grants and rules for it, and what an approval would open. Approvals hang on
    /// it. `None` where no digest is known.
    pub same_digest: Option<bool>,
}

impl Compared {
    pub fn differs(&self) -> bool {
        self.then != self.now
    }
}

/// An event that the rules do not produce there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    pub seq: Seq,
    pub what: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Replay {
    pub calls: Vec<Compared>,
    pub faults: Vec<Fault>,
}

impl Replay {
    pub fn is_same(&self) -> bool {
        self.faults.is_empty() && self.calls.iter().all(|call| !call.differs())
    }
}

/// `rules` are those of today.
pub fn replay(id: &ChainId, events: &[Stamped], rules: &Rules<'_>) -> Replay {
    let mut state = ChainState::new(id.clone());
    let mut checker = fault::Checker::default();
    let mut replay = Replay { calls: Vec::new(), faults: Vec::new() };
    for (index, stamped) in events.iter().enumerate() {
        // Whatever stands after the end changes nothing.
        if state.status.is_terminal() {
            break;
        }
        let after = &events[index + 1..];
        if let Some(what) = checker.fault(&state, stamped, after, rules) {
            replay.faults.push(Fault { seq: stamped.seq, what });
        }
        replay.calls.extend(compared(&state, stamped, after, rules));
        state.apply(stamped);
    }
    replay
}

fn compared(state: &ChainState, stamped: &Stamped, after: &[Stamped], rules: &Rules<'_>) -> Vec<Compared> {
    match &stamped.event {
        Event::TurnReceived { calls, .. } => {
            let (now, _) = with_admission(state, rules, stamped.event.clone());
            calls.iter().filter_map(|asked| compared_one(state, stamped.seq, asked, after, &now, rules)).collect()
        }
        Event::CallEdited { call, arguments, approved, .. } if state.forked.is_none() => {
            edited(state, stamped, *call, arguments, approved.is_some(), rules).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

fn compared_one(
    state: &ChainState,
    seq: Seq,
    asked: &crate::event::Requested,
    after: &[Stamped],
    now: &[Event],
    rules: &Rules<'_>,
) -> Option<Compared> {
    // Results that came with an import or a fork stand before anything was judged.
    let copied = state.forked.is_some().then_some(state.started_at);
    let recorded = after.iter().take_while(|stamped| !matches!(stamped.event, Event::TurnReceived { .. }));
    let (then, at) = recorded.filter_map(|stamped| Some((admission(&stamped.event, asked.call)?, stamped.at))).next()?;
    let (then, digest) = then?;
    if copied == Some(at) && !matches!(then, Admission::Allowed | Admission::Asked) {
        return None;
    }
    let (now, new_digest) = now.iter().filter_map(|event| admission(event, asked.call)).next()??;
    let call = super::Call::requested(asked, rules.now);
    let because = state
        .tool(&asked.tool)
        .zip(asked.arguments.as_ref())
        .map(|(tool, arguments)| state.judge(rules, tool, &call, arguments).judgement.because)
        .unwrap_or_default();
    let same_digest = digest.zip(new_digest).map(|(then, now)| then == now);
    let (id, tool, arguments) = (asked.id.clone(), asked.tool.clone(), asked.arguments.clone());
    Some(Compared { call: asked.call, id, tool, arguments, seq, then, now, because, same_digest })
}

/// What an event says became of `call` when it was asked for; `Some(None)` where it has a result that was not judged.
fn admission(event: &Event, call: CallKey) -> Option<Option<(Admission, Option<Digest>)>> {
    match event {
        Event::CallsReadied { calls } => {
            let readied = calls.iter().find(|readied| readied.call == call)?;
            Some(Some((Admission::Allowed, Some(readied.digest.clone()))))
        }
        Event::PauseOpened { pause } if pause.call == call => {
            Some((pause.kind == PauseKind::Gate).then(|| (Admission::Asked, Some(pause.call_digest.clone()))))
        }
        Event::CallFinished { call: finished, status, result, .. } if *finished == call => Some(match (status, result.as_failure()) {
            (CallStatus::Denied, _) => Some((Admission::Denied, None)),
            (CallStatus::Failed, Some(failure)) => Some((Admission::Failed { kind: failure.kind.clone() }, None)),
            _ => None,
        }),
        _ => None,
    }
}

/// New arguments that a person gave, under today's rules.
fn edited(state: &ChainState, stamped: &Stamped, key: CallKey, arguments: &Arc<Value>, approved: bool, rules: &Rules<'_>) -> Option<Compared> {
    let call = state.calls.get(&key)?;
    let tool = state.tool(&call.tool)?;
    let Event::CallEdited { by, approved: digest, .. } = &stamped.event else { return None };
    let judged = state.judge(rules, tool, call, arguments);
    let now = match judged.judgement.verdict {
        Verdict::Deny => Admission::Denied,
        _ if judged.judgement.requirements.admit_alone(by, &state.started_by) => Admission::Allowed,
        _ => Admission::Asked,
    };
    Some(Compared {
        call: key,
        id: call.id.clone(),
        tool: call.tool.clone(),
        arguments: Some(arguments.clone()),
        seq: stamped.seq,
        then: if approved { Admission::Allowed } else { Admission::Asked },
        now,
        because: judged.judgement.because,
        same_digest: digest.as_ref().map(|digest| *digest == judged.digest),
    })
}
