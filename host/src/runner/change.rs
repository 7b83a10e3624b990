//! What people do to a chain from outside: decide, send a message, cancel.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::carry::{Prompt, TakenUp};
use super::deciding::Asked;
use super::drive::drive;
use super::open::OpenChain;
use super::recover::recover_all;
use super::{Host, HostError, Report, redact};
use crate::call::CallStatus;
use crate::chain::message::{Message, Role};
use crate::chain::{Actor, ChainId, ChainStatus};
use crate::event::{Event, StopEnd};
use crate::journal::JournalError;
use crate::pause::{Decided, PauseId};
use crate::state::ChainState;
use crate::state::stop::{stop, supersede};

/// A decision that stands.
#[derive(Debug)]
pub struct Decision {
    pub chain: ChainId,
    /// As it was written; those that were decided with it are in it.
    pub state: Arc<ChainState>,
    /// The same decision had been made before.
    pub before: Option<Decided>,
}

/// Where a message went.
#[derive(Debug)]
pub enum Said {
    /// Into the same chain.
    Same(Report),
    /// Into a new chain that carries the old one's history on.
    Linked(Report),
}

impl Host {
    /// The only door for decisions. Does not resume the chain.
    pub async fn decide(&self, pause: &PauseId, by: &Actor, decision: &crate::pause::Decision) -> Result<Decision, HostError> {
        let (chain, pause) = self.journal.find_pause(&pause.0).await?;
        self.decide_of(chain, pause, by, decision).await
    }

    /// The same, of a pause that was found.
    pub async fn decide_of(&self, chain: ChainId, pause: PauseId, by: &Actor, decision: &crate::pause::Decision) -> Result<Decision, HostError> {
        let decision = redact::decision(&self.redactor(), decision);
        self.decide_in_turn(chain, Asked { pause, by: by.clone(), decision }).await
    }

    /// Ends a chain: open pauses and calls that have not started are cancelled, started calls finish and are stored.
    pub async fn cancel(&self, id: &ChainId, by: &Actor, note: Option<String>) -> Result<ChainState, HostError> {
        let note = note.map(|note| self.redactor().text(note));
        let mut chain = OpenChain::read(self, id).await?;
        if chain.state.status.is_terminal() {
            return Err(HostError::Ended { chain: id.clone(), status: chain.state.status });
        }
        chain
            .record(|state, _| match (state.status.is_terminal(), &state.stop) {
                (false, None) => stop(state, by, StopEnd::Cancelled, note.clone(), None),
                _ => Vec::new(),
            })
            .await?;
        if chain.state.status.is_terminal() {
            return Ok(chain.state);
        }
        // Calls were started. Their process finishes them; where there is none any more, this one closes them.
        match OpenChain::take(self, id).await {
            Ok(mut held) if held.state.status.is_terminal() => {
                held.let_go().await;
                Ok(held.state)
            }
            Ok(held) => Ok(drive(held, CancellationToken::new()).await?.state),
            Err(HostError::Journal(JournalError::Held { .. })) => Ok(OpenChain::read(self, id).await?.state),
            Err(error) => Err(error),
        }
    }

    /// A further message of a person.
    pub async fn say(&self, id: &ChainId, by: &Actor, text: &str, superseding: bool, interrupt: CancellationToken) -> Result<Said, HostError> {
        let taken = self.tell(id, by, text, superseding, &interrupt).await?;
        let is_same = taken.state().id == *id;
        let report = taken.drive(interrupt).await?;
        Ok(if is_same { Said::Same(report) } else { Said::Linked(report) })
    }

    /// The same up to where the chain would be driven: the chain that the message went into.
    pub async fn tell(&self, id: &ChainId, by: &Actor, text: &str, superseding: bool, interrupt: &CancellationToken) -> Result<TakenUp, HostError> {
        let state = OpenChain::read(self, id).await?.state;
        if state.status == ChainStatus::Completed {
            return self.carry_on(&state, by, text).await;
        }
        let text = self.redactor().text(text.to_owned());
        let mut chain = OpenChain::take(self, id).await?;
        let added = async {
            // Calls of a process that is no more become questions first: they are named, or superseded with the others.
            recover_all(&mut chain, interrupt).await?;
            let added = chain.record_checked(|state| {
                admits_message(state, superseding)?;
                let mut events = if superseding { supersede(state) } else { Vec::new() };
                events.push(Event::MessageAdded { by: by.clone(), message: Message::text(Role::User, text.clone()) });
                Ok(events)
            });
            added.await
        };
        if let Err(error) = added.await {
            chain.let_go().await;
            return Err(error);
        }
        Ok(TakenUp(chain))
    }

    /// A new chain that carries the history of `state` on.
    async fn carry_on(&self, state: &ChainState, by: &Actor, text: &str) -> Result<TakenUp, HostError> {
        let messages = vec![Message::text(Role::User, text)];
        let prompt = Prompt { by: by.clone(), settings: state.settings.clone(), messages, continues: Some(state.id.clone()), call: None };
        self.begin(prompt).await
    }
}

fn admits_message(state: &ChainState, superseding: bool) -> Result<(), HostError> {
    let chain = state.id.clone();
    if state.status.is_terminal() || state.stop.is_some() {
        return Err(HostError::Ended { chain, status: state.status });
    }
    if let Some(child) = state.children().next() {
        return Err(HostError::HasChild { chain, child: child.clone() });
    }
    // Interrupted before what became of them was asked.
    if state.calls_in(CallStatus::Started).next().is_some() {
        return Err(HostError::Unfinished { chain });
    }
    if superseding {
        return Ok(());
    }
    let pauses: Vec<_> = state.open_pauses().map(|pause| pause.id.clone()).collect();
    if !pauses.is_empty() {
        return Err(HostError::Waiting { chain, pauses });
    }
    if state.current_calls().any(|call| !call.status.is_final()) {
        return Err(HostError::Unfinished { chain });
    }
    Ok(())
}
