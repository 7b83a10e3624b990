//! What a chain does next. One function, so that every door and every process agrees.

use std::collections::BTreeMap;

use super::ChainState;
use super::bytes::{Choice, chosen};
use crate::call::{CallKey, CallStatus};
use crate::chain::{Blocked, OnChange};
use crate::digest::Digest;
use crate::event::StopEnd;

/// What the runner is to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Ask a person about the bytes that these would start on.
    AskAboutBytes(Vec<CallKey>),
    /// A person took the new bytes of these plugins.
    TakeBytes(Vec<String>),
    /// Judge these again and start those that still may.
    StartCalls(Vec<CallKey>),
    /// Calls were started by a process that is no more: settle what became of them.
    Recover,
    /// Calls run; wait for one.
    Wait,
    CallModel,
    /// Open pauses hold the chain.
    Pause,
    /// Child chains hold it: they are driven as all chains are, and the end of one is the result of its call.
    AwaitChildren,
    /// The stop that was asked for is theirs, too.
    StopChildren,
    Block(Blocked),
    Complete,
    /// The stop that was asked for is done.
    End(StopEnd),
    /// The chain has ended before.
    Nothing,
}

/// What this process knows beside the journal.
pub struct Around<'a> {
    /// Bytes loaded under each plugin name.
    pub loaded: &'a BTreeMap<String, Digest>,
    /// Why a plugin is not loaded, where it is known.
    pub failures: &'a BTreeMap<String, String>,
    /// Calls that this process runs right now.
    pub running: &'a (dyn Fn(CallKey) -> bool + Sync),
}

pub fn next(state: &ChainState, around: &Around<'_>) -> Next {
    if state.status.is_terminal() {
        return Next::Nothing;
    }
    let (running, orphaned): (Vec<_>, Vec<_>) = state.calls_in(CallStatus::Started).partition(|call| (around.running)(call.key));
    if !orphaned.is_empty() {
        return Next::Recover;
    }
    let running = !running.is_empty();
    if let Some(stop) = &state.stop {
        return match () {
            () if running => Next::Wait,
            () if state.children().next().is_some() => Next::StopChildren,
            () => Next::End(stop.end),
        };
    }
    let mut blocked = None;
    let (mut startable, mut asked, mut taken) = (Vec::new(), Vec::new(), Vec::new());
    for call in state.calls_in(CallStatus::Ready) {
        match hindrance(state, around, &call.tool) {
            None => startable.push(call.key),
            Some(Blocked::PluginChanged { plugin, pinned, found }) if state.settings.on_change == OnChange::Ask => {
                match chosen(state, &plugin, &pinned, &found) {
                    None => asked.push(call.key),
                    Some(Choice::New { .. }) => taken.push(plugin),
                    // Those bytes are not kept any more.
                    Some(Choice::Pinned) => blocked = blocked.or(Some(Blocked::PluginChanged { plugin, pinned, found })),
                }
            }
            Some(reason) => blocked = blocked.or(Some(reason)),
        }
    }
    if !taken.is_empty() {
        taken.dedup();
        // What runs on the old ones ends on them.
        return if running { Next::Wait } else { Next::TakeBytes(taken) };
    }
    if !asked.is_empty() {
        return Next::AskAboutBytes(asked);
    }
    if !startable.is_empty() {
        return Next::StartCalls(startable);
    }
    if running {
        return Next::Wait;
    }
    if let Some(blocked) = blocked {
        return Next::Block(blocked);
    }
    if state.open_pauses().next().is_some() {
        return Next::Pause;
    }
    if state.children().next().is_some() {
        return Next::AwaitChildren;
    }
    let answered = state.turns.last().is_some_and(|turn| turn.calls.is_empty() && turn.added.is_empty());
    // Without a model the one turn was a person's, and its results are the end of it.
    if answered || (state.settings.model.is_none() && !state.turns.is_empty()) {
        return Next::Complete;
    }
    if state.model_calls >= state.settings.max_turns {
        return Next::Block(Blocked::MaxTurns { limit: state.settings.max_turns });
    }
    Next::CallModel
}

/// Why a call of `tool` cannot start on what is loaded now.
fn hindrance(state: &ChainState, around: &Around<'_>, tool: &str) -> Option<Blocked> {
    let tool = state.tool(tool).filter(|tool| !tool.is_hosts())?;
    match around.loaded.get(&tool.plugin) {
        None => Some(Blocked::MissingPlugin { plugin: tool.plugin.clone(), why: around.failures.get(&tool.plugin).cloned() }),
        Some(found) if *found != tool.plugin_digest => {
            Some(Blocked::PluginChanged { plugin: tool.plugin.clone(), pinned: tool.plugin_digest.clone(), found: found.clone() })
        }
        Some(_) => None,
    }
}
