//! Pauses answered while the command still runs: by a person at this terminal, or by `--auto-approve`.
//!
//! Both go through `Host::decide` as the operating system's user, so what that user may not decide stays paused.

use tokio_util::sync::CancellationToken;

use super::exit;
use super::failure::Failure;
use crate::chain::Actor;
use crate::digest::Digest;
use crate::pause::{Ask, Decision, Pause, PauseKind, Settle, Settled};
use crate::report;
use crate::report::escape;
use crate::report::pause::full;
use crate::runner::{self, Host, Report, Rest};
use crate::state::ChainState;

/// Answers to one question that are no answer, before it is left open: a person slips a few times, and a pipe for ever.
pub(super) const TRIES_MAX: usize = 5;

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
            let done = match self {
                Self::Later => None,
                Self::AutoApprove => match auto_approve(pause, by, &state.started_by) {
                    Some(decision) => taken(host, pause, by, &decision).await.unwrap_or_default(),
                    None => None,
                },
                Self::Interactive => {
                    report::note(&full(pause, &state.id, host.clock.now()));
                    answered(host, pause, by, interrupt).await
                }
            };
            if interrupt.is_cancelled() {
                break;
            }
            let Some(done) = done else { continue };
            decided |= done.state.pause(&pause.id).is_none_or(|pause| !pause.is_open());
            // A denial that stops has closed the others.
            if done.state.stop.is_some() {
                break;
            }
        }
        Ok(decided)
    }
}

/// Asks until a decision is taken or left to others; a value that does not fit can be given again.
async fn answered(host: &Host, pause: &Pause, by: &Actor, interrupt: &CancellationToken) -> Option<runner::Decision> {
    for _ in 0..TRIES_MAX {
        let decision = ask(pause, interrupt).await?;
        if let Ok(done) = taken(host, pause, by, &decision).await {
            return done;
        }
    }
    report::note(&format!("{TRIES_MAX} answers did not fit; {} stays open", pause.id));
    None
}

/// The answer can be given again.
struct DoesNotFit;

/// `None` where it is no matter of the answer; what went wrong is told.
async fn taken(host: &Host, pause: &Pause, by: &Actor, decision: &Decision) -> Result<Option<runner::Decision>, DoesNotFit> {
    let failure = match host.decide(&pause.id, by, decision).await {
        Ok(done) => return Ok(Some(done)),
        Err(error) => Failure::from(error),
    };
    report::error(&failure.message, &failure.causes, &failure.hints);
    if failure.code == exit::DATA { Err(DoesNotFit) } else { Ok(None) }
}

/// What was typed as an answer to a question that lists values: one of them, or its number in the list.
pub(super) fn chosen(ask: &Ask, typed: String) -> String {
    let Ask::Choice { options } = ask else { return typed };
    if options.iter().any(|option| option.value == typed) {
        return typed;
    }
    let numbered = typed.parse::<usize>().ok().and_then(|number| options.get(number.checked_sub(1)?));
    numbered.map_or(typed, |option| option.value.clone())
}

/// Only an approval, and only where this user is enough.
fn auto_approve(pause: &Pause, by: &Actor, requester: &Actor) -> Option<Decision> {
    let alone = pause.asks_approval() && pause.requirements.admit_alone(by, requester);
    alone.then(|| Decision::Approve { note: Some("--auto-approve".to_owned()), digest: Some(pause.digest.clone()) })
}

/// `None` where it is left to others.
async fn ask(pause: &Pause, interrupt: &CancellationToken) -> Option<Decision> {
    let digest = Some(pause.digest.clone());
    if pause.kind == PauseKind::InDoubt {
        return what_became(digest, interrupt).await;
    }
    let offered = if pause.asks_approval() { "approve, deny, edit, respond or skip" } else { "respond, deny or skip" };
    let question = format!("{offered}?");
    for _ in 0..TRIES_MAX {
        match line(&question, interrupt).await?.as_str() {
            "approve" | "a" if pause.asks_approval() => return Some(Decision::Approve { note: None, digest }),
            "deny" | "d" => {
                let note = line("why (the model reads it; may stay empty)?", interrupt).await?;
                return Some(Decision::Deny { note: (!note.is_empty()).then_some(note), then: None, digest });
            }
            "edit" | "e" if pause.asks_approval() => {
                let arguments = json("new arguments as JSON?", interrupt).await?;
                return Some(Decision::Edit { arguments, note: None, digest });
            }
            "respond" | "r" => return Some(Decision::Respond { value: answer(&pause.ask, interrupt).await?, note: None, digest }),
            "skip" | "s" => return None,
            // Nothing is assumed: an empty line or an unknown word asks again.
            other => report::note(&format!("`{}` is no answer here; type {offered}, or its first letter", escape::line(other))),
        }
    }
    None
}

/// In the form that the question asks for; of a list, the number in front of a value is enough.
pub(super) async fn answer(ask: &Ask, interrupt: &CancellationToken) -> Option<serde_json::Value> {
    match ask {
        Ask::Choice { .. } => line("which, by its number or value?", interrupt).await.map(|typed| chosen(ask, typed).into()),
        Ask::Text => line("answer?", interrupt).await.map(Into::into),
        _ => json("answer as JSON?", interrupt).await,
    }
}

/// Of a call in doubt. A result given here is text; `settle` takes JSON, too.
pub(super) async fn what_became(digest: Option<Digest>, interrupt: &CancellationToken) -> Option<Decision> {
    const OFFERED: &str = "happened, run-again, give-up or skip";
    for _ in 0..TRIES_MAX {
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
    None
}

pub(super) async fn json(question: &str, interrupt: &CancellationToken) -> Option<serde_json::Value> {
    for _ in 0..TRIES_MAX {
        let text = line(question, interrupt).await?;
        match crate::call::arguments::read_json(&text) {
            Ok(value) => return Some(value),
            Err(error) => report::note(&escape::line(&error.to_string())),
        }
    }
    None
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pause::Choice;

    #[test]
    fn a_number_stands_for_the_value_behind_it_unless_it_is_one() {
        let ask = |values: &[&str]| Ask::Choice { options: values.iter().map(|value| Choice { value: (*value).to_owned(), label: None }).collect() };
        let colors = ask(&["red", "blue"]);
        for (typed, meant) in [("1", "red"), ("2", "blue"), ("blue", "blue"), ("0", "0"), ("3", "3"), ("-1", "-1"), ("", ""), ("1.0", "1.0")] {
            assert_eq!(chosen(&colors, typed.to_owned()), meant, "{typed}");
        }
        assert_eq!(chosen(&ask(&["2", "1"]), "1".to_owned()), "1", "a value goes before a number");
        assert_eq!(chosen(&Ask::Text, "1".to_owned()), "1");
    }
}
