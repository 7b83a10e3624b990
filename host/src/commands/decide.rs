//! `approve`, `deny`, `edit`, `respond`: one door, `Host::decide`. None of them resumes the chain.

use clap::Args;
use serde_json::Value;

use super::failure::Failure;
use super::setup::{Flags, Setup, argument_text};
use super::{exit, identity, runtime};
use crate::capability::Then;
use crate::digest::Digest;
use crate::journal::Journal;
use crate::pause::{Ask, Decision, PauseId, PauseStatus, Settle, Settled};
use crate::report;
use crate::report::escape;
use crate::runner::{self, HostError};
use crate::state::ChainState;
use crate::state::decide::Refused;

/// Approve a call: exactly what its pause shows, once
#[derive(Args)]
#[command(
    after_help = "Examples:\n  pausegate approve pa_01k…\n  pausegate approve pa_01k --digest sha256:…   # only if it is still what was looked at"
)]
pub struct Approve {
    #[command(flatten)]
    common: Common,
}

/// Deny a call: the model gets a `denied` result with the note, and the chain goes on
#[derive(Args)]
#[command(after_help = "Examples:\n  pausegate deny pa_01k… --note 'keep the logs'\n  pausegate deny pa_01k… --stop   # and end the chain")]
pub struct Deny {
    #[command(flatten)]
    common: Common,
    /// Stop the whole chain
    #[arg(long)]
    stop: bool,
}

/// Approve a call with other arguments
#[derive(Args)]
#[command(
    after_help = "Examples:\n  pausegate edit pa_01k… --arguments '{\"path\": \"/build/b.tmp\"}'\n  jq .arguments call.json | pausegate edit pa_01k… --arguments -"
)]
pub struct Edit {
    #[command(flatten)]
    common: Common,
    /// All arguments, as a JSON object; `-` reads standard input
    #[arg(long, value_name = "JSON")]
    arguments: String,
}

/// Answer a question, or give a result in the tool's place
#[derive(Args)]
#[command(
    after_help = "Examples:\n  pausegate respond pa_01k… --choice staging\n  pausegate respond pa_01k… --text 'Friday at noon'\n  pausegate respond pa_01k… --value '{\"amount\": 12, \"currency\": \"EUR\"}'"
)]
#[command(group = clap::ArgGroup::new("answer").required(true))]
pub struct Respond {
    #[command(flatten)]
    common: Common,
    /// The answer as JSON; `-` reads standard input
    #[arg(long, value_name = "JSON", group = "answer")]
    value: Option<String>,
    /// The answer as text
    #[arg(long, value_name = "TEXT", group = "answer")]
    text: Option<String>,
    /// The chosen value
    #[arg(long, value_name = "VALUE", group = "answer")]
    choice: Option<String>,
}

#[derive(Args)]
pub struct Common {
    /// The pause; the start of its id is enough
    pause: String,
    /// A note for the journal; with `deny`, and with `settle --give-up`, the model reads it too
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Decide only while the pause has this digest
    #[arg(long, value_name = "SHA256")]
    digest: Option<Digest>,
    /// Print an object
    #[arg(long)]
    json: bool,
}

impl Approve {
    pub fn run(&self, flags: &Flags) -> Result<u8, Failure> {
        self.common.decide(flags, Decision::Approve { note: self.common.note.clone(), digest: self.common.digest.clone() })
    }
}

impl Deny {
    pub fn run(&self, flags: &Flags) -> Result<u8, Failure> {
        // Left out, the rules say whether the chain goes on.
        let then = self.stop.then_some(Then::Stop);
        self.common.decide(flags, Decision::Deny { note: self.common.note.clone(), then, digest: self.common.digest.clone() })
    }
}

impl Edit {
    pub fn run(&self, flags: &Flags) -> Result<u8, Failure> {
        let arguments = read_json("--arguments", &self.arguments)?;
        self.common.decide(flags, Decision::Edit { arguments, note: self.common.note.clone(), digest: self.common.digest.clone() })
    }
}

impl Respond {
    pub fn run(&self, flags: &Flags) -> Result<u8, Failure> {
        let (form, value) = match (&self.value, &self.text, &self.choice) {
            (Some(json), ..) => (Form::Value, read_json("--value", json)?),
            (_, Some(text), _) => (Form::Text, Value::String(text.clone())),
            (.., Some(choice)) => (Form::Choice, Value::String(choice.clone())),
            (None, None, None) => unreachable!("clap wants one of the group"),
        };
        let decision = Decision::Respond { value, note: self.common.note.clone(), digest: self.common.digest.clone() };
        self.common.decide_as(flags, decision, form)
    }
}

/// How an answer was given: what stands behind `--choice` must not become a result that nobody chose from.
#[derive(Clone, Copy)]
enum Form {
    Value,
    Text,
    Choice,
}

impl Form {
    async fn check(self, journal: &dyn Journal, pause: &str) -> Result<(), Failure> {
        let (chain, id) = journal.find_pause(pause).await?;
        let state = ChainState::fold(chain.clone(), &journal.events(&chain, 0).await?);
        let Some(pause) = state.pause(&id).filter(|pause| pause.is_open()) else { return Ok(()) };
        let (flag, fits) = match (self, &pause.ask) {
            (Self::Value, _) => return Ok(()),
            (Self::Text, ask) => ("--text", matches!(ask, Ask::Text | Ask::Approval)),
            (Self::Choice, ask) => ("--choice", matches!(ask, Ask::Choice { .. })),
        };
        if fits {
            return Ok(());
        }
        let failure = Failure::data(format!("{id} {}; `{flag}` does not answer that", report::pause::asks(&pause.ask)));
        Err(report::pause::commands(pause).into_iter().fold(failure, |failure, command| failure.hint(format!("`{command}`"))))
    }
}

/// Strict, as every door reads JSON.
pub fn read_json(flag: &str, text: &str) -> Result<Value, Failure> {
    let text = argument_text(text)?;
    crate::call::arguments::read_json(&text).map_err(|error| Failure::data(format!("`{flag}`: {error}")))
}

/// Only takes away, so a grants file that cannot be followed does not stop it.
fn ends(decision: &Decision) -> bool {
    matches!(decision, Decision::Deny { .. } | Decision::Settle(Settle { outcome: Settled::GiveUp | Settled::Happened(_), .. }))
}

/// Nobody waits for a pause whose time was over, and nobody carries its chain on by itself.
async fn with_the_way_on(journal: &dyn Journal, pause: &str, error: HostError) -> Failure {
    let expired = matches!(error, HostError::Refused(Refused::Gone { status: PauseStatus::Expired, .. }));
    let failure = Failure::from(error);
    match journal.find_pause(pause).await {
        Ok((chain, _)) if expired => {
            failure.hint(format!("`pausegate resume {chain}` carries the chain on; the model is told that nobody decided in time"))
        }
        _ => failure,
    }
}

impl Common {
    pub fn pause(&self) -> &str {
        &self.pause
    }

    pub fn settle(&self, outcome: Settled) -> Settle {
        Settle { outcome, note: self.note.clone(), digest: self.digest.clone() }
    }

    pub fn decide(&self, flags: &Flags, decision: Decision) -> Result<u8, Failure> {
        self.decide_as(flags, decision, Form::Value)
    }

    fn decide_as(&self, flags: &Flags, decision: Decision, fits: Form) -> Result<u8, Failure> {
        let setup = Setup::read(flags)?;
        let decided = runtime::small(async {
            let host = if ends(&decision) { setup.host_to_end()? } else { setup.host_to_decide()? };
            if let Decision::Respond { .. } = decision {
                fits.check(&*host.journal, &self.pause).await?;
            }
            let decided = host.decide(&PauseId(self.pause.clone()), &identity::os_user(), &decision).await;
            Ok(match decided {
                Ok(done) => Ok(done),
                Err(error) => Err(with_the_way_on(&*host.journal, &self.pause, error).await),
            })
        })?;
        self.tell(&decided?);
        Ok(exit::COMPLETED)
    }

    fn tell(&self, done: &runner::Decision) {
        let chain = &done.chain;
        let pause = done.state.pauses.iter().map(|pause| &**pause).find(|pause| pause.id.0.starts_with(&self.pause));
        let open: Vec<_> = done.state.open_pauses().map(|pause| &pause.id).collect();
        if self.json {
            return report::json(&report::decision::as_json(done, pause));
        }
        let Some(pause) = pause else { return };
        if pause.is_open() {
            let told = if done.before.is_some() { "vote counted before" } else { "vote counted" };
            report::data(&format!("{told}, quorum open: {}, {}", pause.id, report::pause::votes(pause)));
            return;
        }
        match &done.before {
            Some(before) => {
                report::data(&format!("{} was already {} by {} at {}; nothing changed", pause.id, pause.status.as_str(), before.by, before.at))
            }
            None => report::data(&format!(
                "{} {}: {} {}",
                pause.status.as_str(),
                pause.id,
                escape::line(&pause.tool),
                escape::line(&shown_arguments(done, pause))
            )),
        }
        if done.state.status.is_terminal() {
            report::note(&format!("chain {chain} is {}", done.state.status));
            if let Some(root) = done.state.path().first() {
                report::note(&format!("carry on the one it was for with\n  pausegate resume {root}"));
            }
            return;
        }
        // An edit that this person may not approve alone has opened a pause for the others.
        let anew = done.state.open_pauses().find(|open| open.call == pause.call);
        if let Some(anew) = anew {
            report::note(&format!("the rules for these arguments want other or more people to approve: {} waits for them", anew.id));
        }
        let others: Vec<_> = open.iter().filter(|id| anew.is_none_or(|anew| anew.id != ***id)).map(|id| id.0.as_str()).collect();
        if !others.is_empty() {
            report::note(&format!("chain {chain} still waits for {}", others.join(", ")));
        }
        let root = done.state.path().into_iter().next();
        report::note(&format!("carry it on with\n  pausegate resume {}", root.as_ref().unwrap_or(chain)));
    }
}

fn shown_arguments(done: &runner::Decision, pause: &crate::pause::Pause) -> String {
    let call = done.state.calls.get(&pause.call);
    call.and_then(|call| call.arguments.as_ref()).map(crate::digest::canonical).unwrap_or_default()
}
