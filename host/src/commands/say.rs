//! `say CHAIN MESSAGE`

use std::sync::Arc;

use clap::Args;

use super::answer::Answers;
use super::failure::Failure;
use super::rest::{Driver, MOMENT};
use super::setup::{Flags, Setup, argument_text};
use super::{identity, interrupt, runtime};
use crate::report::live::Live;
use crate::runner::Said;

/// Send a further message: into a chain that rests, or into a new one that carries a completed one on
#[derive(Args)]
#[command(after_help = "Examples:\n  pausegate say ch_01k… 'only the .tmp files'\n  pausegate say ch_01k 'forget it, list them instead' --supersede")]
pub struct Say {
    /// The chain; the start of its id is enough
    chain: String,
    /// The message; `-` reads it from standard input
    message: String,
    /// Close open pauses first; their calls are not run
    #[arg(long)]
    supersede: bool,
    /// Print events as NDJSON, the chain's id and status last
    #[arg(long)]
    json: bool,
}

impl Say {
    pub fn run(&self, flags: &Flags) -> Result<u8, Failure> {
        let message = argument_text(&self.message)?;
        if message.trim().is_empty() {
            return Err(Failure::usage("the message is empty"));
        }
        let setup = Setup::read(flags)?;
        runtime::full(async {
            let live = Arc::new(Live::new(self.json));
            let interrupt = interrupt::on_signal()?;
            let chain = setup.journal_to_read()?.find_chain(&self.chain).await?;
            let host = setup.host(live.clone(), None).await?;
            let by = identity::os_user();
            let (Said::Same(report) | Said::Linked(report)) = host.say(&chain, &by, &message, self.supersede, interrupt.clone()).await?;
            let delivery = setup.delivery(host.journal.clone());
            let code = Driver { host, live, by, answers: Answers::Later, interrupt }.go_on(report).await;
            delivery.deliver_due(MOMENT).await;
            code
        })
    }
}
