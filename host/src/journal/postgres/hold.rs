//! Who holds a chain: a lease in its row by the database's clock, and an epoch that every write is checked against.
//!
//! A lease is counted here from before it was asked for, and ends a margin earlier than there: whoever believes in it is
//! never wrong. Epochs and leases are on disk before anyone goes by them: a server that crashed gives no epoch twice. Held chains are renewed together by one task, which tells a holder as soon as a lease cannot be kept.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::Shared;
use super::fault::Failure;
use super::pool::{Session, answered};
use super::write::{of_row, signed};
use crate::chain::{ChainId, Epoch};
use crate::clock::{Clock, Lease, since_boot};
use crate::journal::entry::Position;
use crate::journal::{Hold, JournalError, Lock, Wanted};

/// Of a lease, what is left over for clocks that do not run alike and for what is under way at its end.
const MARGIN: u32 = 5;
/// Renewals that may fail before a lease is over.
const RENEWALS: u32 = 4;
/// For letting go when the program ends; what is not let go by then ends with its lease.
const LET_GO: Duration = Duration::from_secs(2);

const TAKE: &str = "INSERT INTO chain (id, head, head_hash, epoch, holder, token, lease_until, status, detail, title, turns, calls, open_pauses,
                        started_by, started_at, updated_at)
                    VALUES ($1, 0, $2, 1, $3, $4, clock_timestamp() + $5::bigint * interval '1 millisecond', 'runnable', '', '', 0, 0, 0, '', '', '')
                    ON CONFLICT (id) DO UPDATE SET epoch = chain.epoch + 1, holder = $3, token = $4,
                        lease_until = clock_timestamp() + $5::bigint * interval '1 millisecond'
                    WHERE chain.lease_until IS NULL OR chain.lease_until < clock_timestamp() OR chain.token = $4
                    RETURNING head, head_hash, epoch";
/// Oldest first; a row that another worker is about to claim is passed over.
const CLAIM: &str = "UPDATE chain SET epoch = epoch + 1, holder = $1, token = $2,
                         lease_until = clock_timestamp() + $3::bigint * interval '1 millisecond'
                     WHERE id = (SELECT id FROM chain
                         WHERE status = 'runnable' AND head > 0 AND (lease_until IS NULL OR lease_until < clock_timestamp())
                             AND (place IS NULL OR place = ANY ($4::text[])) AND id <> ALL ($5::text[])
                         ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
                     RETURNING head, head_hash, epoch, id";
const RENEW: &str = "UPDATE chain SET lease_until = clock_timestamp() + $3::bigint * interval '1 millisecond'
                     FROM unnest($1::text[], $2::bigint[]) AS mine (chain, held)
                     WHERE id = mine.chain AND epoch = mine.held AND token IS NOT NULL
                     RETURNING id, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
/// Only what is still ours: whoever took the chain since has another epoch. A chain that can go on is told to workers.
const RELEASE: &str = "WITH free AS (
                           UPDATE chain SET holder = NULL, token = NULL, lease_until = NULL WHERE id = $1 AND epoch = $2 AND head > 0
                           RETURNING id, status
                       ), none AS (
                           DELETE FROM chain WHERE id = $1 AND epoch = $2 AND head = 0
                       )
                       SELECT CASE WHEN status = 'runnable' THEN pg_notify('pausegate', id)::text END FROM free";

/// What this process holds, and what it has lost and not let go of yet.
#[derive(Default)]
pub struct Holds {
    held: Mutex<HashMap<ChainId, (Epoch, Lease)>>,
    keeper: Mutex<Option<tokio::task::JoinHandle<()>>>,
}

/// How a hold is asked for: again with the same token, it is the same asking.
pub struct Asking {
    pub holder: String,
    pub token: String,
    pub lease: Duration,
}

/// A row that is ours now, and since when at the latest.
pub struct Taken {
    pub at: Position,
    asked: Duration,
    lease: Duration,
}

/// `None` where another holds it.
pub async fn take(session: &mut Session, chain: &ChainId, asking: &Asking) -> Result<Option<Taken>, Failure> {
    let asked = since_boot();
    let start = Position::START;
    let rows = session.rows(TAKE, &[&chain.0, &start.hash.as_slice(), &asking.holder, &asking.token, &millis(asking.lease)]).await?;
    rows.first().map(|row| Ok(Taken { at: of_row(row, 0)?, asked, lease: asking.lease })).transpose()
}

/// The oldest runnable chain that nobody holds.
pub async fn claim(session: &mut Session, wanted: &Wanted, asking: &Asking) -> Result<Option<(ChainId, Taken)>, Failure> {
    let asked = since_boot();
    let but: Vec<_> = wanted.but.iter().map(|chain| chain.0.as_str()).collect();
    let rows = session.rows(CLAIM, &[&asking.holder, &asking.token, &millis(asking.lease), &wanted.places, &but]).await?;
    let claimed = |row| Ok((ChainId(tokio_postgres::Row::try_get(row, 3)?), Taken { at: of_row(row, 0)?, asked, lease: asking.lease }));
    rows.first().map(claimed).transpose()
}

/// Who holds a chain.
pub async fn holder(session: &mut Session, chain: &ChainId) -> Result<Option<String>, Failure> {
    let rows = session.rows("SELECT holder FROM chain WHERE id = $1 AND holder IS NOT NULL", &[&chain.0]).await?;
    rows.first().map(|row| Ok(row.try_get::<_, String>(0)?)).transpose()
}

async fn release(session: &mut Session, chain: &ChainId, epoch: Epoch) -> Result<(), Failure> {
    session.rows(RELEASE, &[&chain.0, &signed(epoch)]).await.map(drop)
}

impl Taken {
    fn until(&self) -> Duration {
        self.asked + believed(self.lease)
    }
}

/// How long a lease of this length is believed in.
fn believed(lease: Duration) -> Duration {
    lease - lease / MARGIN
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

impl Shared {
    pub fn asking(&self) -> Asking {
        let now = self.clock.now();
        Asking { holder: crate::journal::holder::holder(now), token: Clock::nonce(), lease: self.pool.address.lease }
    }

    /// From now on it is renewed until it is let go.
    pub fn hold(self: &Arc<Self>, chain: &ChainId, taken: &Taken) -> Hold {
        let (epoch, lease) = (taken.at.epoch, Lease::until(taken.until()));
        self.holds.held.lock().expect("no panic under this lock").insert(chain.clone(), (epoch, lease.clone()));
        self.keep_on();
        self.tails.keep(chain, taken.at.clone());
        let lock = Holder { shared: Arc::clone(self), chain: chain.clone(), epoch };
        Hold { epoch, lease: Some(lease), lock: Box::new(lock) }
    }

    /// Starts the task that renews, where there is none yet or its runtime has ended.
    fn keep_on(self: &Arc<Self>) {
        let mut keeper = self.holds.keeper.lock().expect("no panic under this lock");
        if keeper.as_ref().is_none_or(tokio::task::JoinHandle::is_finished) {
            *keeper = Some(tokio::spawn(keep(Arc::downgrade(self), self.pool.address.lease)));
        }
    }

    async fn renew(&self, lease: Duration) -> Result<(), Failure> {
        let mine: Vec<_> = {
            let held = self.holds.held.lock().expect("no panic under this lock");
            let kept = held.iter().filter(|(_, (_, lease))| !lease.ended().is_cancelled());
            kept.map(|(chain, (epoch, _))| (chain.clone(), *epoch)).collect()
        };
        if mine.is_empty() {
            return Ok(());
        }
        let (ids, epochs): (Vec<_>, Vec<_>) = mine.iter().map(|(chain, epoch)| (chain.0.as_str(), signed(*epoch))).unzip();
        let asked = since_boot();
        let mut session = self.pool.to_write(true).await?;
        let rows = session.rows(RENEW, &[&ids, &epochs, &millis(lease)]).await?;
        let renewed: std::collections::HashSet<String> = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
        self.pool.keep(session);
        // A long life of one connection must not let the clocks run apart.
        if let Some(row) = rows.first()
            && let Ok(theirs) = jiff::Timestamp::from_microsecond(row.try_get(1)?)
        {
            self.clock.follow(theirs);
        }
        let held = self.holds.held.lock().expect("no panic under this lock");
        for (chain, epoch) in mine {
            let Some((_, lease_of)) = held.get(&chain).filter(|(held, _)| *held == epoch) else { continue };
            if renewed.contains(&chain.0) {
                lease_of.renew(asked + believed(lease));
            } else {
                lease_of.end(true);
            }
        }
        Ok(())
    }

    /// Leases that could not be renewed in time.
    fn end_those_over(&self) {
        let held = self.holds.held.lock().expect("no panic under this lock");
        let over = held.values().filter(|(_, lease)| !lease.ended().is_cancelled() && lease.is_over());
        over.for_each(|(_, lease)| lease.end(false));
    }

    /// Under which epoch a write for the chain is this process's; an error where it was and is no more, `None` where it
    /// never was.
    pub fn epoch_held(&self, chain: &ChainId) -> Result<Option<Epoch>, JournalError> {
        match self.holds.held.lock().expect("no panic under this lock").get(chain) {
            None => Ok(None),
            Some((_, lease)) if lease.is_over() => Err(JournalError::Fenced { chain: chain.clone() }),
            Some((epoch, _)) => Ok(Some(*epoch)),
        }
    }
}

async fn keep(shared: Weak<Shared>, lease: Duration) {
    let every = believed(lease) / RENEWALS;
    loop {
        tokio::time::sleep(every).await;
        let Some(shared) = shared.upgrade() else { return };
        // What is over by now was not renewed by anyone: it may be another's.
        shared.end_those_over();
        let _ = tokio::time::timeout(every, shared.renew(lease)).await;
        shared.end_those_over();
    }
}

/// Inside a [`Hold`].
struct Holder {
    shared: Arc<Shared>,
    chain: ChainId,
    epoch: Epoch,
}

impl Holder {
    fn forget(&self) -> Option<Arc<Shared>> {
        let mut held = self.shared.holds.held.lock().expect("no panic under this lock");
        let is_ours = held.get(&self.chain).is_some_and(|(epoch, _)| *epoch == self.epoch);
        if is_ours {
            held.remove(&self.chain);
        }
        drop(held);
        is_ours.then(|| Arc::clone(&self.shared))
    }
}

impl Lock for Holder {
    fn let_go(self: Box<Self>) -> BoxFuture<'static, ()> {
        let freeing = self.forget().map(|shared| free(shared, self.chain.clone(), self.epoch));
        async move {
            if let Some(freeing) = freeing {
                freeing.await;
            }
        }
        .boxed()
    }
}

/// Let go without a wait for it: as far as the program still runs.
impl Drop for Holder {
    fn drop(&mut self) {
        if let (Some(shared), Ok(runtime)) = (self.forget(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(free(shared, self.chain.clone(), self.epoch));
        }
    }
}

async fn free(shared: Arc<Shared>, chain: ChainId, epoch: Epoch) {
    let freeing = async {
        // With it all that was written under the hold is on disk.
        let mut session = shared.pool.to_write(true).await?;
        answered(release(&mut session, &chain, epoch)).await?;
        shared.pool.keep(session);
        Ok::<_, Failure>(())
    };
    let _ = tokio::time::timeout(LET_GO, freeing).await;
}
