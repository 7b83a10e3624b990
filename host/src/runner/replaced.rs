//! What is found out about a plugin's new bytes before a person is asked about them, and taking them where the person did.
//!
//! Nothing of them runs for it: the tools are those that loading listed, the rest stands in the file.

use std::collections::{BTreeMap, BTreeSet};

use super::HostError;
use super::drive::admit_requested;
use super::open::OpenChain;
use crate::call::{CallKey, ToolSpec};
use crate::digest::Digest;
use crate::event::Event;
use crate::pause::replaced::Replaced;
use crate::plugin::{Catalogue, Declared, offered};
use crate::state::ChainState;
use crate::state::accept::accept;
use crate::state::bytes::{self, Choice, chosen};

/// Of what changed, in one pause; a plugin can be made to flood it.
const LINES_MAX: usize = 400;
/// Characters of a name of an import.
const NAME_CHARS_MAX: usize = 200;

/// Asks about each of these calls, which would start on bytes in `loaded` that they were not judged on.
pub async fn ask(chain: &mut OpenChain, calls: &[CallKey], loaded: &BTreeMap<String, Digest>) -> Result<(), HostError> {
    let mut replaced = BTreeMap::new();
    let tools = calls.iter().filter_map(|key| chain.state.tool(&chain.state.calls.get(key)?.tool)).cloned();
    for tool in tools.collect::<Vec<_>>() {
        if let Some(found) = loaded.get(&tool.plugin)
            && !replaced.contains_key(&tool.plugin)
        {
            replaced.insert(tool.plugin.clone(), look(chain, &tool, found).await);
        }
    }
    chain.record(|state, rules| bytes::ask(state, rules, calls, &replaced)).await
}

/// Takes the bytes in `loaded` of these plugins, and asks rules anew about their unfinished calls.
pub async fn take(chain: &mut OpenChain, plugins: &[String], loaded: &BTreeMap<String, Digest>) -> Result<(), HostError> {
    let catalog = chain.host.catalog();
    let taken = |state: &ChainState| {
        plugins.iter().flat_map(|plugin| loaded.get(plugin).and_then(|found| taken(state, plugin, found, &catalog)).unwrap_or_default()).collect()
    };
    chain.transact_then(|state, _| Ok((taken(state), ())), |state, rules, ()| (admit_requested(state, rules), ())).await?;
    Ok(())
}

/// Unless somebody said otherwise meanwhile.
fn taken(state: &ChainState, plugin: &str, found: &Digest, catalog: &[ToolSpec]) -> Option<Vec<Event>> {
    let pinned = &state.tools.iter().find(|tool| tool.plugin == plugin)?.plugin_digest;
    let Choice::New { by } = chosen(state, plugin, pinned, found)? else { return None };
    Some(accept(state, by, plugin, found, of_plugin(catalog, plugin)))
}

async fn look(chain: &OpenChain, tool: &ToolSpec, found: &Digest) -> Replaced {
    let (host, state, plugin) = (&chain.host, &chain.state, tool.plugin.as_str());
    let pinned = host.journal.kept(&tool.plugin_digest).await.ok().flatten();
    let new = host.plugins.bytes(plugin, found).await;
    let bytes = |file: &Option<Vec<u8>>| file.as_ref().map(|file| file.len() as u64);
    let mut offers = of_plugin(&host.catalog(), plugin);
    offers.retain(|tool| state.settings.admit(&tool.name));
    let mut changes = differences(&of_plugin(&state.tools, plugin), &offers);
    changes.extend(imports(pinned.as_deref(), new.as_deref()));
    Replaced {
        pinned: tool.plugin_digest.clone(),
        found: found.clone(),
        pinned_bytes: bytes(&pinned),
        found_bytes: bytes(&new),
        trust: host.grants.latest().trust(plugin, found).to_owned(),
        changes: limited(changes),
    }
}

fn of_plugin(tools: &[ToolSpec], plugin: &str) -> Vec<ToolSpec> {
    tools.iter().filter(|tool| tool.plugin == plugin).cloned().collect()
}

fn differences(old: &[ToolSpec], new: &[ToolSpec]) -> Vec<String> {
    let catalogue = |tools: &[ToolSpec]| Catalogue { tools: tools.to_vec(), wants: Vec::new() };
    let mut lines = Vec::new();
    for change in catalogue(old).difference(&catalogue(new)) {
        lines.push(change.title());
        lines.extend(change.lines().iter().map(|line| format!("  {line}")));
    }
    lines
}

fn imports(old: Option<&[u8]>, new: Option<&[u8]>) -> Vec<String> {
    let declared = |bytes: Option<&[u8]>| bytes.and_then(|bytes| Declared::read(bytes).ok());
    let Some((old, new)) = declared(old).zip(declared(new)) else { return Vec::new() };
    let (old, new): (BTreeSet<_>, BTreeSet<_>) = (old.imports.into_iter().collect(), new.imports.into_iter().collect());
    let name = |import: &str| import.chars().take(NAME_CHARS_MAX).collect::<String>();
    let come = new.difference(&old).map(|import| format!("it imports `{}` now ({})", name(import), offered(import)));
    come.chain(old.difference(&new).map(|import| format!("it no longer imports `{}`", name(import)))).collect()
}

fn limited(mut lines: Vec<String>) -> Vec<String> {
    if lines.len() > LINES_MAX {
        let left = lines.len() - LINES_MAX;
        lines.truncate(LINES_MAX);
        lines.push(format!("… {left} more lines differ"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component(imports: &[&str]) -> Vec<u8> {
        let imports: String = imports.iter().map(|name| format!("(import \"{name}\" (instance))")).collect();
        wat::parse_str(format!("(component {imports})")).unwrap()
    }

    #[test]
    fn what_new_bytes_reach_for_is_told_with_what_it_takes() {
        let (old, new) = (component(&["wasi:clocks/wall-clock@0.2.0"]), component(&["wasi:http/outgoing-handler@0.2.0"]));
        assert_eq!(
            imports(Some(&old), Some(&new)),
            [
                "it imports `wasi:http/outgoing-handler@0.2.0` now (requests: what `http` lines grant)",
                "it no longer imports `wasi:clocks/wall-clock@0.2.0`"
            ]
        );
        assert_eq!(imports(Some(&old), Some(&old)), [""; 0]);
        assert_eq!(imports(None, Some(&new)), [""; 0], "nothing is made up of bytes that are not kept");
    }

    /// limit: runner/replaced::LINES_MAX
    #[test]
    fn a_change_made_to_flood_a_pause_is_cut_visibly() {
        let lines = |count: usize| limited((0..count).map(|n| n.to_string()).collect());
        assert_eq!(lines(LINES_MAX).last().unwrap(), &(LINES_MAX - 1).to_string());
        assert_eq!((lines(LINES_MAX + 2).len(), lines(LINES_MAX + 2).pop().unwrap()), (LINES_MAX + 1, "… 2 more lines differ".to_owned()));
    }

    /// limit: runner/replaced::NAME_CHARS_MAX
    #[test]
    fn a_name_made_to_flood_a_pause_is_cut() {
        let long = format!("a:b/{}@0.1.0", "c".repeat(NAME_CHARS_MAX));
        let told = imports(Some(&component(&[])), Some(&component(&[&long])));
        assert!(told[0].contains(&format!("`{}`", &long[..NAME_CHARS_MAX])), "{told:?}");
    }
}
