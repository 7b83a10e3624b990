//! A pause with all that its page says of it.

use std::sync::Arc;

use jiff::Timestamp;

use crate::pause::{Pause, PauseId};
use crate::server::State;
use crate::server::access::{Identity, Scope};
use crate::server::problem::Problem;
use crate::server::view::may_decide;
use crate::state::ChainState;

pub struct Seen {
    pub chain: Arc<ChainState>,
    pub pause: Pause,
    pub now: Timestamp,
    /// Why this person decides nothing here; `None` where they may.
    pub why_not: Option<String>,
    /// What `trust --always` would write.
    pub standing: Option<String>,
    /// An open pause of the same call, where this one is closed: it was asked anew.
    pub anew: Option<PauseId>,
    /// The pause that has waited longest, but for this one, and how many wait.
    pub next: Option<PauseId>,
    pub others: usize,
}

impl Seen {
    pub async fn read(state: &State, who: &Identity, id: &str) -> Result<Self, Problem> {
        let (chain, pause) = state.pause(who, id).await?;
        let waiting = state.pauses(who, super::LIST_MAX).await?;
        let others: Vec<_> = waiting.into_iter().map(|row| row.pause.id).filter(|other| *other != pause.id).collect();
        let now = state.clock().now();
        let anew = chain.open_pauses().find(|open| open.call == pause.call && open.id != pause.id).map(|open| open.id.clone());
        let standing = state.standing_line(&chain, &pause).await;
        let why_not = why_not(who, &pause, &chain, now);
        Ok(Self { now, why_not, standing, anew, next: others.first().cloned(), others: others.len(), chain, pause })
    }

    /// Differs whenever the one who looks at it should know.
    pub fn mark(&self) -> String {
        let Self { pause, chain, .. } = self;
        format!("{} {} {} {} {}", pause.status.as_str(), pause.digest, pause.votes.len(), chain.status, self.why_not.is_some())
    }
}

fn why_not(who: &Identity, pause: &Pause, chain: &ChainState, now: Timestamp) -> Option<String> {
    if may_decide(who, pause, &chain.started_by, now) {
        return None;
    }
    if !who.may(Scope::Approve) {
        return Some("Your token may look but not decide: it lacks `approve`. The operator makes one that may.".to_owned());
    }
    let requirements = pause.requirements.after(now.duration_since(pause.opened_at));
    Some(match requirements.excludes(&who.actor, &chain.started_by) {
        true => "You started this chain, and its rules want somebody else to decide.".to_owned(),
        false => format!("Its rules name who decides: {}.", crate::report::pause::approvers(&requirements)),
    })
}
