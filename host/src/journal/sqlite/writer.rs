//! The one writer: a thread that takes what is queued into one transaction, so that a commit on a busy disk is shared.
//!
//! Each of several orders stands in a savepoint of its own: one that is refused leaves the others alone. A failure of
//! the store itself (a full disk, a lock held for too long) undoes the whole transaction, and everyone in it is told;
//! the thread goes on with the next.
//!
//! A plugin's value is no promise by itself: the result of its call is, and brings all that was committed before it
//! to the disk.
//!
//! What is no promise does not wait for the disk: where nobody else writes, it is written where it is appended.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::fault;
use super::kept::Keeping;
use super::keyvalue::Changing;
use super::outbox::Noticing;
use super::schema::Place;
use super::tails::Tails;
use super::write::{self, Refused};
use crate::chain::{ChainId, Epoch, Seq};
use crate::clock::since_boot;
use crate::journal::JournalError;
use crate::journal::entry::Entry;
use crate::journal::outbox::Claimed;

/// Orders waiting; whoever comes then waits for room.
const QUEUE_MAX: usize = 256;
/// Orders in one transaction: what a crash can undo for those who were not told yet stays small.
const BATCH_MAX: usize = 64;
/// Payload bytes after which a transaction takes no more.
const BATCH_BYTES_MAX: usize = 4 << 20;
/// How often it is looked whether the file still stands at its place, for what is no promise: a promise looks each time.
/// A write in between goes where the file went, and is lost with it like a last write with the power.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Waits of `Place::wait` each for another process's transaction.
const BEGIN_TRIES: u32 = 2;

pub enum Order {
    Append(Box<Entry>, oneshot::Sender<Result<Seq, JournalError>>),
    /// All of them or none.
    Together(Vec<Entry>, oneshot::Sender<Result<Seq, JournalError>>),
    Take {
        chain: ChainId,
        holder: String,
        reply: oneshot::Sender<Result<Epoch, JournalError>>,
    },
    Change(Box<Changing>, oneshot::Sender<Result<u64, JournalError>>),
    Keep(Box<Keeping>, oneshot::Sender<Result<u64, JournalError>>),
    /// With what was claimed, once that is written.
    Notice(Box<Noticing>, Vec<Claimed>, oneshot::Sender<Result<Vec<Claimed>, JournalError>>),
    /// Best effort: the lock is what counts.
    Release {
        chain: ChainId,
        epoch: Epoch,
    },
}

/// Ends, with everything that was queued written, when it is dropped.
pub struct Writer {
    orders: Option<mpsc::Sender<Order>>,
    thread: Option<JoinHandle<()>>,
    store: Arc<Mutex<Store>>,
}

impl Writer {
    pub fn start(place: Place, connection: Connection) -> Result<Self, JournalError> {
        let (orders, queue) = mpsc::channel(QUEUE_MAX);
        let path = place.path.clone();
        let store =
            Arc::new(Mutex::new(Store { file: identity(&path), seen: since_boot(), place, connection, synchronous: None, tails: Tails::default() }));
        let run = {
            let store = store.clone();
            move || run(&store, queue)
        };
        let thread = std::thread::Builder::new().name("journal".into()).spawn(run).map_err(|error| fault::io(&path, &error))?;
        Ok(Self { orders: Some(orders), thread: Some(thread), store })
    }

    pub fn orders(&self) -> &mpsc::Sender<Order> {
        self.orders.as_ref().expect("open until dropped")
    }

    /// Writes in this thread what waits for nothing: to wake the writer and be woken by it takes longer. `None` where
    /// someone else writes, or the entry is a promise, which waits for the disk.
    pub fn write_now(&self, entry: &Entry) -> Option<Result<Seq, JournalError>> {
        if entry.is_promise {
            return None;
        }
        self.store.try_lock().ok()?.write_now(entry)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(store: &Mutex<Store>, mut queue: mpsc::Receiver<Order>) {
    while let Some(first) = queue.blocking_recv() {
        let mut store = store.lock().expect("no panic under this lock");
        let mut bytes = first.bytes();
        let mut batch = vec![first];
        while batch.len() < BATCH_MAX && bytes < BATCH_BYTES_MAX {
            let Ok(order) = queue.try_recv() else { break };
            bytes += order.bytes();
            batch.push(order);
        }
        store.write(batch);
    }
}

struct Store {
    place: Place,
    /// What stood at the place when it was opened.
    file: Option<(u64, u64)>,
    /// When that was last seen there.
    seen: Duration,
    connection: Connection,
    /// As last set on the connection.
    synchronous: Option<&'static str>,
    tails: Tails,
}

impl Store {
    /// `None` where another process writes: this thread has others to serve while that takes.
    fn write_now(&mut self, entry: &Entry) -> Option<Result<Seq, JournalError>> {
        if since_boot().saturating_sub(self.seen) >= LOOK_EVERY && self.is_gone() {
            return Some(Err(fault::gone(&self.place.path)));
        }
        let written = self.synchronize("NORMAL").and_then(|()| {
            self.connection.busy_timeout(Duration::ZERO)?;
            let begun = self.run_cached("BEGIN IMMEDIATE");
            self.connection.busy_timeout(self.place.wait)?;
            begun.and_then(|()| self.alone(|connection, tails| entry.write(connection, tails)))
        });
        match written {
            Err(error) if fault::is_busy(&error) && self.connection.is_autocommit() => None,
            Err(error) => {
                self.roll_back();
                Some(Err(fault::sqlite(&self.place.path, &error)))
            }
            Ok(outcome) => Some(outcome),
        }
    }

    /// Answers go out only after the commit.
    fn write(&mut self, mut batch: Vec<Order>) {
        if self.is_gone() {
            return batch.into_iter().for_each(|order| order.answer(Err(fault::gone(&self.place.path))));
        }
        match self.transaction(&mut batch) {
            Ok(outcomes) => batch.into_iter().zip(outcomes).for_each(|(order, outcome)| order.answer(outcome)),
            Err(error) => {
                self.roll_back();
                let path = &self.place.path;
                for order in batch {
                    order.answer(Err(fault::sqlite(path, &error)));
                }
            }
        }
    }

    fn transaction(&mut self, batch: &mut [Order]) -> rusqlite::Result<Vec<Result<u64, JournalError>>> {
        self.synchronize(if batch.iter().any(Order::is_promise) { "FULL" } else { "NORMAL" })?;
        self.begin()?;
        if let [order] = batch {
            return Ok(vec![self.alone(|connection, tails| order.write(connection, tails))?]);
        }
        let outcomes = batch.iter_mut().map(|order| self.one(order)).collect::<Result<_, _>>()?;
        self.run_cached("COMMIT")?;
        Ok(outcomes)
    }

    /// No savepoint, which would keep a copy of every page it touches: undoing it undoes nothing of others.
    fn alone(&mut self, write: impl FnOnce(&Connection, &mut Tails) -> Result<u64, Refused>) -> rusqlite::Result<Result<u64, JournalError>> {
        let told = match write(&self.connection, &mut self.tails) {
            Ok(number) => {
                self.run_cached("COMMIT")?;
                return Ok(Ok(number));
            }
            Err(Refused::Journal(error)) => error,
            Err(Refused::Sqlite(error)) if fault::is_of_one_write(&error) => fault::sqlite(&self.place.path, &error),
            Err(Refused::Sqlite(error)) => return Err(error),
        };
        self.run_cached("ROLLBACK")?;
        Ok(Err(told))
    }

    fn one(&mut self, order: &mut Order) -> rusqlite::Result<Result<u64, JournalError>> {
        self.run_cached("SAVEPOINT one")?;
        match order.write(&self.connection, &mut self.tails) {
            Ok(number) => {
                self.run_cached("RELEASE one")?;
                Ok(Ok(number))
            }
            Err(Refused::Journal(error)) => self.undo_one(error),
            Err(Refused::Sqlite(error)) if fault::is_of_one_write(&error) => self.undo_one(fault::sqlite(&self.place.path, &error)),
            Err(Refused::Sqlite(error)) => Err(error),
        }
    }

    fn undo_one<T>(&self, told: JournalError) -> rusqlite::Result<Result<T, JournalError>> {
        self.run_cached("ROLLBACK TO one")?;
        self.run_cached("RELEASE one")?;
        Ok(Err(told))
    }

    fn begin(&self) -> rusqlite::Result<()> {
        for tried in 1.. {
            match self.run_cached("BEGIN IMMEDIATE") {
                Err(error) if tried < BEGIN_TRIES && fault::is_busy(&error) => {}
                ended => return ended,
            }
        }
        Ok(())
    }

    /// Something else stands at the place, or nothing.
    fn is_gone(&mut self) -> bool {
        let gone = self.file.is_none() || identity(&self.place.path) != self.file;
        self.seen = if gone { Duration::ZERO } else { since_boot() };
        gone
    }

    /// Takes effect only outside of a transaction. In WAL mode `FULL` is on disk when the commit returns, together
    /// with all that was committed before it; `NORMAL` may lose the last commits with the power, never their order.
    fn synchronize(&mut self, level: &'static str) -> rusqlite::Result<()> {
        if self.synchronous != Some(level) {
            self.connection.pragma_update(None, "synchronous", level)?;
            self.synchronous = Some(level);
        }
        Ok(())
    }

    fn roll_back(&self) {
        if !self.connection.is_autocommit() {
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }

    fn run_cached(&self, sql: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(sql)?.execute([]).map(drop)
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

impl Order {
    fn write(&mut self, connection: &Connection, tails: &mut Tails) -> Result<u64, Refused> {
        match self {
            Self::Notice(noticing, claimed, _) => {
                *claimed = noticing.write(connection)?;
                Ok(0)
            }
            Self::Append(entry, _) => entry.write(connection, tails),
            Self::Together(entries, _) => entries.iter().try_fold(0, |_, entry| entry.write(connection, tails)),
            Self::Change(changing, _) => changing.write(connection),
            Self::Keep(keeping, _) => Ok(keeping.write(connection).map(|()| 0)?),
            Self::Take { chain, holder, .. } => Ok(write::take(connection, chain, holder)?),
            Self::Release { chain, epoch } => Ok(write::release(connection, chain, *epoch).map(|()| *epoch)?),
        }
    }

    /// Nobody left to hear it is no failure: what was written stays written.
    fn answer(self, outcome: Result<u64, JournalError>) {
        match self {
            Self::Append(_, reply) | Self::Together(_, reply) | Self::Change(_, reply) | Self::Keep(_, reply) | Self::Take { reply, .. } => {
                drop(reply.send(outcome))
            }
            Self::Notice(_, claimed, reply) => drop(reply.send(outcome.map(|_| claimed))),
            Self::Release { .. } => {}
        }
    }

    fn is_promise(&self) -> bool {
        match self {
            Self::Append(entry, _) => entry.is_promise,
            Self::Together(..) => true,
            _ => false,
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Append(entry, _) => entry.bytes(),
            Self::Together(entries, _) => entries.iter().map(Entry::bytes).sum(),
            Self::Change(changing, _) => changing.bytes(),
            Self::Keep(keeping, _) => keeping.bytes(),
            Self::Notice(..) | Self::Take { .. } | Self::Release { .. } => 0,
        }
    }
}
