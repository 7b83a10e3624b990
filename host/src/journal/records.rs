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

    /// How the rows that lists are made of differ from the events of a chain; an error where those cannot be folded.
    fn difference(&self, chain: &ChainId) -> BoxFuture<'_, Result<Option<String>, JournalError>>;
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
