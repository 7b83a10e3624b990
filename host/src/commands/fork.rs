//! `fork CHAIN`

use clap::Args;
use serde_json::json;

use super::failure::Failure;
use super::setup::{Flags, Setup};
use super::{exit, identity, runtime};
use crate::chain::{ChainId, Seq};
use crate::report::{self, bold, escape};
use crate::runner::Forked;

/// Begin a new chain from any point of another: results are kept, pauses and decisions are asked anew
#[derive(Args)]
#[command(after_help = "Examples:
  pausegate fork ch_01k…              # from where it stands, also where it has ended
  pausegate inspect ch_01k --at 7     # what a fork from there would know
  pausegate fork ch_01k --at 7")]
pub struct Fork {
    /// The chain, which stays as it is; the start of its id is enough
    chain: String,
    /// The last event that the fork knows of
    #[arg(long, value_name = "SEQ", value_parser = clap::value_parser!(u64).range(1..))]
    at: Option<Seq>,
    /// Print an object
    #[arg(long)]
    json: bool,
}

impl Fork {
    pub fn run(&self, flags: &Flags) -> Result<u8, Failure> {
        let setup = Setup::read(flags)?;
        let (from, forked) = runtime::small(async {
            // Nothing is made for an id that is not there.
            let from = setup.journal_to_read()?.find_chain(&self.chain).await?;
            let forked = setup.host_to_decide()?.fork(&from, self.at, &identity::os_user()).await?;
            Ok((from, forked))
        })?;
        if self.json {
            report::json(&as_json(&forked));
        } else {
            report::data(&forked.state.id.0);
            told(&from, &forked);
        }
        Ok(exit::COMPLETED)
    }
}

fn as_json(forked: &Forked) -> serde_json::Value {
    let state = &forked.state;
    json!({
        "id": state.id, "status": state.status, "forked": state.forked,
        "pauses": state.open_pauses().map(|pause| &pause.id).collect::<Vec<_>>(),
        "unknown": forked.unknown.iter().map(|key| &state.calls[key].id).collect::<Vec<_>>(),
    })
}

fn told(from: &ChainId, forked: &Forked) {
    let state = &forked.state;
    let id = &state.id;
    let seq = state.forked.as_ref().map_or(0, |fork| fork.seq);
    report::note(&format!("{} {id} is forked from {from} after event {seq}; no pause, decision or approval came along", bold("chain")));
    report::note(&format!("  nor did values that plugins kept for {from} alone"));
    for call in forked.unknown.iter().map(|key| &state.calls[key]) {
        let tool = escape::line(&call.tool);
        report::note(&format!("  {tool} had begun and had no result: it is not run again, and the model is told that nobody knows"));
    }
    for open in state.open_pauses() {
        report::note(&format!("  {} asks for {}: look at it with `pausegate pending {}`", open.id, escape::line(&open.tool), open.id));
    }
    report::note(&format!("  pausegate resume {id}"));
}
