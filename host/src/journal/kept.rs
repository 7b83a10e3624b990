//! Plugins' bytes, by their digest, at least for as long as a chain that has not ended needs them: whoever carries it on has
//! them, though the file in the plugin directory is another one by now.

use futures_util::future::BoxFuture;

use super::JournalError;
use crate::chain::ChainId;
use crate::digest::Digest;

/// Plugins that no chain needs and that stay for the next one that pauses, since to write them costs more than the pause;
/// where there are more, all of those go.
pub const SPARE_MAX: u32 = 4;

pub trait KeptPlugins: Send + Sync {
    /// Says which bytes the chain needs from now on. Returns those that are not kept.
    fn need<'a>(&'a self, chain: &'a ChainId, plugins: Vec<Digest>) -> BoxFuture<'a, Result<Vec<Digest>, JournalError>>;

    /// Keeps bytes, if a chain needs them.
    fn keep(&self, bytes: Vec<u8>) -> BoxFuture<'_, Result<(), JournalError>>;

    fn kept<'a>(&'a self, plugin: &'a Digest) -> BoxFuture<'a, Result<Option<Vec<u8>>, JournalError>>;
}
