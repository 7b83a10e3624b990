//! What somebody may know of: all of it with `read`; else the chains that are their own, and the pauses that wait for
//! them. What a token may not know of is not there for it.

use std::collections::HashSet;
use std::sync::Arc;

use jiff::Timestamp;

use super::State;
use super::access::{Identity, Scope};
use super::problem::Problem;
use crate::chain::{Actor, ChainId, ChainStatus};
use crate::journal::{ChainRow, PendingRow};
use crate::pause::{Decision, Pause, PauseId};
use crate::runner;
use crate::state::ChainState;

/// `ch_` or `pa_` and a ULID: the API takes no shortened ids, which may come to mean another tomorrow.
const ID_BYTES: usize = 29;
/// Rows that a list is filtered from, for those who may not see all.
const LOOKED_THROUGH: u32 = 10_000;

impl State {
    /// The chain as it stands.
    pub async fn chain(&self, identity: &Identity, id: &str) -> Result<Arc<ChainState>, Problem> {
        let state = self.folded(&ChainId(id.to_owned())).await?;
        let known = state.filter(|state| self.knows_chain(identity, state));
        known.ok_or_else(|| Problem::unknown("chain"))
    }

    /// A pause, open or not, and the chain it holds.
    pub async fn pause(&self, identity: &Identity, id: &str) -> Result<(Arc<ChainState>, Pause), Problem> {
        let unknown = || Problem::unknown("pause");
        if !is_id(id) {
            return Err(unknown());
        }
        let (chain, id) = self.host.journal.find_pause(id).await?;
        let state = self.folded(&chain).await?.ok_or_else(unknown)?;
        let pause = state.pause(&id).filter(|pause| self.knows_pause(identity, pause, &state.started_by)).cloned().ok_or_else(unknown)?;
        Ok((state, pause))
    }

    /// Newest first.
    pub async fn chains(&self, identity: &Identity, limit: u32) -> Result<Vec<ChainRow>, Problem> {
        if identity.may(Scope::Read) {
            return Ok(self.host.journal.chains(limit).await?);
        }
        let waiting: HashSet<_> = self.pauses(identity, LOOKED_THROUGH).await?.into_iter().map(|row| row.chain).collect();
        let mut rows = self.host.journal.chains(LOOKED_THROUGH).await?;
        rows.retain(|row| waiting.contains(&row.id) || self.is_own(identity, &row.started_by));
        rows.truncate(limit as usize);
        Ok(rows)
    }

    /// Open ones, oldest first.
    pub async fn pauses(&self, identity: &Identity, limit: u32) -> Result<Vec<PendingRow>, Problem> {
        if identity.may(Scope::Read) {
            return Ok(self.host.journal.pending(limit).await?);
        }
        let mut rows = self.host.journal.pending(LOOKED_THROUGH).await?;
        rows.retain(|row| self.knows_pause(identity, &row.pause, &row.started_by));
        rows.truncate(limit as usize);
        Ok(rows)
    }

    /// Who holds the chain right now.
    pub async fn held_by(&self, state: &ChainState) -> Result<Option<String>, Problem> {
        if state.status != ChainStatus::Runnable {
            return Ok(None);
        }
        let rows = self.host.journal.chains(LOOKED_THROUGH).await?;
        Ok(rows.into_iter().find(|row| row.id == state.id).and_then(|row| row.held_by))
    }

    /// The one door for the API and the page. Whoever may not know of the pause is told that there is none.
    pub async fn decide(&self, identity: &Identity, id: &str, decision: Decision) -> Result<runner::Decision, Problem> {
        identity.needs(Scope::Approve)?;
        if !is_id(id) {
            return Err(Problem::unknown("pause"));
        }
        let (chain, pause) = self.host.journal.find_pause(id).await?;
        if !identity.may(Scope::Read) {
            self.check_known(identity, &chain, &pause).await?;
        }
        let (host, by) = (self.host.clone(), identity.actor.clone());
        let decided = self.finish(async move { host.decide_of(chain, pause, &by, &decision).await }).await?;
        self.changes.poke();
        Ok(decided?)
    }

    async fn check_known(&self, identity: &Identity, chain: &ChainId, pause: &PauseId) -> Result<(), Problem> {
        let knows = |state: &ChainState| state.pause(pause).is_some_and(|pause| self.knows_pause(identity, pause, &state.started_by));
        // Whoever may know of a pause does not unlearn it, so a state of before is enough to say yes.
        let known = self.host.recent.get(chain).is_some_and(|state| knows(&state)) || knows(&*self.host.look(chain).await?);
        if known { Ok(()) } else { Err(Problem::unknown("pause")) }
    }

    /// Counts what a decider was answered, and how long it took.
    pub async fn counted<T>(&self, deciding: impl Future<Output = Result<T, Problem>>, status: impl Fn(&T) -> u16) -> Result<T, Problem> {
        let began = crate::clock::since_boot();
        let done = deciding.await;
        let answered = match &done {
            Ok(value) => status(value),
            Err(problem) => problem.status.as_u16(),
        };
        self.metrics.decision(answered, crate::clock::since_boot().saturating_sub(began));
        done
    }

    fn knows_chain(&self, identity: &Identity, state: &ChainState) -> bool {
        identity.may(Scope::Read)
            || self.is_own(identity, &state.started_by)
            || state.pauses.iter().any(|pause| self.knows_pause(identity, pause, &state.started_by))
    }

    pub fn knows_pause(&self, identity: &Identity, pause: &Pause, started_by: &Actor) -> bool {
        identity.may(Scope::Read)
            || self.is_own(identity, started_by)
            || (identity.may(Scope::Approve) && (has_decided(pause, &identity.actor) || may_decide(identity, pause, started_by, self.clock().now())))
    }

    /// Started by this person, under whichever identity.
    pub fn is_own(&self, identity: &Identity, started_by: &Actor) -> bool {
        let grants = self.host.grants.latest();
        identity.may(Scope::Run) && grants.people.person(started_by) == grants.people.person(&identity.actor)
    }

    async fn folded(&self, id: &ChainId) -> Result<Option<Arc<ChainState>>, Problem> {
        if !is_id(&id.0) {
            return Ok(None);
        }
        let mut state = self.host.look(id).await?;
        // What this process left of a chain is not there any more: another one archived it.
        if self.host.journal.head(id).await? < state.seq {
            self.host.recent.forget(id);
            state = self.host.look(id).await?;
        }
        Ok((state.seq > 0).then_some(state))
    }
}

/// Whether the pause's rules, as they are by `now`, let this person decide.
pub fn may_decide(identity: &Identity, pause: &Pause, started_by: &Actor, now: Timestamp) -> bool {
    identity.may(Scope::Approve) && pause.requirements.after(now.duration_since(pause.opened_at)).admit(&identity.actor, started_by)
}

fn has_decided(pause: &Pause, actor: &Actor) -> bool {
    pause.votes.iter().chain(&pause.decided).any(|decided| decided.by == *actor)
}

fn is_id(text: &str) -> bool {
    text.len() == ID_BYTES && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}
