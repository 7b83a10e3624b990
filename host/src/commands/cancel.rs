//! `cancel CHAIN`

use clap::Args;
use serde_json::json;

use super::failure::Failure;
use super::setup::{Flags, Setup};
use super::{exit, identity, runtime};
use crate::report;

/// End a chain: its pauses close, nothing new starts, what runs is stored
#[derive(Args)]
#[command(after_help = "Examples:\n  pausegate cancel ch_01k… --note 'wrong folder'")]
pub struct Cancel {
    /// The chain; the start of its id is enough
    chain: String,
    /// A note for the journal
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Print an object
    #[arg(long)]
    json: bool,
}

impl Cancel {
    pub fn run(&self, flags: &Flags) -> Result<u8, Failure> {
        let setup = Setup::read(flags)?;
        let state = runtime::full(async {
            let host = setup.host_to_end()?;
            let chain = host.journal.find_chain(&self.chain).await?;
            Ok(host.cancel(&chain, &identity::os_user(), self.note.clone()).await?)
        })?;
        if self.json {
            report::json(&json!({"id": state.id, "status": state.status}));
        } else if state.status.is_terminal() {
            report::data(&format!("chain {} is {}", state.id, state.status));
        } else {
            report::data(&format!("chain {} is cancelled when its running calls have ended", state.id));
        }
        Ok(exit::COMPLETED)
    }
}
