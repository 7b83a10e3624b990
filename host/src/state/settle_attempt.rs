//! What an ended attempt means for its call: its result, a pause, or one pause too many.

use std::sync::Arc;

use super::admit::{self, Asked};
use super::recover::diverged;
use super::{Call, ChainState, Rules, pasteable};
use crate::call::{CallKey, CallStatus, Effects, Recording, ToolResult, kind};
use crate::capability::{FrozenUse, Refusal, Uses};
use crate::counted::counted;
use crate::event::Event;
use crate::pause::PauseKind;

/// How an attempt ended, as the rules need it.
#[derive(Clone)]
pub enum Ending {
    Result(Arc<ToolResult>),
    Pause(Asked),
    /// A use was held back, before the attempt had any effect that is not recorded.
    HeldBack(FrozenUse),
    /// It asked for something else than the attempts before it.
    Diverged(String),
}

/// What an attempt leaves behind beside its ending.
#[derive(Clone, Debug, Default)]
pub struct Left {
    pub uses: Uses,
    pub refusals: Vec<Refusal>,
    pub recorded: Recording,
}

pub fn settle(state: &ChainState, rules: &Rules<'_>, key: CallKey, ending: Ending, left: Left) -> Vec<Event> {
    let Some(call) = state.calls.get(&key) else { return Vec::new() };
    let Left { uses, refusals, recorded } = left;
    let refusals = match state.tool(&call.tool) {
        Some(tool) => pasteable::pasteable(rules.grants, tool, refusals),
        None => refusals,
    };

    let finished = |status, result| Event::CallFinished { call: key, status, result, word_of: None, uses, refusals: refusals.clone() };
    let failed = |status, kind: &str, message: String| finished(status, Arc::new(ToolResult::failure(kind, message)));
    let asked = match ending {
        Ending::Result(result) => {
            let status = match result.as_failure() {
                None => CallStatus::Succeeded,
                Some(failure) if failure.kind == kind::CANCELLED && state.stop.is_some() => CallStatus::Cancelled,
                Some(_) => CallStatus::Failed,
            };
            return vec![finished(status, result)];
        }
        Ending::Pause(asked) => Asked { kind: PauseKind::Tool, ..asked },
        Ending::HeldBack(frozen) => admit::held_back(&frozen),
        Ending::Diverged(why) if state.stop.is_none() && may_repeat(call, uses) => {
            let paused = Event::AttemptPaused { call: key, uses, refusals, recorded: Recording::default(), diverged: true };
            return vec![paused, Event::pause_opened(diverged(state, rules, call, uses, &why))];
        }
        Ending::Diverged(why) => return vec![failed(CallStatus::Failed, kind::NONDETERMINISTIC, why)],
    };
    if state.stop.is_some() {
        let message = "the chain was stopped while this call asked a person".to_owned();
        return vec![failed(CallStatus::Cancelled, kind::CANCELLED, message)];
    }
    let limit = state.settings.pauses_per_call;
    if call.pauses >= limit {
        let message = format!("the call paused more than {}", counted(limit, "time", "times"));
        return vec![failed(CallStatus::Failed, kind::TOO_MANY_PAUSES, message)];
    }
    let (Some(tool), Some(arguments)) = (state.tool(&call.tool), &call.arguments) else {
        return super::accept::tool_gone(call);
    };
    let judged = state.judge(rules, tool, call, arguments);
    let mut pause = admit::pause(state, rules, call, tool, arguments, &judged, asked);
    // `call.uses` does not hold this attempt yet.
    pause.uses.add(uses);
    vec![Event::AttemptPaused { call: key, uses, refusals, recorded, diverged: false }, Event::pause_opened(pause)]
}

/// Whether a call that went another way than before could have an effect twice.
fn may_repeat(call: &Call, uses: Uses) -> bool {
    let mut all = call.uses;
    all.add(uses);
    all.effectful() && call.started.as_ref().is_some_and(|started| started.effects == Effects::Once)
}
