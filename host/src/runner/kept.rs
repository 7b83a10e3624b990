//! A chain goes on with the bytes that its unfinished calls were judged and asked about on, though the plugin directory
//! has others by now: they are kept in the journal when it pauses, and let go of when it ends. A plugin that is not in the
//! directory at all was taken out of it, and its calls wait until it is back.
//!
//! To keep them is a service and no promise: where it fails, a changed plugin blocks the chain, as it says.

use std::collections::{BTreeMap, BTreeSet};

use super::Host;
use super::open::OpenChain;
use crate::chain::OnChange;
use crate::digest::Digest;
use crate::state::ChainState;
use crate::state::bytes::{Choice, chosen};

/// Plugins of unfinished calls, with the bytes the chain holds them to.
fn needed(state: &ChainState) -> BTreeMap<String, Digest> {
    let unfinished = state.current_calls().filter(|call| !call.status.is_final());
    unfinished
        .filter_map(|call| state.tool(&call.tool))
        .filter(|tool| !tool.is_hosts())
        .map(|tool| (tool.plugin.clone(), tool.plugin_digest.clone()))
        .collect()
}

/// Makes callable what was kept of plugins that are others now. `loaded` says then what this chain runs.
pub async fn take_up(chain: &OpenChain, loaded: &mut BTreeMap<String, Digest>) {
    for (plugin, digest) in needed(&chain.state) {
        let goes_on = |found: &Digest| match chain.state.settings.on_change {
            OnChange::Keep => true,
            OnChange::Ask => chosen(&chain.state, &plugin, &digest, found) == Some(Choice::Pinned),
            OnChange::Block => false,
        };
        if loaded.get(&plugin).is_some_and(|found| *found != digest && goes_on(found)) && load(&chain.host, &plugin, &digest).await {
            chain.host.observer.kept(&chain.state, &plugin, &digest);
            loaded.insert(plugin, digest);
        }
    }
}

async fn load(host: &Host, plugin: &str, digest: &Digest) -> bool {
    let Ok(Some(bytes)) = host.journal.kept(digest).await else { return false };
    // Whoever can write to the journal is trusted, and a disk is not.
    Digest::of_bytes(&bytes) == *digest && host.plugins.load_kept(plugin, digest, bytes).await.is_ok()
}

/// For whoever carries the paused chain on.
pub async fn keep(host: &Host, state: &ChainState) {
    if state.settings.on_change == OnChange::Block {
        return;
    }
    let needed = needed(state);
    let digests: BTreeSet<_> = needed.values().cloned().collect();
    let Ok(missing) = host.journal.need(&state.id, digests.into_iter().collect()).await else { return };
    for (plugin, digest) in needed.iter().filter(|(_, digest)| missing.contains(digest)) {
        if let Some(bytes) = host.plugins.bytes(plugin, digest).await
            && host.journal.keep(bytes).await.is_err()
        {
            return;
        }
    }
}

/// The chain ended. One that never paused had nothing kept.
pub async fn let_go(host: &Host, state: &ChainState) {
    if !state.pauses.is_empty() {
        host.journal.need(&state.id, Vec::new()).await.ok();
    }
}
