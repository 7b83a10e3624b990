//! What a dead process left behind, settled when its chain is taken up: plugins are asked first what they know.

use tokio_util::sync::CancellationToken;

use super::HostError;
use super::attempts::attempt;
use super::open::OpenChain;
use crate::state::recover::{Findings, lookups, recover};

/// Interrupted while plugins look, it leaves their calls as they are, for whoever takes the chain up next.
pub async fn recover_all(chain: &mut OpenChain, interrupt: &CancellationToken) -> Result<(), HostError> {
    let findings = findings(chain, interrupt).await;
    if interrupt.is_cancelled() {
        return Ok(());
    }
    chain.record(|state, rules| recover(state, rules, &findings)).await
}

/// One after the other: they are few, and each ends within its limits.
async fn findings(chain: &OpenChain, interrupt: &CancellationToken) -> Findings {
    let (host, state) = (&chain.host, &chain.state);
    let loaded = host.plugins.loaded();
    let mut findings = Findings::new();
    for look in host.with_rules(|rules| lookups(state, rules)) {
        let key = look.started.call;
        let tool = state.tool(&state.calls[&key].tool).expect("a call to look up has its tool");
        // Other bytes did not make the call, and know nothing of it.
        if loaded.get(&tool.plugin) == Some(&tool.plugin_digest)
            && let Some(finding) = host.plugins.reconcile(attempt(chain, look, interrupt.clone())).await
        {
            findings.insert(key, finding);
        }
    }
    findings
}
