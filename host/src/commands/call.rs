//! `call TOOL ARGS`: one tool, called by a person, without a model.

use std::sync::Arc;

use clap::Args;
use serde_json::json;

use super::answer::Answers;
use super::failure::Failure;
use super::setup::{Flags, Setup, argument_text};
use super::{exit, identity, interrupt, runtime};
use crate::call::AskedCall;
use crate::chain::Settings;
use crate::event::Origin;
use crate::report::live::{Hushed, Live, outcome};
use crate::report::{self, escape, rest};
use crate::runner::{self, Prompt, Rest};
use crate::state::ChainState;

/// Call one tool without a model; grants, rules and pauses hold as in a chain
#[derive(Args)]
#[command(
    after_help = "Examples:\n  pausegate call files__list '{\"path\": \"/build\"}'\n  echo '{\"path\": \"/build\"}' | pausegate call files__list - --json"
)]
pub struct Call {
    /// `<plugin>__<tool>`, as `pausegate tools` lists it
    tool: String,
    /// Arguments as a JSON object; `-` reads standard input
    #[arg(default_value = "{}")]
    arguments: String,
    /// Answer pauses at this terminal as they come
    #[arg(long, conflicts_with = "auto_approve")]
    interactive: bool,
    /// Approve, as you, what you may approve alone
    #[arg(long)]
    auto_approve: bool,
    /// Print the chain, its status and the result as an object
    #[arg(long)]
    json: bool,
}

impl Call {
    pub fn run(&self, flags: &Flags) -> Result<u8, Failure> {
        let arguments = argument_text(&self.arguments)?;
        crate::call::arguments::read(&arguments).map_err(|error| Failure::data(error.to_string()))?;
        let setup = Setup::read(flags)?;
        let (report, now) = runtime::full(async {
            let interrupt = interrupt::on_signal()?;
            let answers = Answers::new(self.interactive, self.auto_approve);
            // The result is the answer: nothing is told on the way.
            let host = setup.host(Arc::new(Hushed), None).await?;
            if !host.catalog().iter().any(|tool| tool.name == self.tool) {
                return Err(Failure::new(exit::UNKNOWN, format!("there is no tool `{}`", self.tool)).hint("`pausegate tools` lists them"));
            }
            let by = identity::os_user();
            let asked = AskedCall { id: None, name: self.tool.clone(), arguments };
            let mut settings = Settings { model: None, ..setup.chain_settings() };
            setup.settle_place(&mut settings, &host, None);
            let prompt = Prompt { by: by.clone(), settings, messages: Vec::new(), continues: None, call: Some(asked) };
            let mut report = host.run(prompt, interrupt.clone()).await?;
            let chain = report.state.id.clone();
            while answers.answer_all(&host, &by, &report, &interrupt).await? {
                report = host.resume(&chain, &by, runner::Resume::default(), interrupt.clone()).await?;
            }
            Ok((answers.or_interrupted(report, &interrupt), host.clock.now()))
        })?;
        self.show(&report, now);
        Ok(code(&report))
    }

    fn show(&self, report: &runner::Report, now: jiff::Timestamp) {
        if self.json {
            return report::json(&as_json(report, now));
        }
        show_result(&report.state, true);
        rest::show(report, now);
    }
}

/// Whether a person called one tool: its result is then the answer of the chain.
pub fn is_direct(state: &ChainState) -> bool {
    state.turns.first().is_some_and(|turn| turn.origin == Origin::Person)
}

/// The result to standard output; a failure with what was refused to standard error, unless it was told before.
pub fn show_result(state: &ChainState, failure: bool) {
    let Some(call) = state.calls.values().next() else { return };
    match &call.result {
        Some(result) if result.as_failure().is_none() => report::data(&escape::piece(&result.for_model())),
        Some(result) if failure => report::note(&format!("{} {}", escape::line(&call.tool), outcome(result))),
        _ => {}
    }
    if failure {
        call.refusals.iter().for_each(|refusal| report::note(&Live::refusal(refusal)));
    }
}

pub fn as_json(report: &runner::Report, now: jiff::Timestamp) -> serde_json::Value {
    let call = report.state.calls.values().next();
    let mut shown = rest::as_json(report, now);
    shown["call_id"] = json!(call.map(|call| &call.id));
    shown["call_status"] = json!(call.map(|call| call.status));
    shown["result"] = json!(call.and_then(|call| call.result.as_ref()));
    shown["refusals"] = json!(call.map(|call| &call.refusals));
    shown
}

/// 1 where the tool failed, else the chain's.
pub fn code(report: &runner::Report) -> u8 {
    let failed = report.state.calls.values().any(|call| call.result.as_ref().is_some_and(|result| result.as_failure().is_some()));
    match &report.rest {
        Rest::Completed if failed => exit::FAILED,
        rest => super::rest::code(rest),
    }
}
