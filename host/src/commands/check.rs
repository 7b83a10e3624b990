//! `check FILE.wasm`: what a component needs and offers, and what stops it from being a plugin here.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::failure::Failure;
use super::setup::{Flags, Setup};
use super::{exit, runtime};
use crate::capability::Limits;
use crate::config::wanted;
use crate::counted::counted;
use crate::plugin::{ACCEPTED, Catalogue, Look, Plugins, look, offered};
use crate::report::{self, escape};

mod lint;

/// Say what a plugin file needs and offers, and whether it can be loaded; nothing is granted or changed
#[derive(Args)]
#[command(after_help = "Examples:\n  pausegate check ./files.wasm\n  pausegate check ./files.wasm --json | jq .problems")]
pub struct Check {
    /// The file; it need not be in the plugin directory
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print an object
    #[arg(long)]
    json: bool,
}

/// All that is said of one file.
pub(super) struct Checked {
    name: String,
    look: Look,
    pub catalogue: Catalogue,
    /// What stops it, or one tool of it.
    pub problems: Vec<String>,
    pub notes: Vec<String>,
}

impl Check {
    /// 1 where something stops it from loading.
    pub fn run(&self, flags: &Flags) -> Result<u8, Failure> {
        let setup = Setup::read(flags)?;
        if !self.file.exists() {
            return Err(Failure::new(exit::UNKNOWN, format!("there is no file `{}`", self.file.display())));
        }
        let checked = runtime::full(Checked::of(&setup, &self.file))?;
        if self.json {
            report::json(&checked.as_json())
        } else {
            checked.show()
        }
        Ok(if checked.problems.is_empty() { exit::COMPLETED } else { exit::FAILED })
    }
}

fn name(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

impl Checked {
    /// Loads the file as a host would.
    pub(super) async fn of(setup: &Setup, file: &Path) -> Result<Self, Failure> {
        let look = look(file).map_err(|reason| Failure::new(exit::FAILED, format!("`{}`: {reason}", file.display())))?;
        let plugins = setup.wasm_plugin(file).await?;
        let name = name(file);
        let catalogue = plugins.catalogue_of(&name).unwrap_or_default();
        let problem = |failure: crate::plugin::LoadFailure| match failure.name == name {
            true => failure.reason,
            false => format!("tool `{}` is disabled: {}", failure.name, failure.reason),
        };
        let problems: Vec<_> = plugins.failures().into_iter().map(problem).collect();
        let notes = lint::notes(&name, &look, &catalogue);
        Ok(Self { name, look, catalogue, problems, notes })
    }

    fn as_json(&self) -> Value {
        let declared = self.look.declared.clone().unwrap_or_default();
        let import = |name: &String| json!({"name": name, "offered": offered(name)});
        json!({
            "name": self.name, "bytes": self.look.bytes, "digest": self.look.digest, "accepts": ACCEPTED,
            "loads": self.problems.is_empty(), "problems": self.problems, "notes": self.notes,
            "exports": declared.exports, "imports": declared.imports.iter().map(import).collect::<Vec<_>>(),
            "at_rest": {"core_modules": declared.core_modules, "memory_bytes": declared.memory_bytes, "table_elements": declared.table_elements},
            "tools": self.catalogue.tools, "wants": self.catalogue.wants,
            "want_lines": self.catalogue.wants.iter().map(|want| wanted::lines(&self.name, want).ok()).collect::<Vec<_>>(),
        })
    }

    fn show(&self) {
        let name = escape::line(&self.name);
        report::data(&format!("plugin `{name}`, {} KiB, {}", self.look.bytes.div_ceil(1024), self.look.digest));
        if let Some(declared) = &self.look.declared {
            list("exports", &declared.exports);
            list("imports", &declared.imports.iter().map(|name| format!("{name}  {}", offered(name))).collect::<Vec<_>>());
            let limit = Limits::default().memory_bytes >> 20;
            report::data(&format!(
                "at rest\n  {} KiB of memory (a call's limit is {limit} MiB unless the grants file sets another), {}, {}",
                declared.memory_bytes.div_ceil(1024),
                counted(declared.table_elements, "table element", "table elements"),
                counted(declared.core_modules, "core module", "core modules")
            ));
        }
        if !self.catalogue.tools.is_empty() {
            report::trust::offers(&name, &self.catalogue, |tool| tool.effects.to_string());
        }
        if !self.catalogue.wants.is_empty() {
            report::data("in its own words it would like");
            self.catalogue.wants.iter().for_each(|want| report::trust::want(want, &wanted::lines(&self.name, want)));
        }
        list("worth a look", &self.notes);
        list("problems", &self.problems);
        let end = if self.problems.is_empty() { "it loads" } else { "it does not load as it is" };
        report::data(&format!("{end}; this host accepts {ACCEPTED}.x"));
    }
}

fn list(title: &str, lines: &[String]) {
    if !lines.is_empty() {
        report::data(title);
        lines.iter().for_each(|line| report::data(&format!("  {}", escape::line(line))));
    }
}
