//! States of the chains that this process left last, so that taking one up again reads only what was written since.
//!
//! No more than a head start: events after the kept one are read and checked as ever, and an append names the event that
//! it builds on.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use crate::chain::ChainId;
use crate::state::ChainState;

/// Chains kept; the one that was left first goes first. A state is as large as its chain, and few are taken up soon.
const KEPT_MAX: usize = 16;

#[derive(Default)]
pub struct Recent(Mutex<VecDeque<ChainState>>);

impl Recent {
    /// Out of it: whoever carries the chain on leaves a newer one.
    pub fn take(&self, id: &ChainId) -> Option<ChainState> {
        let mut kept = self.kept();
        let index = kept.iter().position(|state| state.id == *id)?;
        kept.remove(index)
    }

    /// A chain that ended is not taken up again.
    pub fn keep(&self, state: ChainState) {
        if state.status.is_terminal() {
            return;
        }
        let mut kept = self.kept();
        kept.retain(|other| other.id != state.id);
        kept.push_back(state);
        if kept.len() > KEPT_MAX {
            kept.pop_front();
        }
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<ChainState>> {
        self.0.lock().expect("no panic under this lock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::ChainStatus;

    fn state(number: usize) -> ChainState {
        ChainState::new(ChainId(format!("ch_{number}")))
    }

    #[test]
    fn the_chains_left_last_are_kept_and_each_is_taken_once() {
        let recent = Recent::default();
        (0..=KEPT_MAX).for_each(|number| recent.keep(state(number)));
        assert_eq!(recent.take(&state(0).id), None);
        assert_eq!(recent.take(&state(1).id), Some(state(1)));
        assert_eq!(recent.take(&state(1).id), None);
        recent.keep(ChainState { seq: 7, ..state(2) });
        assert_eq!(recent.take(&state(2).id).map(|state| state.seq), Some(7));
        recent.keep(ChainState { status: ChainStatus::Completed, ..state(3) });
        assert_eq!(recent.take(&state(3).id).map(|state| state.status), Some(ChainStatus::Runnable), "what it was before is still true up to there");
    }
}
