//! The transaction that marks calls started: a call that was admitted before it is judged again, and only what was
//! approved starts.

use std::sync::Arc;

use super::admit::{Asked, denied, gate, pause};
use super::judged::{Judged, JudgedCalls};
use super::recheck::difference;
use super::{Call, ChainState, Rules, child};
use crate::call::{CallKey, ToolSpec};
use crate::capability::{Held, Limits, Verdict};
use crate::event::{Event, Started};
use crate::pause::{Pause, PauseKind, PauseStatus};

/// A call that may start now.
pub struct Startable {
    pub started: Started,
    pub held: Held,
    pub limits: Limits,
    /// Canonical.
    pub arguments: String,
}

/// Events for calls that may not start after all or that start child chains, and the calls that may. `judged` are those that were admitted under
/// the same rules just now.
pub fn start(state: &ChainState, rules: &Rules<'_>, calls: &[CallKey], judged: &mut JudgedCalls) -> (Vec<Event>, Vec<Startable>) {
    let mut events = Vec::new();
    let mut startable = Vec::new();
    let mut children = 0;
    for key in calls {
        let Some(call) = state.calls.get(key) else { continue };
        let (Some(tool), Some(arguments)) = (state.tool(&call.tool), &call.arguments) else {
            // Accepting new bytes can take a tool away; its calls then end as calls of an unknown tool do.
            events.extend(super::accept::tool_gone(call));
            continue;
        };
        let judged = judged.remove(key).unwrap_or_else(|| state.judge(rules, tool, call, arguments));
        match hindrance(state, rules, call, tool, arguments, &judged) {
            Some(hindering) => events.extend(hindering),
            None if tool.is_hosts() => {
                events.push(child::started(state, rules, call, tool, arguments, &judged, children));
                children += 1;
            }
            None => {
                events.extend(lapsed_uses(call, &judged));
                startable.push(startable_call(call, judged));
            }
        }
    }
    (events, startable)
}

fn hindrance(
    state: &ChainState,
    rules: &Rules<'_>,
    call: &Call,
    tool: &ToolSpec,
    arguments: &Arc<serde_json::Value>,
    judged: &Judged,
) -> Option<Vec<Event>> {
    let stale = |digest: &Option<crate::digest::Digest>| digest.as_ref().is_some_and(|digest| *digest != judged.digest);
    match judged.judgement.verdict {
        Verdict::Deny => return Some(vec![denied(call, judged)]),
        // What a person approved is no longer what would run.
        _ if stale(&call.approved) || stale(&call.gate_passed) => {
            let why = "the grants, rules, tool or arguments behind the approval changed".to_owned();
            let pause = match approved(state, call) {
                Some(before) => pause(state, rules, call, tool, arguments, judged, Asked::anew(before, difference(before, &judged.judgement))),
                None => gate(state, rules, call, tool, arguments, judged, Some(why.clone())),
            };
            return Some(vec![Event::ApprovalLapsed { call: call.key, why }, Event::pause_opened(pause)]);
        }
        Verdict::Ask if call.gate_passed.is_none() && call.approved.is_none() => {
            let pause = gate(state, rules, call, tool, arguments, judged, None);
            return Some(vec![Event::pause_opened(pause)]);
        }
        Verdict::Ask | Verdict::Allow => {}
    }
    None
}

/// The pause whose approval the call rests on; none where an editor's own hand stands in its place.
fn approved<'s>(state: &'s ChainState, call: &Call) -> Option<&'s Pause> {
    let last = state.pauses.iter().rfind(|pause| pause.call == call.key && matches!(pause.kind, PauseKind::Gate | PauseKind::Tool))?;
    (last.status == PauseStatus::Approved).then_some(last)
}

/// Uses approved under another digest: reaching for one asks anew.
fn lapsed_uses(call: &Call, judged: &Judged) -> Option<Event> {
    let why = "the grants, rules, tool or arguments behind the approved use changed".to_owned();
    call.opened.iter().any(|(digest, _)| *digest != judged.digest).then_some(Event::ApprovalLapsed { call: call.key, why })
}

fn startable_call(call: &Call, judged: Judged) -> Startable {
    let approved = call.approved.as_ref() == Some(&judged.digest);
    let opens = if approved { judged.judgement.opens.as_slice() } else { &[] };
    let effects = judged.judgement.effects;
    let mut held = judged.judgement.held.with(opens);
    held.uses.extend(call.opened.iter().filter(|(digest, _)| *digest == judged.digest).map(|(_, frozen)| frozen.clone()));
    let approved = approved || judged.judgement.standing;
    let started = Started { call: call.key, attempt: call.attempts + 1, digest: judged.digest, effects, held: held.effectful(), approved };
    Startable { started, held, limits: judged.judgement.limits, arguments: judged.arguments }
}
