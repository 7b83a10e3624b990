//! `review`: open pauses one by one at this terminal, each in full, each answered by one key.
//!
//! Nothing is assumed: an empty line asks again, and what is decided carries the digest of what was shown.

use std::collections::{BTreeSet, HashSet};
use std::io::Write;

use clap::Args;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::answer::{TRIES_MAX, answer, line};
use super::failure::Failure;
use super::pending::in_order;
use super::setup::{Flags, Setup};
use super::{exit, identity, interrupt, runtime};
use crate::chain::Actor;
use crate::journal::PendingRow;
use crate::pause::{Ask, Decision, Pause, PauseId, PauseKind, Settle, Settled};
use crate::report;
use crate::report::escape;
use crate::report::pause::{full, pretty};
use crate::runner::Host;

/// Pauses looked at in one go; what is open beyond it comes after them.
const PAUSES_MAX: u32 = 1000;
/// Of arguments as an editor leaves them.
const EDITED_BYTES_MAX: u64 = 1 << 20;
/// Where neither `VISUAL` nor `EDITOR` names one.
const EDITOR: &str = "vi";

/// Go through the open pauses one by one: look at each in full, and decide it with one key
#[derive(Args)]
#[command(after_help = "Examples:
  pausegate review
  pausegate review ch_01k…      # of this chain alone

y approves, n denies, e opens $VISUAL or $EDITOR on the arguments and approves what is saved there, s skips, q quits.")]
pub struct Review {
    /// Only pauses of this chain; the start of its id is enough
    chain: Option<String>,
}

/// What a person wants of one pause.
enum Wish {
    Decide(Decision),
    Skip,
    Quit,
}

impl Review {
    pub fn run(&self, flags: &Flags) -> Result<u8, Failure> {
        if !report::can_ask() {
            return Err(Failure::usage("`review` needs a terminal for its questions")
                .hint("`pausegate pending --json` lists what waits, `pausegate approve PAUSE` and `pausegate deny PAUSE` decide"));
        }
        let setup = Setup::read(flags)?;
        runtime::small(async {
            let interrupt = interrupt::on_signal()?;
            let host = setup.host_to_decide()?;
            let by = identity::os_user();
            let done =
                Reviewing { host: &host, by: &by, interrupt: &interrupt, decided: BTreeSet::new(), left: 0 }.all(self.chain.as_deref()).await?;
            setup.delivery(host.journal.clone()).deliver_due(super::rest::MOMENT).await;
            Ok(done)
        })
    }
}

struct Reviewing<'r> {
    host: &'r Host,
    by: &'r Actor,
    interrupt: &'r CancellationToken,
    /// Chains that something was decided of.
    decided: BTreeSet<crate::chain::ChainId>,
    left: usize,
}

impl Reviewing<'_> {
    async fn all(mut self, chain: Option<&str>) -> Result<u8, Failure> {
        let chain = match chain {
            Some(prefix) => Some(self.host.journal.find_chain(prefix).await?),
            None => None,
        };
        let mut seen: HashSet<PauseId> = HashSet::new();
        // What opened meanwhile comes after the others.
        loop {
            let mut rows = in_order(self.host.journal.pending(PAUSES_MAX).await?);
            rows.retain(|row| !seen.contains(&row.pause.id) && chain.as_ref().is_none_or(|chain| row.chain == *chain));
            if rows.is_empty() {
                break;
            }
            for (number, row) in rows.iter().enumerate() {
                seen.insert(row.pause.id.clone());
                report::note(&format!("\n{} of {}", number + 1, rows.len()));
                match self.one(row).await? {
                    Wish::Quit if self.interrupt.is_cancelled() => return Ok(exit::INTERRUPTED),
                    Wish::Quit => return Ok(self.end(rows.len() - number)),
                    Wish::Skip => self.left += 1,
                    Wish::Decide(_) => {}
                }
            }
        }
        if seen.is_empty() {
            report::note("nothing waits");
            return Ok(exit::COMPLETED);
        }
        Ok(self.end(0))
    }

    /// Shows it and asks until something is decided, or the person goes on.
    async fn one(&mut self, row: &PendingRow) -> Result<Wish, Failure> {
        let pause = &row.pause;
        report::note(&full(pause, &row.chain, self.host.clock.now()));
        if let Some(vote) = pause.vote_of(self.by) {
            report::note(&format!("you have voted: {}; others are still to", vote.decision.name()));
            return Ok(Wish::Skip);
        }
        for _ in 0..TRIES_MAX {
            let wish = self.ask(pause).await?;
            let Wish::Decide(decision) = &wish else { return Ok(wish) };
            match self.host.decide(&pause.id, self.by, decision).await {
                Ok(done) => {
                    let open = done.state.pause(&pause.id).is_some_and(Pause::is_open);
                    report::data(&format!("{} {}", if open { "vote counted:" } else { decision.name() }, pause.id));
                    self.decided.insert(row.chain.clone());
                    return Ok(wish);
                }
                Err(error) => {
                    let failure = Failure::from(error);
                    report::error(&failure.message, &failure.causes, &failure.hints);
                    // A value that does not fit can be given again; all else is no matter of this answer.
                    if failure.code != exit::DATA {
                        return Ok(Wish::Skip);
                    }
                }
            }
        }
        Ok(Wish::Skip)
    }

    async fn ask(&self, pause: &Pause) -> Result<Wish, Failure> {
        let digest = Some(pause.digest.clone());
        let offered = match (pause.kind, &pause.ask) {
            (PauseKind::InDoubt, _) => "h happened / r run again / g give up / s skip / q quit",
            (_, Ask::Approval) => "y approve / n deny / e edit / s skip / q quit",
            _ => "a answer / n deny / s skip / q quit",
        };
        let approval = pause.asks_approval();
        let in_doubt = pause.kind == PauseKind::InDoubt;
        for _ in 0..TRIES_MAX {
            let Some(typed) = self.line(&format!("{offered}?")).await else { return Ok(Wish::Quit) };
            let decision = match typed.as_str() {
                "q" | "quit" => return Ok(Wish::Quit),
                "s" | "skip" => return Ok(Wish::Skip),
                "y" | "yes" if approval => Some(Decision::Approve { note: None, digest: digest.clone() }),
                "e" | "edit" if approval => edited(pause).await?.map(|arguments| Decision::Edit { arguments, note: None, digest: digest.clone() }),
                "n" | "no" if !in_doubt => {
                    let Some(note) = self.line("why (the model reads it; may stay empty)?").await else { return Ok(Wish::Quit) };
                    Some(Decision::Deny { note: (!note.is_empty()).then_some(note), then: None, digest: digest.clone() })
                }
                "a" | "answer" if !approval && !in_doubt => {
                    let Some(value) = answer(&pause.ask, self.interrupt).await else { return Ok(Wish::Quit) };
                    Some(Decision::Respond { value, note: None, digest: digest.clone() })
                }
                "h" | "happened" if in_doubt => {
                    let Some(result) = self.line("its result (the model reads it)?").await else { return Ok(Wish::Quit) };
                    Some(settle(Settled::Happened(result.into()), pause))
                }
                "r" | "run again" if in_doubt => Some(settle(Settled::RunAgain, pause)),
                "g" | "give up" if in_doubt => Some(settle(Settled::GiveUp, pause)),
                other => {
                    report::note(&format!("`{}` is no answer here", escape::line(other)));
                    None
                }
            };
            if let Some(decision) = decision {
                return Ok(Wish::Decide(decision));
            }
        }
        Ok(Wish::Skip)
    }

    async fn line(&self, question: &str) -> Option<String> {
        line(question, self.interrupt).await
    }

    fn end(&self, unseen: usize) -> u8 {
        let left = self.left + unseen;
        if left > 0 {
            report::note(&format!("{left} left as they were"));
        }
        if !self.decided.is_empty() {
            report::note("carry on what can go on with");
            self.decided.iter().for_each(|chain| report::note(&format!("  pausegate resume {chain}")));
        }
        exit::COMPLETED
    }
}

fn settle(outcome: Settled, pause: &Pause) -> Decision {
    Decision::Settle(Settle { outcome, note: None, digest: Some(pause.digest.clone()) })
}

/// The arguments as an editor left them; `None` where nothing was changed or what it left is not read.
async fn edited(pause: &Pause) -> Result<Option<Value>, Failure> {
    let failed = |error: std::io::Error| Failure::new(exit::INTERNAL, "the arguments cannot be handed to an editor").because(error);
    let mut file = tempfile::Builder::new().prefix("pausegate-").suffix(".json").tempfile().map_err(failed)?;
    // With marks written out as JSON does: an editor shows what is there.
    let before = escape::json(&serde_json::to_string_pretty(&pause.arguments).unwrap_or_else(|_| pretty(&pause.arguments)));
    file.write_all(format!("{before}\n").as_bytes()).and_then(|()| file.flush()).map_err(failed)?;
    let variable = |name: &str| std::env::var(name).ok().filter(|words| !words.trim().is_empty());
    let editor = variable("VISUAL").or_else(|| variable("EDITOR")).unwrap_or_else(|| EDITOR.to_owned());
    let mut words = editor.split_whitespace();
    let mut command = std::process::Command::new(words.next().unwrap_or(EDITOR));
    command.args(words).arg(file.path());
    let ended = tokio::task::spawn_blocking(move || command.status()).await;
    match ended {
        Ok(Ok(status)) if status.success() => {}
        Ok(Ok(status)) => {
            report::note(&format!("the editor ended with {status}; nothing is decided"));
            return Ok(None);
        }
        Ok(Err(error)) => {
            report::note(&format!("`{}` cannot be started: {error}; set VISUAL or EDITOR", escape::line(&editor)));
            return Ok(None);
        }
        Err(_) => return Ok(None),
    }
    // Editors put another file in its place.
    let text = match crate::file::read_text(file.path(), EDITED_BYTES_MAX) {
        Ok(text) => text,
        Err(error) => {
            report::note(&format!("what the editor left cannot be read: {error}"));
            return Ok(None);
        }
    };
    match crate::call::arguments::read_json(&text) {
        Ok(value) if value == *pause.arguments => {
            report::note("nothing was changed; `y` approves it as it is");
            Ok(None)
        }
        Ok(value) => Ok(Some(value)),
        Err(error) => {
            report::note(&format!("what the editor left is not read: {}", escape::line(&error.to_string())));
            Ok(None)
        }
    }
}
