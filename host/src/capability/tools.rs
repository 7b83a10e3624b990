//! What the operator says of single tools of a plugin: which lines are for them, whether they are offered, their effects.
//!
//! A tool goes by the plugin's own name for it here. Naming tools only ever narrows a line.

use std::collections::{BTreeMap, BTreeSet};

use super::{Grants, PluginGrants, Reconcile};
use crate::call::{Effects, ToolSpec};

/// The tools that a line is for; every tool of the plugin where none is named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForTools(pub Option<BTreeSet<String>>);

impl ForTools {
    pub fn has(&self, tool: &str) -> bool {
        self.0.as_ref().is_none_or(|names| names.contains(tool))
    }
}

/// `[plugins.NAME.tools.TOOL]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolGrants {
    /// Offered to models and callable.
    pub enabled: bool,
    /// In place of what the plugin declares.
    pub effects: Option<Effects>,
    pub line: usize,
}

impl Grants {
    /// Whether a tool is offered. It stays out whatever bytes are under the plugin's name.
    pub fn offers(&self, tool: &ToolSpec) -> bool {
        match tool.is_hosts() {
            true => self.children.is_some(),
            false => self.disabled(&tool.plugin, &tool.tool).is_none(),
        }
    }

    /// The operator's word where the section holds for the plugin's bytes, else the plugin's.
    pub fn effects(&self, tool: &ToolSpec) -> Effects {
        let section = self.plugins.get(&tool.plugin).filter(|section| section.digest.matches(&tool.plugin_digest));
        section.and_then(|section| section.effects(&tool.tool)).unwrap_or(tool.effects)
    }

    /// Whether the plugin's own word settles a call in doubt.
    pub fn believes(&self, tool: &ToolSpec) -> bool {
        let section = self.plugins.get(&tool.plugin).filter(|section| section.digest.matches(&tool.plugin_digest));
        section.is_some_and(|section| section.reconcile == Reconcile::Believe)
    }

    /// The same for people, with the plugin's own word where it is another.
    pub fn effects_in_words(&self, tool: &ToolSpec) -> String {
        match self.effects(tool) {
            same if same == tool.effects => same.to_string(),
            other => format!("{other} (the plugin says {})", tool.effects),
        }
    }

    /// The setting that takes a tool out.
    pub(super) fn disabled(&self, plugin: &str, tool: &str) -> Option<&ToolGrants> {
        self.plugins.get(plugin)?.tools.get(tool).filter(|tool| !tool.enabled)
    }

    /// Names of tools that a loaded plugin does not have: lines that guard or narrow nothing, one text each.
    pub fn unknown_tools(&self, catalog: &[ToolSpec]) -> Vec<String> {
        let mut offered: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for tool in catalog {
            offered.entry(&tool.plugin).or_default().insert(&tool.tool);
        }
        let mut unknown = Vec::new();
        for (plugin, section) in &self.plugins {
            let Some(offered) = offered.get(plugin.as_str()) else { continue };
            for (line, name) in section.named_tools().into_iter().filter(|(_, name)| !offered.contains(name)) {
                let names = offered.iter().copied().collect::<Vec<_>>().join(", ");
                unknown.push(format!("{}: plugin `{plugin}` has no tool `{name}`; it offers {names}", self.place(line)));
            }
        }
        unknown
    }
}

impl PluginGrants {
    pub(super) fn effects(&self, tool: &str) -> Option<Effects> {
        self.tools.get(tool)?.effects
    }

    /// Every name of a tool in the section, with its line.
    fn named_tools(&self) -> Vec<(usize, &str)> {
        let own = self.tools.iter().map(|(name, tool)| (tool.line, name.as_str()));
        let fs = self.fs.iter().map(|grant| (grant.line, &grant.tools));
        let http = self.http.iter().map(|grant| (grant.line, &grant.tools));
        let kv = self.kv.iter().map(|grant| (grant.line, &grant.tools));
        let listed = fs.chain(http).chain(kv).flat_map(|(line, tools)| tools.0.iter().flatten().map(move |name| (line, name.as_str())));
        let mut named: Vec<_> = own.chain(listed).collect();
        named.sort_unstable();
        named
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capability::{Access, FsGrant, Pin, When};
    use crate::digest::Digest;

    fn tool(name: &str) -> ToolSpec {
        ToolSpec {
            name: format!("files__{name}"),
            plugin: "files".into(),
            tool: name.into(),
            title: None,
            description: "Does it.".into(),
            input_schema: serde_json::json!({"type": "object"}).into(),
            output_schema: None,
            effects: Effects::Once,
            plugin_digest: Digest::of_bytes(b"files"),
        }
    }

    fn grants(pin: Pin) -> Grants {
        let names = |names: &[&str]| ForTools(Some(names.iter().map(|name| (*name).to_owned()).collect()));
        let line = FsGrant {
            path: "/b".into(),
            mount: "/b".into(),
            access: Access::Read,
            when: When::Always,
            on_missing: Default::default(),
            tools: names(&["list", "lst"]),
            one_file: false,
            quota: None,
            line: 7,
        };
        let set = |enabled, effects| ToolGrants { enabled, effects, line: 9 };
        let tools = [("delete", set(false, None)), ("list", set(true, Some(Effects::ReadOnly))), ("gone", set(false, None))];
        let tools = tools.into_iter().map(|(name, set)| (name.to_owned(), set)).collect();
        let section = PluginGrants { fs: vec![line], tools, ..PluginGrants::holding_nothing(pin, 5) };
        Grants { plugins: BTreeMap::from([("files".to_owned(), section)]), file: "/etc/grants.toml".into(), ..Grants::default() }
    }

    #[test]
    fn a_tool_taken_out_stays_out_whatever_its_bytes_and_effects_hold_for_the_pinned_ones() {
        let (pinned, other) = (grants(Pin::Exact(Digest::of_bytes(b"files"))), grants(Pin::Exact(Digest::of_bytes(b"other"))));
        for grants in [&pinned, &other] {
            assert_eq!(["delete", "list", "read"].map(|name| grants.offers(&tool(name))), [false, true, true]);
        }
        assert_eq!(pinned.effects_in_words(&tool("list")), "read-only (the plugin says once)");
        assert_eq!(other.effects_in_words(&tool("list")), "once");
        assert_eq!(pinned.effects_in_words(&tool("read")), "once");
    }

    #[test]
    fn a_name_that_no_tool_has_is_told_with_its_line() {
        let catalog = ["delete", "list"].map(tool);
        assert_eq!(
            grants(Pin::Any).unknown_tools(&catalog),
            [
                "grants.toml:7: plugin `files` has no tool `lst`; it offers delete, list",
                "grants.toml:9: plugin `files` has no tool `gone`; it offers delete, list"
            ]
        );
        assert_eq!(grants(Pin::Any).unknown_tools(&[]), Vec::<String>::new(), "a plugin that is not loaded is another matter");
    }
}
