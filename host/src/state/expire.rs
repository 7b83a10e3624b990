//! Pauses whose time is over: closed with a result that says so. Nothing is ever approved by it.

use super::admit::finished;
use super::recover::unknown_outcome;
use super::stop::closed;
use super::{ChainState, Rules};
use crate::call::{CallStatus, ToolResult, kind};
use crate::event::Event;
use crate::pause::{Pause, PauseKind, PauseStatus};

/// Events for all open pauses that are due.
pub fn expire(state: &ChainState, rules: &Rules<'_>) -> Vec<Event> {
    state.open_pauses().filter(|pause| pause.is_due(rules.now)).flat_map(expired).collect()
}

/// The end of one that is due.
pub fn expired(pause: &Pause) -> Vec<Event> {
    let closed = closed(pause, PauseStatus::Expired, "its time was over");
    // Nobody said what became of it in time, so nobody knows: it may well have run.
    if pause.kind == PauseKind::InDoubt {
        return vec![closed, unknown_outcome(pause.call, None)];
    }
    let at = pause.expires_at().unwrap_or(pause.opened_at);
    let result = ToolResult::failure(kind::EXPIRED, format!("nobody decided about this call until {at:.0}, when its time was over; it was not run"));
    vec![closed, finished(pause.call, CallStatus::Expired, result)]
}
