//! What all formats need of a history: its system text, its parts, and the provider's own message where it is ours.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::{Entry, Request};
use crate::chain::message::{Message, Part, Role, ToolCallPart, ToolResultPart};

/// A part in the few shapes that providers know.
pub enum Block<'a> {
    Text(Cow<'a, str>),
    Image { media_type: &'a str, base64: &'a str },
    Call(ToolCallPart<'a>),
    Result(ToolResultPart<'a>),
}

/// `request.system` and the system messages of an imported history, each text once.
pub fn system(request: &Request<'_>) -> Option<String> {
    let imported = request.history.iter().filter(|entry| entry.message.role == Role::System).map(|entry| entry.message.joined_text());
    let mut texts: Vec<String> = Vec::new();
    for text in request.system.map(str::to_owned).into_iter().chain(imported) {
        if !text.is_empty() && !texts.contains(&text) {
            texts.push(text);
        }
    }
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// The history without its system messages.
pub fn conversation<'a>(request: &Request<'a>) -> impl Iterator<Item = &'a Entry> + use<'a> {
    request.history.iter().filter(|entry| entry.message.role != Role::System)
}

/// The parts a provider can be told of. Reasoning in foreign words, calls that another provider ran itself, and types
/// of a newer writer are left out.
pub fn blocks(message: &Message) -> impl Iterator<Item = Block<'_>> {
    message.parts.iter().filter(|part| part.0.get("server_executed") != Some(&Value::Bool(true))).filter_map(block)
}

fn block(part: &Part) -> Option<Block<'_>> {
    if let Some(text) = part.as_text() {
        return (!text.is_empty()).then_some(Block::Text(Cow::Borrowed(text)));
    }
    if let Some(call) = part.as_tool_call() {
        return Some(Block::Call(call));
    }
    if let Some(result) = part.as_tool_result() {
        return Some(Block::Result(result));
    }
    (part.kind() == "attachment").then(|| attachment(part.0.get("attachment").unwrap_or(&Value::Null)))
}

fn attachment(attachment: &Value) -> Block<'_> {
    let media_type = attachment["type"].as_str().unwrap_or("file");
    match attachment["content"].as_str() {
        Some(base64) if !base64.is_empty() && media_type.starts_with("image/") => Block::Image { media_type, base64 },
        _ => Block::Text(Cow::Owned(format!("[attachment of type {media_type}, not shown]"))),
    }
}

/// The provider's own message where it is in `format`.
pub fn verbatim(entry: &Entry, format: &str) -> Option<Value> {
    entry.verbatim.as_ref().filter(|verbatim| verbatim.format == format).map(|verbatim| verbatim.message.clone())
}

/// The ids that results refer to, in the order asked.
pub fn call_ids(message: &Message) -> Vec<&str> {
    blocks(message).filter_map(|block| if let Block::Call(call) = block { Some(call.id.unwrap_or_default()) } else { None }).collect()
}

/// Puts our ids under `id_key` of a provider's own calls (where its ids were usable they are the same), and names it
/// accepts. False where the calls are not the same in number.
pub fn patch_calls(calls: Vec<&mut Map<String, Value>>, ids: &[&str], id_key: &str) -> bool {
    if calls.len() != ids.len() {
        return false;
    }
    for (call, id) in calls.into_iter().zip(ids) {
        call.insert(id_key.to_owned(), Value::String((*id).to_owned()));
        if call.contains_key("function") {
            call["function"].as_object_mut().map(patch_name);
        } else {
            patch_name(call);
        }
    }
    true
}

fn patch_name(call: &mut Map<String, Value>) {
    let wire = wire_name(call.get("name").and_then(Value::as_str).unwrap_or_default()).into_owned();
    call.insert("name".into(), Value::String(wire));
}

/// A tool name as providers accept it. A model may ask for any name; the answer that there is no such tool must not
/// make the provider refuse the whole history.
pub fn wire_name(name: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.len() <= 64 && name.chars().all(fits) {
        return Cow::Borrowed(name);
    }
    let wire: String = name.chars().map(|c| if fits(c) { c } else { '_' }).take(64).collect();
    Cow::Owned(if wire.is_empty() { "_".to_owned() } else { wire })
}

/// Arguments for a format that has them as text: the model's own where it was no JSON.
pub fn arguments_text(arguments: &Value) -> String {
    match arguments {
        Value::Null => "{}".to_owned(),
        Value::String(text) => text.clone(),
        Value::Object(map) if map.len() == 1 => match map.get("_raw") {
            Some(Value::String(text)) => text.clone(),
            _ => arguments.to_string(),
        },
        arguments => arguments.to_string(),
    }
}

/// Arguments for a format that has them as an object.
pub fn arguments_object(arguments: &Value) -> Value {
    match arguments {
        Value::Object(_) => arguments.clone(),
        Value::Null => json!({}),
        Value::String(text) => text_object(text),
        other => json!({"_raw": other.to_string()}),
    }
}

/// A model's text as an object; under `_raw` where it is none.
pub fn text_object(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) => Value::Object(map),
        _ if text.trim().is_empty() => json!({}),
        _ => json!({"_raw": text}),
    }
}

/// What the model reads of a result.
pub fn result_text<'a>(result: &ToolResultPart<'a>) -> &'a str {
    match result.output {
        "" => result.exception.unwrap_or_default(),
        output => output,
    }
}
