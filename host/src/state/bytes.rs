//! A plugin that has other bytes than those its chain started with, where the operator wants to be asked.
//!
//! One answer is for all of the chain's calls of the plugin, whoever may decide which of them: on the pinned bytes a call
//! runs as its own approvers saw it, and on new ones they are asked again.

use std::collections::BTreeMap;

use super::admit::{Asked, denied, pause};
use super::decide::Refused;
use super::stop::closed;
use super::{ChainState, Rules};
use crate::call::{CallKey, CallStatus};
use crate::capability::Verdict;
use crate::chain::Actor;
use crate::digest::Digest;
use crate::event::{Event, Readied};
use crate::pause::replaced::{PINNED, Replaced};
use crate::pause::{Ask, Decision, Pause, PauseKind, PauseStatus};

/// What a person said of a plugin's new bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice<'s> {
    Pinned,
    New { by: &'s Actor },
}

/// The last word on going from `pinned` to `found`.
pub fn chosen<'s>(state: &'s ChainState, plugin: &str, pinned: &Digest, found: &Digest) -> Option<Choice<'s>> {
    let mut of_plugin = state.pauses.iter().rev().filter(|pause| pause.kind == PauseKind::PluginChanged && pause.plugin == plugin);
    of_plugin.find_map(|pause| {
        let decided = pause.decided.as_ref()?;
        let choice = match (pause.status, &decided.decision) {
            (PauseStatus::Approved, _) => Choice::New { by: &decided.by },
            (PauseStatus::Responded, _) => Choice::Pinned,
            _ => return None,
        };
        pause.replaced().is_some_and(|asked| asked.pinned == *pinned && asked.found == *found).then_some(choice)
    })
}

/// Asks about calls that would start on other bytes than they were judged on.
pub fn ask(state: &ChainState, rules: &Rules<'_>, calls: &[CallKey], replaced: &BTreeMap<String, Replaced>) -> Vec<Event> {
    calls.iter().filter_map(|key| ask_one(state, rules, *key, replaced)).collect()
}

fn ask_one(state: &ChainState, rules: &Rules<'_>, key: CallKey, replaced: &BTreeMap<String, Replaced>) -> Option<Event> {
    let call = state.calls.get(&key).filter(|call| call.status == CallStatus::Ready)?;
    let (tool, arguments) = (state.tool(&call.tool)?, call.arguments.as_ref()?);
    let replaced = replaced.get(&tool.plugin).filter(|replaced| replaced.pinned == tool.plugin_digest)?;
    let judged = state.judge(rules, tool, call, arguments);
    if judged.judgement.verdict == Verdict::Deny {
        return Some(denied(call, &judged));
    }
    let asked = Asked {
        kind: PauseKind::PluginChanged,
        key: String::new(),
        reason: format!("plugin `{}` has other bytes now than those that this chain started with", tool.plugin),
        ask: Ask::Choice { options: replaced.options(&tool.plugin) },
        context: Some(serde_json::to_value(replaced).expect("words serialize")),
        saved: None,
        difference: None,
    };
    Some(Event::pause_opened(pause(state, rules, call, tool, arguments, &judged, asked)))
}

/// Questions that are about other bytes than those `found` by now.
pub fn recheck(state: &ChainState, found: &BTreeMap<String, Digest>) -> Vec<Event> {
    let open = state.open_pauses().filter(|pause| pause.kind == PauseKind::PluginChanged);
    let past = open.filter(|pause| pause.replaced().is_none_or(|asked| found.get(&pause.plugin) != Some(&asked.found)));
    close(past, "the plugin's bytes changed again")
}

/// What follows from the answer; the call itself is ready with it.
pub fn answered(state: &ChainState, rules: &Rules<'_>, pause: &Pause, decision: &Decision) -> Result<(PauseStatus, Vec<Event>), Refused> {
    let status = match decision {
        Decision::Approve { .. } => {
            trusted(rules, pause)?;
            PauseStatus::Approved
        }
        Decision::Respond { value, .. } if value == PINNED && can_keep(pause) => PauseStatus::Responded,
        _ => {
            return Err(Refused::DoesNotFit(format!("{} asks which bytes of plugin `{}` to go on with: {}", pause.id, pause.plugin, offered(pause))));
        }
    };
    let others = state.open_pauses().filter(|other| other.id != pause.id && is_same(other, pause));
    Ok((status, close(others, &format!("{} answered it for the whole plugin", pause.id))))
}

fn is_same(other: &Pause, pause: &Pause) -> bool {
    other.kind == PauseKind::PluginChanged && other.plugin == pause.plugin && other.context == pause.context
}

/// New bytes hold no grant until the operator trusts them: a call on them would fail for want of what it needs.
fn trusted(rules: &Rules<'_>, pause: &Pause) -> Result<(), Refused> {
    let Some(asked) = pause.replaced() else { return Ok(()) };
    match rules.grants.trust(&pause.plugin, &asked.found) {
        "other bytes" => Err(Refused::DoesNotFit(format!(
            "the operator has not trusted the new bytes of plugin `{0}`: `pausegate trust {0}` comes first, or answer with `{PINNED}`, or deny",
            pause.plugin
        ))),
        _ => Ok(()),
    }
}

fn can_keep(pause: &Pause) -> bool {
    pause.replaced().is_some_and(|asked| asked.pinned_bytes.is_some())
}

fn offered(pause: &Pause) -> String {
    let Ask::Choice { options } = &pause.ask else { return String::new() };
    let values: Vec<_> = options.iter().map(|option| format!("`{}`", option.value)).collect();
    format!("answer with {}, or deny", values.join(" or "))
}

/// Superseded, and their calls ready.
fn close<'p>(pauses: impl Iterator<Item = &'p Pause>, why: &str) -> Vec<Event> {
    let (mut events, mut calls) = (Vec::new(), Vec::new());
    for pause in pauses {
        events.push(closed(pause, PauseStatus::Superseded, why));
        calls.push(Readied { call: pause.call, digest: pause.call_digest.clone() });
    }
    if !calls.is_empty() {
        events.push(Event::CallsReadied { calls });
    }
    events
}
