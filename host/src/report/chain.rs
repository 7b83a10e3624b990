//! A chain for a person to read: what was asked, what ran, what it waits for.

use jiff::Timestamp;

use super::age::age;
use super::live::outcome;
use super::{bold, data, escape, pause, rest};
use crate::call::CallKey;
use crate::chain::message::{Message, Part};
use crate::chain::{ChainId, ChainStatus, Seq};
use crate::counted::counted;
use crate::digest::canonical;
use crate::event::{Event, Stamped, StopEnd};
use crate::journal::PendingRow;
use crate::pause::PauseId;
use crate::state::{Call, ChainState};

/// Where in the chain's events something became what it is: what `--at` of `inspect` and `fork` takes.
struct Places<'e>(&'e [Stamped]);

impl Places<'_> {
    fn last(&self, is_it: impl Fn(&Event) -> bool) -> String {
        let found = self.0.iter().rfind(|stamped| is_it(&stamped.event));
        found.map(|stamped| format!("event {}", stamped.seq)).unwrap_or_default()
    }

    fn turn(&self, number: u32) -> String {
        self.last(|event| matches!(event, Event::TurnReceived { turn, .. } if *turn == number))
    }

    /// What the call became last.
    fn call(&self, key: CallKey) -> String {
        self.last(|event| event.calls().contains(&key))
    }

    fn pause(&self, id: &PauseId) -> String {
        self.last(|event| event.pause() == Some(id))
    }
}

/// `past` is the last event there is, where the state is not the one after it.
pub fn show(state: &ChainState, events: &[Stamped], held_by: Option<&str>, past: Option<Seq>, now: Timestamp) {
    let status = if held_by.is_some() { ChainStatus::Running } else { state.status };
    data(&format!("{} {status}", bold(&format!("chain {}", state.id))));
    if let Some(head) = past {
        data(&format!("  as it was  after event {} of {head}, at {}", state.seq, state.updated_at));
    }
    data(&format!("  started    {} ago by {}", age(state.started_at, now), state.started_by));
    if let Some(model) = &state.settings.model {
        data(&format!("  model      {}, {} of {}", escape::line(model), state.model_calls, counted(state.settings.max_turns, "call", "calls")));
    }
    if !state.settings.only.is_empty() {
        data(&format!("  only       {}", escape::line(&state.settings.only_in_words())));
    }
    if let Some(parent) = &state.continues {
        data(&format!("  carries on {parent}"));
    }
    if let Some(parent) = &state.parent {
        data(&format!("  started by {}, call {} of {}", path(&parent.path()), parent.call, parent.chain));
    }
    if let Some(fork) = &state.forked {
        data(&format!("  forked     from {} after its event {}", fork.chain, fork.seq));
    }
    if let Some(holder) = held_by {
        data(&format!("  held by    {}", escape::line(holder)));
    }
    let places = Places(events);
    data(&format!("  events     {}; `inspect --at N` shows it after one, `fork --at N` goes on from there", state.seq));
    state.messages.iter().for_each(message);
    for turn in &state.turns {
        let place = places.turn(turn.number);
        turn.parts.iter().filter_map(Part::as_text).for_each(|text| said(&format!("model, {place}"), text));
        turn.calls.iter().filter_map(|key| state.calls.get(key)).for_each(|asked| call(asked, &places.call(asked.key)));
        turn.added.iter().for_each(message);
    }
    ending(state, &places);
    match past {
        None => ahead(state, now),
        // What waited then can have been decided since: no command is offered.
        Some(_) => state.open_pauses().for_each(|open| data(&format!("{} open: {}", open.id, escape::line(&open.tool)))),
    }
}

/// Open pauses of chains below it, each with its path.
pub fn below(rows: &[PendingRow]) {
    for row in rows {
        let path = path(&row.pause.path.iter().chain([&row.chain]).cloned().collect::<Vec<_>>());
        data(&format!("{} open in {path}: {}", row.pause.id, escape::line(&row.pause.tool)));
    }
}

/// The root first.
pub fn path(chains: &[ChainId]) -> String {
    chains.iter().map(|chain| chain.0.as_str()).collect::<Vec<_>>().join(" › ")
}

fn noted(note: Option<&str>) -> String {
    note.map(|note| format!(": {}", escape::line(note))).unwrap_or_default()
}

fn message(message: &Message) {
    let role = match message.role {
        crate::chain::message::Role::System => "system",
        crate::chain::message::Role::User => "user",
        crate::chain::message::Role::Assistant => "model",
        crate::chain::message::Role::Tool => "tool",
    };
    let text = message.joined_text();
    if !text.is_empty() {
        said(role, &text);
    }
}

fn said(who: &str, text: &str) {
    data(&bold(who));
    escape::block(text).lines().for_each(|line| data(&format!("  {line}")));
}

fn call(call: &Call, place: &str) {
    let arguments = call.arguments.as_ref().map(canonical).unwrap_or_else(|| call.text.clone());
    data(&format!("{} {} {}", bold("call"), escape::line(&call.tool), escape::line(&arguments)));
    let edited = call.edited_by.as_ref().map(|by| format!(", arguments edited by {by}")).unwrap_or_default();
    let attempts = counted(call.attempts, "attempt", "attempts");
    let settled = call.word_of.as_ref().map(|by| format!(", in the word of {}", escape::line(&by.0))).unwrap_or_default();
    data(&format!("  {}, {attempts}, call {}, {place}{edited}{settled}", call.status, escape::line(&call.id)));
    if let Some(child) = &call.child {
        data(&format!("  its chain is {child}"));
    }
    if let Some(result) = &call.result {
        data(&format!("  {}", outcome(result)));
    }
    for refusal in &call.refusals {
        data(&super::live::Live::refusal(refusal));
    }
}

/// What has been decided and asked for.
fn ending(state: &ChainState, places: &Places<'_>) {
    let mut closed: Vec<_> = state.pauses.iter().filter(|pause| !pause.is_open()).collect();
    closed.sort_by_key(|pause| pause.decided.as_ref().map_or(pause.opened_at, |by| by.at));
    for pause in closed {
        for vote in &pause.votes {
            data(&format!("{} vote: {} by {} at {}", pause.id, vote.decision.name(), vote.by, vote.at));
        }
        let status = pause.status.as_str();
        match &pause.decided {
            Some(by) => data(&format!("{} {status} by {} at {}, {}{}", pause.id, by.by, by.at, places.pause(&pause.id), noted(by.decision.note()))),
            None => data(&format!("{} {status}: {}, {}", pause.id, escape::line(&pause.tool), places.pause(&pause.id))),
        }
    }
    if let Some(stop) = &state.stop {
        let end = match stop.end {
            StopEnd::Rejected => "rejected",
            StopEnd::Cancelled => "cancelled",
        };
        data(&format!("{end} by {}{}", stop.by, noted(stop.note.as_deref())));
    }
    if let Some(error) = &state.error {
        data(&format!("failed: {}", escape::line(error)));
    }
}

/// What it waits for, and the commands that carry it on.
fn ahead(state: &ChainState, now: Timestamp) {
    for open in state.open_pauses() {
        data(&pause::full(open, &state.id, now));
    }
    if let Some(why) = &state.blocked {
        data(&rest::blocked(&state.id, why));
    }
    if !state.status.is_terminal() && state.blocked.is_none() {
        data(&format!("pausegate resume {}", state.id));
    }
}
