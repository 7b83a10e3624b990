//! A worker: claims chains that can go on, drives each to its rest, and waits for more.
//!
//! What it runs is what its own claim returned. Between claims it looks through chains that wait, once for the grants and
//! plugins it has, since they may wait for what has been mended: a rule that asks no more, a plugin that is back.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::drive::{drive, would_move};
use super::open::OpenChain;
use super::{Host, HostError, Report, Rest};
use crate::chain::ChainId;
use crate::clock::since_boot;
use crate::journal::{Hold, JournalError, Wanted};

/// Waiting chains looked through between two claims.
const LOOKED_THROUGH: u32 = 32;
/// A chain whose model is away, or that failed to run here, is left alone for longer and longer.
const LEFT_ALONE: Duration = Duration::from_secs(1);
const LEFT_ALONE_MAX: Duration = Duration::from_secs(300);
/// Chains left alone at the same time; beyond it those that were left first are tried again.
const LEFT_ALONE_CHAINS_MAX: usize = 1024;

pub struct Work {
    /// Chains driven side by side.
    pub workers: usize,
    /// Ends when there is nothing left to claim.
    pub once: bool,
    /// Chains with a place are claimed only where it stands here.
    pub places: Vec<String>,
    /// Between two looks for chains, where no hint comes.
    pub look: Duration,
}

/// Hears what the worker does.
pub trait Overseer: Send + Sync {
    fn rested(&self, chain: &ChainId, ended: &Result<Report, HostError>);
    /// No claim could be made; it is tried again.
    fn unreachable(&self, error: &JournalError);
}

impl Host {
    /// Works until `interrupt`, then lets what runs end in order; with `once`, until nothing is left.
    pub async fn work(&self, work: &Work, overseer: &dyn Overseer, interrupt: CancellationToken) -> Result<(), JournalError> {
        let worker = Worker { host: self.clone(), work, overseer, interrupt, running: JoinSet::new(), chains: HashMap::new() };
        worker.run().await
    }
}

struct Worker<'w> {
    host: Host,
    work: &'w Work,
    overseer: &'w dyn Overseer,
    interrupt: CancellationToken,
    running: JoinSet<Result<Report, HostError>>,
    chains: HashMap<Id, ChainId>,
}

/// Chains that are not claimed for a while, with when they may be and how often that was so.
#[derive(Default)]
struct LeftAlone(HashMap<ChainId, (Duration, u32)>);

impl Worker<'_> {
    async fn run(mut self) -> Result<(), JournalError> {
        let mut left_alone = LeftAlone::default();
        // Where the look through waiting chains has come; `None` once it is through.
        let mut looked = Some(None);
        let mut grants = self.host.grants.settled().await;
        let mut loaded = self.host.plugins.loaded();
        loop {
            let latest = self.host.grants.settled().await;
            if !Arc::ptr_eq(&grants, &latest) {
                grants = latest;
                looked = Some(None);
            }
            let now_loaded = self.host.plugins.loaded();
            if loaded != now_loaded {
                loaded = now_loaded;
                looked = Some(None);
            }
            let claimed = match self.claim(&left_alone).await {
                Ok(claimed) => claimed,
                Err(error) if self.work.once => return self.end(&mut left_alone).await.and(Err(error)),
                Err(error) => {
                    self.overseer.unreachable(&error);
                    false
                }
            };
            if self.interrupt.is_cancelled() {
                return self.end(&mut left_alone).await;
            }
            if self.has_room()
                && let Some(after) = looked.take()
            {
                match self.look_through(after.clone()).await {
                    Ok(None) => {}
                    Ok(further) => {
                        looked = further;
                        continue;
                    }
                    Err(error) => {
                        self.overseer.unreachable(&error);
                        looked = Some(after);
                    }
                }
            }
            if self.work.once && !claimed && looked.is_none() && self.running.is_empty() {
                return Ok(());
            }
            self.wait(&mut left_alone).await;
        }
    }

    fn has_room(&self) -> bool {
        self.running.len() < self.work.workers && !self.interrupt.is_cancelled()
    }

    /// As many as there is room for; true where there was one.
    async fn claim(&mut self, left_alone: &LeftAlone) -> Result<bool, JournalError> {
        let mut claimed = false;
        while self.has_room() {
            let wanted = Wanted { places: self.work.places.clone(), but: left_alone.now() };
            let Some((chain, hold)) = self.host.journal.claim(&wanted).await? else { break };
            self.start(chain, hold);
            claimed = true;
        }
        Ok(claimed)
    }

    fn start(&mut self, chain: ChainId, hold: Hold) {
        let (host, id, interrupt) = (self.host.clone(), chain.clone(), self.interrupt.clone());
        let task = self.running.spawn(async move { drive(OpenChain::held(&host, &id, hold).await?, interrupt).await });
        self.chains.insert(task.id(), chain);
    }

    /// The next of the chains that wait: those that would not wait here are taken. Returns where to go on.
    async fn look_through(&mut self, after: Option<ChainId>) -> Result<Option<Option<ChainId>>, JournalError> {
        let waiting = self.host.journal.waiting(after.as_ref(), &self.work.places, LOOKED_THROUGH).await?;
        let mut reached = None;
        for chain in waiting {
            if !self.has_room() {
                return Ok(Some(reached.or(after)));
            }
            let open = OpenChain::read(&self.host, &chain).await;
            if open.is_ok_and(|open| would_move(&open)) {
                match self.host.journal.take(&chain).await {
                    Ok(hold) => self.start(chain.clone(), hold),
                    Err(JournalError::Held { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            reached = Some(chain);
        }
        Ok(reached.map(Some))
    }

    /// For a chain to rest, a hint, the next look, or an interrupt.
    async fn wait(&mut self, left_alone: &mut LeftAlone) {
        let (has_room, journal) = (self.has_room(), self.host.journal.clone());
        tokio::select! {
            Some(ended) = self.running.join_next_with_id(), if !self.running.is_empty() => self.rested(ended, left_alone),
            () = self.interrupt.cancelled() => {}
            () = journal.woken(), if has_room => {}
            () = tokio::time::sleep(self.work.look) => {}
        }
    }

    /// Of the chains under way, which the interrupt has told to end in order.
    async fn end(&mut self, left_alone: &mut LeftAlone) -> Result<(), JournalError> {
        while let Some(ended) = self.running.join_next_with_id().await {
            self.rested(ended, left_alone);
        }
        Ok(())
    }

    fn rested(&mut self, ended: Result<(Id, Result<Report, HostError>), JoinError>, left_alone: &mut LeftAlone) {
        let (id, ended) = match ended {
            Ok(ended) => ended,
            Err(error) => (error.id(), Err(HostError::BadCall("the host failed while it ran this chain; this is a bug of the host".to_owned()))),
        };
        let Some(chain) = self.chains.remove(&id) else { return };
        self.overseer.rested(&chain, &ended);
        match ended {
            Ok(Report { rest: Rest::ModelAway(_), .. }) | Err(_) => left_alone.leave(chain),
            Ok(_) => left_alone.forget(&chain),
        }
    }
}

impl LeftAlone {
    fn now(&self) -> Vec<ChainId> {
        let now = since_boot();
        self.0.iter().filter(|(_, (until, _))| *until > now).map(|(chain, _)| chain.clone()).collect()
    }

    fn leave(&mut self, chain: ChainId) {
        if self.0.len() >= LEFT_ALONE_CHAINS_MAX
            && let Some(first) = self.0.iter().min_by_key(|(_, (until, _))| *until).map(|(chain, _)| chain.clone())
        {
            self.0.remove(&first);
        }
        let (until, times) = self.0.entry(chain).or_default();
        *until = since_boot() + LEFT_ALONE_MAX.min(LEFT_ALONE * 2_u32.saturating_pow(*times));
        *times = times.saturating_add(1).min(16);
    }

    fn forget(&mut self, chain: &ChainId) {
        self.0.remove(chain);
    }
}
