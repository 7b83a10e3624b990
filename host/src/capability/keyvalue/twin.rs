//! Values in memory, with the rules of the real store.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures_util::future::{BoxFuture, FutureExt, ready};

use super::{Bucket, Change, KeyValues, KvError, Page, Quota, incremented};

/// Number, key and value, in the order they were first set.
type Rows = Vec<(u64, String, Vec<u8>)>;

#[derive(Clone, Default)]
pub struct Twin(Arc<Mutex<BTreeMap<Bucket, Rows>>>);

impl Twin {
    fn rows(&self, bucket: &Bucket) -> Rows {
        self.0.lock().unwrap().get(bucket).cloned().unwrap_or_default()
    }

    fn now<T: Send + 'static>(value: T) -> BoxFuture<'static, T> {
        ready(value).boxed()
    }
}

impl KeyValues for Twin {
    fn get<'a>(&'a self, bucket: &'a Bucket, keys: Vec<String>) -> BoxFuture<'a, Result<Vec<Option<Vec<u8>>>, KvError>> {
        let rows = self.rows(bucket);
        Self::now(Ok(keys.iter().map(|key| value(&rows, key)).collect()))
    }

    fn list<'a>(&'a self, bucket: &'a Bucket, after: Option<u64>, limit: usize) -> BoxFuture<'a, Result<Page, KvError>> {
        let mut rows = self.rows(bucket);
        rows.retain(|(number, ..)| *number > after.unwrap_or(0));
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().filter(|_| more).map(|(number, ..)| *number);
        Self::now(Ok(Page { keys: rows.into_iter().map(|(_, key, _)| key).collect(), next }))
    }

    fn change<'a>(&'a self, bucket: &'a Bucket, change: Change, quota: Quota) -> BoxFuture<'a, Result<u64, KvError>> {
        let mut all = self.0.lock().unwrap();
        let mut rows = all.get(bucket).cloned().unwrap_or_default();
        let changed = changed(&mut rows, change, quota);
        if changed.is_ok() {
            all.insert(bucket.clone(), rows);
        }
        Self::now(changed)
    }
}

fn changed(rows: &mut Rows, change: Change, quota: Quota) -> Result<u64, KvError> {
    let mut number = 0;
    match change {
        Change::Delete(keys) => {
            rows.retain(|(_, key, _)| !keys.contains(key));
            return Ok(0);
        }
        Change::Set(pairs) => pairs.into_iter().for_each(|(key, value)| set(rows, key, value)),
        Change::Increment { key, by } => {
            number = incremented(value(rows, &key).as_deref(), by)?;
            set(rows, key, number.to_string().into_bytes());
        }
    }
    let bytes: usize = rows.iter().map(|(_, key, value)| key.len() + value.len()).sum();
    quota.admit(bytes as u64, rows.len() as u64).map(|()| number)
}

fn set(rows: &mut Rows, key: String, value: Vec<u8>) {
    match rows.iter_mut().find(|(_, other, _)| *other == key) {
        Some((.., old)) => *old = value,
        None => rows.push((rows.last().map_or(0, |(number, ..)| *number) + 1, key, value)),
    }
}

fn value(rows: &Rows, key: &str) -> Option<Vec<u8>> {
    rows.iter().find(|(_, other, _)| other == key).map(|(.., value)| value.clone())
}
