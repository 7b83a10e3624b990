//! The journal: ordered events of chains in a database, and the projections that are written with them.
//!
//! The only place that knows SQL. An append is optimistic: it names the sequence number it builds on, and of two
//! writers that build on the same one, one is told [`JournalError::Moved`], reads again and decides again. So every
//! rule that reads, decides and writes is atomic on any store.

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::call::{CallKey, CallStatus};
use crate::capability::keyvalue::{KeyValues, KvError};
use crate::chain::{Actor, ChainId, ChainStatus, Epoch, Seq};
use crate::clock::Lease;
use crate::event::Stamped;
use crate::pause::{Pause, PauseId, PauseStatus};
use crate::state::ChainState;

pub mod archive;
pub mod audit;
mod carrying;
mod entry;
pub mod export;
mod holder;
pub mod kept;
pub mod outbox;
pub mod postgres;
mod projection;
pub mod record;
pub mod records;
pub mod sqlite;
mod stored;
#[cfg(test)]
pub(crate) mod tests;

pub use kept::KeptPlugins;
use outbox::Outbox;
pub use postgres::PostgresJournal;
use records::Records;
pub use sqlite::SqliteJournal;

/// Events to write with the state they lead to.
pub struct Append<'a> {
    pub chain: &'a ChainId,
    /// The last sequence number that `events` build on.
    pub after: Seq,
    /// `Some` from the holder of the chain; `None` from a decider, who needs no hold.
    pub epoch: Option<Epoch>,
    pub events: &'a [Stamped],
    /// The state after `events`: source of the projections.
    pub state: &'a ChainState,
}

/// The events of chains, as those who run them and those who look after them need them, and beside them the values
/// that plugins keep, plugins that chains keep, and what is to be told to others.
pub trait Journal: KeyValues + KeptPlugins + Records + Outbox {
    /// Writes all events or none; on disk before it returns where an event is a promise. Returns the last sequence number.
    fn append<'a>(&'a self, append: Append<'a>) -> BoxFuture<'a, Result<Seq, JournalError>>;

    /// Appends to several chains, all of them or none. It is as [`Journal::append`] is, and waits for the disk.
    fn append_together<'a>(&'a self, appends: Vec<Append<'a>>) -> BoxFuture<'a, Result<(), JournalError>>;

    /// Whether it can be written to; makes what is missing.
    fn ready(&self) -> BoxFuture<'_, Result<(), JournalError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// How far the clock that leases go by is ahead of this machine's; `None` where it is the same one.
    fn clock_ahead(&self) -> BoxFuture<'_, Result<Option<jiff::SignedDuration>, JournalError>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Events of a chain after `after`, oldest first.
    fn events(&self, chain: &ChainId, after: Seq) -> BoxFuture<'_, Result<Vec<Stamped>, JournalError>>;

    /// The last sequence number of a chain: a cheap look whether something was decided meanwhile.
    fn head(&self, chain: &ChainId) -> BoxFuture<'_, Result<Seq, JournalError>>;

    /// Takes the chain for this process: a new epoch, and a lock that dies with the process. A chain without events
    /// can be taken too, so that its first event is written under a hold; it shows in no list until then.
    fn take(&self, chain: &ChainId) -> BoxFuture<'_, Result<Hold, JournalError>>;

    /// Takes the oldest runnable chain that nobody holds, as [`Journal::take`] does. What is run is what this returned: a
    /// list of chains says only how it was.
    fn claim<'a>(&'a self, wanted: &'a Wanted) -> BoxFuture<'a, Result<Option<(ChainId, Hold)>, JournalError>>;
    /// Chains that are paused or blocked, by id, after `after`, as far as they may be run at one of `places`.
    fn waiting<'a>(&'a self, after: Option<&'a ChainId>, places: &'a [String], limit: u32) -> BoxFuture<'a, Result<Vec<ChainId>, JournalError>>;
    /// Returns when some chain may have become runnable. A hint that may never come: look now and then all the same.
    fn woken(&self) -> BoxFuture<'_, ()>;

    /// Full id of the one chain whose id starts with `prefix`.
    fn find_chain(&self, prefix: &str) -> BoxFuture<'_, Result<ChainId, JournalError>>;
    /// Full id and chain of the one pause whose id starts with `prefix`.
    fn find_pause(&self, prefix: &str) -> BoxFuture<'_, Result<(ChainId, PauseId), JournalError>>;

    /// Newest first.
    fn chains(&self, limit: u32) -> BoxFuture<'_, Result<Vec<ChainRow>, JournalError>>;
    /// Open pauses of all chains, oldest first. The one definition of what is pending.
    fn pending(&self, limit: u32) -> BoxFuture<'_, Result<Vec<PendingRow>, JournalError>>;
    /// The newest chain's id: `run --continue`.
    fn newest_chain(&self) -> BoxFuture<'_, Result<Option<ChainId>, JournalError>>;
}

/// Held until it is let go, or dropped.
pub struct Hold {
    pub epoch: Epoch,
    /// Under which alone something may be done; `None` where the operating system lets go with the process.
    pub lease: Option<Lease>,
    pub lock: Box<dyn Lock>,
}

impl Hold {
    /// Returns once others can take the chain.
    pub async fn let_go(self) {
        self.lock.let_go().await;
    }
}

/// What stands behind a hold.
pub trait Lock: Send + Sync + 'static {
    /// Returns once others can take the chain; dropping it says so too, without a wait.
    fn let_go(self: Box<Self>) -> BoxFuture<'static, ()> {
        drop(self);
        Box::pin(std::future::ready(()))
    }
}

/// Chains that a worker would run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Chains with a place are claimed only where it stands here.
    pub places: Vec<String>,
    pub but: Vec<ChainId>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChainRow {
    pub id: ChainId,
    /// `running` where a live process holds it.
    pub status: ChainStatus,
    /// The block's name, the failure's text; empty otherwise.
    pub detail: String,
    /// The prompt, its first line, limited.
    pub title: String,
    pub model: Option<String>,
    pub turns: u32,
    pub calls: u32,
    pub open_pauses: u32,
    pub started_by: Actor,
    pub started_at: jiff::Timestamp,
    pub updated_at: jiff::Timestamp,
    /// Where alone workers claim it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// `pid 4711 on host, since …` where a live process holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_by: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PendingRow {
    /// The pause's own `id` stands at the top level.
    #[serde(flatten)]
    pub pause: Pause,
    pub chain: ChainId,
    pub started_by: Actor,
    pub chain_status: ChainStatus,
    pub title: String,
}

/// One row of the call projection, for checks that projections are the fold of events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRow {
    pub call: CallKey,
    pub id: String,
    pub tool: String,
    pub status: CallStatus,
    pub attempts: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseRow {
    pub id: PauseId,
    pub status: PauseStatus,
}

/// One of several that a shortened id could mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub id: String,
    /// Foreign words may stand in it.
    pub is: String,
}

impl Candidate {
    /// Named at most: those that were begun last, since they are meant most often.
    pub const MAX: u32 = 5;

    /// A chain, or a pause with the chain it is of.
    fn of(id: String, status: &str, title: &str) -> Self {
        Self { id, is: format!("{status}, {title}") }
    }
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum JournalError {
    /// Someone wrote since; read again and decide again.
    #[error("chain {chain} moved on to event {head}")]
    Moved { chain: ChainId, head: Seq },
    /// Another process took the chain since.
    #[error("chain {chain} was taken by another process")]
    Fenced { chain: ChainId },
    /// The lease on it ran out: the database could not be reached in time, or this process slept.
    #[error("the hold on chain {chain} could not be renewed in time")]
    Lapsed { chain: ChainId },
    /// A server that crashed may have lost the last events that were no promise, as a machine without power may.
    #[error("chain {chain} stands at event {head} again: the server stopped before what came after was on its disk")]
    WentBack { chain: ChainId, head: Seq },
    #[error("chain {chain} is held by {holder}")]
    Held { chain: ChainId, holder: String },
    #[error("no {what} has an id that starts with `{prefix}`")]
    Unknown { what: &'static str, prefix: String },
    #[error("`{prefix}` is the start of {count} {what} ids; give more of it")]
    Ambiguous { what: &'static str, prefix: String, count: usize, candidates: Vec<Candidate> },
    #[error("journal `{path}` is of version {found}; this program reads up to version {known}")]
    Newer { path: String, found: u32, known: u32 },
    #[error("event {seq} of chain {chain} cannot be read: {message}")]
    Unreadable { chain: ChainId, seq: Seq, message: String },
    /// Events were cut out, changed or put in another order by something else than this program.
    #[error("the journal is damaged: event {seq} of chain {chain} {what}")]
    Damaged { chain: ChainId, seq: Seq, what: &'static str },
    /// Busy for longer than the wait allows.
    #[error("journal `{path}` is busy")]
    Busy { path: String },
    /// A change of a plugin's values that is not made; it never leaves the journal in this form.
    #[error(transparent)]
    Values(KvError),
    /// A full disk, a fault of the disk: another try may find it better.
    #[error("journal `{path}`: {message}")]
    Away { path: String, message: String },
    /// No journal, or none that can be used as it is there: another try changes nothing.
    #[error("journal `{path}`: {message}")]
    Unusable { path: String, message: String },
}
