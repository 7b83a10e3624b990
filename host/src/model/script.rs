//! `script:FILE`: recorded turns in a model's place, for runs that need no key and for tests.
//!
//! Which turn comes next is the chain's own count of model calls, so a script goes on in any process. What stands in
//! the file is said as it stands: ids may repeat or be missing, arguments may be text that is no JSON.

use std::io::ErrorKind;
use std::path::Path;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{AskedCall, Model, ModelError, Reply, Request};
use crate::call::arguments;
use crate::file;

/// A script is read whole; a bigger file is a mistake.
pub const BYTES_MAX: u64 = 32 << 20;
/// Nesting: that of arguments, and what stands around them.
const DEPTH_MAX: usize = arguments::DEPTH_MAX + 5;

/// The file, and what `--record` writes. Unknown keys are refused: a misspelt one would be an empty turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turns {
    pub turns: Vec<Turn>,
}

/// One model response.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<TurnCall>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurnCall {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub name: String,
    /// A string is the model's raw text; anything else is written out as JSON.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub arguments: Value,
}

/// A model that says its turns.
#[derive(Clone, Debug)]
pub struct Script {
    name: String,
    path: String,
    turns: Vec<Turn>,
}

impl Script {
    pub fn read(path: &Path) -> Result<Self, ModelError> {
        let shown = path.display().to_string();
        let turns = Turns::read(path)?.turns;
        Ok(Self { name: format!("script:{shown}"), path: shown, turns })
    }

    /// Turns that stand in no file.
    pub fn of(name: &str, turns: Vec<Turn>) -> Self {
        Self { name: name.to_owned(), path: name.to_owned(), turns }
    }

    /// The turn for a chain that made `calls_before` model calls.
    pub fn turn(&self, calls_before: u32) -> Result<&Turn, ModelError> {
        let ended = || ModelError::ScriptEnded { path: self.path.clone(), turn: u64::from(calls_before) + 1, turns: self.turns.len() };
        self.turns.get(calls_before as usize).ok_or_else(ended)
    }
}

impl Model for Script {
    fn name(&self) -> &str {
        &self.name
    }

    /// The count of model calls says which turn it is.
    fn reads_history(&self) -> bool {
        false
    }

    fn respond<'a>(&'a self, request: Request<'a>, on_text: &'a (dyn Fn(&str) + Send + Sync)) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let reply = self.turn(request.calls_before)?.reply();
            if !reply.text.is_empty() {
                on_text(&reply.text);
            }
            Ok(reply)
        })
    }
}

impl Turns {
    /// Reads a script as strictly as arguments are read; errors name the file and the position in it.
    pub fn read(path: &Path) -> Result<Self, ModelError> {
        let path_text = || path.display().to_string();
        let text = file::read_text(path, BYTES_MAX).map_err(|error| match error.kind() {
            ErrorKind::InvalidData | ErrorKind::FileTooLarge => ModelError::Script { path: path_text(), message: error.to_string() },
            _ => ModelError::ScriptAway { path: path_text(), message: error.to_string() },
        })?;
        Self::of(&text).map_err(|message| ModelError::Script { path: path_text(), message })
    }

    fn of(text: &str) -> Result<Self, String> {
        let value = arguments::read_nested(text, DEPTH_MAX).map_err(|error| error.to_string())?;
        if !value.get("turns").is_some_and(Value::is_array) && value.as_object().is_none_or(serde_json::Map::is_empty) {
            return Err("a script is an object with `turns`, such as {\"turns\": [{\"text\": \"hello\"}]}".to_owned());
        }
        // Read anew from the text, for the place of a misspelt key.
        serde_json::from_str(text).map_err(|error| error.to_string())
    }
}

impl Turn {
    /// A last turn: text, no calls.
    pub fn text(text: &str) -> Self {
        Self { text: text.to_owned(), tool_calls: Vec::new() }
    }

    /// A turn of calls without ids.
    pub fn calls<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        let call = |(name, arguments): (&str, Value)| TurnCall { id: None, name: name.to_owned(), arguments };
        Self { text: String::new(), tool_calls: calls.into_iter().map(call).collect() }
    }

    /// What a real model said, in the script's form.
    pub fn of(reply: &Reply) -> Self {
        Self { text: reply.text.clone(), tool_calls: reply.calls.iter().map(TurnCall::of).collect() }
    }

    pub fn reply(&self) -> Reply {
        let calls = self.tool_calls.iter().map(TurnCall::asked).collect();
        Reply { text: self.text.clone(), calls, ..Reply::default() }
    }
}

impl TurnCall {
    /// An object only where it stands for exactly the same arguments; else the model's text.
    fn of(call: &AskedCall) -> Self {
        let arguments = match arguments::read(&call.arguments) {
            Ok(_) if call.arguments.trim().is_empty() => Value::Null,
            Ok(_) => serde_json::from_str(&call.arguments).unwrap_or_else(|_| Value::String(call.arguments.clone())),
            Err(_) => Value::String(call.arguments.clone()),
        };
        Self { id: call.id.clone(), name: call.name.clone(), arguments }
    }

    fn asked(&self) -> AskedCall {
        let arguments = match &self.arguments {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            value => serde_json::to_string(value).expect("values serialize"),
        };
        AskedCall { id: self.id.clone(), name: self.name.clone(), arguments }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(text: &str) -> Result<Turns, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("script.json");
        std::fs::write(&path, text).unwrap();
        Turns::read(&path).map_err(|error| match error {
            ModelError::Script { message, .. } => message,
            other => other.to_string(),
        })
    }

    #[test]
    fn what_stands_in_the_file_is_what_the_model_says() {
        let text = r#"{"turns":[{"text":"Looking","tool_calls":[
            {"id":"a","name":"files__list","arguments":{"path":"b","deep":1}},
            {"name":"files__read","arguments":"{\"path\": "},
            {"id":"","name":"files__tidy"}]}]}"#;
        let asked =
            |id: Option<&str>, name: &str, arguments: &str| AskedCall { id: id.map(str::to_owned), name: name.into(), arguments: arguments.into() };
        assert_eq!(
            check(text).unwrap().turns[0].reply(),
            Reply {
                text: "Looking".into(),
                calls: vec![
                    asked(Some("a"), "files__list", r#"{"path":"b","deep":1}"#),
                    asked(None, "files__read", r#"{"path": "#),
                    asked(Some(""), "files__tidy", ""),
                ],
                ..Reply::default()
            }
        );
    }

    #[test]
    fn a_misspelt_key_is_refused_with_its_place() {
        assert_eq!(
            check("{\"turns\":[\n  {\"txt\":\"hi\"}]}").unwrap_err(),
            "unknown field `txt`, expected `text` or `tool_calls` at line 2 column 8"
        );
        assert_eq!(check("{\"turns\":[").unwrap_err(), "EOF while parsing a list at line 1 column 10");
        for text in ["[]", "{}", "7", "null", "[[]]"] {
            assert_eq!(check(text).unwrap_err(), "a script is an object with `turns`, such as {\"turns\": [{\"text\": \"hello\"}]}", "{text}");
        }
    }

    #[test]
    fn a_key_that_stands_twice_is_refused_wherever_it_stands() {
        for (text, key) in [
            (r#"{"turns":[{"tool_calls":[{"name":"t","arguments":{"path":"/a","path":"/b"}}]}]}"#, "path"),
            (r#"{"turns":[{"tool_calls":[{"name":"t","arguments":{"x":[{"y":1,"\u0079":2}]}}]}]}"#, "y"),
            (r#"{"turns":[{"text":"a","text":"b"}]}"#, "text"),
            (r#"{"turns":[],"turns":[]}"#, "turns"),
        ] {
            let error = check(text).unwrap_err();
            assert!(error.starts_with(&format!("key `{key}` stands twice at line 1 column ")), "{error}");
        }
        let deep = |depth: usize| {
            format!(r#"{{"turns":[{{"tool_calls":[{{"name":"t","arguments":{}1{}}}]}}]}}"#, r#"{"a":"#.repeat(depth), "}".repeat(depth))
        };
        assert!(check(&deep(arguments::DEPTH_MAX)).is_ok(), "what `--record` may write is played");
        assert!(check(&deep(arguments::DEPTH_MAX + 1)).is_err());
    }

    #[test]
    fn the_missing_turn_is_named() {
        let script = Script::of("script:x", vec![Turn::text("one")]);
        assert!(script.turn(0).is_ok());
        assert_eq!(script.turn(1).unwrap_err().to_string(), "script `script:x`: turn 2 is asked for, the script has 1");
    }

    #[test]
    fn recorded_calls_say_the_same_when_played() {
        for text in ["", "{}", r#"{"a":1,"b":[true]}"#, r#"{"a":1,"a":2}"#, "{\"a\": ", "[1]", "null", "\"x\"", "7", "9007199254740993"] {
            let call = AskedCall { id: None, name: "t".into(), arguments: text.into() };
            let file = serde_json::to_string(&TurnCall::of(&call)).unwrap();
            let played = serde_json::from_str::<TurnCall>(&file).unwrap().asked();
            assert_eq!(played, call, "{file}");
        }
        let spaced = AskedCall { id: None, name: "t".into(), arguments: "{ \"a\" : 1 }".into() };
        assert_eq!(TurnCall::of(&spaced).arguments, json!({"a": 1}));
    }
}
