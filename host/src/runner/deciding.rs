//! Decisions about one chain that come while another is being written: they are taken together, one after the other, and
//! written at once. Each on its own would be told that the chain moved, read it again and decide again, as often as
//! there are others.
//!
//! No rule hangs on it: deciders in other processes race as ever, and an append names the event that it builds on.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::oneshot;

use super::open::OpenChain;
use super::{Decision, Host, HostError};
use crate::chain::{Actor, ChainId};
use crate::journal::JournalError;
use crate::pause::{self, Decided, PauseId, PauseStatus};
use crate::state::decide::{Outcome, Refused, decide};

/// Written at once.
const TOGETHER_MAX: usize = 64;
/// Of one chain, waiting; whoever comes then is told to come again.
const WAITING_MAX: usize = 1024;

/// One person's answer, as it waits for its turn.
pub struct Asked {
    pub pause: PauseId,
    pub by: Actor,
    pub decision: pause::Decision,
}

type Reply = oneshot::Sender<Result<Decision, HostError>>;

/// By chain; one that is listed is being worked on.
#[derive(Default)]
pub struct Deciding(Mutex<HashMap<ChainId, Vec<(Asked, Reply)>>>);

impl Deciding {
    /// True where nobody works on the chain yet: whoever asked does, then.
    fn queue(&self, chain: &ChainId, asked: Asked, reply: Reply) -> Result<bool, HostError> {
        let mut waiting = self.waiting();
        let first = !waiting.contains_key(chain);
        let queue = waiting.entry(chain.clone()).or_default();
        if queue.len() >= WAITING_MAX {
            return Err(JournalError::Busy { path: format!("chain {chain}") }.into());
        }
        queue.push((asked, reply));
        Ok(first)
    }

    /// The next ones, in the order they came; with none left, nobody works on the chain any more.
    fn next(&self, chain: &ChainId) -> Option<Vec<(Asked, Reply)>> {
        let mut waiting = self.waiting();
        let queue = waiting.get_mut(chain)?;
        if queue.is_empty() {
            waiting.remove(chain);
            return None;
        }
        Some(queue.drain(..queue.len().min(TOGETHER_MAX)).collect())
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<ChainId, Vec<(Asked, Reply)>>> {
        self.0.lock().expect("no panic under this lock")
    }
}

/// Lets others work on the chain where this ends before all are answered; they are told by their channel.
struct Working<'d>(&'d Deciding, &'d ChainId);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.waiting().remove(self.1);
    }
}

/// The store says the same to all.
fn tell_all(replies: Vec<Reply>, error: &HostError) {
    for reply in replies {
        let error = match error {
            HostError::Journal(error) => HostError::Journal(error.clone()),
            other => HostError::BadCall(other.to_string()),
        };
        // Nobody left to hear it is no failure.
        drop(reply.send(Err(error)));
    }
}

impl Host {
    /// Whoever asked may go away meanwhile: others wait for what one of them writes.
    pub(super) async fn decide_in_turn(&self, chain: ChainId, asked: Asked) -> Result<Decision, HostError> {
        let (reply, answer) = oneshot::channel();
        if self.recent.deciding.queue(&chain, asked, reply)? {
            let host = self.clone();
            tokio::spawn(async move { host.decide_waiting(&chain).await });
        }
        answer.await.unwrap_or_else(|_| Err(HostError::BadCall("the host failed while it decided; this is a bug of the host".to_owned())))
    }

    async fn decide_waiting(&self, chain: &ChainId) {
        let working = Working(&self.recent.deciding, chain);
        while let Some(batch) = self.recent.deciding.next(chain) {
            let (asked, replies): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
            match self.decide_together(chain, &asked).await {
                // Nobody left to hear it is no failure: what was written stays written.
                Ok(decided) => replies.into_iter().zip(decided).for_each(|(reply, decided)| drop(reply.send(decided))),
                Err(error) => tell_all(replies, &error),
            }
        }
        std::mem::forget(working);
    }

    /// Each on what the ones before it made of the chain, and all of them in one transaction.
    async fn decide_together(&self, id: &ChainId, asked: &[Asked]) -> Result<Vec<Result<Decision, HostError>>, HostError> {
        let mut chain = OpenChain::read(self, id).await?;
        let outcomes = chain
            .transact_each(asked, |state, rules, Asked { pause, by, decision }| match decide(state, rules, pause, by, decision)? {
                Outcome::Decided(events) => Ok((events, Ok(None))),
                Outcome::Same(decided) => Ok((Vec::new(), Ok(Some(*decided)))),
                Outcome::Expired(events) => Ok((events, Err(Refused::Gone { pause: pause.clone(), status: PauseStatus::Expired }))),
            })
            .await?;
        let state = Arc::new(chain.state);
        self.recent.keep(state.clone());
        let decision = |before: Option<Decided>| Decision { chain: id.clone(), state: state.clone(), before };
        Ok(outcomes.into_iter().map(|outcome| Ok(decision(outcome??))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// limit: runner/deciding::TOGETHER_MAX, runner/deciding::WAITING_MAX
    #[test]
    fn of_too_many_that_wait_the_next_is_told_to_come_again() {
        let (deciding, chain) = (Deciding::default(), ChainId("ch_1".into()));
        let queue = || {
            let decision = pause::Decision::Approve { note: None, digest: None };
            let asked = Asked { pause: PauseId("pa_1".into()), by: Actor("os:alice@host".into()), decision };
            deciding.queue(&chain, asked, oneshot::channel().0)
        };
        let works: Vec<_> = (0..WAITING_MAX).map(|_| queue().unwrap()).collect();
        assert_eq!(works.iter().filter(|works| **works).count(), 1, "one works for all");
        assert!(matches!(queue(), Err(HostError::Journal(JournalError::Busy { .. }))));
        let mut rounds = std::iter::from_fn(|| deciding.next(&chain));
        assert!(rounds.all(|round| round.len() == TOGETHER_MAX));
        assert!(queue().unwrap(), "the next one works for itself");
    }
}
