//! Notices that wait to be delivered, in a table beside the journal: written with the event that causes them, taken out
//! once a receiver has them.
//!
//! Whoever claims one has it for a while; where it is not settled by then, another may claim it: at least once, under the
//! same id. What comes due later, a reminder, is dropped when its pause is over. Time is the database's own.

use std::time::Duration;

use futures_util::future::BoxFuture;

use super::JournalError;
use crate::notice::Notice;

/// Claimed at once.
pub const CLAIMED_MAX: usize = 16;
/// Parked ones that are kept; of more, those go first that were parked first.
pub const PARKED_MAX: u32 = 10_000;
/// How long they are kept, as the next one that is parked finds it.
pub const PARKED_LASTS: Duration = Duration::from_secs(30 * 24 * 3600);

/// As it is put into the table.
pub struct Told {
    pub notice: Notice,
    /// The facts as JSON.
    pub body: String,
}

impl Told {
    pub fn of(notice: Notice) -> Self {
        let body = serde_json::to_string(&notice.facts).expect("facts serialize");
        Self { notice, body }
    }
}

/// One that somebody delivers now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    pub id: String,
    pub channel: String,
    /// Facts as JSON, perhaps of another version of this program.
    pub body: String,
    /// Tries so far, this one among them.
    pub tries: u32,
    /// From 1; of a reminder how often it came due.
    pub number: u32,
}

impl Claimed {
    /// For the receiver: the same over all tries, another for each reminder.
    pub fn message_id(&self) -> String {
        if self.number == 1 { self.id.clone() } else { format!("{}-{}", self.id, self.number) }
    }
}

/// What became of a try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    Delivered,
    Again {
        after: Duration,
        why: String,
    },
    /// Not tried again until somebody says so.
    Parked {
        why: String,
    },
}

/// Of which the operator says that they are tried again, or that nobody hears of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    Parked,
    /// All to one channel, whether it is still set up or not.
    Channel(String),
    One(String),
}

impl Which {
    /// For statements: what is meant, and by which value.
    pub(super) fn in_words(&self) -> (&'static str, &str) {
        match self {
            Self::Parked => ("parked", ""),
            Self::Channel(name) => ("channel", name),
            Self::One(id) => ("one", id),
        }
    }
}

/// One that is in the table, for the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    pub id: String,
    pub channel: String,
    pub what: String,
    pub chain: String,
    pub tries: u32,
    /// Of one that is parked: when it was.
    pub due: jiff::Timestamp,
    /// Of the last try that failed.
    pub why: Option<String>,
    pub parked: bool,
}

/// What a store gives to those who deliver. A store that keeps no notices has none.
pub trait Outbox: Send + Sync {
    /// Notices for `channels` that are due, oldest first; nobody else gets them for `hold`.
    fn claim_notices<'a>(&'a self, channels: &'a [String], hold: Duration) -> BoxFuture<'a, Result<Vec<Claimed>, JournalError>> {
        let _ = (channels, hold);
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// Nothing where another has claimed it meanwhile.
    fn settle_notice<'a>(&'a self, claimed: &'a Claimed, settled: &'a Settled) -> BoxFuture<'a, Result<(), JournalError>> {
        let _ = (claimed, settled);
        Box::pin(std::future::ready(Ok(())))
    }

    /// What waits or is parked, the oldest first.
    fn notices(&self, limit: u32) -> BoxFuture<'_, Result<Vec<Queued>, JournalError>> {
        let _ = limit;
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// Makes due again what is parked of these, or failed and waits; returns how many. Nothing comes before its time.
    fn retry_notices<'a>(&'a self, which: &'a Which) -> BoxFuture<'a, Result<u64, JournalError>> {
        let _ = which;
        Box::pin(std::future::ready(Ok(0)))
    }

    /// Takes them out, parked or not, so that nobody hears of them; returns how many.
    fn discard_notices<'a>(&'a self, which: &'a Which) -> BoxFuture<'a, Result<u64, JournalError>> {
        let _ = which;
        Box::pin(std::future::ready(Ok(0)))
    }
}
