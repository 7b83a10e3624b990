//! The line that `pausegate trust --always` would write for a pause: to be shown, by the page and the API, and copied, never
//! written from here.

use crate::capability::Verdict;
use crate::capability::judge::{CallFacts, day};
use crate::config::Places;
use crate::config::trust::{Mode, STANDING_DAYS, Standing, always};
use crate::pause::Pause;
use crate::report::escape;
use crate::state::ChainState;

use super::State;

/// Where the grants file is, and what stands for this machine in it.
#[derive(Clone, Debug, Default)]
pub struct Operator {
    pub places: Places,
    pub machine: String,
}

impl State {
    /// `None` where no line would let just this call pass: a question, a denied call, a file that cannot be read.
    pub async fn standing_line(&self, chain: &ChainState, pause: &Pause) -> Option<String> {
        if !pause.is_open() || !pause.asks_approval() {
            return None;
        }
        let (operator, pause, tool) = (self.operator.clone(), pause.clone(), chain.tool(&pause.tool)?.clone());
        let (today, grants) = (day(self.clock().now()), self.host.grants.latest());
        let facts = CallFacts::of(&tool, &pause.arguments, today);
        if grants.judge(facts).verdict == Verdict::Deny {
            return None;
        }
        let until = today.checked_add(jiff::Span::new().days(STANDING_DAYS)).ok()?;
        let read = move || {
            let standing = Standing { tool: &pause.tool, arguments: &pause.arguments, until, today };
            always(&operator.places.grants, &operator.places, &operator.machine, &standing, Mode::DryRun)
        };
        let placed = tokio::task::spawn_blocking(read).await.ok()?.ok()?;
        // What an escape would change could not be pasted as it is shown.
        let plain = placed.text.lines().all(|line| escape::message(line) == line);
        (plain && !placed.stood_before()).then_some(placed.text)
    }
}
