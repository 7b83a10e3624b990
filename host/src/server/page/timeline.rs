//! What a chain did, in order: words, calls side by side, questions and their answers.

use jiff::Timestamp;
use maud::{Markup, html};

use super::words::{actor, ago, block, chip, code, counted, json, lasted, line, quote};
use crate::chain::message::{Message, Part, Role};
use crate::digest::canonical;
use crate::event::{Origin, StopEnd};
use crate::pause::Pause;
use crate::report::live::outcome;
use crate::state::{Call, ChainState, Turn};

/// Turns shown; of a longer chain the last ones.
const TURNS_MAX: usize = 100;

pub fn timeline(chain: &ChainState, now: Timestamp) -> Markup {
    let left_out = chain.turns.len().saturating_sub(TURNS_MAX);
    html! {
        ol.timeline {
            @for message in &chain.messages { (said(message)) }
            @if left_out > 0 { li.turn { p.sub { "… " (counted(left_out, "turn", "turns")) " before these" } } }
            @for turn in &chain.turns[left_out..] { (self::turn(chain, turn, now)) }
            @if let Some(stop) = &chain.stop {
                li.turn {
                    p { (chip(match stop.end { StopEnd::Rejected => "rejected", StopEnd::Cancelled => "cancelled" })) " by " (actor(&stop.by)) }
                    @if let Some(note) = &stop.note { (quote(note)) }
                }
            }
            @if let Some(error) = &chain.error { li.turn { p { (chip("failed")) } (quote(error)) } }
        }
    }
}

fn said(message: &Message) -> Markup {
    let who = match message.role {
        Role::System => "System",
        Role::User => "Person",
        Role::Assistant => "Model",
        Role::Tool => "Tool",
    };
    let text = message.joined_text();
    html! { @if !text.is_empty() { li.turn { p.who { (who) } (quote(&text)) } } }
}

fn turn(chain: &ChainState, turn: &Turn, now: Timestamp) -> Markup {
    let text: String = turn.parts.iter().filter_map(Part::as_text).collect();
    let calls: Vec<_> = turn.calls.iter().filter_map(|key| chain.calls.get(key)).collect();
    html! {
        li.turn {
            p.who {
                (match turn.origin { Origin::Model => "Model", Origin::Imported => "Imported", Origin::Person => "Person" })
                span.sub {
                    " turn " (turn.number) " · " (ago(turn.at, now)) " ago"
                    @if let Some(usage) = turn.usage { " · " (usage.input_tokens) " tokens in, " (usage.output_tokens) " out" }
                    @if calls.len() > 1 { " · " (calls.len()) " calls side by side" }
                }
            }
            @if !text.is_empty() { (quote(&text)) }
            @if !calls.is_empty() { ul.calls { @for call in calls { (self::call(chain, call, now)) } } }
        }
        @for message in &turn.added { (said(message)) }
    }
}

fn call(chain: &ChainState, call: &Call, now: Timestamp) -> Markup {
    let arguments = call.arguments.as_ref().map(canonical).unwrap_or_else(|| call.text.clone());
    html! {
        li.call {
            p { (chip(call.status.as_str())) " " b { (code(&call.tool)) } " " (code(&arguments)) }
            p.sub {
                @if let (Some(from), Some(to)) = (call.started_at, call.finished_at) { "took " (lasted(from, to)) @if call.pauses > 0 { ", waiting included" } " · " }
                @if call.attempts == 0 { "not started" } @else { (counted(call.attempts as usize, "attempt", "attempts")) }
                @if let Some(by) = &call.edited_by { " · arguments edited by " (actor(by)) }
                @if let Some(by) = &call.word_of { " · in the word of " (actor(by)) }
            }
            @if let Some(child) = &call.child { p.sub { "its chain is " a href={ "/chains/" (child) } { (child) } } }
            @for pause in chain.pauses.iter().filter(|pause| pause.call == call.key) { (asked(pause, now)) }
            @match &call.result {
                Some(result) if result.as_failure().is_some() => p.result { (outcome(result)) }
                Some(result) => (block(&result.for_model())),
                None => {}
            }
            @for refusal in &call.refusals {
                div.refusal {
                    p { "Refused: " (code(&refusal.attempted)) }
                    details { summary { "The line that would allow it" } (block(&refusal.allow_with)) }
                }
            }
        }
    }
}

fn asked(pause: &Pause, now: Timestamp) -> Markup {
    html! {
        div.asked {
            p {
                (chip(pause.status.as_str())) " "
                a href={ "/pauses/" (pause.id) } { "question" } " "
                (line(&pause.reason))
            }
            @for vote in &pause.votes { p.sub { "vote: " (vote.decision.name()) " by " (actor(&vote.by)) ", " (ago(vote.at, now)) " ago" } }
            @if let Some(by) = &pause.decided {
                p.sub { (by.decision.name()) " by " (actor(&by.by)) ", " (ago(by.at, now)) " ago, after " (lasted(pause.opened_at, by.at)) }
                @if let Some(note) = by.decision.note() { (quote(note)) }
                @if let crate::pause::Decision::Respond { value, .. } = &by.decision { (json(value)) }
            }
        }
    }
}
