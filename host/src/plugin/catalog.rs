//! What a plugin offers: as it said it, kept in the cache, and as the host takes it after checks.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::bindings::types;
use super::names;
use super::text::cut;
use crate::call::arguments::read_json;
use crate::call::schema::{BYTES_MAX, Schema};
use crate::call::{Effects, ToolSpec};
use crate::digest::Digest;
use crate::plugin::LoadFailure;

/// Tools of one plugin.
pub const TOOLS_MAX: usize = 128;
/// Bytes of a tool's description; more is cut.
pub const DESCRIPTION_BYTES_MAX: usize = 8 << 10;
/// Bytes of a tool's title; more is cut.
pub const TITLE_BYTES_MAX: usize = 256;
/// Wants of one plugin that are shown.
pub const WANTS_MAX: usize = 32;
const WANT_BYTES_MAX: usize = 1 << 10;

/// The catalogue in the plugin's own words; a stored format (`*.tools.json` of the cache).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    pub tools: Vec<ToldTool>,
    pub wants: Vec<Want>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToldTool {
    name: String,
    title: Option<String>,
    description: String,
    input_schema: String,
    output_schema: Option<String>,
    effects: Effects,
}

/// What a plugin would like to be granted: shown to the operator, grants nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Want {
    /// `fs`, `http`, `kv`, `env` or another name.
    pub capability: String,
    /// Keys of the grant line, as JSON.
    pub scope: String,
    pub why: String,
}

/// One tool that can be called.
pub struct Tool {
    pub spec: ToolSpec,
    pub output_schema: Option<Schema>,
}

impl Told {
    pub fn new(catalog: types::Catalog) -> Self {
        Self { tools: catalog.tools.into_iter().map(told_tool).collect(), wants: catalog.wants.into_iter().take(WANTS_MAX).map(want).collect() }
    }

    /// The tools that can be called, and why the others cannot; one bad tool stops no other.
    pub fn check(&self, plugin: &str, digest: &Digest) -> (Vec<Tool>, Vec<LoadFailure>) {
        let mut tools = Vec::new();
        let mut failures = Vec::new();
        for told in self.tools.iter().take(TOOLS_MAX) {
            let twice = self.tools.iter().filter(|other| other.name == told.name).count() > 1;
            let checked = if twice { Err("the name stands twice in the plugin".to_owned()) } else { told.check(plugin, digest) };
            match checked {
                Ok(tool) => tools.push(tool),
                Err(reason) => failures.push(LoadFailure { name: format!("{plugin}__{}", cut(&told.name, 200)), reason }),
            }
        }
        if self.tools.len() > TOOLS_MAX {
            let reason = format!("offers {} tools, only the first {TOOLS_MAX} are taken", self.tools.len());
            failures.push(LoadFailure { name: plugin.to_owned(), reason });
        }
        failures.dedup();
        (tools, failures)
    }
}

impl ToldTool {
    fn check(&self, plugin: &str, digest: &Digest) -> Result<Tool, String> {
        let name = names::exposed(plugin, &self.name)?;
        if self.description.trim().is_empty() {
            return Err("the tool has no description".to_owned());
        }
        let input_schema = schema_json("input", &self.input_schema)?;
        Schema::of_object(&input_schema).map_err(|error| format!("the input {error}"))?;
        let output = self.output_schema.as_deref().map(|text| schema_json("output", text)).transpose()?;
        let output_schema = output.as_ref().map(Schema::compile).transpose().map_err(|error| format!("the output {error}"))?;
        let spec = ToolSpec {
            name,
            plugin: plugin.to_owned(),
            tool: self.name.clone(),
            title: self.title.as_deref().map(|title| cut(title, TITLE_BYTES_MAX).into_owned()),
            description: cut(&self.description, DESCRIPTION_BYTES_MAX).into_owned(),
            input_schema,
            output_schema: output,
            effects: self.effects,
            plugin_digest: digest.clone(),
        };
        Ok(Tool { spec, output_schema })
    }
}

fn schema_json(which: &str, text: &str) -> Result<Value, String> {
    if text.len() > BYTES_MAX {
        return Err(format!("the {which} schema has {} bytes, the limit is {BYTES_MAX}", text.len()));
    }
    read_json(text).map_err(|error| format!("the {which} schema cannot be read: {}", error.to_string().trim_start_matches("arguments are ")))
}

fn told_tool(tool: types::Tool) -> ToldTool {
    ToldTool {
        name: tool.name,
        title: tool.title,
        description: tool.description,
        input_schema: tool.input_schema,
        output_schema: tool.output_schema,
        effects: match tool.effects {
            types::Effects::ReadOnly => Effects::ReadOnly,
            types::Effects::Idempotent => Effects::Idempotent,
            types::Effects::Once => Effects::Once,
        },
    }
}

fn want(want: types::Want) -> Want {
    let short = |text: String| cut(&text, WANT_BYTES_MAX).into_owned();
    Want { capability: short(want.capability), scope: short(want.scope), why: short(want.why) }
}
