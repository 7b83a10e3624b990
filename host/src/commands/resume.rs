//! `resume CHAIN`

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::answer::Answers;
use super::failure::Failure;
use super::rest::{Driver, MOMENT};
use super::setup::{Flags, Setup};
use super::{identity, interrupt, runtime};
use crate::report::live::Live;
use crate::runner;
use crate::state::ChainState;

/// Carry a chain on: what ran is never run again, what was approved runs once
#[derive(Args)]
#[command(
    after_help = "Examples:\n  pausegate resume ch_01k…\n  pausegate resume ch_01k --max-turns 40\n  pausegate resume ch_01k --model claude-sonnet-4-5\n  pausegate resume ch_01k --accept-plugin   # after a plugin's file changed"
)]
pub struct Resume {
    /// The chain; the start of its id is enough
    chain: String,
    /// Take the plugin bytes that are loaded now; approvals and answers of its unfinished calls lapse
    #[arg(long)]
    accept_plugin: bool,
    /// Raise the number of model calls allowed
    #[arg(long, value_name = "N")]
    max_turns: Option<u32>,
    /// Ask this model from here on, in the place of the one that the chain has
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Go on with the recording that `run --record FILE` began
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Print events as NDJSON, the chain's id and status last
    #[arg(long)]
    json: bool,
}

impl Resume {
    pub fn run(&self, flags: &Flags) -> Result<u8, Failure> {
        let setup = Setup::read(flags)?;
        runtime::full(async {
            let live = Arc::new(Live::new(self.json));
            let interrupt = interrupt::on_signal()?;
            // An unknown id is said before plugins are loaded for it.
            let journal = setup.journal_to_read()?;
            let chain = journal.find_chain(&self.chain).await?;
            self.check_files(&setup, &ChainState::fold(chain.clone(), &journal.events(&chain, 0).await?))?;
            let host = setup.host(live.clone(), self.record.as_deref()).await?;
            let fixes = runner::Resume { accept_plugin: self.accept_plugin, max_turns: self.max_turns, model: self.model.clone() };
            let delivery = setup.delivery(host.journal.clone());
            let code = Driver { host, live, by: identity::os_user(), answers: Answers::Later, interrupt }.drive(&chain, fixes).await;
            delivery.deliver_due(MOMENT).await;
            code
        })
    }

    /// An approved call is not run for a chain that could not go on with its result.
    fn check_files(&self, setup: &Setup, state: &ChainState) -> Result<(), Failure> {
        if state.status.is_terminal() {
            return Ok(());
        }
        if let Some(model) = &self.model {
            // A name that is mistyped, or lacks its key, is not written down.
            setup.models(None)(model)?;
        }
        let model = self.model.as_deref().or(state.settings.model.as_deref());
        setup.check_files(model, self.record.as_deref(), state.model_calls)
    }
}
