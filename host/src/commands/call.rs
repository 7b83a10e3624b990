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
use crate::report::live::{Live, outcome};
use crate::report::{self, escape, rest};
use crate::runner::{self, Prompt, Rest};

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
        let setup = Setup::read(flags)?;
        let (report, now) = runtime::full(async {
            let interrupt = interrupt::on_signal()?;
            let answers = Answers::new(self.interactive, self.auto_approve);
            // The result is the answer: nothing is told on the way.
            let host = setup.host(Arc::new(runner::Silent), None).await?;
            if !host.catalog().iter().any(|tool| tool.name == self.tool) {
                return Err(Failure::new(exit::UNKNOWN, format!("there is no tool `{}`", self.tool)).hint("`pausegate tools` lists them"));
            }
            let by = identity::os_user();
            let asked = AskedCall { id: None, name: self.tool.clone(), arguments };
            let settings = Settings { model: None, ..setup.chain_settings() };
            let prompt = Prompt { by: by.clone(), settings, messages: Vec::new(), continues: None, call: Some(asked) };
            let chain = host.start(prompt).await?;
            let mut report = host.resume(&chain, &by, runner::Resume::default(), interrupt.clone()).await?;
            while matches!(report.rest, Rest::Paused) && answers.answer(&host, &by, &report.state, &interrupt).await? {
                report = host.resume(&chain, &by, runner::Resume::default(), interrupt.clone()).await?;
            }
            Ok((report, host.clock.now()))
        })?;
        self.show(&report, now);
        Ok(code(&report))
    }

    fn show(&self, report: &runner::Report, now: jiff::Timestamp) {
        let call = report.state.calls.values().next();
        let result = call.and_then(|call| call.result.as_ref());
        if self.json {
            let mut shown = rest::as_json(report, now);
            shown["call_id"] = json!(call.map(|call| &call.id));
            shown["call_status"] = json!(call.map(|call| call.status));
            shown["result"] = json!(result);
            shown["refusals"] = json!(call.map(|call| &call.refusals));
            return report::json(&shown);
        }
        match result {
            Some(result) if result.as_failure().is_none() => report::data(&escape::piece(&result.for_model())),
            Some(result) => report::note(&format!("{} {}", escape::line(&self.tool), outcome(result))),
            None => {}
        }
        for refusal in call.iter().flat_map(|call| &call.refusals) {
            report::note(&Live::refusal(refusal));
        }
        rest::show(report, now);
    }
}

fn code(report: &runner::Report) -> u8 {
    let failed = report.state.calls.values().any(|call| call.result.as_ref().is_some_and(|result| result.as_failure().is_some()));
    match &report.rest {
        Rest::Completed if failed => exit::FAILED,
        rest => super::rest::code(rest),
    }
}
