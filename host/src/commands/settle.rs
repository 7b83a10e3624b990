//! `settle`: a person says what became of a call in doubt.

use clap::Args;
use serde_json::{Value, json};

use super::decide::{Common, read_json};
use super::failure::Failure;
use super::runtime;
use super::setup::{Flags, Setup};
use crate::journal::Journal;
use crate::pause::{Decision, Settled};
use crate::state::ChainState;

/// Say what became of a call that was started and whose end nobody recorded
#[derive(Args)]
#[command(
    after_help = "Examples:\n  pausegate settle pa_01k… --happened '{\"id\": 7}'\n  pausegate settle pa_01k… --happened --text 'sent at noon'\n  pausegate settle pa_01k… --run-again   # it did not happen, or may happen twice\n  pausegate settle pa_01k… --give-up     # nobody can tell; the model is told so"
)]
#[command(group = clap::ArgGroup::new("outcome").required(true))]
pub struct Settle {
    #[command(flatten)]
    common: Common,
    /// It happened, with this result as JSON; `-` reads standard input. Without one: what the plugin says, if it says so
    #[arg(long, value_name = "RESULT", group = "outcome")]
    happened: Option<Option<String>>,
    /// With `--happened`: the result as text
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["run_again", "give_up"])]
    text: Option<String>,
    /// Make the call again, with the same idempotency key; what was approved stays approved
    #[arg(long, group = "outcome")]
    run_again: bool,
    /// Nobody can tell: the model gets an `unknown-outcome` result, with the note
    #[arg(long, group = "outcome")]
    give_up: bool,
}

impl Settle {
    pub fn run(&self, flags: &Flags) -> Result<u8, Failure> {
        let outcome = match (&self.happened, self.run_again) {
            (Some(result), _) => Settled::Happened(self.result(flags, result.as_deref())?),
            (None, true) => Settled::RunAgain,
            (None, false) => Settled::GiveUp,
        };
        self.common.decide(flags, Decision::Settle(self.common.settle(outcome)))
    }

    fn result(&self, flags: &Flags, result: Option<&str>) -> Result<Value, Failure> {
        match (result, &self.text) {
            (Some(_), Some(_)) => Err(Failure::usage("give the result as JSON or as `--text`, not both")),
            (Some(result), None) => read_json("--happened", result),
            (None, Some(text)) => Ok(json!(text)),
            (None, None) => {
                let journal = Setup::read(flags)?.journal_to_read()?;
                runtime::small(found_by_plugin(&*journal, self.common.pause()))
            }
        }
    }
}

/// Where the plugin told the result, that is it, now in the word of the person who says so.
async fn found_by_plugin(journal: &dyn Journal, pause: &str) -> Result<Value, Failure> {
    let (chain, id) = journal.find_pause(pause).await?;
    let state = ChainState::fold(chain.clone(), &journal.events(&chain, 0).await?);
    let told = state.pause(&id).and_then(|pause| pause.context.as_ref()?.get("plugin").cloned()).unwrap_or_default();
    match (told["says"].as_str(), told["cut"].as_bool()) {
        (Some("happened"), Some(false)) => Ok(told["result"].clone()),
        _ => Ok(json!("it happened; nothing more is known of its result")),
    }
}
