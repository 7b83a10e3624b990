//! What an append brings about in other chains, written in the same transaction: the start of a child chain, and the
//! result that the end of one is to its parent's call. So there is no call that waits for a chain that never began, and
//! none that goes on waiting for one that ended.

use jiff::Timestamp;

use super::Host;
use crate::capability::Grants;
use crate::chain::{ChainId, Seq};
use crate::event::{Event, Stamped};
use crate::journal::{Append, JournalError};
use crate::state::{ChainState, child};

/// Of a chain that nobody needs to hold for it, as for a decision.
pub struct Beside {
    after: Seq,
    events: Vec<Stamped>,
    pub state: ChainState,
}

impl Beside {
    fn new(mut state: ChainState, at: Timestamp, event: Event) -> Self {
        let after = state.seq;
        let event = Stamped { seq: after + 1, at, epoch: 0, event };
        state.apply(&event);
        Self { after, events: vec![event], state }
    }

    pub fn append(&self) -> Append<'_> {
        Append { chain: &self.state.id, after: self.after, epoch: None, events: &self.events, state: &self.state }
    }

    pub fn events(&self) -> &[Stamped] {
        &self.events
    }
}

/// `state` is the one after `events`, which were decided under `grants`.
pub async fn of(host: &Host, state: &ChainState, events: &[Stamped], grants: &Grants) -> Result<Vec<Beside>, JournalError> {
    let mut beside: Vec<_> = events.iter().filter_map(|stamped| begun(state, stamped, grants)).collect();
    if let (true, Some(parent), Some(last)) = (state.status.is_terminal(), &state.parent, events.last()) {
        let before = host.journal.events(&parent.chain, 0).await?;
        let before = ChainState::fold(ChainId::clone(&parent.chain), &before);
        beside.extend(child::ended(&before, state).map(|event| Beside::new(before, last.at, event)));
    }
    Ok(beside)
}

fn begun(state: &ChainState, stamped: &Stamped, grants: &Grants) -> Option<Beside> {
    let Event::ChildStarted { call, child, .. } = &stamped.event else { return None };
    Some(Beside::new(ChainState::new(child.clone()), stamped.at, child::begun(state, grants, *call)?))
}
