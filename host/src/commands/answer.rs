//! Pauses answered while the command still runs: by a person at this terminal, or by `--auto-approve`.
//!
//! Both go through `Host::decide` as the operating system's user, so what that user may not decide stays paused.

use tokio_util::sync::CancellationToken;

use super::failure::Failure;
use crate::chain::Actor;
use crate::digest::Digest;
use crate::pause::{Ask, Decision, Pause, PauseKind, Settle, Settled};
use crate::report;
use crate::report::escape;
use crate::report::pause::full;
use crate::runner::{Host, Report, Rest};
use crate::state::ChainState;

/// How pauses are answered on the spot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// They stay for whoever decides later.
    Later,
    Interactive,
    AutoApprove,
}

impl Answers {
    /// Never prompts without a terminal: the chain pauses then, as it does without the flag.
    pub fn new(interactive: bool, auto_approve: bool) -> Self {
        match (interactive, auto_approve) {
            (_, true) => Self::AutoApprove,
            (true, _) if report::can_ask() => Self::Interactive,
            (true, _) => {
                report::note("`--interactive` needs a terminal for its questions; pauses stay open");
                Self::Later
            }
            _ => Self::Later,
        }
    }

    /// Ctrl-C at a question is an interrupt, though the chain itself is only paused.
    pub fn or_interrupted(self, mut report: Report, interrupt: &CancellationToken) -> Report {
        if self == Self::Interactive && interrupt.is_cancelled() && matches!(report.rest, Rest::Paused | Rest::Waiting) {
            report.rest = Rest::Interrupted;
        }
        report
    }

    /// Answers what it can of a chain at rest and of those below it; true where something was decided.
    pub async fn answer_all(self, host: &Host, by: &Actor, report: &Report, interrupt: &CancellationToken) -> Result<bool, Failure> {
        let mut decided = false;
        if matches!(report.rest, Rest::Paused | Rest::Waiting) {
            for state in [&report.state].into_iter().chain(&report.below) {
                decided |= self.answer(host, by, state, interrupt).await?;
            }
        }
        Ok(decided)
    }

    async fn answer(self, host: &Host, by: &Actor, state: &ChainState, interrupt: &CancellationToken) -> Result<bool, Failure> {
        let mut decided = false;
        // Whoever has voted has answered: the others are still to.
        for pause in state.open_pauses().filter(|pause| pause.vote_of(by).is_none()) {
            let decision = match self {
                Self::Later => None,
                Self::AutoApprove => auto_approve(pause, by, &state.started_by),
                Self::Interactive => ask(host, state, pause, interrupt).await?,
            };
            if interrupt.is_cancelled() {
                break;
            }
            let Some(decision) = decision else { continue };
            match host.decide(&pause.id, by, &decision).await {
                Ok(done) => {
                    decided |= done.state.pause(&pause.id).is_none_or(|pause| !pause.is_open());
                    // A denial that stops has closed the others.
                    if done.state.stop.is_some() {
                        break;
                    }
                }
                Err(error) => {
                    let failure = Failure::from(error);
                    report::error(&failure.message, &failure.causes, &failure.hints);
                }
            }
        }
        Ok(decided)
    }
}

/// Only an approval, and only where this user is enough.
fn auto_approve(pause: &Pause, by: &Actor, requester: &Actor) -> Option<Decision> {
    let alone = pause.asks_approval() && pause.requirements.admit_alone(by, requester);
    alone.then(|| Decision::Approve { note: Some("--auto-approve".to_owned()), digest: Some(pause.digest.clone()) })
}

async fn ask(host: &Host, state: &ChainState, pause: &Pause, interrupt: &CancellationToken) -> Result<Option<Decision>, Failure> {
    report::note(&full(pause, &state.id, host.clock.now()));
    let digest = Some(pause.digest.clone());
    if pause.kind == PauseKind::InDoubt {
        return Ok(what_became(digest, interrupt).await);
    }
    let offered = if pause.asks_approval() { "approve, deny, edit, respond or skip" } else { "respond, deny or skip" };
    let question = format!("{offered}?");
    loop {
        let Some(answer) = line(&question, interrupt).await else { return Ok(None) };
        match answer.as_str() {
            "approve" | "a" if pause.asks_approval() => return Ok(Some(Decision::Approve { note: None, digest })),
            "deny" | "d" => {
                let Some(note) = line("why (the model reads it; may stay empty)?", interrupt).await else { return Ok(None) };
                return Ok(Some(Decision::Deny { note: (!note.is_empty()).then_some(note), then: None, digest }));
            }
            "edit" | "e" if pause.asks_approval() => {
                let Some(arguments) = json("new arguments as JSON?", interrupt).await else { return Ok(None) };
                return Ok(Some(Decision::Edit { arguments, note: None, digest }));
            }
            "respond" | "r" => {
                let plain = matches!(pause.ask, Ask::Text | Ask::Choice { .. });
                let value = if plain { line("answer?", interrupt).await.map(Into::into) } else { json("answer as JSON?", interrupt).await };
                let Some(value) = value else { return Ok(None) };
                return Ok(Some(Decision::Respond { value, note: None, digest }));
            }
            "skip" | "s" => return Ok(None),
            // Nothing is assumed: an empty line or an unknown word asks again.
            other => report::note(&format!("`{}` is no answer here; type {offered}, or its first letter", escape::line(other))),
        }
    }
}

/// Of a call in doubt. A result given here is text; `settle` takes JSON, too.
pub(super) async fn what_became(digest: Option<Digest>, interrupt: &CancellationToken) -> Option<Decision> {
    const OFFERED: &str = "happened, run-again, give-up or skip";
    loop {
        let outcome = match line(&format!("{OFFERED}?"), interrupt).await?.as_str() {
            "happened" | "h" => Settled::Happened(line("its result (the model reads it)?", interrupt).await?.into()),
            "run-again" | "r" => Settled::RunAgain,
            "give-up" | "g" => Settled::GiveUp,
            "skip" | "s" => return None,
            other => {
                report::note(&format!("`{}` is no answer here; type {OFFERED}, or its first letter", escape::line(other)));
                continue;
            }
        };
        return Some(Decision::Settle(Settle { outcome, note: None, digest }));
    }
}

pub(super) async fn json(question: &str, interrupt: &CancellationToken) -> Option<serde_json::Value> {
    loop {
        let text = line(question, interrupt).await?;
        match crate::call::arguments::read_json(&text) {
            Ok(value) => return Some(value),
            Err(error) => report::note(&escape::line(&error.to_string())),
        }
    }
}

/// A trimmed line; `None` at the end of input or after an interrupt.
pub(super) async fn line(question: &str, interrupt: &CancellationToken) -> Option<String> {
    report::ask(question);
    let read = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).ok().filter(|bytes| *bytes > 0).map(|_| line.trim().to_owned())
    });
    tokio::select! {
        read = read => read.ok().flatten(),
        () = interrupt.cancelled() => None,
    }
}
