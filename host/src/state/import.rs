//! Imported history: text and results that decide nothing. A trailing unresolved call counts as newly requested.

use crate::call::{AskedCall, ToolResult, kind};
use crate::chain::message::{Message, Part, Role};

/// An imported history, taken apart.
#[derive(Debug, Default, PartialEq)]
pub struct Imported {
    /// Balanced: no call without its result.
    pub messages: Vec<Message>,
    pub trailing: Option<Trailing>,
}

/// The last assistant message, where calls of it have no result yet.
#[derive(Debug, PartialEq)]
pub struct Trailing {
    /// Without the tool calls.
    pub parts: Vec<Part>,
    /// Each with its imported result, where it has one.
    pub calls: Vec<(AskedCall, Option<ToolResult>)>,
}

#[derive(Debug, PartialEq, thiserror::Error)]
pub enum ImportError {
    #[error("message {index} of the imported history: tool call `{name}` has no result, and messages follow it")]
    Dangling { index: usize, name: String },
}

pub fn import(mut messages: Vec<Message>) -> Result<Imported, ImportError> {
    for index in 0..messages.len() {
        let results_end = index + 1 + messages[index + 1..].iter().take_while(|message| message.role == Role::Tool).count();
        let calls = pair(&messages[index], &messages[index + 1..results_end]);
        let Some((open, _)) = calls.iter().find(|(_, result)| result.is_none()) else { continue };
        if results_end < messages.len() {
            return Err(ImportError::Dangling { index, name: open.name.clone() });
        }
        let assistant = messages.drain(index..).next().expect("index is inside");
        let parts = assistant.parts.into_iter().filter(|part| !is_ours(part)).collect();
        return Ok(Imported { messages, trailing: Some(Trailing { parts, calls }) });
    }
    Ok(Imported { messages, trailing: None })
}

fn is_ours(part: &Part) -> bool {
    part.as_tool_call().is_some_and(|call| !call.server_executed)
}

/// Calls of an assistant message with their results: by id, and those without an id by name, one for one.
fn pair(assistant: &Message, results: &[Message]) -> Vec<(AskedCall, Option<ToolResult>)> {
    if assistant.role != Role::Assistant {
        return Vec::new();
    }
    let mut results: Vec<_> = results.iter().flat_map(|message| &message.parts).filter_map(Part::as_tool_result).collect();
    let calls = assistant.parts.iter().filter(|part| is_ours(part)).filter_map(Part::as_tool_call);
    calls
        .map(|call| {
            let found = results.iter().position(|result| match call.id {
                Some(id) => result.id == Some(id),
                None => result.id.is_none() && result.name == call.name,
            });
            let result = found.map(|index| results.remove(index)).map(|result| match result.exception {
                Some(_) => ToolResult::failure(kind::FAILED, result.output),
                None => ToolResult::text(result.output),
            });
            let raw = call.arguments.get("_raw").and_then(serde_json::Value::as_str);
            let arguments = raw.map_or_else(|| call.arguments.to_string(), str::to_owned);
            (AskedCall { id: call.id.map(str::to_owned), name: call.name.to_owned(), arguments }, result)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn history(value: serde_json::Value) -> Vec<Message> {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn only_trailing_unresolved_calls_are_newly_requested() {
        let assistant = json!({"role": "assistant", "parts": [
            {"type": "text", "text": "on it"},
            {"type": "tool_call", "name": "a", "arguments": {"x": 1}, "tool_call_id": "1"},
            {"type": "tool_call", "name": "b", "arguments": {"_raw": "{x"}},
            {"type": "tool_call", "name": "web", "arguments": {}, "tool_call_id": "s", "server_executed": true}]});
        let result = json!({"role": "tool", "parts": [{"type": "tool_result", "name": "a", "output": "done", "tool_call_id": "1"}]});
        let user = json!({"role": "user", "parts": [{"type": "text", "text": "go"}]});

        let imported = import(history(json!([user, assistant, result]))).unwrap();
        assert_eq!(imported.messages, history(json!([user])));
        let trailing = imported.trailing.unwrap();
        assert_eq!(trailing.calls[0].1, Some(ToolResult::text("done")));
        assert_eq!(trailing.calls[1], (AskedCall { id: None, name: "b".into(), arguments: "{x".into() }, None));
        assert_eq!(trailing.calls.len(), 2);

        let error = import(history(json!([user, assistant, result, user]))).unwrap_err();
        assert_eq!(error, ImportError::Dangling { index: 1, name: "b".into() });
    }
}
