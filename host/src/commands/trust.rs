//! `trust PLUGIN`: the operator pins a plugin's bytes in the grants file. Nothing else writes there.

use clap::Args;
use serde_json::json;

use super::failure::Failure;
use super::setup::{Flags, Setup};
use super::{exit, runtime};
use crate::config;
use crate::plugin::{Plugins, Want};
use crate::report;
use crate::report::escape;

/// Pin the bytes of a plugin, so that its section of the grants file holds for them
#[derive(Args)]
#[command(after_help = "Examples:\n  pausegate trust files\n  pausegate trust files --grants ./grants.toml")]
pub struct Trust {
    /// The plugin: its file's name without `.wasm`
    plugin: String,
    /// Print an object
    #[arg(long)]
    json: bool,
}

impl Trust {
    pub fn run(&self, flags: &Flags) -> Result<u8, Failure> {
        let setup = Setup::read(flags)?;
        let plugins = runtime::full(setup.wasm_plugins_without_grants())?;
        let Some(digest) = plugins.loaded().remove(&self.plugin) else {
            return Err(self.not_loaded(&setup, &plugins.failures()));
        };
        let tools: Vec<_> = plugins.catalog().into_iter().filter(|tool| tool.plugin == self.plugin).collect();
        let wants = plugins.wants().remove(&self.plugin).unwrap_or_default();
        let trusted = config::trust::trust(&setup.settings.places.grants, &self.plugin, &digest)?;
        // What it holds for these bytes is in force now; a file that cannot be followed is told by the next command.
        let grants = setup.grants().unwrap_or_default();
        if self.json {
            report::json(&json!({
                "name": self.plugin, "digest": trusted.new, "old": trusted.old, "changed": trusted.changed(), "grants": trusted.file,
                "tools": tools.iter().map(|tool| json!({"name": tool.name, "effects": grants.effects(tool), "declared_effects": tool.effects, "description": tool.description})).collect::<Vec<_>>(),
                "wants": wants,
            }));
            return Ok(exit::COMPLETED);
        }
        report::data(&format!("plugin `{}` offers", self.plugin));
        for tool in &tools {
            report::data(&format!(
                "  {} ({}): {}",
                escape::line(&tool.name),
                grants.effects_in_words(tool),
                escape::line(tool.description.lines().next().unwrap_or_default())
            ));
        }
        if !wants.is_empty() {
            report::data("in its own words it would like; nothing of it is granted by this");
            wants.iter().for_each(|want| report::data(&in_words(want)));
        }
        let file = trusted.file.display();
        report::data(&match (&trusted.old, trusted.changed()) {
            (_, false) => format!("`{file}` held for these bytes before: {digest}"),
            (Some(old), true) => format!("`{file}` held for `{}`\nnow it holds for {digest}", escape::line(old)),
            (None, true) => format!("`{file}` now holds for {digest}"),
        });
        Ok(exit::COMPLETED)
    }

    fn not_loaded(&self, setup: &Setup, failures: &[crate::plugin::LoadFailure]) -> Failure {
        let dir = setup.settings.places.plugins.display();
        match failures.iter().find(|failure| failure.name == self.plugin) {
            Some(failure) => Failure::data(format!("plugin `{}` cannot be loaded", self.plugin)).because(&failure.reason),
            None => {
                Failure::new(exit::UNKNOWN, format!("there is no `{}.wasm` in `{dir}`", self.plugin)).hint("`pausegate plugins` lists what is there")
            }
        }
    }
}

fn in_words(want: &Want) -> String {
    let (capability, scope, why) = (escape::line(&want.capability), escape::line(&want.scope), escape::line(&want.why));
    format!("  > {capability} {scope}: {why}")
}
