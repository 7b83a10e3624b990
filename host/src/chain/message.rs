//! The `llm` message JSON: history in and out, kept without loss.
//!
//! A part is the JSON object it came as, read through views, so that keys and part types of a newer writer survive.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    System,
    User,
    Assistant,
    Tool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub role: Role,
    pub parts: Vec<Part>,
    /// Keys this version does not know.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// One part: `text`, `reasoning`, `tool_call`, `tool_result`, `attachment`, or a type of a newer writer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Part(pub Map<String, Value>);

/// A `tool_call` part, read.
#[derive(Clone, Copy, Debug)]
pub struct ToolCallPart<'a> {
    pub name: &'a str,
    pub arguments: &'a Value,
    /// `None` where the writer gave none or an empty one.
    pub id: Option<&'a str>,
    /// The provider ran it itself; not ours to run.
    pub server_executed: bool,
}

/// A `tool_result` part, read.
#[derive(Clone, Copy, Debug)]
pub struct ToolResultPart<'a> {
    pub name: &'a str,
    pub output: &'a str,
    pub id: Option<&'a str>,
    /// `kind: message` where the call failed.
    pub exception: Option<&'a str>,
}

impl Message {
    pub fn new(role: Role, parts: Vec<Part>) -> Self {
        Self { role, parts, extra: Map::new() }
    }

    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self::new(role, vec![Part::text(text)])
    }

    /// The text parts, one after another.
    pub fn joined_text(&self) -> String {
        self.parts.iter().filter_map(Part::as_text).collect()
    }
}

impl Part {
    pub fn text(text: impl Into<String>) -> Self {
        Self::of("text", [("text", text.into().into())])
    }

    pub fn reasoning(text: impl Into<String>) -> Self {
        Self::of("reasoning", [("text", text.into().into())])
    }

    pub fn tool_call(name: &str, arguments: Value, id: &str) -> Self {
        Self::of("tool_call", [("name", name.into()), ("arguments", arguments), ("tool_call_id", id.into())])
    }

    pub fn tool_result(name: &str, output: impl Into<String>, id: &str, exception: Option<String>) -> Self {
        let mut part = Self::of("tool_result", [("name", name.into()), ("output", output.into().into()), ("tool_call_id", id.into())]);
        if let Some(exception) = exception {
            part.0.insert("exception".into(), Value::String(exception));
        }
        part
    }

    pub fn kind(&self) -> &str {
        self.str("type").unwrap_or_default()
    }

    pub fn as_text(&self) -> Option<&str> {
        (self.kind() == "text").then(|| self.str("text")).flatten()
    }

    pub fn as_tool_call(&self) -> Option<ToolCallPart<'_>> {
        static EMPTY: Value = Value::Null;
        (self.kind() == "tool_call").then(|| ToolCallPart {
            name: self.str("name").unwrap_or_default(),
            arguments: self.0.get("arguments").unwrap_or(&EMPTY),
            id: self.str("tool_call_id").filter(|id| !id.is_empty()),
            server_executed: self.0.get("server_executed") == Some(&Value::Bool(true)),
        })
    }

    pub fn as_tool_result(&self) -> Option<ToolResultPart<'_>> {
        (self.kind() == "tool_result").then(|| ToolResultPart {
            name: self.str("name").unwrap_or_default(),
            output: self.str("output").unwrap_or_default(),
            id: self.str("tool_call_id").filter(|id| !id.is_empty()),
            exception: self.str("exception").filter(|text| !text.is_empty()),
        })
    }

    /// The history is built of these at every turn: they get their room at once.
    fn of<const KEYS: usize>(kind: &str, entries: [(&str, Value); KEYS]) -> Self {
        let mut map = Map::with_capacity(1 + KEYS);
        map.insert("type".to_owned(), kind.into());
        map.extend(entries.into_iter().map(|(key, value)| (key.to_owned(), value)));
        Self(map)
    }

    fn str(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(Value::as_str)
    }
}
