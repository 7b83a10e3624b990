//! What a decision came to, for programs: on the command line and over HTTP.

use serde_json::{Value, json};

use crate::pause::Pause;
use crate::runner::Decision;

pub fn as_json(done: &Decision, pause: Option<&Pause>) -> Value {
    json!({
        "id": pause.map(|pause| &pause.id),
        "chain": done.chain,
        "status": pause.map(|pause| pause.status),
        "decided": pause.and_then(|pause| pause.decided.as_ref()),
        "votes": pause.map(|pause| &pause.votes),
        "quorum": pause.map(|pause| pause.requirements.quorum),
        "before": done.before.is_some(),
        "chain_status": done.state.status,
        "open_pauses": done.state.open_pauses().map(|pause| &pause.id).collect::<Vec<_>>(),
    })
}
