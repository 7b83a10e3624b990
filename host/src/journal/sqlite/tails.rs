//! Where this process left the chains it wrote to, so that the next append to one looks nothing up.
//!
//! No more than a guess: others write too, and a transaction may be undone after its append was noted here. The update
//! that builds on a tail checks all of it.

use std::collections::HashMap;

use crate::chain::{Actor, ChainId, ChainStatus};
use crate::journal::ChainRow;
use crate::journal::entry::{Entry, Position};

/// Chains kept; beyond it the map starts anew. More chains than one process ever runs at once.
const KEPT_MAX: usize = 1024;

#[derive(Default)]
pub struct Tails(HashMap<ChainId, Tail>);

pub struct Tail {
    pub at: Position,
    pub status: ChainStatus,
    row: Lasting,
}

/// Of a chain's row what hardly ever changes.
struct Lasting {
    title: String,
    model: Option<String>,
    started_by: Actor,
    started_at: jiff::Timestamp,
}

impl Tails {
    /// The tail that `entry` builds on.
    pub fn before(&mut self, entry: &Entry) -> Option<&mut Tail> {
        let tail = self.0.get_mut(&entry.chain)?;
        let fits = tail.at.head == entry.after && entry.epoch.is_none_or(|epoch| epoch == tail.at.epoch) && tail.row.is_of(&entry.rows.chain);
        fits.then_some(tail)
    }

    pub fn keep(&mut self, row: &ChainRow, at: Position) {
        if self.0.len() >= KEPT_MAX {
            self.0.clear();
        }
        self.0.insert(row.id.clone(), Tail { at, status: row.status, row: Lasting::of(row) });
    }
}

impl Lasting {
    fn of(row: &ChainRow) -> Self {
        Self { title: row.title.clone(), model: row.model.clone(), started_by: row.started_by.clone(), started_at: row.started_at }
    }

    fn is_of(&self, row: &ChainRow) -> bool {
        (&self.title, &self.model, &self.started_by, self.started_at) == (&row.title, &row.model, &row.started_by, row.started_at)
    }
}
