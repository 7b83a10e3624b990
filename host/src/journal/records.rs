//! Records as they stand, for those who look after a journal: read whether this program knows their kind or not, and
//! whether their hashes hold or not.
//!
//! Everything comes in pages, so that a chain or a journal of any size is gone through in little memory.

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::JournalError;
use super::record::{Hash, Stored};
use crate::chain::{ChainId, Seq};

/// Chains of one page of heads.
pub const HEADS_MAX: usize = 512;
/// Records of one page.
pub const RECORDS_MAX: usize = 256;
/// Payload bytes after which a page takes no more; one record may be larger.
pub const PAGE_BYTES_MAX: usize = 4 << 20;

/// Where a chain ends: its last event, and the hash that stands for all of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    #[serde(rename = "id")]
    pub chain: ChainId,
    pub seq: Seq,
    #[serde(with = "hex_hash")]
    pub hash: Hash,
}

/// What a store gives to an audit.
pub trait Records: Send + Sync {
    /// The chains after `after` in the order of their ids, each as its row says it ends; where a row is missing, as its
    /// last event says. Empty at the end.
    fn heads(&self, after: Option<&ChainId>) -> BoxFuture<'_, Result<Vec<Head>, JournalError>>;

    /// The same of one chain.
    fn last(&self, chain: &ChainId) -> BoxFuture<'_, Result<Option<Head>, JournalError>>;

    /// Records of a chain after `after`, in the order of their numbers. Empty at the end.
    fn records(&self, chain: &ChainId, after: Seq) -> BoxFuture<'_, Result<Vec<Stored>, JournalError>>;

    /// Each chain that carries another on, with that other: its history is read from there.
    fn continued(&self) -> BoxFuture<'_, Result<Vec<(ChainId, ChainId)>, JournalError>>;

    /// Takes chains out with all that is kept for them, each where it has ended, still stands at its head, and nobody has
    /// carried it on. Returns those that were taken out; they are not there any more when this returns.
    fn remove(&self, heads: Vec<Head>) -> BoxFuture<'_, Result<Vec<ChainId>, JournalError>>;

    /// Gives back to the system what was taken out, where that is worth it. False where others were at work.
    fn compact(&self) -> BoxFuture<'_, Result<bool, JournalError>>;

    /// Writes what lists are made of anew from the events.
    fn rebuild(&self) -> BoxFuture<'_, Result<Rebuilt, JournalError>>;

    /// `None` while there is no journal.
    fn health(&self) -> BoxFuture<'_, Result<Option<Health>, JournalError>>;

    /// How the rows that lists are made of differ from the events of a chain; an error where those cannot be folded.
    fn difference(&self, chain: &ChainId) -> BoxFuture<'_, Result<Option<String>, JournalError>>;
}

/// What a rebuild did.
#[derive(Debug, Default)]
pub struct Rebuilt {
    pub chains: usize,
    /// Chains with an event that is missing, changed or cannot be read; their rows stay as they were.
    pub unreadable: Vec<JournalError>,
}

/// How a store is; looked at without changing anything, and with the right to write tried.
#[derive(Debug, Default)]
pub struct Health {
    /// Of its tables.
    pub version: u32,
    pub bytes: u64,
    /// What the store's own check of its files found.
    pub problems: Vec<String>,
    /// When something was last written.
    pub newest: Option<jiff::Timestamp>,
    /// Chains that a process left behind when it died, and how it called itself.
    pub dead: Vec<(ChainId, String)>,
}

/// 64 hex digits.
pub mod hex_hash {
    use serde::{Deserialize, Deserializer, Serializer, de};

    use crate::journal::record::Hash;

    pub fn serialize<S: Serializer>(hash: &Hash, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex::encode(hash))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Hash, D::Error> {
        let mut hash = Hash::default();
        hex::decode_to_slice(String::deserialize(deserializer)?, &mut hash).map_err(|error| de::Error::custom(format!("no hash: {error}")))?;
        Ok(hash)
    }
}
