//! A chain for a person to read: what was asked, what ran, what it waits for.

use jiff::Timestamp;

use super::age::age;
use super::live::outcome;
use super::{bold, data, escape, pause, rest};
use crate::chain::message::{Message, Part};
use crate::chain::{ChainId, ChainStatus, Seq};
use crate::digest::canonical;
use crate::event::StopEnd;
use crate::journal::PendingRow;
use crate::state::{Call, ChainState};

/// `past` is the last event there is, where the state is not the one after it.
pub fn show(state: &ChainState, held_by: Option<&str>, past: Option<Seq>, now: Timestamp) {
    let status = if held_by.is_some() { ChainStatus::Running } else { state.status };
    data(&format!("{} {status}", bold(&format!("chain {}", state.id))));
    if let Some(head) = past {
        data(&format!("  as it was  after event {} of {head}, at {}", state.seq, state.updated_at));
    }
    data(&format!("  started    {} ago by {}", age(state.started_at, now), state.started_by));
    if let Some(model) = &state.settings.model {
        data(&format!("  model      {}, {} of {} calls", escape::line(model), state.model_calls, state.settings.max_turns));
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
    state.messages.iter().for_each(message);
    for turn in &state.turns {
        turn.parts.iter().filter_map(Part::as_text).for_each(|text| said("model", text));
        turn.calls.iter().filter_map(|key| state.calls.get(key)).for_each(call);
        turn.added.iter().for_each(message);
    }
    ending(state);
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

fn call(call: &Call) {
    let arguments = call.arguments.as_ref().map(canonical).unwrap_or_else(|| call.text.clone());
    data(&format!("{} {} {}", bold("call"), escape::line(&call.tool), escape::line(&arguments)));
    let edited = call.edited_by.as_ref().map(|by| format!(", arguments edited by {by}")).unwrap_or_default();
    let attempts = if call.attempts == 1 { "1 attempt".to_owned() } else { format!("{} attempts", call.attempts) };
    let settled = call.word_of.as_ref().map(|by| format!(", in the word of {}", escape::line(&by.0))).unwrap_or_default();
    data(&format!("  {}, {attempts}, call {}{edited}{settled}", call.status, escape::line(&call.id)));
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
fn ending(state: &ChainState) {
    let mut closed: Vec<_> = state.pauses.iter().filter(|pause| !pause.is_open()).collect();
    closed.sort_by_key(|pause| pause.decided.as_ref().map_or(pause.opened_at, |by| by.at));
    for pause in closed {
        for vote in &pause.votes {
            data(&format!("{} vote: {} by {} at {}", pause.id, vote.decision.name(), vote.by, vote.at));
        }
        let status = pause.status.as_str();
        match &pause.decided {
            Some(by) => data(&format!("{} {status} by {} at {}{}", pause.id, by.by, by.at, noted(by.decision.note()))),
            None => data(&format!("{} {status}: {}", pause.id, escape::line(&pause.tool))),
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
