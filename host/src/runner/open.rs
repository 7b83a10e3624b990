//! A chain held open by this process: its state, and appends that are decided anew when someone else wrote meanwhile.

use std::sync::Arc;
use std::time::Duration;

use super::beside::Beside;
use super::crash::{self, Side};
use super::{Host, HostError, beside, kept};
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
        chain.state = Arc::unwrap_or_clone(host.look(id).await?);
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
        let both = self.draft(|draft| {
            let mut value = draft.add(&mut decide)?;
            let following = draft.add(|state, rules| Ok::<_, HostError>(follow(state, rules, &mut value)))?;
            Ok((value, following))
        });
        both.await
    }

    /// What `decide` makes of each of `asked`, one after the other, in one transaction. Of one that is refused nothing is
    /// written, and the others stand.
    pub async fn transact_each<A, T>(
        &mut self,
        asked: &[A],
        mut decide: impl FnMut(&ChainState, &Rules<'_>, &A) -> Result<(Vec<Event>, T), HostError>,
    ) -> Result<Vec<Result<T, HostError>>, HostError> {
        self.draft(|draft| Ok(asked.iter().map(|asked| draft.add(|state, rules| decide(state, rules, asked))).collect())).await
    }

    /// Appends what `write` adds; when someone wrote meanwhile, reads again and drafts again.
    async fn draft<T>(&mut self, mut write: impl FnMut(&mut Draft<'_>) -> Result<T, HostError>) -> Result<T, HostError> {
        let mut away = AWAY.into_iter();
        for _ in 0..RACES_MAX {
            self.grants = self.host.grants.settled().await;
            let (now, epoch, after) = (self.host.clock.now(), self.epoch(), self.state.seq);
            let (value, stamped) = {
                let clock = self.host.clock.clone();
                let rules = Rules { grants: &self.grants, now, id: &|prefix| clock.id(prefix), schemas: &self.host.schemas };
                let mut draft = Draft { state: &mut self.state, rules: &rules, epoch, stamped: Vec::new() };
                (write(&mut draft)?, draft.stamped)
            };
            match self.append(after, epoch, &stamped).await {
                Ok(()) => return Ok(value),
                Err(JournalError::Moved { head, .. }) => {
                    // Another file was put in its place: what this process left is not in it.
                    if head < after {
                        self.host.recent.forget(&self.state.id);
                    }
                    self.reload(after).await?;
                }
                Err(error) => {
                    let pause = away.next().filter(|_| matches!(error, JournalError::Away { .. }));
                    if let Some(pause) = pause {
                        tokio::time::sleep(pause).await;
                    }
                    // What could not be written did not happen.
                    let reloaded = self.reload(after).await;
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
        for _ in 0..RACES_MAX {
            let beside = beside::of(&self.host, &self.state, events, &self.grants).await?;
            let append = Append { chain: &self.state.id, after, epoch, events, state: &self.state };
            crash::at(Side::Before);
            // What comes of a call whose effects were refused since the lease is over is no result of it.
            if self.lease().is_some_and(Lease::is_over) {
                return Err(JournalError::Lapsed { chain: self.state.id.clone() });
            }
            let written = match beside.is_empty() {
                true => self.host.journal.append(append).await.map(drop),
                false => self.host.journal.append_together([append].into_iter().chain(beside.iter().map(Beside::append)).collect()).await,
            };
            match written {
                // Of the other one: what this chain's events mean for it is asked again.
                Err(JournalError::Moved { chain, .. }) if chain != self.state.id => continue,
                written => written?,
            }
            crash::at(Side::After);
            self.tell(events, &beside).await;
            return Ok(());
        }
        Err(JournalError::Busy { path: format!("chain {}", self.state.id) })
    }

    async fn tell(&self, events: &[Stamped], beside: &[Beside]) {
        for event in events {
            self.host.observer.event(&self.state, event);
        }
        for other in beside {
            other.events().iter().for_each(|event| self.host.observer.event(&other.state, event));
        }
        if self.state.status.is_terminal() {
            kept::let_go(&self.host, &self.state).await;
        }
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

    /// As the journal has it: what was drafted did not come about. `seen` is the last event of before.
    async fn reload(&mut self, seen: Seq) -> Result<(), JournalError> {
        let (state, events) = read_on(&self.host, &self.state.id, seen).await?;
        self.state = Arc::unwrap_or_clone(state);
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

impl Host {
    /// The chain as it stands.
    pub async fn look(&self, id: &ChainId) -> Result<Arc<ChainState>, JournalError> {
        let (state, _) = read_on(self, id, Seq::MAX).await?;
        Ok(state)
    }
}

/// Events to append, folded in as they are added.
struct Draft<'d> {
    state: &'d mut ChainState,
    rules: &'d Rules<'d>,
    epoch: Option<Epoch>,
    stamped: Vec<Stamped>,
}

impl Draft<'_> {
    fn add<T>(&mut self, decide: impl FnOnce(&ChainState, &Rules<'_>) -> Result<(Vec<Event>, T), HostError>) -> Result<T, HostError> {
        let (events, value) = decide(self.state, self.rules)?;
        for event in events {
            let event = Stamped { seq: self.state.seq + 1, at: self.rules.now, epoch: self.epoch.unwrap_or_default(), event };
            self.state.apply(&event);
            self.stamped.push(event);
        }
        Ok(value)
    }
}

/// The chain as it stands, folded on from where this process left it; and its events after that, or after `seen` where
/// that is earlier.
async fn read_on(host: &Host, id: &ChainId, seen: Seq) -> Result<(Arc<ChainState>, Vec<Stamped>), JournalError> {
    let recent = host.recent.get(id);
    let from = recent.as_ref().map_or(0, |state| state.seq);
    let events = match host.journal.events(id, from.min(seen)).await {
        Err(error) => {
            host.recent.forget(id);
            return Err(error);
        }
        Ok(events) => events,
    };
    let mut state = recent.unwrap_or_else(|| Arc::new(ChainState::new(id.clone())));
    for event in events.iter().filter(|event| event.seq > from) {
        Arc::make_mut(&mut state).apply(event);
    }
    Ok((state, events))
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
