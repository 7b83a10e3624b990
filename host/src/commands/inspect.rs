//! `inspect CHAIN`

use clap::Args;
use serde_json::{Value, json};

use super::failure::Failure;
use super::setup::{Flags, Setup};
use super::{exit, runtime};
use crate::chain::message::{Message, Role};
use crate::chain::{ChainId, Seq};
use crate::event::Stamped;
use crate::journal::{Journal, JournalError, PendingRow, audit};
use crate::report;
use crate::runner::HostError;
use crate::state::ChainState;

/// Show a chain: its turns, calls, results and pauses
#[derive(Args)]
#[command(
    after_help = "Examples:\n  pausegate inspect ch_01k…\n  pausegate inspect ch_01k --json | jq .events\n  pausegate inspect ch_01k --at 7\n  pausegate inspect ch_01k --messages > history.json"
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
    /// Show it as it was after this event
    #[arg(long, value_name = "SEQ", value_parser = clap::value_parser!(u64).range(1..))]
    at: Option<Seq>,
}

/// A chain as it is read, and who runs it.
struct Found {
    state: ChainState,
    events: Vec<Stamped>,
    held_by: Option<String>,
    /// The last event there is, where this is how the chain was before it.
    past: Option<Seq>,
}

impl Inspect {
    pub fn run(&self, flags: &Flags) -> Result<u8, Failure> {
        let setup = Setup::read(flags)?;
        let journal = setup.journal_to_read()?;
        runtime::small(async {
            let id = journal.find_chain(&self.chain).await?;
            let found = match self.at {
                None => find(&*journal, id).await?,
                Some(seq) => find_at(&*journal, id, seq).await?,
            };
            if self.messages {
                report::json(&messages(&*journal, &found.state).await?);
            } else if self.json {
                report::json(&as_json(&found)?);
            } else {
                report::chain::show(&found.state, &found.events, found.held_by.as_deref(), found.past, setup.clock.now());
                report::chain::below(&below(&*journal, &found).await?);
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
    Ok(Found { state, events, held_by, past: None })
}

/// Damage after `seq` does not stand in the way of looking at what was before it.
async fn find_at(journal: &dyn Journal, id: ChainId, seq: Seq) -> Result<Found, Failure> {
    let head = journal.head(&id).await?;
    if seq > head {
        return Err(HostError::NoEvent { chain: id, seq, head }.into());
    }
    let events = audit::events_until(journal, &id, seq).await?;
    let state = ChainState::fold(id, &events);
    Ok(Found { state, events, held_by: None, past: (seq < head).then_some(head) })
}

/// What chains below it wait for, now.
async fn below(journal: &dyn Journal, found: &Found) -> Result<Vec<PendingRow>, Failure> {
    if found.past.is_some() || found.state.children().next().is_none() {
        return Ok(Vec::new());
    }
    let mut rows = journal.pending(u32::MAX).await?;
    rows.retain(|row| row.pause.path.contains(&found.state.id));
    Ok(rows)
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
        if events.is_empty() {
            return Err(JournalError::Unknown { what: "chain", prefix: parent.0 }.into());
        }
        chains.push(ChainState::fold(parent, &events));
    }
    let system = state.settings.system.as_deref().map(|text| Message::text(Role::System, text));
    let entries = chains.iter().rev().flat_map(|chain| chain.entries()).map(|entry| entry.message);
    Ok(system.into_iter().chain(entries).collect())
}
