//! What a plugin offers: as it said it, kept in the cache, and as the host takes it after checks.

use std::sync::Arc;

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
        for (index, told) in self.tools.iter().enumerate().take(TOOLS_MAX) {
            let same = |other: &ToldTool| other.name == told.name;
            let earlier = self.tools[..index].iter().any(same);
            let twice = self.tools.iter().filter(|other| same(other)).count() > 1;
            let checked = match (earlier, twice) {
                // Told of once.
                (true, _) => continue,
                (false, true) => Err("the name stands twice in the plugin".to_owned()),
                (false, false) => told.check(plugin, digest),
            };
            match checked {
                Ok(tool) => tools.push(tool),
                Err(reason) => failures.push(LoadFailure { name: format!("{plugin}__{}", cut(&told.name, 200)), reason }),
            }
        }
        if self.tools.is_empty() {
            failures.push(LoadFailure { name: plugin.to_owned(), reason: "offers no tools".to_owned() });
        }
        if self.tools.len() > TOOLS_MAX {
            let reason = format!("offers {} tools, only the first {TOOLS_MAX} are taken", self.tools.len());
            failures.push(LoadFailure { name: plugin.to_owned(), reason });
        }
        (tools, failures)
    }
}

impl ToldTool {
    /// Of a component that does not say it itself.
    pub fn adapted(name: &str, description: String, input_schema: String, effects: Effects) -> Self {
        Self { name: name.to_owned(), title: None, description, input_schema, output_schema: None, effects }
    }

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
            input_schema: input_schema.into(),
            output_schema: output.map(Arc::new),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, input_schema: &str) -> ToldTool {
        ToldTool {
            name: name.into(),
            title: None,
            description: "Does it.".into(),
            input_schema: input_schema.into(),
            output_schema: None,
            effects: Effects::Once,
        }
    }

    fn checked(tools: Vec<ToldTool>) -> (Vec<String>, Vec<(String, String)>) {
        let (tools, failures) = Told { tools, wants: Vec::new() }.check("p", &Digest::of_bytes(b""));
        let names = tools.into_iter().map(|tool| tool.spec.name).collect();
        (names, failures.into_iter().map(|failure| (failure.name, failure.reason)).collect())
    }

    const OBJECT: &str = r#"{"type":"object"}"#;

    #[test]
    fn w44_d08_a_bad_tool_is_disabled_alone() {
        let nameless = ToldTool { description: " ".into(), ..tool("silent", OBJECT) };
        let bad_output = ToldTool { output_schema: Some(r#"{"$ref":"https://evil.test/x"}"#.into()), ..tool("output", OBJECT) };
        let (names, failures) = checked(vec![
            tool("good", OBJECT),
            tool("ns:pkg/i.f", OBJECT),
            tool("twice", OBJECT),
            tool("text", r#"{"type":"string"}"#),
            tool("cut", r#"{"type":"#),
            tool("twice", OBJECT),
            tool("huge", &format!(r#"{{"type":"object","title":"{}"}}"#, "x".repeat(BYTES_MAX))),
            nameless,
            bad_output,
            tool("a-b", OBJECT),
            tool("a_b", OBJECT),
        ]);
        assert_eq!(names, ["p__good", "p__a-b", "p__a_b"]);
        let failed: Vec<_> = failures.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(failed, ["p__ns:pkg/i.f", "p__twice", "p__text", "p__cut", "p__huge", "p__silent", "p__output"]);
        assert_eq!(failures[1].1, "the name stands twice in the plugin");
        assert_eq!(failures[2].1, "the input schema must describe an object (`\"type\": \"object\"`)");
        assert!(failures[6].1.contains("evil.test"), "{}", failures[6].1);
    }

    /// limit: plugin/catalog::TOOLS_MAX
    #[test]
    fn tools_over_the_limit_are_left_out_and_told() {
        let many = |count: usize| checked((0..count).map(|number| tool(&format!("t{number}"), OBJECT)).collect());
        assert_eq!((many(TOOLS_MAX).0.len(), many(TOOLS_MAX).1.len()), (TOOLS_MAX, 0));
        let (names, failures) = many(TOOLS_MAX + 1);
        assert_eq!((names.len(), failures.len()), (TOOLS_MAX, 1));
        assert!(failures[0].1.contains("129 tools"));
    }

    /// limit: plugin/catalog::DESCRIPTION_BYTES_MAX, plugin/catalog::TITLE_BYTES_MAX
    #[test]
    fn a_long_description_or_title_is_cut() {
        let checked = |over: usize| {
            let title = Some("t".repeat(TITLE_BYTES_MAX + over));
            let long = ToldTool { title, description: "x".repeat(DESCRIPTION_BYTES_MAX + over), ..tool("long", OBJECT) };
            long.check("p", &Digest::of_bytes(b"")).ok().unwrap().spec
        };
        for over in [0, 1] {
            let (spec, cut) = (checked(over), over == 1);
            assert_eq!((spec.description.len(), spec.description.ends_with('…')), (DESCRIPTION_BYTES_MAX, cut));
            let title = spec.title.unwrap();
            assert_eq!((title.len(), title.ends_with('…')), (TITLE_BYTES_MAX, cut));
        }
    }

    /// limit: plugin/catalog::WANTS_MAX, plugin/catalog::WANT_BYTES_MAX
    #[test]
    fn wants_over_the_limit_are_left_out_and_cut() {
        let wants = |count: usize, bytes: usize| {
            let want = types::Want { capability: "fs".into(), scope: "{}".into(), why: "w".repeat(bytes) };
            Told::new(types::Catalog { tools: Vec::new(), wants: vec![want; count], meta: Vec::new() }).wants
        };
        assert_eq!((wants(WANTS_MAX, 1).len(), wants(WANTS_MAX + 1, 1).len()), (WANTS_MAX, WANTS_MAX));
        let why = |bytes: usize| wants(1, bytes).remove(0).why;
        assert_eq!(why(WANT_BYTES_MAX), "w".repeat(WANT_BYTES_MAX));
        assert!(why(WANT_BYTES_MAX + 1).len() <= WANT_BYTES_MAX && why(WANT_BYTES_MAX + 1).ends_with('…'));
    }
}
