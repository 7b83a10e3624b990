//! A chain held open by this process: its state, and appends that are decided anew when someone else wrote meanwhile.

use std::sync::Arc;
use std::time::Duration;

use super::crash::{self, Side};
use super::{Host, HostError, kept};
use crate::capability::Grants;
use crate::chain::{ChainId, Epoch, Seq};
use crate::clock::Lease;
use crate::event::{Event, Stamped};
use crate::journal::{Append, Hold, JournalError};
use crate::model::Entry;
use crate::state::{ChainState, Rules};

/// Times a decision is taken anew because others wrote in between; deciders are people, so a handful is many.
const RACES_MAX: u32 = 64;
/// Waits for a journal that is away, a full disk or a drive that comes back, before it is an error.
const AWAY: [Duration; 3] = [Duration::from_millis(250), Duration::from_millis(500), Duration::from_secs(1)];

pub struct OpenChain {
    pub host: Host,
    pub state: ChainState,
    /// What was decided last was decided under these.
    pub grants: Arc<Grants>,
    /// `None` for a decider, who appends without holding the chain.
    hold: Option<Hold>,
    /// The conversation up to the turn at index `history_turns`, ancestors first.
    pub history: Vec<Entry>,
    history_turns: Option<usize>,
}

impl OpenChain {
    /// A chain without events, held by nobody.
    pub fn new(host: &Host, id: ChainId) -> Self {
        Self { host: host.clone(), state: ChainState::new(id), grants: host.grants.latest(), hold: None, history: Vec::new(), history_turns: None }
    }

    /// Reads the chain without holding it.
    pub async fn read(host: &Host, id: &ChainId) -> Result<Self, HostError> {
        let mut chain = Self::new(host, id.clone());
        chain.state = host.recent.take(id).unwrap_or(chain.state);
        for event in host.journal.events(id, chain.state.seq).await? {
            chain.state.apply(&event);
        }
        Ok(chain)
    }

    /// Takes the chain: a new epoch, and nobody else until this is dropped.
    pub async fn take(host: &Host, id: &ChainId) -> Result<Self, HostError> {
        let hold = host.journal.take(id).await?;
        Self::held(host, id, hold).await
    }

    /// A chain that is held already.
    pub async fn held(host: &Host, id: &ChainId, hold: Hold) -> Result<Self, HostError> {
        match Self::read(host, id).await {
            Ok(chain) => Ok(chain.holding(hold)),
            Err(error) => {
                hold.let_go().await;
                Err(error)
            }
        }
    }

    pub fn holding(self, hold: Hold) -> Self {
        Self { hold: Some(hold), ..self }
    }

    /// Returns once others can take the chain.
    pub async fn let_go(&mut self) {
        if let Some(hold) = self.hold.take() {
            hold.let_go().await;
        }
    }

    /// Under which alone anything may be done for the chain; `None` where the hold lasts as long as the process.
    pub fn lease(&self) -> Option<&Lease> {
        self.hold.as_ref()?.lease.as_ref()
    }

    fn epoch(&self) -> Option<Epoch> {
        self.hold.as_ref().map(|hold| hold.epoch)
    }

    /// Appends what `decide` makes of the state as it is; when someone wrote meanwhile, reads again and decides again.
    pub async fn transact<T>(&mut self, decide: impl FnMut(&ChainState, &Rules<'_>) -> Result<(Vec<Event>, T), HostError>) -> Result<T, HostError> {
        let (value, ()) = self.transact_then(decide, |_, _, _| (Vec::new(), ())).await?;
        Ok(value)
    }

    /// The same with what `follow` makes of the state after that, in one transaction: a transaction costs more than
    /// what stands in it.
    pub async fn transact_then<T, U>(
        &mut self,
        mut decide: impl FnMut(&ChainState, &Rules<'_>) -> Result<(Vec<Event>, T), HostError>,
        mut follow: impl FnMut(&ChainState, &Rules<'_>, &mut T) -> (Vec<Event>, U),
    ) -> Result<(T, U), HostError> {
        let mut away = AWAY.into_iter();
        for _ in 0..RACES_MAX {
            self.grants = self.host.grants.settled().await;
            let (now, epoch, after) = (self.host.clock.now(), self.epoch(), self.state.seq);
            let mut stamped = Vec::new();
            let (value, following) = {
                let clock = self.host.clock.clone();
                let rules = Rules { grants: &self.grants, now, id: &|prefix| clock.id(prefix), schemas: &self.host.schemas };
                let (events, mut value) = decide(&self.state, &rules)?;
                stamp(&mut self.state, now, epoch, events, &mut stamped);
                let (events, following) = follow(&self.state, &rules, &mut value);
                stamp(&mut self.state, now, epoch, events, &mut stamped);
                (value, following)
            };
            match self.append(after, epoch, &stamped).await {
                Ok(()) => return Ok((value, following)),
                Err(JournalError::Moved { .. }) => self.reload().await?,
                Err(error) => {
                    let pause = away.next().filter(|_| matches!(error, JournalError::Away { .. }));
                    if let Some(pause) = pause {
                        tokio::time::sleep(pause).await;
                    }
                    // What could not be written did not happen.
                    let reloaded = self.reload().await;
                    if pause.is_none() || reloaded.is_err() {
                        return Err(error.into());
                    }
                }
            }
        }
        Err(JournalError::Busy { path: format!("chain {}", self.state.id) }.into())
    }

    /// Appends events that follow from the state whatever others write.
    pub async fn record(&mut self, events: impl Fn(&ChainState, &Rules<'_>) -> Vec<Event>) -> Result<(), HostError> {
        self.transact(|state, rules| Ok((events(state, rules), ()))).await
    }

    /// The same, where the state may refuse it.
    pub async fn record_checked(&mut self, events: impl Fn(&ChainState) -> Result<Vec<Event>, HostError>) -> Result<(), HostError> {
        self.transact(|state, _| Ok((events(state)?, ()))).await
    }

    async fn append(&self, after: Seq, epoch: Option<Epoch>, events: &[Stamped]) -> Result<(), JournalError> {
        if events.is_empty() {
            return Ok(());
        }
        crash::at(Side::Before);
        self.host.journal.append(Append { chain: &self.state.id, after, epoch, events, state: &self.state }).await?;
        crash::at(Side::After);
        for event in events {
            self.host.observer.event(&self.state, event);
        }
        if self.state.status.is_terminal() {
            kept::let_go(&self.host, &self.state).await;
        }
        Ok(())
    }

    /// Folds in what others wrote; true where there was something.
    pub async fn refresh(&mut self) -> Result<bool, HostError> {
        if self.host.journal.head(&self.state.id).await? == self.state.seq {
            return Ok(false);
        }
        let events = self.host.journal.events(&self.state.id, self.state.seq).await?;
        for event in &events {
            self.state.apply(event);
            self.host.observer.event(&self.state, event);
        }
        Ok(true)
    }

    async fn reload(&mut self) -> Result<(), JournalError> {
        let events = self.host.journal.events(&self.state.id, 0).await?;
        let seen = self.state.seq;
        self.state = ChainState::fold(self.state.id.clone(), &events);
        self.history_turns = None;
        for event in events.iter().filter(|event| event.seq > seen) {
            self.host.observer.event(&self.state, event);
        }
        Ok(())
    }

    /// The whole conversation, ancestors first. Finished turns are kept from call to call.
    pub async fn history(&mut self) -> Result<&[Entry], HostError> {
        let turns = match self.history_turns {
            Some(turns) => turns,
            None => {
                self.history = ancestors(&self.host, &self.state).await?;
                self.history.extend(self.state.messages.iter().cloned().map(Entry::plain));
                0
            }
        };
        self.history.extend(self.state.entries_of_turns(turns));
        self.history_turns = Some(self.state.turns.len());
        Ok(&self.history)
    }
}

/// Gives `events` their places and folds them in.
fn stamp(state: &mut ChainState, at: jiff::Timestamp, epoch: Option<Epoch>, events: Vec<Event>, stamped: &mut Vec<Stamped>) {
    for event in events {
        let event = Stamped { seq: state.seq + 1, at, epoch: epoch.unwrap_or_default(), event };
        state.apply(&event);
        stamped.push(event);
    }
}

/// Messages of the chains that this one carries on.
async fn ancestors(host: &Host, state: &ChainState) -> Result<Vec<Entry>, HostError> {
    /// Chains one conversation may span.
    const CHAINS_MAX: usize = 1000;
    let mut chains = Vec::new();
    let mut parent = state.continues.clone();
    while let Some(id) = parent {
        if chains.len() == CHAINS_MAX {
            return Err(HostError::BadCall(format!("the conversation spans more than {CHAINS_MAX} chains")));
        }
        let events = host.journal.events(&id, 0).await?;
        if events.is_empty() {
            // Without it the model would be told another story.
            return Err(JournalError::Unknown { what: "chain", prefix: id.0 }.into());
        }
        let state = Arc::new(ChainState::fold(id, &events));
        parent = state.continues.clone();
        chains.push(state);
    }
    Ok(chains.iter().rev().flat_map(|state| state.entries()).collect())
}
