//! Child chains: a call of the host's own tool `chain` starts one, and its end is the call's one result.
//!
//! What a child may do is what its parent may, narrowed: the tools of the parent's catalogue that every list lets
//! through, under the same grants and rules, asked for by the same person. Its pauses are its own, with their path.

use serde_json::Value;

use super::admit::finished;
use super::judged::Judged;
use super::{Call, ChainState, Rules};
use crate::call::{CallKey, CallStatus, ToolResult, ToolSpec, kind};
use crate::capability::children::CHAIN;
use crate::capability::pattern::tool_matches;
use crate::capability::{Children, Grants};
use crate::chain::message::{Message, Role};
use crate::chain::{ChainId, ChainStatus, Parent, Settings};
use crate::event::Event;

/// Bytes of a child's answer that its parent's model is told.
pub const ANSWER_BYTES_MAX: usize = 1 << 20;

/// Why the call starts no chain, with its kind of failure; `begun` are others that start in the same transaction.
pub fn refusal(state: &ChainState, rules: &Rules<'_>, tool: &ToolSpec, arguments: &Value, begun: u32) -> Option<(&'static str, String)> {
    let children = rules.grants.children.as_ref().filter(|_| tool.is_hosts())?;
    if !may_have_children(state.path().len(), children) {
        return Some((kind::DENIED, format!("a chain this deep starts no other: the operator's `[children]` has a depth of {}", children.depth)));
    }
    let before = state.calls.values().filter(|call| call.child.is_some()).count();
    if before + begun as usize >= children.chains as usize {
        return Some((kind::TOO_LARGE, format!("a chain may start {} others, and this one has; do the rest here", children.chains)));
    }
    if state.settings.model.is_none() && children.model.is_none() {
        return Some((kind::INVALID_INPUT, "there is no model for a chain to ask: this call has none, and `[children]` names none".to_owned()));
    }
    let tools = tools(state, children);
    let lost = asked_tools(arguments)?.into_iter().find(|pattern| !tools.iter().any(|tool| tool_matches(pattern, &tool.name)))?;
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let there = if names.is_empty() { "it may have none".to_owned() } else { format!("it may have {}", names.join(", ")) };
    Some((kind::INVALID_INPUT, format!("`{lost}` fits no tool that the chain may have; {there}")))
}

/// The start of the chain, or the result that says why there is none.
pub fn started(state: &ChainState, rules: &Rules<'_>, call: &Call, tool: &ToolSpec, arguments: &Value, judged: &Judged, begun: u32) -> Event {
    match refusal(state, rules, tool, arguments, begun) {
        Some((kind, message)) => finished(call.key, CallStatus::Failed, ToolResult::failure(kind, message)),
        None => Event::ChildStarted { call: call.key, digest: judged.digest.clone(), child: ChainId((rules.id)("ch_")) },
    }
}

/// The first event of the chain that a call has just started; `None` where the call has no arguments.
pub fn begun(state: &ChainState, grants: &Grants, key: CallKey) -> Option<Event> {
    let arguments = state.calls.get(&key)?.arguments.as_ref()?;
    let children = grants.children.clone().unwrap_or_default();
    let settings = settings(state, &children, arguments);
    let mut tools = tools(state, &children);
    tools.retain(|tool| settings.admit(&tool.name));
    let prompt = arguments.get("prompt").and_then(Value::as_str).unwrap_or_default();
    Some(Event::ChainStarted {
        // Rules that keep the requester from approving keep the same person from it here.
        started_by: state.started_by.clone(),
        tools: tools.into_iter().cloned().collect(),
        messages: vec![Message::text(Role::User, prompt)],
        settings,
        continues: None,
        forked: None,
        parent: Some(Parent { chain: state.id.clone(), call: key, above: state.path() }),
    })
}

fn settings(state: &ChainState, children: &Children, arguments: &Value) -> Settings {
    let mut settings = state.settings.clone();
    settings.max_turns = settings.max_turns.min(children.turns);
    settings.model = children.model.clone().or(settings.model);
    if !children.tools.is_empty() {
        settings.only.push(children.tools.clone());
    }
    settings.only.extend(asked_tools(arguments).map(|tools| tools.into_iter().map(str::to_owned).collect()));
    settings
}

/// Those of the parent that a child of it may have.
fn tools<'s>(state: &'s ChainState, children: &Children) -> Vec<&'s ToolSpec> {
    let named = |tool: &ToolSpec| children.tools.is_empty() || children.tools.iter().any(|pattern| tool_matches(pattern, &tool.name));
    let goes_on = may_have_children(state.path().len() + 1, children);
    state.tools.iter().filter(|tool| named(tool) && (goes_on || tool.name != CHAIN)).collect()
}

fn may_have_children(depth: usize, children: &Children) -> bool {
    depth < children.depth as usize
}

/// `None` where the call asks for all.
fn asked_tools(arguments: &Value) -> Option<Vec<&str>> {
    Some(arguments.get("tools")?.as_array()?.iter().filter_map(Value::as_str).collect())
}

/// The result of the call that waits for `child`, which has ended; `None` where none does.
pub fn ended(parent: &ChainState, child: &ChainState) -> Option<Event> {
    let call = parent.calls.get(&child.parent.as_ref()?.call)?;
    if call.status != CallStatus::Waiting || call.child.as_ref() != Some(&child.id) || !child.status.is_terminal() {
        return None;
    }
    let (status, result) = result(child);
    let status = if parent.stop.is_some() && status == CallStatus::Failed { CallStatus::Cancelled } else { status };
    Some(finished(call.key, status, result))
}

fn result(child: &ChainState) -> (CallStatus, ToolResult) {
    let failure = |kind: &str, what: String| (CallStatus::Failed, ToolResult::failure(kind, what));
    let by = || child.stop.as_ref().map(|stop| format!(" by {}{}", stop.by, noted(stop.note.as_deref()))).unwrap_or_default();
    match child.status {
        ChainStatus::Completed => (CallStatus::Succeeded, ToolResult::text(answer(child))),
        ChainStatus::Rejected => failure(kind::DENIED, format!("the chain {} was stopped{}; what it did until then is done", child.id, by())),
        ChainStatus::Cancelled => failure(kind::CANCELLED, format!("the chain {} was cancelled{}; what it did until then is done", child.id, by())),
        _ => {
            let why = child.error.as_deref().unwrap_or("no reason is known");
            failure(kind::FAILED, format!("the chain {} failed: {why}; what it did until then is done", child.id))
        }
    }
}

fn noted(note: Option<&str>) -> String {
    note.map(|note| format!(": {note}")).unwrap_or_default()
}

fn answer(child: &ChainState) -> String {
    let mut answer = child.answer();
    if answer.len() > ANSWER_BYTES_MAX {
        let end = answer.floor_char_boundary(ANSWER_BYTES_MAX);
        let rest = answer.len() - end;
        answer.truncate(end);
        answer += &format!("… ({rest} more bytes; `inspect` of {} has them)", child.id);
    }
    answer
}
