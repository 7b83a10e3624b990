//! `plugins`

use clap::Args;
use serde_json::{Value, json};

use super::failure::Failure;
use super::setup::{Flags, Setup, quarantined, warnings};
use super::{exit, runtime};
use crate::plugin::Plugins as _;
use crate::report;
use crate::report::{escape, load, table};

/// List plugin files: whether their bytes are trusted, what they offer, and what cannot be loaded
#[derive(Args)]
#[command(after_help = "Examples:\n  pausegate plugins\n  pausegate plugins --json")]
pub struct Plugins {
    /// Print an array of objects
    #[arg(long)]
    json: bool,
}

impl Plugins {
    pub fn run(&self, flags: &Flags) -> Result<u8, Failure> {
        let setup = Setup::read(flags)?;
        let grants = setup.grants()?;
        let plugins = runtime::full(setup.wasm_plugins())?;
        let (catalog, failures) = (plugins.catalog(), plugins.failures());
        let shared = load::shared_names(&catalog);
        let shared_of = |plugin: &str| shared.iter().filter(|(_, plugins)| plugins.contains(&plugin)).map(|(tool, _)| *tool).collect::<Vec<_>>();
        let tools_of = |plugin: &str| catalog.iter().filter(|tool| tool.plugin == plugin).map(|tool| tool.name.clone()).collect::<Vec<_>>();
        let mut rows: Vec<Value> = Vec::new();
        for (name, digest) in plugins.loaded().iter() {
            let broken: Vec<_> = failures.iter().filter(|failure| failure.name.starts_with(&format!("{name}__"))).collect();
            let broken: Vec<_> = broken.iter().map(|failure| json!({"tool": failure.name, "reason": failure.reason})).collect();
            let pin = grants.trust(name, digest);
            rows.push(json!({
                "name": name, "loaded": true, "digest": digest, "trusted": pin == "yes" || pin == "any", "trust": pin,
                "tools": tools_of(name), "same_names": shared_of(name), "failures": broken,
            }));
        }
        for failure in failures.iter().filter(|failure| !failure.name.contains("__")) {
            rows.push(json!({
                "name": failure.name, "loaded": false, "digest": null, "trusted": false, "trust": "no",
                "tools": [], "same_names": [], "failures": [{"tool": null, "reason": failure.reason}],
            }));
        }
        let mut told = load::same_names(&catalog);
        told.extend(warnings(&setup, &grants, &plugins));
        if self.json {
            told.iter().for_each(|warning| report::note(warning));
            report::json(&rows);
        } else if rows.is_empty() {
            told.iter().for_each(|warning| report::note(warning));
            report::note(&format!("no plugins; put `.wasm` files into `{}`", setup.settings.places.plugins.display()));
        } else {
            table::print(&["PLUGIN", "TRUSTED", "TOOLS", "DIGEST"], rows.iter().map(row).collect());
            rows.iter().for_each(tell_failures);
            quarantined(&grants, &plugins).iter().for_each(|plugin| report::note(&load::quarantined(plugin)));
            told.iter().for_each(|warning| report::note(warning));
        }
        Ok(exit::COMPLETED)
    }
}

fn row(plugin: &Value) -> Vec<String> {
    let text = |key: &str| escape::line(plugin[key].as_str().unwrap_or("-"));
    let tools = plugin["tools"].as_array().map_or(0, Vec::len);
    let tools = if plugin["loaded"] == true { tools.to_string() } else { "not loaded".to_owned() };
    vec![text("name"), text("trust"), tools, text("digest")]
}

fn tell_failures(plugin: &Value) {
    for failure in plugin["failures"].as_array().into_iter().flatten() {
        let name = failure["tool"].as_str().or(plugin["name"].as_str()).unwrap_or_default();
        report::note(&format!("`{}`: {}", escape::line(name), escape::line(failure["reason"].as_str().unwrap_or_default())));
    }
}
