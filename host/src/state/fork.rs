//! A chain begun anew from a point of another: what had a result by then is kept, and nobody's decision is.
//!
//! Copied are messages, turns and results. Not copied are pauses, decisions, approvals, answers and saved state: a call
//! that had no result is asked anew and judged by today's rules. A call that may have had its effect by then is not run
//! a second time for the fork's sake; its result says so.

use super::admit::finished;
use super::{Call, ChainState};
use crate::call::{CallKey, CallStatus, ToolResult, kind};
use crate::chain::{Actor, Fork};
use crate::event::{Event, Requested, Stamped, Started};

/// The first events of a fork, and the calls among them that nobody knows the outcome of.
pub struct Forked {
    pub events: Vec<Event>,
    pub unknown: Vec<CallKey>,
}

/// `events` end at the point of the fork, `state` is their fold; `fresh` makes ids.
pub fn fork(state: &ChainState, events: &[Stamped], by: &Actor, fresh: &dyn Fn(&str) -> String) -> Forked {
    let mut kept = vec![Event::ChainStarted {
        started_by: by.clone(),
        settings: state.settings.clone(),
        tools: state.tools.to_vec(),
        messages: Vec::new(),
        continues: state.continues.clone(),
        forked: Some(Fork { chain: state.id.clone(), seq: state.seq }),
        // It answers to whoever asked for it, not to the call that its origin was started for.
        parent: None,
    }];
    // The fold of what came before an event says whether the event counted.
    let mut before = ChainState::new(state.id.clone());
    for stamped in events {
        if before.status.is_terminal() {
            break;
        }
        match &stamped.event {
            Event::ChainStarted { messages, .. } => {
                if let Event::ChainStarted { messages: first, .. } = &mut kept[0] {
                    first.clone_from(messages);
                }
            }
            event => kept.extend(copied(state, &before, event, fresh)),
        }
        before.apply(stamped);
    }
    let unknown: Vec<_> = state.current_calls().filter(|call| !call.status.is_final() && may_have_acted(call)).map(|call| call.key).collect();
    kept.extend(unknown.iter().map(|key| unknown_outcome(state, *key)));
    Forked { events: kept, unknown }
}

/// An event as the fork has it; `None` for what is nobody's to take along.
fn copied(state: &ChainState, before: &ChainState, event: &Event, fresh: &dyn Fn(&str) -> String) -> Option<Event> {
    let open = |call: &CallKey| before.calls.get(call).is_some_and(|call| !call.status.is_final());
    match event {
        Event::MessageAdded { .. } => Some(event.clone()),
        Event::TurnReceived { turn, origin, parts, verbatim, usage: _, calls } => Some(Event::TurnReceived {
            turn: *turn,
            origin: *origin,
            parts: parts.clone(),
            verbatim: verbatim.clone(),
            // Its tokens were spent once.
            usage: None,
            calls: calls.iter().map(|call| Requested { id: fresh("tc_"), provider_id: None, ..call.clone() }).collect(),
        }),
        Event::CallFinished { call, .. } if open(call) => Some(event.clone()),
        // What a finished call ran with is part of its result.
        Event::CallEdited { call, by, arguments, .. } if open(call) && state.calls[call].status.is_final() => {
            Some(Event::CallEdited { call: *call, by: by.clone(), arguments: arguments.clone(), approved: None })
        }
        _ => None,
    }
}

/// Whether running it for the fork could do a second time what was done once. An idempotent call is none the safer:
/// its key is the fork's own. A child chain is its parent's alone, and what it did is not done again.
fn may_have_acted(call: &Call) -> bool {
    call.child.is_some() || call.started.as_ref().is_some_and(Started::may_have_effect) || call.lost || call.uses.effectful()
}

fn unknown_outcome(state: &ChainState, call: CallKey) -> Event {
    let message = format!(
        "the call had begun in chain {}, where this one was forked off, and had no result yet; whether it had its effect is not known here, \
         and it was not run again",
        state.id
    );
    finished(call, CallStatus::Failed, ToolResult::failure(kind::UNKNOWN_OUTCOME, message))
}
