//! Whether the rules could have produced an event where it stands, whatever the grants were then.

use std::collections::{BTreeMap, HashMap};

use crate::call::{CallKey, CallStatus};
use crate::event::{Event, Origin, Stamped, Started, StopEnd};
use crate::pause::{Decision, Pause, PauseId, PauseKind};
use crate::state::decide::{Outcome, Refused, decide};
use crate::state::next::{Around, Next, next};
use crate::state::{Answered, Call, ChainState, Rules, admit};

/// What it remembers beside the state.
#[derive(Default)]
pub struct Checker {
    /// Answers as they were before an event of the same transaction took them away: a pause's digest is over those.
    dropped: HashMap<CallKey, Vec<Answered>>,
}

impl Checker {
    /// `state` is the one before the event, `after` are the events after it.
    pub fn fault(&mut self, state: &ChainState, stamped: &Stamped, after: &[Stamped], rules: &Rules<'_>) -> Option<String> {
        let event = &stamped.event;
        match event {
            Event::ChainStarted { .. } => return (state.seq != 0).then(|| "a chain that has begun begins again".to_owned()),
            _ if state.seq == 0 => return Some("it stands before the chain begins".to_owned()),
            _ => {}
        }
        if let Some(call) = event.calls().into_iter().find(|call| !is_new(event) && !state.calls.contains_key(call)) {
            return Some(format!("it is about call {call}, which was never asked for"));
        }
        match event {
            Event::TurnReceived { turn, origin, calls, .. } => {
                turn_received(state, *turn, *origin, &calls.iter().map(|call| call.call).collect::<Vec<_>>())
            }
            Event::CallsReadied { calls } => calls.iter().find_map(|readied| readied_fault(state, &state.calls[&readied.call])),
            Event::CallsStarted { calls } => calls.iter().find_map(|started| started_fault(state, started)),
            Event::ChildStarted { call, .. } => {
                let call = &state.calls[call];
                (call.status != CallStatus::Ready).then(|| format!("call {} started a chain and was {}", call.key, call.status))
            }
            Event::PauseOpened { pause } => self.pause_fault(state, pause),
            Event::PauseDecided { pause, by, decision, .. } | Event::VoteCounted { pause, by, decision, .. } => {
                // As it was decided: at that moment.
                let rules = Rules { now: stamped.at, ..*rules };
                decision_fault(decide(state, &rules, pause, by, decision), hangs_on_grants(state, pause, decision), event, after)
            }
            Event::PauseClosed { pause, .. } => closed_fault(state, pause),
            Event::CallEdited { call, .. } | Event::ApprovalLapsed { call, .. } => {
                let call = &state.calls[call];
                self.dropped.insert(call.key, call.answers.clone());
                has_result(call)
            }
            Event::AttemptPaused { call, .. } => {
                let call = &state.calls[call];
                (call.status != CallStatus::Started).then(|| format!("call {} had not started", call.key))
            }
            Event::CallRecovered { call, .. } => {
                let call = &state.calls[call];
                (!began(call) || call.status == CallStatus::Waiting).then(|| format!("call {} had not started", call.key))
            }
            Event::CallFinished { call, status, .. } => finished_fault(state, &state.calls[call], *status),
            Event::MessageAdded { .. } => open_call(state).map(|call| format!("a message came while call {call} had no result")),
            Event::TurnLimitRaised { max_turns, .. } => {
                (*max_turns <= state.model_calls).then(|| format!("the limit {max_turns} is not above the {} model calls made", state.model_calls))
            }
            Event::ModelChanged { .. } => state.settings.model.is_none().then(|| "a chain that asks no model got one".to_owned()),
            Event::ChainCompleted => (would_be_next(state) != Next::Complete).then(|| "the chain was not complete".to_owned()),
            Event::ChainRejected => end_fault(state, StopEnd::Rejected),
            Event::ChainCancelled => end_fault(state, StopEnd::Cancelled),
            _ => None,
        }
    }

    fn pause_fault(&self, state: &ChainState, pause: &Pause) -> Option<String> {
        let call = &state.calls[&pause.call];
        if let Some(fault) = has_result(call) {
            return Some(fault);
        }
        if let Some(other) = state.open_pauses().find(|open| open.call == pause.call) {
            return Some(format!("{} of the same call is still open", other.id));
        }
        if pause.kind == PauseKind::InDoubt && call.status != CallStatus::Started {
            return Some(format!("{} asks what became of call {}, which was {}", pause.id, call.key, call.status));
        }
        if Some(&pause.arguments) != call.arguments.as_ref() {
            return Some(format!("{} shows other arguments than its call has", pause.id));
        }
        let fits = |answers: &[Answered]| admit::pause_digest(state, pause, answers) == pause.digest;
        let known = fits(&call.answers) || self.dropped.get(&call.key).is_some_and(|answers| fits(answers));
        (!known).then(|| format!("{} does not have the digest of what it shows", pause.id))
    }
}

fn is_new(event: &Event) -> bool {
    matches!(event, Event::TurnReceived { .. })
}

fn open_call(state: &ChainState) -> Option<CallKey> {
    state.current_calls().find(|call| !call.status.is_final()).map(|call| call.key)
}

/// An attempt of it is under way, or in doubt, or a chain of its own.
fn began(call: &Call) -> bool {
    matches!(call.status, CallStatus::Started | CallStatus::Waiting | CallStatus::InDoubt)
}

fn has_result(call: &Call) -> Option<String> {
    call.status.is_final().then(|| format!("call {} had its result", call.key))
}

fn turn_received(state: &ChainState, turn: u32, origin: Origin, calls: &[CallKey]) -> Option<String> {
    let expected = state.turns.last().map_or(0, |turn| turn.number) + 1;
    let in_order = calls.iter().zip(0..).all(|(call, ordinal)| (call.turn, call.ordinal) == (turn, ordinal));
    if turn != expected || !in_order {
        return Some(format!("turn {expected} and its calls in order belong here"));
    }
    if origin == Origin::Model && state.model_calls >= state.settings.max_turns {
        return Some(format!("the model was called beyond the limit of {}", state.settings.max_turns));
    }
    open_call(state).map(|call| format!("the model was asked while call {call} had no result"))
}

fn readied_fault(state: &ChainState, call: &Call) -> Option<String> {
    if let Some(open) = state.open_pauses().find(|open| open.call == call.key) {
        return Some(format!("call {} was made ready while {} was open", call.key, open.id));
    }
    has_result(call)
}

fn started_fault(state: &ChainState, started: &Started) -> Option<String> {
    let call = &state.calls[&started.call];
    let key = call.key;
    let other = |digest: &Option<crate::digest::Digest>| digest.as_ref().is_some_and(|digest| *digest != started.digest);
    match () {
        () if call.status != CallStatus::Ready => Some(format!("call {key} started and was {}", call.status)),
        () if started.attempt != call.attempts + 1 => Some(format!("attempt {} of call {key} follows {}", started.attempt, call.attempts)),
        () if other(&call.approved) || other(&call.gate_passed) => Some(format!("call {key} started as something else than what was approved")),
        () if state.stop.is_some() => Some(format!("call {key} started after the stop")),
        () => None,
    }
}

/// What `decide` makes of it today, by kind: the words of results may be another version's.
fn decision_fault(today: Result<Outcome, Refused>, hangs_on_grants: bool, recorded: &Event, after: &[Stamped]) -> Option<String> {
    let events = match today {
        Ok(Outcome::Decided(events)) => events,
        Ok(Outcome::Same(_)) => return Some("the same was decided before".to_owned()),
        Ok(Outcome::Expired(_)) => return Some("its time was over".to_owned()),
        Err(Refused::DoesNotFit(_)) if hangs_on_grants => return None,
        Err(refused) => return Some(refused.to_string()),
    };
    let (first, rest) = events.split_first()?;
    if shape(first) != shape(recorded) {
        return Some("the decision leads to something else".to_owned());
    }
    let follows = rest.iter().map(shape).eq(after.iter().take(rest.len()).map(|stamped| shape(&stamped.event)));
    (!hangs_on_grants && !follows).then(|| "what the decision leads to does not follow it".to_owned())
}

/// Whether new arguments or new bytes are let through is the grants' to say, which were others then.
fn hangs_on_grants(state: &ChainState, pause: &PauseId, decision: &Decision) -> bool {
    let of_bytes = state.pause(pause).is_some_and(|pause| pause.kind == PauseKind::PluginChanged);
    matches!(decision, Decision::Edit { .. }) || (of_bytes && matches!(decision, Decision::Approve { .. }))
}

/// An event without its words.
fn shape(event: &Event) -> (std::mem::Discriminant<Event>, Vec<CallKey>, Option<PauseId>, Option<CallStatus>) {
    let status = if let Event::CallFinished { status, .. } = event { Some(*status) } else { None };
    (std::mem::discriminant(event), event.calls(), event.pause().cloned(), status)
}

fn closed_fault(state: &ChainState, id: &PauseId) -> Option<String> {
    let open = state.pause(id).is_some_and(Pause::is_open);
    (!open).then(|| format!("{id} was not open"))
}

fn finished_fault(state: &ChainState, call: &Call, status: CallStatus) -> Option<String> {
    if let Some(fault) = has_result(call) {
        return Some(fault);
    }
    // A result that came with an import or a fork is there from the beginning.
    let copied = state.forked.is_some() || state.turns.last().is_some_and(|turn| turn.origin == Origin::Imported);
    match (status, call.status) {
        _ if !status.is_final() => Some(format!("{status} is no end of call {}", call.key)),
        (CallStatus::Succeeded, _) if !began(call) && !copied => Some(format!("call {} succeeded and had not started", call.key)),
        (CallStatus::Denied | CallStatus::Answered, CallStatus::Started | CallStatus::Waiting) => {
            Some(format!("call {} had started when it was {status}", call.key))
        }
        _ => None,
    }
}

fn end_fault(state: &ChainState, end: StopEnd) -> Option<String> {
    match &state.stop {
        Some(stop) if stop.end == end => open_call(state).map(|call| format!("the chain ended while call {call} had no result")),
        _ => Some("nobody asked for that end".to_owned()),
    }
}

/// With every plugin there that the chain started with.
fn would_be_next(state: &ChainState) -> Next {
    let loaded: BTreeMap<_, _> = state.tools.iter().map(|tool| (tool.plugin.clone(), tool.plugin_digest.clone())).collect();
    next(state, &Around { loaded: &loaded, failures: &BTreeMap::new(), running: &|_| false })
}
