//! Values that a plugin keeps between calls: whose they are, how many fit, and the store that keeps them.
//!
//! [`KeyValues`] stands here, below both, since the journal that keeps values and the plugins that use them do not
//! know each other. Every function takes a [`Bucket`], which the host makes and no guest names: there is no way to ask
//! for another plugin's or another chain's values.

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::{Access, ForTools, OnMissing, When};
use crate::chain::ChainId;

/// `kv = { … }` in a plugin's section.
#[derive(Clone, Debug, PartialEq)]
pub struct KvGrant {
    pub scope: Scope,
    /// Never `none`.
    pub access: Access,
    pub quota: Quota,
    pub when: When,
    pub on_missing: OnMissing,
    pub tools: ForTools,
    pub line: usize,
}

/// Who shares the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The calls of one chain.
    Chain,
    /// All chains: one can leave something there for another to read.
    Plugin,
}

impl Scope {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Chain => "chain",
            Self::Plugin => "plugin",
        }
    }
}

/// Of one bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Keys and values together.
    pub bytes: u64,
    pub keys: u64,
}

impl Default for Quota {
    /// Notes and cursors fit; a database does not.
    fn default() -> Self {
        Self { bytes: 1 << 20, keys: 1024 }
    }
}

/// One line of values in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldKv {
    pub scope: Scope,
    pub access: Access,
    /// A limit: no part of what an approval hangs on.
    #[serde(skip)]
    pub quota: Quota,
}

impl std::fmt::Display for HeldKv {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shared = match self.scope {
            Scope::Chain => "values of this chain",
            Scope::Plugin => "values that all chains share",
        };
        write!(f, "kv {} {shared}", self.access.as_str())
    }
}

/// Whose values: a plugin's in one chain, or over all chains.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bucket {
    plugin: String,
    chain: Option<ChainId>,
}

impl Bucket {
    pub fn new(plugin: &str, chain: &ChainId, scope: Scope) -> Self {
        Self { plugin: plugin.to_owned(), chain: (scope == Scope::Chain).then(|| chain.clone()) }
    }

    /// Of the host's own, under a name that no plugin can have.
    pub fn of_host(name: &str) -> Self {
        Self { plugin: format!(":{name}"), chain: None }
    }

    pub fn plugin(&self) -> &str {
        &self.plugin
    }

    pub fn chain(&self) -> Option<&ChainId> {
        self.chain.as_ref()
    }
}

/// What changes at once or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Set(Vec<(String, Vec<u8>)>),
    Delete(Vec<String>),
    /// The value is a whole number in decimal; a missing one is 0.
    Increment {
        key: String,
        by: u64,
    },
}

/// Keys in the order they were first set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    pub keys: Vec<String>,
    /// Where the next page goes on; `None` at the end.
    pub next: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KvError {
    #[error("over the quota: {0}")]
    OverQuota(String),
    #[error("{0}")]
    DoesNotFit(String),
    /// The guest is not told more: paths and disks are none of its business.
    #[error("values cannot be kept or read just now")]
    Away,
}

/// Keeps values. A change is on disk before the result of its call is.
pub trait KeyValues: Send + Sync {
    /// One for each key, in their order.
    fn get<'a>(&'a self, bucket: &'a Bucket, keys: Vec<String>) -> BoxFuture<'a, Result<Vec<Option<Vec<u8>>>, KvError>>;

    /// At most `limit` keys behind a cursor of an earlier page.
    fn list<'a>(&'a self, bucket: &'a Bucket, after: Option<u64>, limit: usize) -> BoxFuture<'a, Result<Page, KvError>>;

    /// The new number of an increment, else 0.
    fn change<'a>(&'a self, bucket: &'a Bucket, change: Change, quota: Quota) -> BoxFuture<'a, Result<u64, KvError>>;
}

/// The number that an increment leads to, for every store the same.
pub fn incremented(value: Option<&[u8]>, by: u64) -> Result<u64, KvError> {
    let before = match value {
        None => Some(0),
        Some(value) => std::str::from_utf8(value).ok().and_then(|text| text.parse::<u64>().ok()),
    };
    let before = before.ok_or_else(|| KvError::DoesNotFit("the value is no whole number in decimal".to_owned()))?;
    before.checked_add(by).ok_or_else(|| KvError::DoesNotFit("the number would not fit into 64 bits".to_owned()))
}

impl Quota {
    /// Of each the larger.
    pub fn max(self, other: Self) -> Self {
        Self { bytes: self.bytes.max(other.bytes), keys: self.keys.max(other.keys) }
    }

    /// Whether a bucket may hold so much.
    pub fn admit(&self, bytes: u64, keys: u64) -> Result<(), KvError> {
        if keys > self.keys {
            return Err(KvError::OverQuota(format!("{keys} keys, the limit is {}", self.keys)));
        }
        if bytes > self.bytes {
            return Err(KvError::OverQuota(format!("{bytes} bytes of keys and values, the limit is {}", self.bytes)));
        }
        Ok(())
    }
}

#[cfg(test)]
pub mod twin;
