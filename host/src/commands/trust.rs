//! `trust PLUGIN`: the operator pins a plugin's bytes in the grants file. `trust --always PAUSE`: a standing approval.
//! Nothing else writes there.

use clap::Args;
use serde_json::json;

use super::failure::Failure;
use super::setup::{Flags, Setup};
use super::{exit, runtime};
use crate::capability::Grants;
use crate::config::trust::{Mode, Trusted};
use crate::config::{self, trusted, wanted};
use crate::digest::Digest;
use crate::plugin::difference::Change;
use crate::plugin::{Catalogue, Plugins, WasmPlugins};
use crate::report;
use crate::report::escape;

mod always;

/// Pin the bytes of a plugin, so that its section of the grants file holds for them; or let a call pass from now on
#[derive(Args)]
#[command(
    after_help = "Examples:\n  pausegate trust files --dry-run\n  pausegate trust files --grants ./grants.toml\n  pausegate trust --always pa_01k… --until 2026-12-31"
)]
pub struct Trust {
    /// The plugin: its file's name without `.wasm`
    #[arg(required_unless_present = "always", conflicts_with = "always")]
    plugin: Option<String>,
    /// Let the call of this pause pass without asking, for exactly its arguments, until a day; the start of the id is enough
    #[arg(long, value_name = "PAUSE")]
    always: Option<String>,
    /// The last day of it, in UTC; 90 days ahead where it is left out
    #[arg(long, value_name = "DATE", requires = "always")]
    until: Option<String>,
    /// Show what would be trusted, how it differs, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Print an object
    #[arg(long)]
    json: bool,
}

impl Trust {
    pub fn run(&self, flags: &Flags) -> Result<u8, Failure> {
        let setup = Setup::read(flags)?;
        match (&self.always, &self.plugin) {
            (Some(pause), _) => self.always(&setup, pause),
            (None, Some(plugin)) => self.pin(&setup, plugin),
            (None, None) => unreachable!("clap wants one of them"),
        }
    }

    fn mode(&self) -> Mode {
        if self.dry_run { Mode::DryRun } else { Mode::Write }
    }

    fn pin(&self, setup: &Setup, plugin: &str) -> Result<u8, Failure> {
        let plugins = runtime::full(setup.wasm_plugins_without_grants())?;
        let (Some(digest), Some(catalogue)) = (plugins.loaded().get(plugin).cloned(), plugins.catalogue_of(plugin)) else {
            return Err(not_loaded(setup, plugin, &plugins));
        };
        let places = &setup.settings.places;
        let pinned = config::trust::trust(&places.grants, plugin, &digest, self.mode())?;
        let changes = changes(setup, &pinned, &catalogue);
        if !self.dry_run
            && let Err(error) = trusted::remember(&places.trusted(), &digest, &catalogue)
        {
            report::note(&format!("`{}` cannot be written, so a later difference shows digests only: {error}", places.trusted().display()));
        }
        // What it holds for these bytes is in force now; a file that cannot be followed is told by the next command.
        let grants = setup.grants().unwrap_or_default();
        if self.json {
            report::json(&json!({
                "name": plugin, "digest": pinned.new, "old": pinned.old, "changed": pinned.changed(), "written": pinned.changed() && !self.dry_run,
                "grants": pinned.file, "changes": changes,
                "tools": catalogue.tools.iter().map(|tool| json!({"name": tool.name, "effects": grants.effects(tool), "declared_effects": tool.effects, "description": tool.description})).collect::<Vec<_>>(),
                "wants": catalogue.wants,
                "want_lines": catalogue.wants.iter().map(|want| wanted::lines(plugin, want).ok()).collect::<Vec<_>>(),
            }));
        } else {
            self.show(&grants, plugin, &catalogue, &pinned, changes.as_deref());
        }
        Ok(exit::COMPLETED)
    }

    fn show(&self, grants: &Grants, plugin: &str, catalogue: &Catalogue, pinned: &Trusted, changes: Option<&[Change]>) {
        report::trust::offers(plugin, catalogue, |tool| grants.effects_in_words(tool));
        if catalogue.tools.iter().any(|tool| grants.believes(tool)) {
            report::data(report::trust::BELIEVED);
        }
        if !catalogue.wants.is_empty() {
            report::data("in its own words it would like; nothing of it is granted by this");
            catalogue.wants.iter().for_each(|want| report::trust::want(want, &wanted::lines(plugin, want)));
        }
        if pinned.changed() && pinned.old.as_ref().is_some_and(|old| old != "any") {
            report::trust::difference(changes);
        }
        let (file, new) = (pinned.file.display(), &pinned.new);
        let would = if self.dry_run { "would hold" } else { "holds" };
        report::data(&match (&pinned.old, pinned.changed()) {
            (_, false) => format!("`{file}` held for these bytes before: {new}"),
            (Some(old), true) => format!("`{file}` held for `{}`\nnow it {would} for {new}", escape::line(old)),
            (None, true) => format!("`{file}` now {would} for {new}"),
        });
    }
}

/// `None` where other bytes were pinned and nothing is kept of them.
fn changes(setup: &Setup, pinned: &Trusted, new: &Catalogue) -> Option<Vec<Change>> {
    let old: Digest = pinned.old.as_deref()?.parse().ok()?;
    if old == pinned.new {
        return Some(Vec::new());
    }
    Some(trusted::recall(&setup.settings.places.trusted(), &old)?.difference(new))
}

fn not_loaded(setup: &Setup, plugin: &str, plugins: &WasmPlugins) -> Failure {
    let dir = setup.settings.places.plugins.display();
    match plugins.failures().iter().find(|failure| failure.name == plugin) {
        Some(failure) => Failure::data(format!("plugin `{plugin}` cannot be loaded")).because(&failure.reason),
        None => Failure::new(exit::UNKNOWN, format!("there is no `{plugin}.wasm` in `{dir}`")).hint("`pausegate plugins` lists what is there"),
    }
}
