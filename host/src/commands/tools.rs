//! `tools`

use std::collections::BTreeMap;

use clap::Args;
use serde_json::json;

use super::failure::Failure;
use super::setup::{Flags, Setup};
use super::{exit, runtime};
use crate::call::ToolSpec;
use crate::capability::Grants;
use crate::capability::children::chain_tool;
use crate::report;
use crate::report::{escape, load, table};

/// List the tools that plugins offer
#[derive(Args)]
#[command(after_help = "Examples:\n  pausegate tools\n  pausegate tools --json | jq '.[] | {name, input_schema}'")]
pub struct Tools {
    /// Print an array of objects
    #[arg(long)]
    json: bool,
}

impl Tools {
    pub fn run(&self, flags: &Flags) -> Result<u8, Failure> {
        let setup = Setup::read(flags)?;
        let plugins = runtime::full(setup.plugins())?;
        let grants = setup.grants()?;
        let (mut tools, disabled): (Vec<_>, Vec<_>) = plugins.catalog().into_iter().partition(|tool| grants.offers(tool));
        tools.extend(grants.children.is_some().then(chain_tool));
        plugins.failures().iter().for_each(|failure| report::note(&load::failure(failure)));
        disabled.iter().for_each(|tool| report::note(&format!("`{}` is not enabled in the grants file", tool.name)));
        load::same_names(&tools).iter().for_each(|warning| report::note(warning));
        if self.json {
            let shared = load::shared_names(&tools);
            report::json(&tools.iter().map(|tool| as_json(tool, &grants, &shared)).collect::<Vec<_>>());
        } else if tools.is_empty() {
            report::note(&format!("no tools; put `.wasm` files into `{}`", setup.settings.places.plugins.display()));
        } else {
            let row = |tool: &ToolSpec| {
                let first = tool.description.lines().next().unwrap_or_default();
                vec![escape::line(&tool.name), grants.effects_in_words(tool), escape::line(first)]
            };
            table::print(&["TOOL", "EFFECTS", "DESCRIPTION"], tools.iter().map(row).collect());
        }
        Ok(exit::COMPLETED)
    }
}

fn as_json(tool: &ToolSpec, grants: &Grants, shared: &BTreeMap<&str, Vec<&str>>) -> serde_json::Value {
    let others = shared.get(&*tool.tool).into_iter().flatten().filter(|plugin| **plugin != tool.plugin);
    json!({
        "name": tool.name,
        "plugin": tool.plugin,
        "same_name_in": others.collect::<Vec<_>>(),
        "title": tool.title,
        "description": tool.description,
        "effects": grants.effects(tool),
        "declared_effects": tool.effects,
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
        "plugin_digest": tool.plugin_digest,
    })
}
