//! `trust --always PAUSE`: from now on exactly this call passes without asking, until a day.

use jiff::ToSpan;
use jiff::civil::Date;
use serde_json::json;

use super::Trust;
use crate::call::ToolSpec;
use crate::capability::judge::{CallFacts, Judgement};
use crate::capability::{Grants, Verdict};
use crate::commands::failure::Failure;
use crate::commands::setup::Setup;
use crate::commands::{exit, identity, runtime};
use crate::config;
use crate::config::trust::{Placed, STANDING_DAYS, Standing};
use crate::pause::Pause;
use crate::report::{self, escape};
use crate::state::ChainState;

impl Trust {
    pub(super) fn always(&self, setup: &Setup, prefix: &str) -> Result<u8, Failure> {
        let today = setup.today();
        let until = until(self.until.as_deref(), today)?;
        let (pause, tool) = find(setup, prefix)?;
        if !pause.asks_approval() {
            let asks = report::pause::asks(&pause.ask);
            return Err(Failure::data(format!("pause {} {asks}; only an approval can stand for later calls", pause.id)));
        }
        let judge = |grants: &Grants| -> Judgement { grants.judge(CallFacts::of(&tool, &pause.arguments, today)) };
        let before = judge(&setup.grants()?);
        if before.verdict == Verdict::Deny {
            let denied = Failure::data(format!("these arguments of {} are denied now, and no standing approval lifts that", pause.tool));
            return Err(before.because.iter().fold(denied, Failure::because));
        }
        let standing = Standing { tool: &pause.tool, arguments: &pause.arguments, until, today };
        let places = &setup.settings.places;
        let placed = config::trust::always(&places.grants, places, &identity::host(), &standing, self.mode())?;
        let after = judge(&placed.grants);
        if self.json {
            report::json(&json!({
                "held": after.held,
                "pause": pause.id, "tool": pause.tool, "arguments": pause.arguments, "until": until.to_string(), "grants": placed.file,
                "text": placed.text, "rules": placed.rules, "rule_added": placed.added, "stood_before": placed.stood_before(),
                "written": !self.dry_run && !placed.stood_before(),
            }));
        } else {
            self.tell(&pause, &placed, &until);
            if pause.frozen().is_some_and(|frozen| !frozen.is_held(&after.held)) {
                report::note("what it reached for is bound to none of its arguments, so that is asked about each time all the same");
            }
        }
        Ok(exit::COMPLETED)
    }

    fn tell(&self, pause: &Pause, placed: &Placed, until: &Date) {
        let file = placed.file.display();
        let tool = escape::line(&pause.tool);
        if placed.stood_before() {
            return report::data(&format!("`{file}` lets this call of {tool} pass already; nothing changed"));
        }
        let written = if self.dry_run { "would be written" } else { "written" };
        let lines = placed.rules.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        report::data(&match placed.added {
            true => format!("{written} to `{file}`, a rule of its own"),
            false => format!("{written} to `{file}`, as an exception of the rule at line {lines}"),
        });
        placed.text.lines().for_each(|line| report::data(&format!("    {}", escape::message(line))));
        report::data("a standing approval: this call, with exactly these arguments, passes without asking");
        report::data(&format!("through {until}, or until the entry is taken out by hand"));
        if placed.added {
            report::data(&format!("every other call of {tool} is asked by that rule from now on"));
        }
    }
}

fn until(given: Option<&str>, today: Date) -> Result<Date, Failure> {
    let Some(text) = given else {
        return today.checked_add(STANDING_DAYS.days()).map_err(|error| Failure::data("the clock is at the end of all dates").because(error));
    };
    let date = text.parse::<Date>().ok().filter(|date| date.to_string() == text);
    let date = date.ok_or_else(|| Failure::usage(format!("`--until {}` is no date such as 2026-12-31", escape::line(text))))?;
    if date < today { Err(Failure::usage(format!("`--until {date}` is past"))) } else { Ok(date) }
}

/// The pause as it was frozen, and the tool as its chain knows it.
fn find(setup: &Setup, prefix: &str) -> Result<(Pause, ToolSpec), Failure> {
    let journal = setup.journal_to_read()?;
    runtime::small(async {
        let (chain, id) = journal.find_pause(prefix).await?;
        let state = ChainState::fold(chain.clone(), &journal.events(&chain, 0).await?);
        let found = state.pause(&id).and_then(|pause| Some((pause.clone(), state.tool(&pause.tool)?.clone())));
        found.ok_or_else(|| Failure::data(format!("the tool of pause {id} is not in the catalogue of chain {chain}")))
    })
}
