//! Taking a plugin's new bytes into a chain that started with other ones.

use super::admit::finished;
use super::stop::closed;
use super::{Call, ChainState};
use crate::call::{CallStatus, ToolResult, ToolSpec, kind};
use crate::chain::Actor;
use crate::digest::Digest;
use crate::event::Event;
use crate::pause::{PauseKind, PauseStatus};

/// Drops answers, saved state and approvals of the plugin's unfinished calls; the caller admits those calls anew.
pub fn accept(state: &ChainState, by: &Actor, plugin: &str, digest: &Digest, tools: Vec<ToolSpec>) -> Vec<Event> {
    // What became of a call does not hang on the bytes that come after it.
    let open = state.open_pauses().filter(|pause| pause.plugin == plugin && pause.kind != PauseKind::InDoubt);
    let mut events: Vec<_> = open.map(|pause| closed(pause, PauseStatus::Superseded, "the plugin's bytes changed")).collect();
    events.push(Event::PluginAccepted { by: by.clone(), plugin: plugin.to_owned(), digest: digest.clone(), tools });
    events
}

/// The plugins whose bytes are not those the chain holds, among those that unfinished calls need.
pub fn changed<'a>(state: &'a ChainState, loaded: &'a std::collections::BTreeMap<String, Digest>) -> Vec<&'a str> {
    let unfinished = state.current_calls().filter(|call| !call.status.is_final());
    let tools = unfinished.filter_map(|call| state.tool(&call.tool));
    let mut plugins: Vec<_> =
        tools.filter(|tool| loaded.get(&tool.plugin).is_some_and(|found| *found != tool.plugin_digest)).map(|tool| tool.plugin.as_str()).collect();
    plugins.sort_unstable();
    plugins.dedup();
    plugins
}

/// The result of a call whose tool is no more.
pub fn tool_gone(call: &Call) -> Vec<Event> {
    let message = format!("there is no tool `{}` any more", call.tool);
    vec![finished(call.key, CallStatus::Failed, ToolResult::failure(kind::NOT_FOUND, message))]
}
