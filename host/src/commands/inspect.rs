//! `inspect CHAIN`

use clap::Args;
use serde_json::{Value, json};

use super::failure::Failure;
use super::setup::{Flags, Setup};
use super::{exit, runtime};
use crate::chain::ChainId;
use crate::chain::message::{Message, Role};
use crate::event::Stamped;
use crate::journal::Journal;
use crate::report;
use crate::state::ChainState;

/// Show a chain: its turns, calls, results and pauses
#[derive(Args)]
#[command(
    after_help = "Examples:\n  pausegate inspect ch_01k…\n  pausegate inspect ch_01k --json | jq .events\n  pausegate inspect ch_01k --messages > history.json"
)]
pub struct Inspect {
    /// The chain; the start of its id is enough
    chain: String,
    /// Print its whole state and its events as an object
    #[arg(long)]
    json: bool,
    /// Print the conversation as message JSON, for `run --messages`
    #[arg(long, conflicts_with = "json")]
    messages: bool,
}

/// A chain as it is read, and who runs it.
struct Found {
    state: ChainState,
    events: Vec<Stamped>,
    held_by: Option<String>,
}

impl Inspect {
    pub fn run(&self, flags: &Flags) -> Result<u8, Failure> {
        let setup = Setup::read(flags)?;
        let journal = setup.journal_to_read()?;
        runtime::small(async {
            let id = journal.find_chain(&self.chain).await?;
            let found = find(&*journal, id).await?;
            if self.messages {
                report::json(&messages(&*journal, &found.state).await?);
            } else if self.json {
                report::json(&as_json(&found)?);
            } else {
                report::chain::show(&found.state, found.held_by.as_deref(), setup.clock.now());
            }
            Ok(exit::COMPLETED)
        })
    }
}

async fn find(journal: &dyn Journal, id: ChainId) -> Result<Found, Failure> {
    let events = journal.events(&id, 0).await?;
    let state = ChainState::fold(id.clone(), &events);
    // Whether a live process holds it is the lock's to say.
    let rows = if state.status.is_terminal() { Vec::new() } else { journal.chains(u32::MAX).await? };
    let held_by = rows.into_iter().find(|row| row.id == id).and_then(|row| row.held_by);
    Ok(Found { state, events, held_by })
}

fn as_json(found: &Found) -> Result<Value, Failure> {
    let unwritable = |error: serde_json::Error| Failure::new(exit::INTERNAL, "the chain cannot be written as JSON").because(error);
    let mut value = serde_json::to_value(&found.state).map_err(unwritable)?;
    value["events"] = serde_json::to_value(&found.events).map_err(unwritable)?;
    value["answer"] = json!(found.state.answer());
    value["held_by"] = json!(found.held_by);
    if found.held_by.is_some() {
        value["status"] = json!(crate::chain::ChainStatus::Running);
    }
    Ok(value)
}

/// The whole conversation, ancestors first, the system prompt before them.
async fn messages(journal: &dyn Journal, state: &ChainState) -> Result<Vec<Message>, Failure> {
    /// Chains one conversation may span.
    const CHAINS_MAX: usize = 1000;
    let mut chains = vec![state.clone()];
    while let Some(parent) = chains.last().and_then(|chain| chain.continues.clone()) {
        if chains.len() == CHAINS_MAX {
            return Err(Failure::data(format!("the conversation spans more than {CHAINS_MAX} chains")));
        }
        let events = journal.events(&parent, 0).await?;
        chains.push(ChainState::fold(parent, &events));
    }
    let system = state.settings.system.as_deref().map(|text| Message::text(Role::System, text));
    let entries = chains.iter().rev().flat_map(|chain| chain.entries()).map(|entry| entry.message);
    Ok(system.into_iter().chain(entries).collect())
}
