//! The loop: what is next, do it, append what happened. Nothing is done before its event is in the journal.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::attempts::Attempts;
use super::open::OpenChain;
use super::recover::recover_all;
use super::redact::Replies;
use super::{HostError, Report, Rest, family, kept, replaced};
use crate::call::result::to_base64;
use crate::call::{CallKey, CallStatus, ToolSpec};
use crate::capability::Grants;
use crate::chain::OnChange;
use crate::chain::message::Part;
use crate::clock::Lease;
use crate::digest::Digest;
use crate::event::{Event, Origin, StopEnd};
use crate::journal::JournalError;
use crate::model::{Model, ModelError, Reply, Request};
use crate::pause::PauseKind;
use crate::plugin::{AttemptOutcome, Ended};
use crate::state::admit::{self, Asked};
use crate::state::expire::expire;
use crate::state::next::{Around, Next, next};
use crate::state::recover::recover_certain;
use crate::state::settle_attempt::{Ending, Left, settle};
use crate::state::start::{Startable, start};
use crate::state::stop::ended;
use crate::state::{ChainState, JudgedCalls, Rules, bytes, recheck};

/// How often a busy runner looks whether someone decided meanwhile.
pub const LOOK: Duration = Duration::from_millis(100);
/// How long interrupted attempts have to end before somebody is told that they are waited for.
const PROMPT: Duration = Duration::from_millis(200);
/// How long interrupted attempts may take to let go.
const LET_GO: Duration = Duration::from_secs(2);

/// Drives a chain that this process holds until it rests, or until the hold is lost, and lets go of it.
pub async fn drive(mut chain: OpenChain, interrupt: CancellationToken) -> Result<Report, HostError> {
    let driven = match chain.lease().cloned() {
        None => to_its_rest(&mut chain, interrupt).await,
        Some(lease) => tokio::select! {
            biased;
            driven = to_its_rest(&mut chain, interrupt) => driven,
            // What runs is dropped where it stands: its outcome is whoever holds the chain now to find out.
            () = lease.ended().cancelled() => Err(lost(&chain.state, &lease).into()),
        },
    };
    // Before others can take it up.
    if matches!(driven, Ok(Rest::Paused)) {
        kept::keep(&chain.host, &chain.state).await;
    }
    chain.let_go().await;
    let rest = driven?;
    // A chain rests on a promise then: whatever the journal may lose with the power, it will not lose what this builds on.
    if matches!(rest, Rest::Paused | Rest::Blocked(_)) {
        chain.host.recent.keep(chain.state.clone());
    }
    Ok(Report { state: chain.state, rest, below: Vec::new() })
}

fn lost(state: &ChainState, lease: &Lease) -> JournalError {
    let chain = state.id.clone();
    if lease.was_taken() { JournalError::Fenced { chain } } else { JournalError::Lapsed { chain } }
}

async fn to_its_rest(chain: &mut OpenChain, interrupt: CancellationToken) -> Result<Rest, HostError> {
    let mut driver = Driver {
        attempts: Attempts::default(),
        model: None,
        interrupt,
        replies: Replies::of(&chain.host),
        waiting: None,
        found: None,
        answers: 0,
        loaded: BTreeMap::new(),
        failures: BTreeMap::new(),
    };
    chain.record(expire).await?;
    chain.record(recheck::recheck).await?;
    chain.record(admit_requested).await?;
    driver.run(chain).await
}

/// Whether a chain that rests would do more under the grants and plugins that this process has.
pub fn would_move(chain: &OpenChain) -> bool {
    let (host, state, grants) = (&chain.host, &chain.state, chain.host.grants.latest());
    let id = |prefix: &str| host.clock.id(prefix);
    let rules = Rules { grants: &grants, now: host.clock.now(), id: &id, schemas: &host.schemas };
    if !recheck::recheck(state, &rules).is_empty() || !bytes::recheck(state, &host.plugins.loaded()).is_empty() {
        return true;
    }
    let failures = host.plugins.failures().into_iter().map(|failure| (failure.name, failure.reason)).collect();
    let around = Around { loaded: &host.plugins.loaded(), failures: &failures, running: &|_| false };
    match next(state, &around) {
        Next::Pause | Next::AwaitChildren | Next::Nothing => false,
        Next::Block(blocked) => state.blocked.as_ref() != Some(&blocked),
        _ => true,
    }
}

/// Calls that wait to be admitted: those of an import, and those whose plugin was accepted anew.
pub fn admit_requested(state: &ChainState, rules: &Rules<'_>) -> Vec<Event> {
    let calls: Vec<_> = state.calls_in(CallStatus::Requested).map(|call| call.key).collect();
    admit::admit(state, rules, &calls)
}

struct Driver {
    attempts: Attempts,
    /// Opened when it is first needed: a chain that only waits for people needs no key.
    model: Option<Arc<dyn Model>>,
    interrupt: CancellationToken,
    replies: Replies,
    waiting: Option<Waiting>,
    /// Bytes under each plugin name, as last seen in the plugin directory.
    found: Option<Arc<BTreeMap<String, Digest>>>,
    /// How often people had said which bytes to go on with, as last seen.
    answers: usize,
    /// The same, with what was kept for this chain.
    loaded: BTreeMap<String, Digest>,
    /// Why a plugin is not loaded.
    failures: BTreeMap<String, String>,
}

/// Calls that were admitted and wait for room, as they were judged: the same grants say the same of them that day.
struct Waiting {
    calls: JudgedCalls,
    under: Arc<Grants>,
    on: jiff::civil::Date,
}

impl Waiting {
    fn stands(&self, rules: &Rules<'_>) -> bool {
        std::ptr::eq(&*self.under, rules.grants) && self.on == rules.today()
    }
}

impl Driver {
    async fn run(&mut self, chain: &mut OpenChain) -> Result<Rest, HostError> {
        loop {
            if self.interrupt.is_cancelled() {
                return self.interrupted(chain).await;
            }
            self.look(chain).await?;
            let next = self.next(&chain.state);
            if let Some(rest) = self.step(chain, next).await? {
                return Ok(rest);
            }
        }
    }

    /// A long-running host follows its plugin directory: bytes are compared when a call starts.
    async fn look(&mut self, chain: &mut OpenChain) -> Result<(), HostError> {
        let found = chain.host.plugins.loaded();
        let answers = answers_about_bytes(&chain.state);
        if self.found.as_ref() != Some(&found) || self.answers != answers {
            if chain.state.settings.on_change == OnChange::Ask {
                chain.record(|state, _| bytes::recheck(state, &found)).await?;
            }
            (self.loaded, self.answers) = (BTreeMap::clone(&found), answers);
            self.found = Some(found);
            kept::take_up(chain, &mut self.loaded).await;
            self.failures = chain.host.plugins.failures().into_iter().map(|failure| (failure.name, failure.reason)).collect();
        }
        Ok(())
    }

    /// What is next within the calls that may run side by side.
    fn next(&self, state: &ChainState) -> Next {
        let around = Around { loaded: &self.loaded, failures: &self.failures, running: &|key| self.attempts.is_running(key) };
        let free = (state.settings.parallel_calls.max(1) as usize).saturating_sub(self.attempts.len());
        match next(state, &around) {
            Next::StartCalls(_) if free == 0 => Next::Wait,
            Next::StartCalls(mut calls) => {
                calls.truncate(free);
                Next::StartCalls(calls)
            }
            next => next,
        }
    }

    async fn step(&mut self, chain: &mut OpenChain, next: Next) -> Result<Option<Rest>, HostError> {
        if let Next::Block(blocked) = &next {
            if chain.state.blocked.as_ref() != Some(blocked) {
                chain.record(|_, _| vec![Event::ChainBlocked { blocked: blocked.clone() }]).await?;
            }
            return Ok(Some(Rest::Blocked(blocked.clone())));
        }
        if chain.state.blocked.is_some() {
            chain.record(|_, _| vec![Event::ChainUnblocked { why: "what it waited for is settled".to_owned() }]).await?;
        }
        match next {
            Next::Recover => recover_all(chain, &self.interrupt).await?,
            Next::AskAboutBytes(calls) => replaced::ask(chain, &calls, &self.loaded).await?,
            Next::TakeBytes(plugins) => replaced::take(chain, &plugins, &self.loaded).await?,
            Next::StartCalls(_) => self.record_and_start(chain, |_, _| Default::default()).await?,
            Next::Wait => self.wait(chain).await?,
            Next::CallModel => return self.call_model(chain).await,
            Next::Pause => {
                // A call that ran for long may have outlasted a pause beside it.
                let before = chain.state.seq;
                chain.record(expire).await?;
                return Ok((chain.state.seq == before).then_some(Rest::Paused));
            }
            Next::AwaitChildren => return Ok(Some(Rest::Waiting)),
            Next::StopChildren => self.stop_children(chain).await?,
            Next::Complete => chain.record(|_, _| vec![Event::ChainCompleted]).await?,
            Next::End(end) => chain.record(|_, _| vec![ended(end)]).await?,
            Next::Nothing => return Ok(Some(rest_of(&chain.state))),
            Next::Block(_) => unreachable!("handled above"),
        }
        Ok(None)
    }

    /// Appends events, and with them the start of what may start after them.
    async fn record_and_start(
        &mut self,
        chain: &mut OpenChain,
        events: impl Fn(&ChainState, &Rules<'_>) -> (Vec<Event>, JudgedCalls),
    ) -> Result<(), HostError> {
        let mut waiting = self.waiting.take();
        let mut today = None;
        let decide = |state: &ChainState, rules: &Rules<'_>| {
            let (events, mut judged) = events(state, rules);
            // Once: a second time means that somebody wrote meanwhile, and then each is judged again.
            judged.extend(waiting.take().filter(|waiting| waiting.stands(rules)).into_iter().flat_map(|waiting| waiting.calls));
            today = Some(rules.today());
            Ok((events, judged))
        };
        let (calls, startable) = chain.transact_then(decide, |state, rules, judged| self.started(state, rules, judged)).await?;
        self.waiting = today.filter(|_| !calls.is_empty()).map(|on| Waiting { calls, under: Arc::clone(&chain.grants), on });
        for call in startable {
            self.attempts.start(chain, call).await;
        }
        Ok(())
    }

    fn started(&self, state: &ChainState, rules: &Rules<'_>, judged: &mut JudgedCalls) -> (Vec<Event>, Vec<Startable>) {
        let Next::StartCalls(calls) = self.next(state) else { return Default::default() };
        if state.blocked.is_some() || self.interrupt.is_cancelled() {
            return Default::default();
        }
        let (mut events, startable) = start(state, rules, &calls, judged);
        if !startable.is_empty() {
            events.push(Event::CallsStarted { calls: startable.iter().map(|call| call.started.clone()).collect() });
        }
        (events, startable)
    }

    /// Waits for a result, for somebody's decision, or for an interrupt.
    async fn wait(&mut self, chain: &mut OpenChain) -> Result<(), HostError> {
        // In this order, what has ended already sets no timer: that wakes a thread. An interrupt is looked for before each step.
        let ended = tokio::select! {
            biased;
            ended = self.attempts.ended() => ended,
            () = self.interrupt.cancelled() => return Ok(()),
            () = tokio::time::sleep(LOOK) => {
                if chain.refresh().await? {
                    self.waiting = None;
                }
                self.heed_stop(&chain.state);
                return Ok(());
            }
        };
        let ended: Vec<_> = ended.into_iter().map(|(key, outcome)| Done::of(key, outcome)).collect();
        self.record_and_start(chain, |state, rules| (settled(state, rules, &ended), JudgedCalls::new())).await?;
        self.heed_stop(&chain.state);
        Ok(())
    }

    /// `cancel` interrupts what can have had no effect; the rest finishes within its limits.
    fn heed_stop(&self, state: &ChainState) {
        if state.stop.as_ref().is_some_and(|stop| stop.end == StopEnd::Cancelled) {
            self.attempts.cancel_harmless();
        }
    }

    /// Each child is told once, and ends as any cancelled chain does: its started calls finish within their limits.
    async fn stop_children(&mut self, chain: &mut OpenChain) -> Result<(), HostError> {
        let told = family::stop(&chain.host, &chain.state).await?;
        chain.record(move |state, _| family::gone(state, &told)).await?;
        if !chain.refresh().await? && chain.state.children().next().is_some() {
            tokio::select! {
                () = self.interrupt.cancelled() => {}
                () = tokio::time::sleep(LOOK) => {}
            }
        }
        Ok(())
    }

    async fn call_model(&mut self, chain: &mut OpenChain) -> Result<Option<Rest>, HostError> {
        let reply = match self.ask(chain).await? {
            Some(Ok(reply)) => self.replies.redacted(&chain.host, reply),
            Some(Err(error)) if is_final(&error) => {
                chain.record(|_, _| vec![Event::ChainFailed { error: error.to_string() }]).await?;
                return Ok(None);
            }
            Some(Err(error)) => return Ok(Some(Rest::ModelAway(error))),
            // Interrupted, or someone wrote meanwhile: the next look says what to do.
            None => return Ok(None),
        };
        self.record_and_start(chain, |state, rules| received(state, rules, &reply)).await?;
        Ok(None)
    }

    async fn ask(&mut self, chain: &mut OpenChain) -> Result<Option<Result<Reply, ModelError>>, HostError> {
        let model = match &self.model {
            Some(model) => model.clone(),
            None => {
                let name = chain.state.settings.model.clone().ok_or(ModelError::NotChosen)?;
                match (chain.host.models)(&name) {
                    Ok(model) => self.model.insert(model).clone(),
                    Err(error) => return Ok(Some(Err(error))),
                }
            }
        };
        if model.reads_history() {
            chain.history().await?;
        }
        let history = std::mem::take(&mut chain.history);
        let state = &chain.state;
        let tools = offered(&state.tools, &chain.host.grants.latest());
        let request = Request { calls_before: state.model_calls, system: state.settings.system.as_deref(), history: &history, tools: &tools };
        let (observer, id) = (chain.host.observer.clone(), state.id.clone());
        let on_text = move |piece: &str| observer.text(&id, piece);
        let mut answer = model.respond(request, &on_text);
        let seq = chain.state.seq;
        let reply = loop {
            tokio::select! {
                biased;
                reply = &mut answer => break Some(reply),
                () = self.interrupt.cancelled() => break None,
                () = tokio::time::sleep(LOOK) => {
                    if chain.host.journal.head(&chain.state.id).await? != seq { break None }
                }
            }
        };
        drop(answer);
        chain.history = history;
        if reply.is_none() {
            chain.refresh().await?;
        }
        Ok(reply)
    }

    /// An attempt that may have had its effect is waited for within its own limits.
    fn patience(&self) -> Option<Duration> {
        (self.attempts.effectful() == 0).then_some(LET_GO)
    }

    /// Stops in order: calls without an effect are interrupted and ready again, the others end first.
    async fn interrupted(&mut self, chain: &mut OpenChain) -> Result<Rest, HostError> {
        self.attempts.let_go();
        let mut told = false;
        while self.attempts.len() > 0 {
            let patience = if told { self.patience() } else { Some(PROMPT) };
            let ended = match patience {
                Some(patience) => tokio::time::timeout(patience, self.attempts.ended()).await.ok(),
                None => Some(self.attempts.ended().await),
            };
            match ended {
                // Each is stored as it ends: a second signal loses only what still runs.
                Some(ended) => chain.record(|state, rules| let_go(state, rules, &ended)).await?,
                None if told => break,
                None => {
                    told = true;
                    if self.attempts.effectful() > 0 {
                        chain.host.observer.waiting(&chain.state, self.attempts.effectful());
                    }
                }
            }
        }
        chain.record(|state, _| recover_certain(state)).await?;
        let nothing = |_: CallKey| false;
        let around = Around { loaded: &self.loaded, failures: &self.failures, running: &nothing };
        if let Next::Block(blocked) = next(&chain.state, &around) {
            chain.record(|_, _| vec![Event::ChainBlocked { blocked: blocked.clone() }]).await?;
        }
        Ok(Rest::Interrupted)
    }
}

/// They are looked for only where somebody is asked: this is asked before each step.
fn answers_about_bytes(state: &ChainState) -> usize {
    match state.settings.on_change {
        OnChange::Ask => state.pauses.iter().filter(|pause| pause.kind == PauseKind::PluginChanged && pause.decided.is_some()).count(),
        OnChange::Keep | OnChange::Block => 0,
    }
}

/// The same for attempts that were interrupted: those that had no effect, by the count of their uses, may start again.
fn let_go(state: &ChainState, rules: &Rules<'_>, ended: &[(CallKey, AttemptOutcome)]) -> Vec<Event> {
    let (interrupted, finished): (Vec<_>, Vec<_>) =
        ended.iter().cloned().partition(|(_, outcome)| was_cancelled(outcome) && !outcome.uses.effectful() && state.stop.is_none());
    let finished: Vec<_> = finished.into_iter().map(|(key, outcome)| Done::of(key, outcome)).collect();
    let mut events = settled(state, rules, &finished);
    events.extend(interrupted.into_iter().map(|(call, outcome)| {
        let why = "it was interrupted before it had any effect, by the count of its uses".to_owned();
        Event::CallRecovered { call, why, uses: Some(outcome.uses) }
    }));
    events
}

/// Without those that the operator has taken out since the chain started.
fn offered<'a>(tools: &'a [ToolSpec], grants: &Grants) -> Cow<'a, [ToolSpec]> {
    match tools.iter().all(|tool| grants.offers(tool)) {
        true => Cow::Borrowed(tools),
        false => tools.iter().filter(|tool| grants.offers(tool)).cloned().collect(),
    }
}

/// What ended attempts mean for their calls.
fn settled(state: &ChainState, rules: &Rules<'_>, ended: &[Done]) -> Vec<Event> {
    ended.iter().flat_map(|done| settle(state, rules, done.call, done.ending.clone(), done.left.clone())).collect()
}

/// An attempt that ended, to be settled anew where somebody wrote meanwhile; its result is never copied.
struct Done {
    call: CallKey,
    ending: Ending,
    left: Left,
}

impl Done {
    fn of(call: CallKey, outcome: AttemptOutcome) -> Self {
        let AttemptOutcome { ended, uses, refusals, recorded } = outcome;
        let ending = match ended {
            Ended::Result(result) => Ending::Result(Arc::new(result)),
            Ended::HeldBack(frozen) => Ending::HeldBack(frozen),
            Ended::Diverged(why) => Ending::Diverged(why),
            Ended::Pause(asked) => Ending::Pause(Asked {
                kind: PauseKind::Tool,
                saved: asked.state.as_deref().map(to_base64),
                key: asked.key,
                reason: asked.reason,
                ask: asked.ask,
                context: asked.context,
                difference: None,
            }),
        };
        Self { call, ending, left: Left { uses, refusals, recorded } }
    }
}

/// The turn, and what becomes of its calls, in one transaction.
fn received(state: &ChainState, rules: &Rules<'_>, reply: &Reply) -> (Vec<Event>, JudgedCalls) {
    let turn = state.turns.last().map_or(0, |turn| turn.number) + 1;
    let mut parts = Vec::new();
    if !reply.reasoning.is_empty() {
        parts.push(Part::reasoning(&reply.reasoning));
    }
    if !reply.text.is_empty() {
        parts.push(Part::text(&reply.text));
    }
    let received = Event::TurnReceived {
        turn,
        origin: Origin::Model,
        parts,
        verbatim: reply.verbatim.clone(),
        usage: reply.usage,
        calls: admit::request(turn, &reply.calls, rules.id),
    };
    admit::with_admission(state, rules, received)
}

fn was_cancelled(outcome: &AttemptOutcome) -> bool {
    matches!(&outcome.ended, Ended::Result(result) if result.as_failure().is_some_and(|failure| failure.kind == crate::call::kind::CANCELLED))
}

/// Whether trying again could never help: then the chain has failed, else it can be resumed.
fn is_final(error: &ModelError) -> bool {
    match error {
        // A file of this machine's that is missing or malformed can be mended; a turn that was never recorded cannot.
        ModelError::ScriptEnded { .. } => true,
        ModelError::Refused { status, .. } => !matches!(status, 401..=403 | 408 | 409 | 429 | 500..),
        _ => false,
    }
}

fn rest_of(state: &ChainState) -> Rest {
    use crate::chain::ChainStatus;
    match state.status {
        ChainStatus::Completed => Rest::Completed,
        ChainStatus::Rejected => Rest::Rejected,
        ChainStatus::Cancelled => Rest::Cancelled,
        ChainStatus::Failed => Rest::Failed,
        status => unreachable!("a chain that is {status} has something next"),
    }
}
