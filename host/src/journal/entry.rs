//! An append made ready on the caller's side, for every store the same: serialized, with the rows that it leads to.

use jiff::Timestamp;

use super::outbox::Told;
use super::projection::Projection;
use super::record::{Hash, NO_HASH, Record};
use super::{Append, JournalError};
use crate::chain::{ChainId, Epoch, Seq};
use crate::notice::Audience;
use crate::state::ChainState;
use crate::state::notices::notices;

/// A store only checks, binds and hashes.
pub struct Entry {
    pub chain: ChainId,
    pub after: Seq,
    pub epoch: Option<Epoch>,
    pub records: Vec<Record>,
    pub rows: Projection,
    pub is_promise: bool,
    /// With these events the chain ends; what its plugins kept for it alone goes with it.
    pub ends_for: Vec<String>,
    /// For whoever wants to hear of it.
    pub told: Vec<Told>,
    /// By this machine's clock; a server has its own.
    pub now: Timestamp,
}

/// Where a chain stands: what an append builds on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    pub head: Seq,
    pub hash: Hash,
    pub epoch: Epoch,
}

impl Position {
    /// Before the first event, and before anyone took the chain.
    pub const START: Self = Self { head: 0, hash: NO_HASH, epoch: 0 };
}

impl Entry {
    pub fn of(append: &Append<'_>, audience: &Audience, now: Timestamp) -> Self {
        for (event, seq) in append.events.iter().zip(append.after + 1..) {
            assert_eq!(event.seq, seq, "events of an append stand in a row after what they build on");
        }
        assert_eq!(append.state.seq, append.after + append.events.len() as Seq, "the state is the one after the events");
        Self {
            chain: append.chain.clone(),
            after: append.after,
            epoch: append.epoch,
            records: Record::all(append.events),
            rows: Projection::touched(append.events, append.state),
            is_promise: append.events.iter().any(|stamped| stamped.event.is_promise()),
            ends_for: if append.state.status.is_terminal() { plugins(append.state) } else { Vec::new() },
            told: notices(audience, append.events, append.state).into_iter().map(Told::of).collect(),
            now,
        }
    }

    pub fn bytes(&self) -> usize {
        self.records.iter().map(|record| record.payload.len()).chain(self.told.iter().map(|told| told.body.len())).sum()
    }

    /// The last sequence number that it writes.
    pub fn head(&self) -> Seq {
        self.after + self.records.len() as Seq
    }

    /// One for each record.
    pub fn hashes(&self, prev: &Hash) -> Vec<Hash> {
        let mut hash = *prev;
        let chained = self.records.iter().map(|record| {
            hash = record.hash(&self.chain, &hash);
            hash
        });
        chained.collect()
    }

    /// Why it cannot be written where the chain stands `at`.
    pub fn refusal(&self, at: &Position) -> Option<JournalError> {
        let chain = || self.chain.clone();
        if self.epoch.is_some_and(|epoch| epoch != at.epoch) {
            return Some(JournalError::Fenced { chain: chain() });
        }
        (self.after != at.head).then(|| JournalError::Moved { chain: chain(), head: at.head })
    }
}

/// Those of its catalogue.
fn plugins(state: &ChainState) -> Vec<String> {
    let mut plugins: Vec<String> = state.tools.iter().map(|tool| tool.plugin.clone()).collect();
    plugins.dedup();
    plugins
}
