//! One row of the table: a call, the questions it leads to, and what comes of it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub name: String,
    /// The row of the case book that it shows.
    pub about: Option<String>,
    pub tool: String,
    /// `{"repeat": TEXT, "times": N}` stands for a long text, `SERVER` for the test's web server.
    pub arguments: Value,
    #[serde(default)]
    pub asks: Vec<Asked>,
    pub expect: Expected,
    /// What a language that cannot do otherwise does instead.
    #[serde(default)]
    pub but: BTreeMap<String, Expected>,
    #[serde(default = "once")]
    pub runs: usize,
    /// A file that is there afterwards.
    pub file: Option<File>,
}

fn once() -> usize {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// These keys of the pause, with these values.
    pub pause: Value,
    /// A decision, as the library takes it.
    pub answer: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    pub name: String,
    pub text: String,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Expected {
    /// One piece, this text.
    pub text: Option<String>,
    /// A text of so many bytes.
    pub text_bytes: Option<usize>,
    /// One piece, this value.
    pub structured: Option<Value>,
    /// One piece, an object with numbers between these.
    pub structured_between: Option<BTreeMap<String, [f64; 2]>>,
    /// These pieces.
    pub content: Option<Value>,
    /// A failure with these keys.
    pub failure: Option<Value>,
    /// What the failure's message holds.
    pub says: Vec<String>,
    /// Each run gives something else.
    pub differs: bool,
}

impl Expected {
    /// What is wrong with `result`, if anything is.
    pub fn fits(&self, result: &Value) -> Result<(), String> {
        let content = &result["content"];
        let only = content.as_array().filter(|pieces| pieces.len() == 1).map_or(&Value::Null, |pieces| &pieces[0]);
        let message = result["message"].as_str().unwrap_or_default();
        let fits = self.failure.as_ref().is_none_or(|failure| result["result"] == "failure" && is_part(failure, result))
            && self.says.iter().all(|words| message.contains(words))
            && self.text.as_ref().is_none_or(|text| only["type"] == "text" && only["text"] == text.as_str())
            && self.text_bytes.is_none_or(|bytes| only["text"].as_str().is_some_and(|text| text.len() == bytes))
            && self.structured.as_ref().is_none_or(|value| only["type"] == "structured" && same(value, &only["value"]))
            && self.structured_between.as_ref().is_none_or(|bounds| between(bounds, &only["value"]))
            && self.content.as_ref().is_none_or(|pieces| result["result"] == "success" && same(pieces, content))
            && (!self.differs || result["result"] == "success");
        if fits { Ok(()) } else { Err(shortened(&result.to_string())) }
    }
}

fn between(bounds: &BTreeMap<String, [f64; 2]>, value: &Value) -> bool {
    bounds.iter().all(|(key, [least, most])| value[key].as_f64().is_some_and(|number| (*least..=*most).contains(&number)))
}

/// Whether `whole` has every key of `part`, at every depth, with the same values.
pub fn is_part(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => part.iter().all(|(key, value)| whole.get(key).is_some_and(|held| is_part(value, held))),
        _ => same(part, whole),
    }
}

/// `2` is `2.0`: JSON has one kind of number.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => same_keys(a, b) && a.iter().all(|(key, value)| same(value, &b[key])),
        _ => a == b,
    }
}

fn same_keys(a: &Map<String, Value>, b: &Map<String, Value>) -> bool {
    a.len() == b.len() && a.keys().all(|key| b.contains_key(key))
}

fn shortened(text: &str) -> String {
    const LETTERS_MAX: usize = 400;
    text.chars().take(LETTERS_MAX).collect()
}

pub fn all() -> Vec<Case> {
    serde_json::from_str(include_str!("cases.json")).expect("the cases are JSON of this form")
}
