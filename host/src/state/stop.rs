//! Stopping a chain: by a denial that says so, or by `cancel`. Nothing new starts, nothing started is lost.

use super::admit::finished;
use super::recover::unknown_outcome;
use super::{Call, ChainState};
use crate::call::{CallStatus, ToolResult, kind};
use crate::chain::Actor;
use crate::event::{Event, StopEnd};
use crate::pause::{PauseId, PauseStatus};

/// The stop mark, and what it closes: open pauses (but `decided`, which a decision just closed) and calls that have
/// not started. The end itself follows when no started call and no child chain is left.
pub fn stop(state: &ChainState, by: &Actor, end: StopEnd, note: Option<String>, decided: Option<&PauseId>) -> Vec<Event> {
    let mut events = vec![Event::StopRequested { by: by.clone(), end, note }];
    let decided_call = decided.and_then(|id| state.pause(id)).map(|pause| pause.call);
    for pause in state.open_pauses().filter(|pause| Some(&pause.id) != decided) {
        events.push(closed(pause, PauseStatus::Cancelled, "the chain was stopped"));
    }
    for call in unstarted(state).filter(|call| Some(call.key) != decided_call) {
        events.push(closed_unrun(call, "the chain was stopped"));
    }
    if state.calls_in(CallStatus::Started).chain(state.calls_in(CallStatus::Waiting)).next().is_none() {
        events.push(ended(end));
    }
    events
}

/// Closes every open call with a result, so that a new message finds a balanced history.
pub fn supersede(state: &ChainState) -> Vec<Event> {
    let pauses = state.open_pauses().map(|pause| closed(pause, PauseStatus::Superseded, "a new message took its place"));
    pauses.chain(unstarted(state).map(|call| closed_unrun(call, "superseded"))).collect()
}

/// Calls whose end is not still to come from an attempt or a child chain.
fn unstarted(state: &ChainState) -> impl Iterator<Item = &Call> {
    state.current_calls().filter(|call| !call.status.is_final() && !matches!(call.status, CallStatus::Started | CallStatus::Waiting))
}

pub fn ended(end: StopEnd) -> Event {
    match end {
        StopEnd::Rejected => Event::ChainRejected,
        StopEnd::Cancelled => Event::ChainCancelled,
    }
}

pub fn closed(pause: &crate::pause::Pause, status: PauseStatus, why: &str) -> Event {
    Event::PauseClosed { pause: pause.id.clone(), call: pause.call, status, why: why.to_owned() }
}

/// The result of a call that is made no more; one in doubt may have been made before.
fn closed_unrun(call: &Call, why: &str) -> Event {
    if call.status == CallStatus::InDoubt {
        return unknown_outcome(call.key, None);
    }
    finished(call.key, CallStatus::Cancelled, ToolResult::failure(kind::CANCELLED, format!("not run: {why}")))
}
