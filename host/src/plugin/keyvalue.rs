//! `wasi:keyvalue`: values that a plugin keeps between calls, in the one bucket that its grant says.
//!
//! Which bucket is settled before the guest runs, from its plugin and chain: it names keys and nothing else. A refusal
//! is the interface's own error. What was read and changed is recorded, and given again to an attempt that is made after a
//! pause.

use std::sync::{Arc, Mutex};

use wasmtime::component::{HasSelf, Linker, Resource};

use super::bindings::more::wasi::keyvalue::{atomics, batch};
use super::bindings::wasi::keyvalue::store::{self, Error, KeyResponse};
use super::ledger::{Ending, HadEffect, Ledger, too_late};
use super::limits::CROSSING_BYTES_MAX;
use super::recorder::{self, Recall, Slot};
use super::state::State;
use super::text::cut;
use crate::call::recording::Answer;
use crate::call::result::{from_base64, to_base64};
use crate::capability::frozen::{KvOperation, KvUse, PREVIEW_BYTES_MAX};
use crate::capability::keyvalue::{Bucket, Change, HeldKv, KeyValues, KvError, Quota};
use crate::capability::{Access, FrozenUse, Held, Opening, Refusal};
use crate::chain::ChainId;
use crate::digest::{Digest, Hasher};

/// Bytes of one key.
pub const KEY_BYTES_MAX: usize = 1 << 10;
/// Bytes of one value.
pub const VALUE_BYTES_MAX: usize = 256 << 10;
/// Keys of one page of `list-keys`, and of one batch.
pub const KEYS_AT_ONCE_MAX: usize = 100;
/// Bytes of the keys that a message names.
const ASKED_BYTES_SHOWN: usize = 200;

/// What the guest holds of its bucket; which one it is stands in [`Values`].
pub struct Handle;

/// The values of one attempt.
pub struct Values {
    /// As they were held when it started.
    at_start: Buckets,
    /// Uses that a person approved.
    approved: Mutex<Vec<KvUse>>,
    chain: ChainId,
    store: Option<Arc<dyn KeyValues>>,
    ledger: Arc<Ledger>,
}

#[derive(Default)]
struct Buckets {
    held: Option<HeldBucket>,
    /// What only an approval opens.
    reach: Option<HeldBucket>,
}

struct HeldBucket {
    bucket: Bucket,
    access: Access,
    quota: Quota,
}

/// A bucket for one use of it.
struct Opened {
    bucket: Bucket,
    quota: Quota,
    /// Only an approval opens it.
    waits: bool,
}

/// A use that was begun: what an earlier attempt got, or one to make.
enum Begun<'a> {
    Given(Answer),
    Make(Making<'a>),
}

struct Making<'a> {
    opened: Opened,
    store: &'a dyn KeyValues,
    slot: Slot,
}

impl Values {
    pub fn new(held: &Held, plugin: &str, chain: &ChainId, ledger: Arc<Ledger>, store: Option<Arc<dyn KeyValues>>) -> Self {
        let approved = held.uses.iter().filter_map(|frozen| if let FrozenUse::Kv(frozen) = frozen { Some(frozen.clone()) } else { None });
        Self { at_start: Buckets::of(held, plugin, chain), approved: Mutex::new(approved.collect()), chain: chain.clone(), store, ledger }
    }

    pub fn none(ledger: Arc<Ledger>) -> Self {
        Self { at_start: Buckets::default(), approved: Mutex::default(), chain: ChainId(String::new()), store: None, ledger }
    }

    fn open(&self, name: &str) -> Result<(), Error> {
        if !matches!(name, "" | "default") {
            return Err(Error::NoSuchStore);
        }
        if self.at_start.is_empty() || self.now().is_some_and(|now| now.is_empty()) {
            self.ledger.refuse(self.refusal(Access::Read));
            return Err(Error::AccessDenied);
        }
        self.store().map(drop)
    }

    fn store(&self) -> Result<&dyn KeyValues, Error> {
        self.store.as_deref().ok_or_else(|| Error::Other("this host keeps no values".to_owned()))
    }

    /// One use of the bucket, where the lines or an approval give so much of it; what an earlier attempt got of it is given
    /// again. `cursor` is where a list goes on.
    async fn begin(&self, frozen: KvUse, cursor: Option<u64>) -> Result<Begun<'_>, Error> {
        let (store, need) = (self.store()?, frozen.operation.access());
        let Some(opened) = self.opened(need) else {
            self.ledger.refuse(self.refusal(need));
            return Err(Error::AccessDenied);
        };
        let recorder = &self.ledger.recorder;
        let asked = format!("kv {} {}", frozen.operation.as_str(), cut(&frozen.keys.join(", "), ASKED_BYTES_SHOWN));
        let (place, request) = (recorder.place(), compared(&frozen, cursor));
        let again = match recorder.recall(place, &request, &asked) {
            Recall::Given(Answer::Error { name, text }) => return Err(error(&name, text)),
            Recall::Given(answer) => return Ok(Begun::Given(answer)),
            Recall::Make => false,
            Recall::MakeAgain => true,
            Recall::Diverged(why) => {
                self.ledger.diverge(why);
                std::future::pending().await
            }
        };
        let approved = self.approved(need, &opened, frozen).await;
        let slot = if again { None } else { recorder.begin(place, request, need == Access::Write) };
        match approved {
            Ok(()) => Ok(Begun::Make(Making { opened, store, slot })),
            Err(error) => self.keep(slot, Err(error), |_| Answer::Unkept),
        }
    }

    /// For a later attempt; `answer` says it as it is kept.
    fn keep<T>(&self, slot: Slot, got: Result<T, Error>, answer: impl FnOnce(&T) -> Answer) -> Result<T, Error> {
        let answer = match &got {
            Ok(got) => answer(got),
            Err(error) => named(error),
        };
        self.ledger.recorder.answered(slot, answer);
        got
    }

    /// What only an approval could open ends the attempt.
    async fn approved(&self, need: Access, opened: &Opened, frozen: KvUse) -> Result<(), Error> {
        if !opened.waits || self.spend(&frozen) {
            return Ok(());
        }
        let frozen = FrozenUse::Kv(frozen);
        match self.ledger.hold_back(frozen.clone()) {
            Ok(()) => std::future::pending().await,
            Err(HadEffect) => {
                self.ledger.refuse(too_late(&frozen, &self.refusal(need).allow_with));
                Err(Error::AccessDenied)
            }
        }
    }

    /// By what the attempt held when it started and, where the operator gives something else by now, by that too.
    fn opened(&self, need: Access) -> Option<Opened> {
        let at_start = self.at_start.opened(need)?;
        match self.now() {
            Some(now) => at_start.and(now.opened(need)?),
            None => Some(at_start),
        }
    }

    fn now(&self) -> Option<Buckets> {
        self.ledger.now().map(|held| Buckets::of(&held, &self.ledger.plugin, &self.chain))
    }

    /// Whether exactly this use was approved; a change is made once.
    fn spend(&self, frozen: &KvUse) -> bool {
        let mut approved = self.approved.lock().expect("no panic under this lock");
        let found = approved.iter().position(|held| held == frozen);
        if let Some(index) = found.filter(|_| frozen.operation.access() == Access::Write) {
            approved.swap_remove(index);
        }
        found.is_some()
    }

    fn refusal(&self, need: Access) -> Refusal {
        let (plugin, need) = (&self.ledger.plugin, need.as_str());
        let held = self.now().map_or(self.at_start.held.is_some(), |now| now.held.is_some());
        let allow_with = match held {
            false => format!("[plugins.{plugin}.kv]\nscope = \"chain\"\naccess = \"{need}\""),
            true => format!("# `access = \"{need}\"` in the line of `plugins.{plugin}.kv`, for a tool that is not `read-only`"),
        };
        Refusal { attempted: format!("kv {need}"), allow_with }
    }

    async fn get(&self, keys: Vec<String>) -> Result<Vec<Option<Vec<u8>>>, Error> {
        check_keys(&keys)?;
        let values = match self.begin(reading(KvOperation::Get, keys.clone()), None).await? {
            Begun::Given(answer) => values(answer)?,
            Begun::Make(Making { opened, store, slot }) => {
                let got = store.get(&opened.bucket, keys).await.map_err(told);
                self.keep(slot, got, |values| Answer::Values { values: values.iter().map(|value| value.as_deref().map(to_base64)).collect() })?
            }
        };
        let bytes: usize = values.iter().flatten().map(Vec::len).sum();
        match bytes as u64 <= CROSSING_BYTES_MAX {
            true => Ok(values),
            false => Err(Error::Other(format!("{bytes} bytes of values at once, the limit is {CROSSING_BYTES_MAX}; ask for fewer keys"))),
        }
    }

    /// Values stand in the journal's database, where no secret goes.
    fn check_secrets(&self, change: &Change) -> Result<(), Error> {
        let Some(scrubber) = self.ledger.vault.scrubber() else { return Ok(()) };
        let found = match change {
            Change::Set(pairs) => pairs.iter().any(|(key, value)| scrubber.finds(key.as_bytes()) || scrubber.finds(value)),
            Change::Delete(_) => false,
            Change::Increment { key, .. } => scrubber.finds(key.as_bytes()),
        };
        if found {
            let allow_with = "# nothing lets a plugin keep the value of a secret".to_owned();
            self.ledger.refuse(Refusal { attempted: "kv write of a secret's value".to_owned(), allow_with });
            return Err(Error::AccessDenied);
        }
        Ok(())
    }

    async fn get_one(&self, key: String) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.get(vec![key]).await?.pop().flatten())
    }

    async fn list(&self, cursor: Option<u64>) -> Result<KeyResponse, Error> {
        match self.begin(reading(KvOperation::List, Vec::new()), cursor).await? {
            Begun::Given(Answer::Keys { keys, next }) => Ok(KeyResponse { keys, cursor: next }),
            Begun::Given(_) => Err(unreadable()),
            Begun::Make(Making { opened, store, slot }) => {
                let got = store.list(&opened.bucket, cursor, KEYS_AT_ONCE_MAX).await.map_err(told);
                let page = self.keep(slot, got, |page| Answer::Keys { keys: page.keys.clone(), next: page.next })?;
                Ok(KeyResponse { keys: page.keys, cursor: page.next })
            }
        }
    }

    /// Counted before it is asked for: whoever cuts the attempt off meanwhile finds it counted.
    async fn change(&self, change: Change) -> Result<u64, Error> {
        check(&change)?;
        self.check_secrets(&change)?;
        match self.begin(changing(&change), None).await? {
            Begun::Given(Answer::Changed { number }) => Ok(number),
            Begun::Given(_) => Err(unreadable()),
            Begun::Make(making) => {
                let slot = making.slot;
                self.keep(slot, self.make(making, change).await, |number| Answer::Changed { number: *number })
            }
        }
    }

    async fn make(&self, Making { opened, store, .. }: Making<'_>, change: Change) -> Result<u64, Error> {
        // An attempt that is about to end has no effect any more.
        self.ledger.kv_write().map_err(|Ending| Error::AccessDenied)?;
        let changed = store.change(&opened.bucket, change, opened.quota).await;
        if matches!(changed, Err(KvError::OverQuota(_) | KvError::DoesNotFit(_))) {
            self.ledger.kv_write_failed();
        }
        changed.map_err(told)
    }
}

impl Buckets {
    fn of(held: &Held, plugin: &str, chain: &ChainId) -> Self {
        let reach = held.reach.iter().filter_map(|opening| if let Opening::Kv(line) = opening { Some(line.clone()) } else { None });
        let reach: Vec<_> = reach.collect();
        Self { held: HeldBucket::of(&held.kv, plugin, chain), reach: HeldBucket::of(&reach, plugin, chain) }
    }

    fn is_empty(&self) -> bool {
        self.held.is_none() && self.reach.is_none()
    }

    fn opened(&self, need: Access) -> Option<Opened> {
        let gives = |held: &&HeldBucket| held.access >= need;
        let (found, waits) = match self.held.as_ref().filter(gives) {
            Some(held) => (held, false),
            None => (self.reach.as_ref().filter(gives)?, true),
        };
        Some(Opened { bucket: found.bucket.clone(), quota: found.quota, waits })
    }
}

impl Opened {
    /// What both say: nothing where they are about different buckets.
    fn and(self, other: Self) -> Option<Self> {
        let quota = Quota { bytes: self.quota.bytes.min(other.quota.bytes), keys: self.quota.keys.min(other.quota.keys) };
        (self.bucket == other.bucket).then_some(Self { quota, waits: self.waits || other.waits, ..self })
    }
}

impl HeldBucket {
    /// What the lines give together; all are of one scope.
    fn of(lines: &[HeldKv], plugin: &str, chain: &ChainId) -> Option<Self> {
        let first = lines.first()?;
        Some(Self {
            bucket: Bucket::new(plugin, chain, first.scope),
            access: lines.iter().map(|line| line.access).max().unwrap_or(Access::None),
            quota: lines.iter().map(|line| line.quota).fold(first.quota, Quota::max),
        })
    }
}

fn reading(operation: KvOperation, keys: Vec<String>) -> KvUse {
    KvUse { operation, keys, digest: Digest::of_bytes(b""), bytes: 0, preview: String::new() }
}

fn changing(change: &Change) -> KvUse {
    let (operation, keys, values): (_, Vec<String>, Vec<Vec<u8>>) = match change {
        Change::Set(pairs) => {
            (KvOperation::Set, pairs.iter().map(|(key, _)| key.clone()).collect(), pairs.iter().map(|(_, value)| value.clone()).collect())
        }
        Change::Delete(keys) => (KvOperation::Delete, keys.clone(), Vec::new()),
        Change::Increment { key, by } => (KvOperation::Increment, vec![key.clone()], vec![by.to_string().into_bytes()]),
    };
    let framed: Vec<u8> = values.iter().flat_map(|value| (value.len() as u64).to_be_bytes().into_iter().chain(value.iter().copied())).collect();
    let first = values.first().map_or(&[][..], |value| &value[..value.len().min(PREVIEW_BYTES_MAX)]);
    KvUse {
        operation,
        keys,
        digest: Digest::of_bytes(&framed),
        bytes: values.iter().map(|value| value.len() as u64).sum(),
        preview: String::from_utf8_lossy(first).into_owned(),
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

/// All of a use that a later one must have in common with it.
fn compared(frozen: &KvUse, cursor: Option<u64>) -> Hasher {
    let cursor = cursor.map(u64::to_be_bytes);
    let keys = frozen.keys.iter().map(String::as_bytes);
    let parts = [&b"kv"[..], frozen.operation.as_str().as_bytes(), frozen.digest.as_bytes(), cursor.as_ref().map_or(&[][..], |cursor| cursor)];
    recorder::request(&parts.into_iter().chain(keys).collect::<Vec<_>>())
}

fn named(error: &Error) -> Answer {
    let (name, text) = match error {
        Error::NoSuchStore => ("no-such-store", None),
        Error::AccessDenied => ("access-denied", None),
        Error::Other(text) => ("other", Some(text.clone())),
    };
    Answer::Error { name: name.to_owned(), text }
}

fn error(name: &str, text: Option<String>) -> Error {
    match name {
        "no-such-store" => Error::NoSuchStore,
        "access-denied" => Error::AccessDenied,
        _ => Error::Other(text.unwrap_or_default()),
    }
}

fn values(answer: Answer) -> Result<Vec<Option<Vec<u8>>>, Error> {
    let Answer::Values { values } = answer else { return Err(unreadable()) };
    let read = |value: Option<String>| value.map(|value| from_base64(&value).ok_or_else(unreadable)).transpose();
    values.into_iter().map(read).collect()
}

/// Only where the journal was written by another hand.
fn unreadable() -> Error {
    Error::Other("what was recorded of this use cannot be read".to_owned())
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
    use crate::plugin::SystemSecrets;
    use crate::plugin::vault::Vault;

    #[test]
    fn a_host_without_a_store_says_so() {
        let lines = vec![HeldKv { scope: Scope::Chain, access: Access::Write, quota: Quota::default() }];
        let held = Held { kv: lines, ..Held::default() };
        let values = Values::new(
            &held,
            "p",
            &ChainId("ch_1".into()),
            Arc::new(Ledger::new("p", Arc::new(Vault::new(&Held::default(), Arc::new(SystemSecrets))), None)),
            None,
        );
        assert!(matches!(values.open("default"), Err(Error::Other(why)) if why == "this host keeps no values"));
    }
}
