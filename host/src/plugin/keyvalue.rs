//! `wasi:keyvalue`: values that a plugin keeps between calls, in the one bucket that its grant says.
//!
//! Which bucket is settled before the guest runs, from its plugin and chain: it names keys and nothing else. A refusal
//! is the interface's own error.

use std::sync::Arc;

use wasmtime::component::{HasSelf, Linker, Resource};

use super::bindings::more::wasi::keyvalue::{atomics, batch};
use super::bindings::wasi::keyvalue::store::{self, Error, KeyResponse};
use super::ledger::{Ending, Ledger};
use super::limits::CROSSING_BYTES_MAX;
use super::state::State;
use crate::capability::keyvalue::{Bucket, Change, HeldKv, KeyValues, KvError, Quota};
use crate::capability::{Access, Refusal};
use crate::chain::ChainId;

/// Bytes of one key.
pub const KEY_BYTES_MAX: usize = 1 << 10;
/// Bytes of one value.
pub const VALUE_BYTES_MAX: usize = 256 << 10;
/// Keys of one page of `list-keys`, and of one batch.
pub const KEYS_AT_ONCE_MAX: usize = 100;

/// What the guest holds of its bucket; which one it is stands in [`Values`].
pub struct Handle;

/// The values of one attempt.
pub struct Values {
    held: Option<HeldBucket>,
    store: Option<Arc<dyn KeyValues>>,
    ledger: Arc<Ledger>,
}

struct HeldBucket {
    bucket: Bucket,
    access: Access,
    quota: Quota,
}

impl Values {
    pub fn new(lines: &[HeldKv], plugin: &str, chain: &ChainId, ledger: Arc<Ledger>, store: Option<Arc<dyn KeyValues>>) -> Self {
        let held = lines.first().map(|first| HeldBucket {
            bucket: Bucket::new(plugin, chain, first.scope),
            access: lines.iter().map(|line| line.access).max().unwrap_or(Access::None),
            quota: lines.iter().map(|line| line.quota).fold(first.quota, Quota::max),
        });
        Self { held, store, ledger }
    }

    pub fn none(ledger: Arc<Ledger>) -> Self {
        Self { held: None, store: None, ledger }
    }

    fn open(&self, name: &str) -> Result<(), Error> {
        if !matches!(name, "" | "default") {
            return Err(Error::NoSuchStore);
        }
        self.at(Access::Read).map(drop)
    }

    /// The bucket and its store, where the lines give so much of it.
    fn at(&self, need: Access) -> Result<(&HeldBucket, &dyn KeyValues), Error> {
        let Some(held) = self.held.as_ref().filter(|held| held.access >= need) else {
            self.ledger.refuse(self.refusal(need));
            return Err(Error::AccessDenied);
        };
        match &self.store {
            Some(store) => Ok((held, &**store)),
            None => Err(Error::Other("this host keeps no values".to_owned())),
        }
    }

    fn refusal(&self, need: Access) -> Refusal {
        let (plugin, need) = (&self.ledger.plugin, need.as_str());
        let allow_with = match &self.held {
            None => format!("[plugins.{plugin}.kv]\nscope = \"chain\"\naccess = \"{need}\""),
            Some(_) => format!("# `access = \"{need}\"` in the line of `plugins.{plugin}.kv`, for a tool that is not `read-only`"),
        };
        Refusal { attempted: format!("kv {need}"), allow_with }
    }

    async fn get(&self, keys: Vec<String>) -> Result<Vec<Option<Vec<u8>>>, Error> {
        let (held, store) = self.at(Access::Read)?;
        check_keys(&keys)?;
        let values = store.get(&held.bucket, keys).await.map_err(told)?;
        let bytes: usize = values.iter().flatten().map(Vec::len).sum();
        match bytes as u64 <= CROSSING_BYTES_MAX {
            true => Ok(values),
            false => Err(Error::Other(format!("{bytes} bytes of values at once, the limit is {CROSSING_BYTES_MAX}; ask for fewer keys"))),
        }
    }

    async fn get_one(&self, key: String) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.get(vec![key]).await?.pop().flatten())
    }

    async fn list(&self, cursor: Option<u64>) -> Result<KeyResponse, Error> {
        let (held, store) = self.at(Access::Read)?;
        let page = store.list(&held.bucket, cursor, KEYS_AT_ONCE_MAX).await.map_err(told)?;
        Ok(KeyResponse { keys: page.keys, cursor: page.next })
    }

    /// Counted before it is asked for: whoever cuts the attempt off meanwhile finds it counted.
    async fn change(&self, change: Change) -> Result<u64, Error> {
        let (held, store) = self.at(Access::Write)?;
        check(&change)?;
        // An attempt that is about to end has no effect any more.
        self.ledger.kv_write().map_err(|Ending| Error::AccessDenied)?;
        let changed = store.change(&held.bucket, change, held.quota).await;
        if matches!(changed, Err(KvError::OverQuota(_) | KvError::DoesNotFit(_))) {
            self.ledger.kv_write_failed();
        }
        changed.map_err(told)
    }
}

fn check(change: &Change) -> Result<(), Error> {
    match change {
        Change::Set(pairs) => {
            check_keys(pairs.iter().map(|(key, _)| key))?;
            match pairs.iter().find(|(_, value)| value.len() > VALUE_BYTES_MAX) {
                Some((_, value)) => Err(Error::Other(format!("a value of {} bytes, at most {VALUE_BYTES_MAX} fit", value.len()))),
                None => Ok(()),
            }
        }
        Change::Delete(keys) => check_keys(keys),
        Change::Increment { key, .. } => check_keys([key]),
    }
}

fn check_keys<'a>(keys: impl IntoIterator<Item = &'a String>) -> Result<(), Error> {
    for (count, key) in (1..).zip(keys) {
        if count > KEYS_AT_ONCE_MAX {
            return Err(Error::Other(format!("a batch holds at most {KEYS_AT_ONCE_MAX} keys")));
        }
        if key.is_empty() || key.len() > KEY_BYTES_MAX {
            return Err(Error::Other(format!("a key of {} bytes, 1 to {KEY_BYTES_MAX} fit", key.len())));
        }
    }
    Ok(())
}

fn told(error: KvError) -> Error {
    Error::Other(error.to_string())
}

type Reply<T> = wasmtime::Result<Result<T, Error>>;

pub fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    store::add_to_linker::<_, HasSelf<State>>(linker, |state| state)?;
    atomics::add_to_linker::<_, HasSelf<State>>(linker, |state| state)?;
    batch::add_to_linker::<_, HasSelf<State>>(linker, |state| state)
}

impl store::Host for State {
    async fn open(&mut self, identifier: String) -> Reply<Resource<Handle>> {
        match self.values.open(&identifier) {
            Ok(()) => Ok(Ok(self.table.push(Handle)?)),
            Err(error) => Ok(Err(error)),
        }
    }
}

impl store::HostBucket for State {
    async fn get(&mut self, _: Resource<Handle>, key: String) -> Reply<Option<Vec<u8>>> {
        Ok(self.values.get_one(key).await)
    }

    async fn set(&mut self, _: Resource<Handle>, key: String, value: Vec<u8>) -> Reply<()> {
        Ok(self.values.change(Change::Set(vec![(key, value)])).await.map(drop))
    }

    async fn delete(&mut self, _: Resource<Handle>, key: String) -> Reply<()> {
        Ok(self.values.change(Change::Delete(vec![key])).await.map(drop))
    }

    async fn exists(&mut self, _: Resource<Handle>, key: String) -> Reply<bool> {
        Ok(self.values.get_one(key).await.map(|value| value.is_some()))
    }

    async fn list_keys(&mut self, _: Resource<Handle>, cursor: Option<u64>) -> Reply<KeyResponse> {
        Ok(self.values.list(cursor).await)
    }

    async fn drop(&mut self, handle: Resource<Handle>) -> wasmtime::Result<()> {
        self.table.delete(handle)?;
        Ok(())
    }
}

impl atomics::Host for State {
    async fn increment(&mut self, _: Resource<Handle>, key: String, delta: u64) -> Reply<u64> {
        Ok(self.values.change(Change::Increment { key, by: delta }).await)
    }
}

impl batch::Host for State {
    async fn get_many(&mut self, _: Resource<Handle>, keys: Vec<String>) -> Reply<Vec<Option<(String, Vec<u8>)>>> {
        let pairs = |values: Vec<Option<Vec<u8>>>| keys.iter().cloned().zip(values).map(|(key, value)| Some((key, value?))).collect();
        Ok(self.values.get(keys.clone()).await.map(pairs))
    }

    async fn set_many(&mut self, _: Resource<Handle>, pairs: Vec<(String, Vec<u8>)>) -> Reply<()> {
        Ok(self.values.change(Change::Set(pairs)).await.map(drop))
    }

    async fn delete_many(&mut self, _: Resource<Handle>, keys: Vec<String>) -> Reply<()> {
        Ok(self.values.change(Change::Delete(keys)).await.map(drop))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capability::keyvalue::Scope;

    #[test]
    fn a_host_without_a_store_says_so() {
        let lines = [HeldKv { scope: Scope::Chain, access: Access::Write, quota: Quota::default() }];
        let values = Values::new(&lines, "p", &ChainId("ch_1".into()), Arc::new(Ledger::new("p")), None);
        assert!(matches!(values.open("default"), Err(Error::Other(why)) if why == "this host keeps no values"));
    }
}
