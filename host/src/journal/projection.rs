//! The rows that a state projects to: what lists show, computed from a fold and from nothing else.

use super::{CallRow, ChainRow, PauseRow};
use crate::chain::Blocked;
use crate::event::{Event, Stamped};
use crate::pause::Pause;
use crate::state::{Call, ChainState};

/// Rows of one chain.
#[derive(Clone, Debug, PartialEq)]
pub struct Projection {
    pub chain: ChainRow,
    pub calls: Vec<CallRow>,
    pub pauses: Vec<PauseProjection>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PauseProjection {
    pub row: PauseRow,
    pub opened_at: jiff::Timestamp,
    /// The pause as JSON while it is open. A closed one is in its `PauseOpened` event, once.
    pub open: Option<String>,
}

impl Projection {
    /// All rows of a chain, by key.
    pub fn all(state: &ChainState) -> Self {
        let mut pauses: Vec<_> = state.pauses.iter().map(|pause| PauseProjection::of(pause)).collect();
        pauses.sort_by(|a, b| a.row.id.cmp(&b.row.id));
        Self { chain: ChainRow::of(state), calls: state.calls.values().map(|call| CallRow::of(call)).collect(), pauses }
    }

    /// Only the rows that `events` changed on their way to `state`.
    pub fn touched(events: &[Stamped], state: &ChainState) -> Self {
        let mut keys: Vec<_> = events.iter().flat_map(|stamped| stamped.event.calls()).collect();
        for stamped in events {
            if let Event::PluginAccepted { plugin, .. } = &stamped.event {
                let prefix = format!("{plugin}__");
                keys.extend(state.calls.values().filter(|call| call.tool.starts_with(&prefix)).map(|call| call.key));
            }
        }
        keys.sort_unstable();
        keys.dedup();
        let mut ids: Vec<_> = events.iter().filter_map(|stamped| stamped.event.pause()).collect();
        ids.sort_unstable();
        ids.dedup();
        // A terminal state absorbs: an event after the end may name a call or a pause that the state never got.
        Self {
            chain: ChainRow::of(state),
            calls: keys.iter().filter_map(|key| state.call(*key)).map(CallRow::of).collect(),
            pauses: ids.into_iter().filter_map(|id| state.pause(id)).map(PauseProjection::of).collect(),
        }
    }
}

impl ChainRow {
    /// As stored: never `running`, held by nobody.
    pub fn of(state: &ChainState) -> Self {
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Self {
            id: state.id.clone(),
            status: state.status,
            detail: state.error.clone().or_else(|| state.blocked.as_ref().map(Blocked::name).map(str::to_owned)).unwrap_or_default(),
            title: state.title.clone(),
            model: state.settings.model.clone(),
            turns: count(state.turns.len()),
            calls: count(state.calls.len()),
            open_pauses: count(state.open_pauses().count()),
            started_by: state.started_by.clone(),
            started_at: state.started_at,
            updated_at: state.updated_at,
            place: state.settings.place.clone(),
            held_by: None,
        }
    }
}

impl CallRow {
    pub fn of(call: &Call) -> Self {
        Self { call: call.key, id: call.id.clone(), tool: call.tool.clone(), status: call.status, attempts: call.attempts }
    }
}

impl PauseProjection {
    fn of(pause: &Pause) -> Self {
        let open = pause.is_open().then(|| serde_json::to_string(pause).expect("pauses serialize"));
        Self { row: PauseRow { id: pause.id.clone(), status: pause.status }, opened_at: pause.opened_at, open }
    }
}
