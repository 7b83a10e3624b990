//! The journal in a PostgreSQL database, shared by many hosts.
//!
//! As [`super::SqliteJournal`] in all that can be seen of it; the same tests run on both. Nothing is connected to before
//! it is needed. Where the server is away, work is tried again for a while; where it is not known whether an append was
//! written, the hash chain tells.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, TryFutureExt};
use tokio::sync::OnceCell;

use self::address::Address;
use self::fault::Patience;
use self::hold::Holds;
use self::listen::Listener;
use self::pool::{Pool, answered};
use super::entry::{Entry, Position};
use super::outbox::{Claimed, Outbox, Queued, Settled, Which};
use super::record::Stored;
use super::records::{Head, Health, Rebuilt, Records};
use super::{Append, ChainRow, Hold, Journal, JournalError, KeptPlugins, PendingRow, Wanted};
use crate::capability::keyvalue::{Bucket, Change, KeyValues, KvError, Page, Quota};
use crate::chain::{ChainId, Seq};
use crate::clock::Clock;
use crate::digest::Digest;
use crate::event::Stamped;
use crate::notice::Audience;
use crate::pause::PauseId;

pub mod address;
mod care;
mod differences;
mod fault;
mod hold;
mod kept;
mod keyvalue;
mod listen;
mod outbox;
mod pages;
mod pool;
mod read;
mod schema;
mod tls;
mod write;

pub struct PostgresJournal {
    shared: Arc<Shared>,
    audience: Audience,
    listener: OnceCell<Listener>,
}

/// What outlives a call: connections, what is held, and where chains were left.
pub struct Shared {
    pool: Pool,
    clock: Clock,
    tails: Tails,
    holds: Holds,
}

/// Does `$work` on a connection, again while another try may help; `$absent` where there are no tables yet.
macro_rules! reading {
    ($self:ident, $absent:expr, $session:ident => $work:expr) => {{
        let (pool, mut patience) = (&$self.shared.pool, Patience::default());
        loop {
            let failure = match pool.to_read().await {
                Ok(None) => break $absent,
                Ok(Some(mut $session)) => match answered($work).await {
                    Ok(found) => {
                        pool.keep($session);
                        break Ok(found);
                    }
                    Err(failure) => {
                        if !failure.is_lost() {
                            pool.keep($session);
                        }
                        failure
                    }
                },
                Err(failure) => failure,
            };
            if let Err(error) = patience.after(failure, &pool.address).await {
                break Err(error);
            }
        }
    }};
}

/// The same, and makes the tables where they are missing. `$lost` is told where it is not known whether it was done.
macro_rules! writing {
    ($self:ident, $promise:expr, $session:ident => $work:expr $(, $lost:expr)?) => {{
        let (pool, mut patience) = (&$self.shared.pool, Patience::default());
        loop {
            let failure = match pool.to_write($promise).await {
                Ok(mut $session) => match answered($work).await {
                    Ok(found) => {
                        pool.keep($session);
                        break Ok(found);
                    }
                    Err(failure) => {
                        if failure.is_lost() {
                            $($lost;)?
                        } else {
                            pool.keep($session);
                        }
                        failure
                    }
                },
                Err(failure) => failure,
            };
            if let Err(error) = patience.after(failure, &pool.address).await {
                break Err(error);
            }
        }
    }};
}

impl PostgresJournal {
    pub fn new(address: Address, clock: Clock) -> Result<Self, JournalError> {
        let shared = Shared { pool: Pool::new(address, clock.clone())?, clock, tails: Tails::default(), holds: Holds::default() };
        Ok(Self { shared: Arc::new(shared), audience: Audience::default(), listener: OnceCell::new() })
    }

    /// Who hears of what is written.
    pub fn telling(self, audience: Audience) -> Self {
        Self { audience, ..self }
    }

    /// Whether the projections are the fold of the events: one line for each chain where they are not.
    pub async fn projection_differences(&self) -> Result<Vec<String>, JournalError> {
        let address = &self.shared.pool.address;
        reading!(self, Ok(Vec::new()), session => differences::differences(&mut session, address))
    }

    async fn write(&self, entry: &Entry) -> Result<Seq, JournalError> {
        let mut unsure = false;
        // Whoever does not hold the chain may be gone before the next promise of it.
        let written = writing!(self, entry.is_promise || entry.epoch.is_none(), session => {
            write::entry(&mut session, entry, self.shared.tails.get(&entry.chain), unsure)
        }, unsure = true);
        match written {
            Ok(at) => {
                self.shared.tails.keep(&entry.chain, at);
                Ok(entry.head())
            }
            Err(error) => {
                self.shared.tails.forget(&entry.chain);
                Err(error)
            }
        }
    }
}

impl Journal for PostgresJournal {
    fn append<'a>(&'a self, append: Append<'a>) -> BoxFuture<'a, Result<Seq, JournalError>> {
        let after = append.after;
        let entry = (!append.events.is_empty()).then(|| Entry::of(&append, &self.audience, self.shared.clock.now()));
        async move {
            match entry {
                Some(entry) => self.write(&entry).await,
                None => Ok(after),
            }
        }
        .boxed()
    }

    fn append_together<'a>(&'a self, appends: Vec<Append<'a>>) -> BoxFuture<'a, Result<(), JournalError>> {
        let entries: Vec<_> = appends.iter().map(|append| Entry::of(append, &self.audience, self.shared.clock.now())).collect();
        async move {
            let mut unsure = false;
            // Where they stood before is looked up: this is rare.
            entries.iter().for_each(|entry| self.shared.tails.forget(&entry.chain));
            writing!(self, true, session => write::together(&mut session, &entries, unsure), unsure = true)
        }
        .boxed()
    }

    fn ready(&self) -> BoxFuture<'_, Result<(), JournalError>> {
        async move { writing!(self, false, session => read::head(&mut session, &ChainId(String::new()))).map(drop) }.boxed()
    }

    fn clock_ahead(&self) -> BoxFuture<'_, Result<Option<jiff::SignedDuration>, JournalError>> {
        async move { reading!(self, Ok(None), session => read::clock_ahead(&mut session, &self.shared.clock)) }.boxed()
    }

    fn events(&self, chain: &ChainId, after: Seq) -> BoxFuture<'_, Result<Vec<Stamped>, JournalError>> {
        let chain = chain.clone();
        async move { reading!(self, Ok(Vec::new()), session => read::events(&mut session, &chain, after)) }.boxed()
    }

    fn head(&self, chain: &ChainId) -> BoxFuture<'_, Result<Seq, JournalError>> {
        let chain = chain.clone();
        async move { reading!(self, Ok(0), session => read::head(&mut session, &chain)) }.boxed()
    }

    fn take(&self, chain: &ChainId) -> BoxFuture<'_, Result<Hold, JournalError>> {
        let chain = chain.clone();
        async move {
            if chain.0.is_empty() || chain.0.contains('\0') {
                return Err(JournalError::Unknown { what: "chain", prefix: chain.0 });
            }
            let asking = self.shared.asking();
            match writing!(self, true, session => hold::take(&mut session, &chain, &asking))? {
                Some(taken) => Ok(self.shared.hold(&chain, &taken)),
                None => {
                    let holder = reading!(self, Ok(None), session => hold::holder(&mut session, &chain))?;
                    Err(JournalError::Held { chain, holder: holder.unwrap_or_else(|| "another process".to_owned()) })
                }
            }
        }
        .boxed()
    }

    fn claim<'a>(&'a self, wanted: &'a Wanted) -> BoxFuture<'a, Result<Option<(ChainId, Hold)>, JournalError>> {
        async move {
            let asking = self.shared.asking();
            let claimed = writing!(self, true, session => hold::claim(&mut session, wanted, &asking))?;
            Ok(claimed.map(|(chain, taken)| {
                let hold = self.shared.hold(&chain, &taken);
                (chain, hold)
            }))
        }
        .boxed()
    }

    fn waiting<'a>(&'a self, after: Option<&'a ChainId>, places: &'a [String], limit: u32) -> BoxFuture<'a, Result<Vec<ChainId>, JournalError>> {
        let after = after.map_or("", |chain| chain.0.as_str());
        async move { reading!(self, Ok(Vec::new()), session => read::waiting(&mut session, after, places, limit)) }.boxed()
    }

    fn woken(&self) -> BoxFuture<'_, ()> {
        async move {
            let listener = self.listener.get_or_init(async || Listener::start(&self.shared)).await;
            listener.woken.notified().await;
        }
        .boxed()
    }

    fn find_chain(&self, prefix: &str) -> BoxFuture<'_, Result<ChainId, JournalError>> {
        let prefix = prefix.to_owned();
        async move {
            let absent = Err(JournalError::Unknown { what: "chain", prefix: prefix.clone() });
            reading!(self, absent, session => read::find_chain(&mut session, &prefix))
        }
        .boxed()
    }

    fn find_pause(&self, prefix: &str) -> BoxFuture<'_, Result<(ChainId, PauseId), JournalError>> {
        let prefix = prefix.to_owned();
        async move {
            let absent = Err(JournalError::Unknown { what: "pause", prefix: prefix.clone() });
            reading!(self, absent, session => read::find_pause(&mut session, &prefix))
        }
        .boxed()
    }

    fn chains(&self, limit: u32) -> BoxFuture<'_, Result<Vec<ChainRow>, JournalError>> {
        async move { reading!(self, Ok(Vec::new()), session => read::chains(&mut session, &self.shared.pool.address, limit)) }.boxed()
    }

    fn pending(&self, limit: u32) -> BoxFuture<'_, Result<Vec<PendingRow>, JournalError>> {
        async move { reading!(self, Ok(Vec::new()), session => read::pending(&mut session, &self.shared.pool.address, limit)) }.boxed()
    }

    fn newest_chain(&self) -> BoxFuture<'_, Result<Option<ChainId>, JournalError>> {
        async move { reading!(self, Ok(None), session => read::newest_chain(&mut session)) }.boxed()
    }
}

impl Records for PostgresJournal {
    fn heads(&self, after: Option<&ChainId>) -> BoxFuture<'_, Result<Vec<Head>, JournalError>> {
        let after = after.map(|chain| chain.0.clone()).unwrap_or_default();
        async move { reading!(self, Ok(Vec::new()), session => pages::heads(&mut session, &after)) }.boxed()
    }

    fn last(&self, chain: &ChainId) -> BoxFuture<'_, Result<Option<Head>, JournalError>> {
        let chain = chain.clone();
        async move { reading!(self, Ok(None), session => pages::head(&mut session, &chain)) }.boxed()
    }

    fn records(&self, chain: &ChainId, after: Seq) -> BoxFuture<'_, Result<Vec<Stored>, JournalError>> {
        let chain = chain.clone();
        async move { reading!(self, Ok(Vec::new()), session => pages::records(&mut session, &chain, after)) }.boxed()
    }

    fn continued(&self) -> BoxFuture<'_, Result<Vec<(ChainId, ChainId)>, JournalError>> {
        async move { reading!(self, Ok(Vec::new()), session => care::continued(&mut session)) }.boxed()
    }

    fn remove(&self, heads: Vec<Head>) -> BoxFuture<'_, Result<Vec<ChainId>, JournalError>> {
        async move { writing!(self, true, session => care::remove(&mut session, &heads)) }.boxed()
    }

    /// The server does so by itself.
    fn compact(&self) -> BoxFuture<'_, Result<bool, JournalError>> {
        Box::pin(std::future::ready(Ok(true)))
    }

    fn rebuild(&self) -> BoxFuture<'_, Result<Rebuilt, JournalError>> {
        async move { writing!(self, true, session => care::rebuild(&mut session)) }.boxed()
    }

    fn health(&self) -> BoxFuture<'_, Result<Option<Health>, JournalError>> {
        async move { reading!(self, Ok(None), session => care::health(&mut session, &self.shared.pool.address).map_ok(Some)) }.boxed()
    }

    fn difference(&self, chain: &ChainId) -> BoxFuture<'_, Result<Option<String>, JournalError>> {
        let (chain, address) = (chain.clone(), &self.shared.pool.address);
        async move { reading!(self, Ok(None), session => differences::difference(&mut session, address, &chain)) }.boxed()
    }
}

impl Outbox for PostgresJournal {
    fn claim_notices<'a>(&'a self, channels: &'a [String], hold: Duration) -> BoxFuture<'a, Result<Vec<Claimed>, JournalError>> {
        async move {
            let due: Result<bool, JournalError> = reading!(self, Ok(false), session => outbox::is_due(&mut session));
            match due? {
                true => writing!(self, true, session => outbox::claim(&mut session, channels, hold)),
                false => Ok(Vec::new()),
            }
        }
        .boxed()
    }

    fn settle_notice<'a>(&'a self, claimed: &'a Claimed, settled: &'a Settled) -> BoxFuture<'a, Result<(), JournalError>> {
        async move { writing!(self, true, session => outbox::settle(&mut session, claimed, settled)) }.boxed()
    }

    fn notices(&self, limit: u32) -> BoxFuture<'_, Result<Vec<Queued>, JournalError>> {
        async move { reading!(self, Ok(Vec::new()), session => outbox::list(&mut session, limit)) }.boxed()
    }

    fn retry_notices<'a>(&'a self, which: &'a Which) -> BoxFuture<'a, Result<u64, JournalError>> {
        async move { writing!(self, true, session => outbox::retry(&mut session, which)) }.boxed()
    }

    fn discard_notices<'a>(&'a self, which: &'a Which) -> BoxFuture<'a, Result<u64, JournalError>> {
        async move { writing!(self, true, session => outbox::discard(&mut session, which)) }.boxed()
    }
}

impl KeyValues for PostgresJournal {
    fn get<'a>(&'a self, bucket: &'a Bucket, keys: Vec<String>) -> BoxFuture<'a, Result<Vec<Option<Vec<u8>>>, KvError>> {
        async move {
            let absent = Ok(vec![None; keys.len()]);
            reading!(self, absent, session => keyvalue::get_all(&mut session, bucket, &keys)).map_err(kv_error)
        }
        .boxed()
    }

    fn list<'a>(&'a self, bucket: &'a Bucket, after: Option<u64>, limit: usize) -> BoxFuture<'a, Result<Page, KvError>> {
        async move { reading!(self, Ok(Page::default()), session => keyvalue::list(&mut session, bucket, after, limit)).map_err(kv_error) }.boxed()
    }

    fn change<'a>(&'a self, bucket: &'a Bucket, change: Change, quota: Quota) -> BoxFuture<'a, Result<u64, KvError>> {
        async move {
            // To count twice what was asked once is worse than to say that nobody knows.
            let once = matches!(change, Change::Increment { .. });
            let epoch = bucket.chain().map_or(Ok(None), |chain| self.shared.epoch_held(chain)).map_err(kv_error)?;
            let changed: Result<u64, JournalError> = writing!(self, false, session => keyvalue::change(&mut session, bucket, &change, quota, epoch), {
                if once {
                    return Err(KvError::Away);
                }
            });
            changed.map_err(kv_error)
        }
        .boxed()
    }
}

impl KeptPlugins for PostgresJournal {
    fn need<'a>(&'a self, chain: &'a ChainId, plugins: Vec<Digest>) -> BoxFuture<'a, Result<Vec<Digest>, JournalError>> {
        async move { writing!(self, false, session => kept::need(&mut session, chain, &plugins)) }.boxed()
    }

    fn keep(&self, bytes: Vec<u8>) -> BoxFuture<'_, Result<(), JournalError>> {
        let digest = Digest::of_bytes(&bytes);
        async move { writing!(self, false, session => kept::keep(&mut session, &digest, &bytes)) }.boxed()
    }

    fn kept<'a>(&'a self, plugin: &'a Digest) -> BoxFuture<'a, Result<Option<Vec<u8>>, JournalError>> {
        async move { reading!(self, Ok(None), session => kept::get(&mut session, plugin)) }.boxed()
    }
}

fn kv_error(error: JournalError) -> KvError {
    match error {
        JournalError::Values(error) => error,
        _ => KvError::Away,
    }
}

/// Where this process left the chains it wrote to: a guess, which the statement that builds on it checks.
#[derive(Default)]
struct Tails(Mutex<HashMap<ChainId, Position>>);

/// Chains kept; beyond it the map starts anew. More chains than one process ever runs at once.
const TAILS_MAX: usize = 1024;

impl Tails {
    fn get(&self, chain: &ChainId) -> Option<Position> {
        self.0.lock().expect("no panic under this lock").get(chain).cloned()
    }

    fn keep(&self, chain: &ChainId, at: Position) {
        let mut tails = self.0.lock().expect("no panic under this lock");
        if tails.len() >= TAILS_MAX && !tails.contains_key(chain) {
            tails.clear();
        }
        tails.insert(chain.clone(), at);
    }

    fn forget(&self, chain: &ChainId) {
        self.0.lock().expect("no panic under this lock").remove(chain);
    }
}

#[cfg(test)]
pub(crate) mod tests;
