//! The journal in one SQLite file, shared by all processes of a machine.
//!
//! One connection writes ([`writer`]), a few connections read beside it, and a lock file per chain says who holds it.
//! Reads create nothing and do not start the writer. Several processes may write: SQLite lets one at a time.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rusqlite::Connection;
use tokio::sync::{Notify, OnceCell, Semaphore, mpsc, oneshot};

use self::kept::Keeping;
use self::keyvalue::Changing;
use self::lock::Lock;
use self::outbox::Noticing;
use self::schema::Place;
use self::writer::{Order, Writer};
use super::entry::Entry;
use super::outbox::{Claimed, Outbox, Queued, Settled, Which};
use super::record::Stored;
use super::records::{Head, Health, Rebuilt, Records};
use super::{Append, ChainRow, Hold, Journal, JournalError, KeptPlugins, PendingRow, Wanted};
use crate::capability::keyvalue::{Bucket, Change, KeyValues, KvError, Page, Quota};
use crate::chain::{ChainId, ChainStatus, Epoch, Seq};
use crate::clock::Clock;
use crate::digest::Digest;
use crate::event::Stamped;
use crate::notice::Audience;
use crate::pause::PauseId;

mod fault;
mod health;
mod kept;
mod keyvalue;
mod lock;
mod outbox;
mod pages;
mod read;
mod rebuild;
mod remove;
mod schema;
mod tails;
mod write;
mod writer;

/// Connections that read at the same time; more would only wait for the processor.
const READERS_MAX: usize = 4;
/// Of a chain's id as a file name.
const ID_BYTES_MAX: usize = 128;

pub struct SqliteJournal {
    clock: Clock,
    audience: Audience,
    place: Place,
    readers: Arc<Readers>,
    /// Started by the first write.
    writer: OnceCell<Writer>,
    /// A chain may have become runnable by a write of this process.
    woken: Notify,
}

impl SqliteJournal {
    /// Opens the journal at `path`, and makes what is missing: folder, file and tables.
    pub fn open(path: &Path, clock: Clock) -> Result<Self, JournalError> {
        Self::open_place(Place::new(path), clock)
    }

    /// For commands that read: creates nothing. While there is no file, lists are empty and ids unknown; the first
    /// write makes what is missing.
    pub fn open_existing(path: &Path, clock: Clock) -> Result<Self, JournalError> {
        let place = Place::new(path);
        let idle = place.open_existing()?.into_iter().collect();
        Ok(Self::new(place, clock, idle))
    }

    /// Who hears of what is written.
    pub fn telling(self, audience: Audience) -> Self {
        Self { audience, ..self }
    }

    /// Writes `chain`, `call` and `pause` anew from the events. Holders and epochs stay.
    pub async fn rebuild_projections(&self) -> Result<Rebuilt, JournalError> {
        self.apart(rebuild::rebuild).await
    }

    /// Whether the projections are the fold of the events: one line for each chain where they are not.
    pub async fn projection_differences(&self) -> Result<Vec<String>, JournalError> {
        self.read(Vec::new(), rebuild::differences).await
    }

    fn open_place(place: Place, clock: Clock) -> Result<Self, JournalError> {
        let connection = place.open()?;
        Ok(Self::new(place, clock, vec![connection]))
    }

    fn new(place: Place, clock: Clock, idle: Vec<Connection>) -> Self {
        let readers = Readers { place: place.clone(), idle: Mutex::new(idle), permits: Semaphore::new(READERS_MAX) };
        Self { clock, audience: Audience::default(), place, readers: Arc::new(readers), writer: OnceCell::new(), woken: Notify::new() }
    }

    /// Runs `work` on a connection of its own that may write, beside the writer.
    async fn apart<T: Send + 'static>(&self, work: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static) -> Result<T, JournalError> {
        let place = self.place.clone();
        blocking(&self.place, move || work(&mut place.open()?).map_err(|error| fault::sqlite(&place.path, &error))).await
    }

    async fn order<T>(&self, order: impl FnOnce(oneshot::Sender<Result<T, JournalError>>) -> Order) -> Result<T, JournalError> {
        let stopped = |()| fault::away(&self.place.path, "its writer has stopped");
        let (reply, answer) = oneshot::channel();
        self.orders().await?.send(order(reply)).await.map_err(|_| stopped(()))?;
        answer.await.map_err(|_| stopped(()))?
    }

    async fn notice(&self, noticing: Noticing) -> Result<Vec<Claimed>, JournalError> {
        self.order(|reply| Order::Notice(Box::new(noticing), Vec::new(), reply)).await
    }

    async fn orders(&self) -> Result<&mpsc::Sender<Order>, JournalError> {
        self.writer().await.map(Writer::orders)
    }

    async fn writer(&self) -> Result<&Writer, JournalError> {
        let start = || async {
            let place = self.place.clone();
            blocking(&self.place, move || place.open().and_then(|connection| Writer::start(place, connection))).await
        };
        self.writer.get_or_try_init(start).await
    }

    /// Runs `query` off the async threads; `absent` where there is no journal yet. One that was there does not become
    /// an empty one by being taken away.
    async fn read<T: Send + 'static>(
        &self,
        absent: T,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, JournalError> {
        let readers = self.readers.clone();
        let absent = if self.writer.initialized() { Err(fault::gone(&self.place.path)) } else { Ok(absent) };
        let _permit = self.readers.permits.acquire().await.expect("never closed");
        blocking(&self.place, move || readers.run(absent, query)).await
    }

    /// `None` for an id that the host never makes: it names a file.
    fn lock_path(&self, chain: &ChainId) -> Option<PathBuf> {
        lock_path(&self.place.path, chain)
    }

    fn probe(&self) -> impl Fn(&ChainId) -> bool + Send + 'static {
        let journal = self.place.path.clone();
        move |chain| lock_path(&journal, chain).is_some_and(|path| lock::is_held(&path))
    }
}

impl Journal for SqliteJournal {
    fn append<'a>(&'a self, append: Append<'a>) -> BoxFuture<'a, Result<Seq, JournalError>> {
        let after = append.after;
        let entry = (!append.events.is_empty()).then(|| Box::new(Entry::of(&append, &self.audience, self.clock.now())));
        let wakes = append.epoch.is_none() && append.state.status == ChainStatus::Runnable;
        async move {
            let Some(entry) = entry else { return Ok(after) };
            let written = match self.writer().await?.write_now(&entry) {
                Some(outcome) => outcome,
                None => self.order(|reply| Order::Append(entry, reply)).await,
            };
            if wakes && written.is_ok() {
                self.woken.notify_one();
            }
            written
        }
        .boxed()
    }

    fn append_together<'a>(&'a self, appends: Vec<Append<'a>>) -> BoxFuture<'a, Result<(), JournalError>> {
        let wakes = appends.iter().any(|append| append.epoch.is_none() && append.state.status == ChainStatus::Runnable);
        let entries = appends.iter().map(|append| Entry::of(append, &self.audience, self.clock.now())).collect();
        async move {
            self.order(|reply| Order::Together(entries, reply)).await?;
            if wakes {
                self.woken.notify_one();
            }
            Ok(())
        }
        .boxed()
    }

    fn events(&self, chain: &ChainId, after: Seq) -> BoxFuture<'_, Result<Vec<Stamped>, JournalError>> {
        let chain = chain.clone();
        let absent = Ok(Vec::new());
        async move { self.read(absent, move |connection| read::events(connection, &chain, after)).await? }.boxed()
    }

    fn head(&self, chain: &ChainId) -> BoxFuture<'_, Result<Seq, JournalError>> {
        let chain = chain.clone();
        self.read(0, move |connection| read::head(connection, &chain)).boxed()
    }

    fn take(&self, chain: &ChainId) -> BoxFuture<'_, Result<Hold, JournalError>> {
        let chain = chain.clone();
        async move {
            let unknown = || JournalError::Unknown { what: "chain", prefix: chain.0.clone() };
            let path = self.lock_path(&chain).ok_or_else(unknown)?;
            let locked = move || Lock::take(&path).map_err(|error| fault::io_told(&path, &error, format!("cannot be locked ({error})")));
            let Some(lock) = blocking(&self.place, locked).await? else {
                let row = chain.clone();
                let holder = self.read(None, move |connection| read::holder(connection, &row)).await?;
                return Err(JournalError::Held { chain, holder: holder.unwrap_or_else(|| "another process".to_owned()) });
            };
            let holder = super::holder::holder(self.clock.now());
            let epoch = self.order(|reply| Order::Take { chain: chain.clone(), holder, reply }).await?;
            let orders = self.orders().await?.downgrade();
            Ok(Hold { epoch, lease: None, lock: Box::new(Holder { chain, epoch, orders, _lock: lock }) })
        }
        .boxed()
    }

    fn claim<'a>(&'a self, wanted: &'a Wanted) -> BoxFuture<'a, Result<Option<(ChainId, Hold)>, JournalError>> {
        let (is_held, wanted) = (self.probe(), wanted.clone());
        async move {
            let chains = self.read(Vec::new(), move |connection| read::runnable(connection, &wanted, is_held)).await?;
            for chain in chains {
                let hold = match self.take(&chain).await {
                    Ok(hold) => hold,
                    Err(JournalError::Held { .. }) => continue,
                    Err(error) => return Err(error),
                };
                let row = chain.clone();
                // The list is from before it was taken: another may have brought it to its rest.
                if self.read(false, move |connection| read::is_runnable(connection, &row)).await? {
                    return Ok(Some((chain, hold)));
                }
            }
            Ok(None)
        }
        .boxed()
    }

    fn waiting<'a>(&'a self, after: Option<&'a ChainId>, places: &'a [String], limit: u32) -> BoxFuture<'a, Result<Vec<ChainId>, JournalError>> {
        let (after, places) = (after.map(|chain| chain.0.clone()).unwrap_or_default(), places.to_vec());
        self.read(Vec::new(), move |connection| read::waiting(connection, &after, &places, limit)).boxed()
    }

    /// Of this process alone: others write to the file without a word.
    fn woken(&self) -> BoxFuture<'_, ()> {
        self.woken.notified().boxed()
    }

    fn find_chain(&self, prefix: &str) -> BoxFuture<'_, Result<ChainId, JournalError>> {
        let prefix = prefix.to_owned();
        let absent = Err(JournalError::Unknown { what: "chain", prefix: prefix.clone() });
        async move { self.read(absent, move |connection| read::find_chain(connection, &prefix)).await? }.boxed()
    }

    fn find_pause(&self, prefix: &str) -> BoxFuture<'_, Result<(ChainId, PauseId), JournalError>> {
        let prefix = prefix.to_owned();
        let absent = Err(JournalError::Unknown { what: "pause", prefix: prefix.clone() });
        async move { self.read(absent, move |connection| read::find_pause(connection, &prefix)).await? }.boxed()
    }

    fn chains(&self, limit: u32) -> BoxFuture<'_, Result<Vec<ChainRow>, JournalError>> {
        let is_held = self.probe();
        self.read(Vec::new(), move |connection| read::chains(connection, limit, is_held)).boxed()
    }

    fn pending(&self, limit: u32) -> BoxFuture<'_, Result<Vec<PendingRow>, JournalError>> {
        let is_held = self.probe();
        self.read(Vec::new(), move |connection| read::pending(connection, limit, is_held)).boxed()
    }

    fn newest_chain(&self) -> BoxFuture<'_, Result<Option<ChainId>, JournalError>> {
        self.read(None, read::newest_chain).boxed()
    }
}

impl Records for SqliteJournal {
    fn heads(&self, after: Option<&ChainId>) -> BoxFuture<'_, Result<Vec<Head>, JournalError>> {
        let after = after.cloned();
        self.read(Vec::new(), move |connection| pages::heads(connection, after.as_ref())).boxed()
    }

    fn last(&self, chain: &ChainId) -> BoxFuture<'_, Result<Option<Head>, JournalError>> {
        let chain = chain.clone();
        self.read(None, move |connection| pages::head(connection, &chain.0)).boxed()
    }

    fn records(&self, chain: &ChainId, after: Seq) -> BoxFuture<'_, Result<Vec<Stored>, JournalError>> {
        let chain = chain.clone();
        self.read(Vec::new(), move |connection| pages::records(connection, &chain, after)).boxed()
    }

    fn continued(&self) -> BoxFuture<'_, Result<Vec<(ChainId, ChainId)>, JournalError>> {
        self.read(Vec::new(), pages::continued).boxed()
    }

    fn remove(&self, heads: Vec<Head>) -> BoxFuture<'_, Result<Vec<ChainId>, JournalError>> {
        self.apart(move |connection| remove::remove(connection, &heads)).boxed()
    }

    fn compact(&self) -> BoxFuture<'_, Result<bool, JournalError>> {
        self.apart(remove::compact).boxed()
    }

    fn rebuild(&self) -> BoxFuture<'_, Result<Rebuilt, JournalError>> {
        self.rebuild_projections().boxed()
    }

    fn health(&self) -> BoxFuture<'_, Result<Option<Health>, JournalError>> {
        let is_held = self.probe();
        async move {
            match self.place.path.exists() {
                true => self.apart(move |connection| health::health(connection, is_held)).await.map(Some),
                false => Ok(None),
            }
        }
        .boxed()
    }

    fn difference(&self, chain: &ChainId) -> BoxFuture<'_, Result<Option<String>, JournalError>> {
        let chain = chain.clone();
        async move { self.read(Ok(None), move |connection| rebuild::difference(connection, &chain)).await? }.boxed()
    }
}

impl Outbox for SqliteJournal {
    fn claim_notices<'a>(&'a self, channels: &'a [String], hold: Duration) -> BoxFuture<'a, Result<Vec<Claimed>, JournalError>> {
        let (channels, now) = (channels.to_vec(), self.clock.now());
        async move {
            match self.read(false, move |connection| outbox::is_due(connection, now)).await? {
                true => self.notice(Noticing::Claim { channels, now, hold }).await,
                false => Ok(Vec::new()),
            }
        }
        .boxed()
    }

    fn settle_notice<'a>(&'a self, claimed: &'a Claimed, settled: &'a Settled) -> BoxFuture<'a, Result<(), JournalError>> {
        let (claimed, settled, now) = (claimed.clone(), settled.clone(), self.clock.now());
        async move { self.notice(Noticing::Settle { claimed, settled, now }).await.map(drop) }.boxed()
    }

    fn notices(&self, limit: u32) -> BoxFuture<'_, Result<Vec<Queued>, JournalError>> {
        self.read(Vec::new(), move |connection| outbox::list(connection, limit)).boxed()
    }

    fn retry_notices<'a>(&'a self, which: &'a Which) -> BoxFuture<'a, Result<u64, JournalError>> {
        let (which, now) = (which.clone(), self.clock.now());
        self.apart(move |connection| outbox::retry(connection, &which, now)).boxed()
    }

    fn discard_notices<'a>(&'a self, which: &'a Which) -> BoxFuture<'a, Result<u64, JournalError>> {
        let which = which.clone();
        self.apart(move |connection| outbox::discard(connection, &which)).boxed()
    }
}

impl KeyValues for SqliteJournal {
    fn get<'a>(&'a self, bucket: &'a Bucket, keys: Vec<String>) -> BoxFuture<'a, Result<Vec<Option<Vec<u8>>>, KvError>> {
        let (bucket, absent) = (bucket.clone(), vec![None; keys.len()]);
        async move { self.read(absent, move |connection| keyvalue::get_all(connection, &bucket, &keys)).await.map_err(kv_error) }.boxed()
    }

    fn list<'a>(&'a self, bucket: &'a Bucket, after: Option<u64>, limit: usize) -> BoxFuture<'a, Result<Page, KvError>> {
        let bucket = bucket.clone();
        async move { self.read(Page::default(), move |connection| keyvalue::list(connection, &bucket, after, limit)).await.map_err(kv_error) }.boxed()
    }

    fn change<'a>(&'a self, bucket: &'a Bucket, change: Change, quota: Quota) -> BoxFuture<'a, Result<u64, KvError>> {
        let changing = Box::new(Changing { bucket: bucket.clone(), change, quota });
        async move { self.order(|reply| Order::Change(changing, reply)).await.map_err(kv_error) }.boxed()
    }
}

impl KeptPlugins for SqliteJournal {
    fn need<'a>(&'a self, chain: &'a ChainId, plugins: Vec<Digest>) -> BoxFuture<'a, Result<Vec<Digest>, JournalError>> {
        let keeping = Box::new(Keeping::Need { chain: chain.clone(), plugins: plugins.clone() });
        async move {
            self.order(|reply| Order::Keep(keeping, reply)).await?;
            self.read(Vec::new(), move |connection| kept::missing(connection, plugins)).await
        }
        .boxed()
    }

    fn keep(&self, bytes: Vec<u8>) -> BoxFuture<'_, Result<(), JournalError>> {
        let keeping = Box::new(Keeping::Keep { digest: Digest::of_bytes(&bytes), bytes });
        async move { self.order(|reply| Order::Keep(keeping, reply)).await.map(drop) }.boxed()
    }

    fn kept<'a>(&'a self, plugin: &'a Digest) -> BoxFuture<'a, Result<Option<Vec<u8>>, JournalError>> {
        let plugin = plugin.clone();
        self.read(None, move |connection| kept::get(connection, &plugin)).boxed()
    }
}

fn kv_error(error: JournalError) -> KvError {
    match error {
        JournalError::Values(error) => error,
        _ => KvError::Away,
    }
}

/// Inside a [`Hold`]: lets go of the lock, and clears the row's holder as far as the writer still listens.
struct Holder {
    chain: ChainId,
    epoch: Epoch,
    orders: mpsc::WeakSender<Order>,
    _lock: Lock,
}

impl super::Lock for Holder {}

impl Drop for Holder {
    fn drop(&mut self) {
        if let Some(orders) = self.orders.upgrade() {
            let _ = orders.try_send(Order::Release { chain: self.chain.clone(), epoch: self.epoch });
        }
    }
}

struct Readers {
    place: Place,
    idle: Mutex<Vec<Connection>>,
    permits: Semaphore,
}

impl Readers {
    fn run<T>(&self, absent: Result<T, JournalError>, query: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, JournalError> {
        let idle = self.idle.lock().expect("no panic under this lock").pop();
        let Some(connection) = idle.map_or_else(|| self.place.open_existing(), |connection| Ok(Some(connection)))? else {
            return absent;
        };
        let found = query(&connection).map_err(|error| fault::sqlite(&self.place.path, &error))?;
        self.idle.lock().expect("no panic under this lock").push(connection);
        Ok(found)
    }
}

fn lock_path(journal: &Path, chain: &ChainId) -> Option<PathBuf> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if chain.0.is_empty() || chain.0.len() > ID_BYTES_MAX || !chain.0.bytes().all(is_plain) {
        return None;
    }
    let mut folder = journal.as_os_str().to_owned();
    folder.push(".locks");
    Some(PathBuf::from(folder).join(&chain.0))
}

async fn blocking<T: Send + 'static>(place: &Place, work: impl FnOnce() -> Result<T, JournalError> + Send + 'static) -> Result<T, JournalError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(outcome) => outcome,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(fault::away(&place.path, "the program is ending")),
    }
}

#[cfg(test)]
mod tests;
