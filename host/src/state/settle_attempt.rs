//! What an ended attempt means for its call: its result, a pause, or one pause too many.

use super::admit::{self, Asked};
use super::{ChainState, Rules, pasteable};
use crate::call::{CallKey, CallStatus, ToolResult, kind};
use crate::capability::{FrozenUse, Refusal, Uses};
use crate::event::Event;
use crate::pause::PauseKind;

/// How an attempt ended, as the rules need it.
pub enum Ending {
    Result(ToolResult),
    Pause(Asked),
    /// A use was held back, before the attempt had any effect.
    HeldBack(FrozenUse),
}

pub fn settle(state: &ChainState, rules: &Rules<'_>, key: CallKey, ending: Ending, uses: Uses, refusals: Vec<Refusal>) -> Vec<Event> {
    let Some(call) = state.calls.get(&key) else { return Vec::new() };
    let refusals = match state.tool(&call.tool) {
        Some(tool) => pasteable::pasteable(rules.grants, tool, refusals),
        None => refusals,
    };

    let finished = |status, result| Event::CallFinished { call: key, status, result, word_of: None, uses, refusals: refusals.clone() };
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
    };
    if state.stop.is_some() {
        let result = ToolResult::failure(kind::CANCELLED, "the chain was stopped while this call asked a person");
        return vec![finished(CallStatus::Cancelled, result)];
    }
    let limit = state.settings.pauses_per_call;
    if call.pauses >= limit {
        let result = ToolResult::failure(kind::TOO_MANY_PAUSES, format!("the call paused more than {limit} times"));
        return vec![finished(CallStatus::Failed, result)];
    }
    let (Some(tool), Some(arguments)) = (state.tool(&call.tool), &call.arguments) else {
        return super::accept::tool_gone(call);
    };
    let judged = state.judge(rules, tool, call, arguments);
    let mut pause = admit::pause(state, rules, call, tool, arguments, &judged, asked);
    // `call.uses` does not hold this attempt yet.
    pause.uses.add(uses);
    vec![Event::AttemptPaused { call: key, uses, refusals }, Event::PauseOpened { pause }]
}
