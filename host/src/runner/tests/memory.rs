//! A journal in memory, as strict as the real one about sequence numbers, epochs and holders.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex};

use futures_util::future::{BoxFuture, FutureExt, ready};

use crate::capability::keyvalue::twin::Twin;
use crate::capability::keyvalue::{Bucket, Change, KeyValues, KvError, Page, Quota};
use crate::chain::{ChainId, ChainStatus, Seq};
use crate::digest::Digest;
use crate::event::Stamped;
use crate::journal::record::Stored;
use crate::journal::records::{Head, Health, Rebuilt, Records};
use crate::journal::{Append, ChainRow, Hold, Journal, JournalError, KeptPlugins, Lock, PendingRow, Wanted};
use crate::pause::PauseId;
use crate::state::ChainState;

const OF_THE_DATABASE: &str = "records are the database's to test";

#[derive(Clone, Default)]
pub struct Memory(Arc<Mutex<Inner>>, Twin);

#[derive(Default)]
struct Inner {
    chains: BTreeMap<ChainId, (u64, Vec<Stamped>)>,
    held: HashSet<ChainId>,
    /// Plugins' bytes, and who needs them.
    kept: BTreeMap<Digest, Vec<u8>>,
    needs: BTreeMap<ChainId, Vec<Digest>>,
    /// Appends until the process dies, at that side of the last of them.
    dies: Option<(Side, u64)>,
}

/// Where at an append a process dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Before,
    After,
}

impl Memory {
    pub fn state(&self, id: &ChainId) -> ChainState {
        ChainState::fold(id.clone(), &self.0.lock().unwrap().chains[id].1)
    }

    pub fn stamped(&self, id: &ChainId) -> Vec<Stamped> {
        self.0.lock().unwrap().chains[id].1.clone()
    }

    pub fn ids(&self) -> Vec<ChainId> {
        self.0.lock().unwrap().chains.iter().filter(|(_, (_, events))| !events.is_empty()).map(|(id, _)| id.clone()).collect()
    }

    /// Plugins whose bytes are kept.
    pub fn kept_plugins(&self) -> usize {
        self.0.lock().unwrap().kept.len()
    }

    /// As if the holder's process had died.
    pub fn forget_holders(&self) {
        self.0.lock().unwrap().held.clear();
    }

    /// As if the process had died before it wrote the events after `seq`.
    pub fn cut_after(&self, id: &ChainId, seq: Seq) {
        let mut inner = self.0.lock().unwrap();
        inner.chains.get_mut(id).unwrap().1.truncate(seq as usize);
    }

    /// The process that works from now on dies there, and does nothing afterwards.
    pub fn die_at(&self, point: Option<(Side, u64)>) {
        self.0.lock().unwrap().dies = point;
    }

    /// As another version of this program may have written it.
    pub fn push(&self, id: &ChainId, event: Stamped) {
        self.0.lock().unwrap().chains.get_mut(id).unwrap().1.push(event);
    }

    /// All of them or none.
    fn write(&self, appends: &[Append<'_>]) -> Result<(), JournalError> {
        let mut inner = self.0.lock().unwrap();
        // No fault that passes: whoever died does not try again.
        let died = || Err(JournalError::Unusable { path: "memory".into(), message: "the process died".into() });
        if let Some((_, left)) = &mut inner.dies {
            *left = left.saturating_sub(1);
        }
        let dies = inner.dies.filter(|(_, left)| *left == 0).map(|(side, _)| side);
        if dies == Some(Side::Before) {
            return died();
        }
        if dies == Some(Side::After) {
            // Once: what comes after the death is not written.
            inner.dies = Some((Side::Before, 0));
        }
        let refused = appends.iter().find_map(|append| {
            let (epoch, events) = inner.chains.entry(append.chain.clone()).or_default();
            let head = events.len() as Seq;
            match () {
                () if append.epoch.is_some_and(|given| given != *epoch) => Some(JournalError::Fenced { chain: append.chain.clone() }),
                () if head != append.after => Some(JournalError::Moved { chain: append.chain.clone(), head }),
                () => None,
            }
        });
        for append in appends.iter().filter(|_| refused.is_none()) {
            let (_, events) = inner.chains.entry(append.chain.clone()).or_default();
            events.extend_from_slice(append.events);
            assert_eq!(*append.state, ChainState::fold(append.chain.clone(), &*events), "the state is the fold of the events");
        }
        match refused {
            _ if dies.is_some() => died(),
            Some(refused) => Err(refused),
            None => Ok(()),
        }
    }

    fn now<T: Send + 'static>(value: T) -> BoxFuture<'static, T> {
        ready(value).boxed()
    }
}

impl KeptPlugins for Memory {
    fn need<'a>(&'a self, chain: &'a ChainId, plugins: Vec<Digest>) -> BoxFuture<'a, Result<Vec<Digest>, JournalError>> {
        let inner = &mut *self.0.lock().unwrap();
        inner.needs.insert(chain.clone(), plugins.clone());
        let needed: HashSet<_> = inner.needs.values().flatten().cloned().collect();
        inner.kept.retain(|digest, _| needed.contains(digest));
        let missing = plugins.into_iter().filter(|digest| !inner.kept.contains_key(digest)).collect();
        Self::now(Ok(missing))
    }

    fn keep(&self, bytes: Vec<u8>) -> BoxFuture<'_, Result<(), JournalError>> {
        self.0.lock().unwrap().kept.insert(Digest::of_bytes(&bytes), bytes);
        Self::now(Ok(()))
    }

    fn kept<'a>(&'a self, plugin: &'a Digest) -> BoxFuture<'a, Result<Option<Vec<u8>>, JournalError>> {
        Self::now(Ok(self.0.lock().unwrap().kept.get(plugin).cloned()))
    }
}

impl Journal for Memory {
    fn append<'a>(&'a self, append: Append<'a>) -> BoxFuture<'a, Result<Seq, JournalError>> {
        let last = append.after + append.events.len() as Seq;
        Self::now(self.write(&[append]).map(|()| last))
    }

    fn append_together<'a>(&'a self, appends: Vec<Append<'a>>) -> BoxFuture<'a, Result<(), JournalError>> {
        Self::now(self.write(&appends))
    }

    fn events(&self, chain: &ChainId, after: Seq) -> BoxFuture<'_, Result<Vec<Stamped>, JournalError>> {
        let inner = self.0.lock().unwrap();
        let events = inner.chains.get(chain).map(|(_, events)| events[after as usize..].to_vec()).unwrap_or_default();
        Self::now(Ok(events))
    }

    fn head(&self, chain: &ChainId) -> BoxFuture<'_, Result<Seq, JournalError>> {
        let inner = self.0.lock().unwrap();
        Self::now(Ok(inner.chains.get(chain).map_or(0, |(_, events)| events.len() as Seq)))
    }

    fn take(&self, chain: &ChainId) -> BoxFuture<'_, Result<Hold, JournalError>> {
        let mut inner = self.0.lock().unwrap();
        if !inner.held.insert(chain.clone()) {
            return Self::now(Err(JournalError::Held { chain: chain.clone(), holder: "another process".into() }));
        }
        let (epoch, _) = inner.chains.entry(chain.clone()).or_default();
        *epoch += 1;
        let (journal, chain) = (self.clone(), chain.clone());
        Self::now(Ok(Hold { epoch: *epoch, lease: None, lock: Box::new(Unlock(journal, chain)) }))
    }

    fn claim<'a>(&'a self, _wanted: &'a Wanted) -> BoxFuture<'a, Result<Option<(ChainId, Hold)>, JournalError>> {
        unreachable!("claims are the database's to test")
    }

    fn waiting<'a>(&'a self, _after: Option<&'a ChainId>, _places: &'a [String], _limit: u32) -> BoxFuture<'a, Result<Vec<ChainId>, JournalError>> {
        unreachable!("lists are the database's to test")
    }

    fn woken(&self) -> BoxFuture<'_, ()> {
        std::future::pending().boxed()
    }

    fn find_chain(&self, prefix: &str) -> BoxFuture<'_, Result<ChainId, JournalError>> {
        Self::now(Ok(ChainId(prefix.to_owned())))
    }

    fn find_pause(&self, id: &str) -> BoxFuture<'_, Result<(ChainId, PauseId), JournalError>> {
        let inner = self.0.lock().unwrap();
        let holds = |id: &PauseId, chain: &ChainId| self_fold(&inner, chain).pause(id).is_some();
        let id = PauseId(id.to_owned());
        let found = inner.chains.keys().find(|chain| holds(&id, chain)).cloned();
        let unknown = JournalError::Unknown { what: "pause", prefix: id.0.clone() };
        Self::now(found.map(|chain| (chain, id)).ok_or(unknown))
    }

    fn chains(&self, _limit: u32) -> BoxFuture<'_, Result<Vec<ChainRow>, JournalError>> {
        unreachable!("lists are the database's to test")
    }

    fn pending(&self, _limit: u32) -> BoxFuture<'_, Result<Vec<PendingRow>, JournalError>> {
        let inner = self.0.lock().unwrap();
        let states = inner.chains.keys().map(|chain| self_fold(&inner, chain));
        let rows = states.flat_map(|state| {
            let row = |pause: &crate::pause::Pause| PendingRow {
                pause: pause.clone(),
                chain: state.id.clone(),
                started_by: state.started_by.clone(),
                chain_status: ChainStatus::Paused,
                title: state.title.clone(),
            };
            state.open_pauses().map(row).collect::<Vec<_>>()
        });
        Self::now(Ok(rows.collect()))
    }

    fn newest_chain(&self) -> BoxFuture<'_, Result<Option<ChainId>, JournalError>> {
        Self::now(Ok(self.0.lock().unwrap().chains.keys().next_back().cloned()))
    }
}

impl crate::journal::outbox::Outbox for Memory {}

impl Records for Memory {
    fn heads(&self, _after: Option<&ChainId>) -> BoxFuture<'_, Result<Vec<Head>, JournalError>> {
        unreachable!("{OF_THE_DATABASE}")
    }

    fn last(&self, _chain: &ChainId) -> BoxFuture<'_, Result<Option<Head>, JournalError>> {
        unreachable!("{OF_THE_DATABASE}")
    }

    fn records(&self, _chain: &ChainId, _after: Seq) -> BoxFuture<'_, Result<Vec<Stored>, JournalError>> {
        unreachable!("{OF_THE_DATABASE}")
    }

    fn continued(&self) -> BoxFuture<'_, Result<Vec<(ChainId, ChainId)>, JournalError>> {
        unreachable!("{OF_THE_DATABASE}")
    }

    fn remove(&self, _heads: Vec<Head>) -> BoxFuture<'_, Result<Vec<ChainId>, JournalError>> {
        unreachable!("{OF_THE_DATABASE}")
    }

    fn compact(&self) -> BoxFuture<'_, Result<bool, JournalError>> {
        unreachable!("{OF_THE_DATABASE}")
    }

    fn rebuild(&self) -> BoxFuture<'_, Result<Rebuilt, JournalError>> {
        unreachable!("{OF_THE_DATABASE}")
    }

    fn health(&self) -> BoxFuture<'_, Result<Option<Health>, JournalError>> {
        unreachable!("{OF_THE_DATABASE}")
    }

    fn difference(&self, _chain: &ChainId) -> BoxFuture<'_, Result<Option<String>, JournalError>> {
        unreachable!("{OF_THE_DATABASE}")
    }
}

impl KeyValues for Memory {
    fn get<'a>(&'a self, bucket: &'a Bucket, keys: Vec<String>) -> BoxFuture<'a, Result<Vec<Option<Vec<u8>>>, KvError>> {
        self.1.get(bucket, keys)
    }

    fn list<'a>(&'a self, bucket: &'a Bucket, after: Option<u64>, limit: usize) -> BoxFuture<'a, Result<Page, KvError>> {
        self.1.list(bucket, after, limit)
    }

    fn change<'a>(&'a self, bucket: &'a Bucket, change: Change, quota: Quota) -> BoxFuture<'a, Result<u64, KvError>> {
        self.1.change(bucket, change, quota)
    }
}

fn self_fold(inner: &Inner, chain: &ChainId) -> ChainState {
    ChainState::fold(chain.clone(), &inner.chains[chain].1)
}

struct Unlock(Memory, ChainId);

impl Lock for Unlock {}

impl Drop for Unlock {
    fn drop(&mut self) {
        self.0.0.lock().unwrap().held.remove(&self.1);
    }
}
