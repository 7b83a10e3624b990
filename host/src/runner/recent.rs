//! States of the chains that this process left last, so that taking one up again reads only what was written since.
//!
//! No more than a head start: events after the kept one are read and checked as ever, and an append names the event that
//! it builds on.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use super::deciding::Deciding;
use crate::chain::ChainId;
use crate::state::ChainState;

/// Chains kept; the one that was left first goes first. A state is as large as its chain, and few are taken up soon.
const KEPT_MAX: usize = 64;

#[derive(Default)]
pub struct Recent {
    kept: Mutex<VecDeque<Arc<ChainState>>>,
    /// Decisions under way in this process.
    pub(super) deciding: Deciding,
}

impl Recent {
    pub fn get(&self, id: &ChainId) -> Option<Arc<ChainState>> {
        self.kept().iter().find(|state| state.id == *id).cloned()
    }

    /// What could not be read on from is no head start.
    pub fn forget(&self, id: &ChainId) {
        self.kept().retain(|state| state.id != *id);
    }

    /// A chain that ended is not taken up again.
    pub fn keep(&self, state: impl Into<Arc<ChainState>>) {
        let state = state.into();
        let mut kept = self.kept();
        // Whoever carries the chain on and whoever decides leave it in any order.
        if kept.iter().any(|other| other.id == state.id && other.seq > state.seq) {
            return;
        }
        kept.retain(|other| other.id != state.id);
        if state.status.is_terminal() {
            return;
        }
        kept.push_back(state);
        if kept.len() > KEPT_MAX {
            kept.pop_front();
        }
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<Arc<ChainState>>> {
        self.kept.lock().expect("no panic under this lock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::ChainStatus;

    fn state(number: usize) -> ChainState {
        ChainState::new(ChainId(format!("ch_{number}")))
    }

    fn seq(recent: &Recent, number: usize) -> Option<u64> {
        recent.get(&state(number).id).map(|state| state.seq)
    }

    #[test]
    fn the_chains_left_last_are_kept_as_they_were_left() {
        let recent = Recent::default();
        (0..=KEPT_MAX).for_each(|number| recent.keep(state(number)));
        assert_eq!((seq(&recent, 0), seq(&recent, 1)), (None, Some(0)));
        recent.keep(ChainState { seq: 7, ..state(2) });
        recent.keep(ChainState { seq: 6, ..state(2) });
        assert_eq!(seq(&recent, 2), Some(7), "whoever is late takes nothing back");
        recent.keep(ChainState { status: ChainStatus::Completed, seq: 8, ..state(2) });
        assert_eq!(seq(&recent, 2), None);
        recent.forget(&state(3).id);
        assert_eq!((seq(&recent, 3), seq(&recent, 4)), (None, Some(0)));
    }
}
