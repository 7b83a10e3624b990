//! Events as a store gives them back, checked to be what was written there, for every store the same.

use super::JournalError;
use super::record::{Hash, NO_HASH, Stored};
use crate::chain::{ChainId, Seq};
use crate::event::Stamped;

/// What `stored` says after `after`, whose hash is `hash`. The chain's row names its last event in `head`.
pub fn read_on(chain: &ChainId, after: Seq, hash: &[u8], head: Seq, stored: &[Stored]) -> Result<Vec<Stamped>, JournalError> {
    verified(chain, after, hash, stored)?;
    complete(chain, after, head, stored)?;
    stamped(chain, stored)
}

/// All of a chain, from the first on.
pub fn checked(chain: &ChainId, stored: &[Stored]) -> Result<Vec<Stamped>, JournalError> {
    verified(chain, 0, &NO_HASH, stored)?;
    stamped(chain, stored)
}

/// Without a gap, each hashed as it stands, on the hash of the one before.
fn verified(chain: &ChainId, after: Seq, hash: &[u8], stored: &[Stored]) -> Result<(), JournalError> {
    let damaged = |seq, what| Err(JournalError::Damaged { chain: chain.clone(), seq, what });
    let mut before = hash;
    for (stored, seq) in stored.iter().zip(after + 1..) {
        if stored.record.seq != seq {
            return damaged(seq, "is missing");
        }
        let Ok(prev) = Hash::try_from(before) else { return damaged(seq, "builds on a hash that is none") };
        if stored.prev_hash != before || stored.hash != stored.record.hash(chain, &prev) {
            return damaged(seq, "is not what was written there");
        }
        before = &stored.hash;
    }
    Ok(())
}

/// A row that lags behind is the projection's trouble.
fn complete(chain: &ChainId, after: Seq, head: Seq, stored: &[Stored]) -> Result<(), JournalError> {
    let last = stored.last().map_or(after, |stored| stored.record.seq);
    if last < head { Err(JournalError::Damaged { chain: chain.clone(), seq: last + 1, what: "is missing" }) } else { Ok(()) }
}

/// The first that cannot be read says so; a state cannot be folded over a gap.
fn stamped(chain: &ChainId, stored: &[Stored]) -> Result<Vec<Stamped>, JournalError> {
    let read =
        |Stored { record, .. }: &Stored| record.read().map_err(|message| JournalError::Unreadable { chain: chain.clone(), seq: record.seq, message });
    stored.iter().map(read).collect()
}
