//! OpenAI's Chat Completions, which most compatible servers speak.

use serde_json::{Value, json};

use super::history::{self, Block};
use super::remote::{Reading, Wire};
use super::{Entry, Request};
use crate::call::ToolSpec;

mod stream;

pub const FORMAT: &str = "openai-chat";

pub struct Chat {
    pub model: String,
}

impl Wire for Chat {
    fn provider(&self) -> &'static str {
        "OpenAI"
    }

    fn body(&self, request: &Request<'_>) -> Value {
        let system = history::system(request).map(|text| json!({"role": "system", "content": text}));
        let messages: Vec<Value> = system.into_iter().chain(history::conversation(request).flat_map(messages)).collect();
        let mut body = json!({
            "model": self.model,
            "messages": messages,
            "stream": true,
            "stream_options": {"include_usage": true},
        });
        if !request.tools.is_empty() {
            body["tools"] = request.tools.iter().map(tool).collect();
        }
        body
    }

    fn reading(&self) -> Box<dyn Reading> {
        Box::new(stream::Answer::default())
    }
}

fn tool(tool: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
    })
}

fn messages(entry: &Entry) -> Vec<Value> {
    if let Some(message) = verbatim(entry) {
        return vec![message];
    }
    let mut messages = Vec::new();
    let (mut content, mut calls) = (Vec::new(), Vec::new());
    for block in history::blocks(&entry.message) {
        match block {
            Block::Text(text) => content.push(json!({"type": "text", "text": text})),
            Block::Image { media_type, base64 } => {
                content.push(json!({"type": "image_url", "image_url": {"url": format!("data:{media_type};base64,{base64}")}}));
            }
            Block::Call(call) => calls.push(json!({
                "id": call.id.unwrap_or_default(),
                "type": "function",
                "function": {"name": history::wire_name(call.name), "arguments": history::arguments_text(call.arguments)},
            })),
            Block::Result(result) => {
                let id = result.id.unwrap_or_default();
                messages.push(json!({"role": "tool", "tool_call_id": id, "content": history::result_text(&result)}));
            }
        }
    }
    if !calls.is_empty() {
        messages.push(json!({"role": "assistant", "content": plain(content), "tool_calls": calls}));
    } else if !content.is_empty() {
        let role = if entry.message.role == crate::chain::message::Role::Assistant { "assistant" } else { "user" };
        messages.push(json!({"role": role, "content": plain(content)}));
    }
    messages
}

/// Text alone as one string, which every compatible server reads.
fn plain(content: Vec<Value>) -> Value {
    match content.iter().map(|part| part["text"].as_str()).collect::<Option<String>>() {
        Some(text) if text.is_empty() => Value::Null,
        Some(text) => Value::String(text),
        None => Value::Array(content),
    }
}

fn verbatim(entry: &Entry) -> Option<Value> {
    let mut message = history::verbatim(entry, FORMAT)?;
    let ids = history::call_ids(&entry.message);
    let calls = match message.get_mut("tool_calls").and_then(Value::as_array_mut) {
        Some(calls) => calls.iter_mut().filter_map(Value::as_object_mut).collect(),
        None => Vec::new(),
    };
    history::patch_calls(calls, &ids, "id").then_some(message)
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    fn body(request: Request<'_>) -> Value {
        Chat { model: "gpt-x".into() }.body(&request)
    }

    #[test]
    fn a_turn_goes_back_with_one_message_per_result_in_the_order_asked() {
        let history = testing::two_calls(None);
        let tools = testing::tools();
        let body = body(Request { calls_before: 1, system: Some("Be brief."), history: &history, tools: &tools });
        assert_eq!(
            body,
            json!({
                "model": "gpt-x",
                "messages": [
                    {"role": "system", "content": "Be brief.\n\nImported."},
                    {"role": "user", "content": "go"},
                    {"role": "assistant", "content": "Looking.", "tool_calls": [
                        {"id": "a", "type": "function", "function": {"name": "files__list", "arguments": "{\"path\":\"b\"}"}},
                        {"id": "tc_2", "type": "function", "function": {"name": "no_such_tool", "arguments": "{\"pa"}},
                    ]},
                    {"role": "tool", "tool_call_id": "a", "content": "one"},
                    {"role": "tool", "tool_call_id": "tc_2", "content": "{\"error\":1}"},
                    {"role": "user", "content": "and now?"},
                ],
                "stream": true,
                "stream_options": {"include_usage": true},
                "tools": [{"type": "function", "function": {
                    "name": "files__list",
                    "description": "Lists a folder",
                    "parameters": {"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}},
                }}],
            })
        );
    }

    #[test]
    fn the_providers_own_message_goes_back_with_the_ids_that_results_name() {
        let own = json!({"role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "files__list", "arguments": "{ \"path\": \"b\" }"}, "extra_content": {"google": {"thought_signature": "s"}}},
            {"id": "a", "type": "function", "function": {"name": "no such tool", "arguments": "{\"pa"}},
        ]});
        let mut sent = own.clone();
        sent["tool_calls"][1]["id"] = "tc_2".into();
        sent["tool_calls"][1]["function"]["name"] = "no_such_tool".into();
        let history = testing::two_calls(Some((FORMAT, own.clone())));
        assert_eq!(body(testing::request(&history))["messages"][2], sent);
        // Another provider's message, or one with other calls, is told in our words.
        for foreign in [("anthropic", own), (FORMAT, json!({"role": "assistant", "content": "no calls"}))] {
            let history = testing::two_calls(Some(foreign));
            assert_eq!(body(testing::request(&history))["messages"][2]["content"], "Looking.");
        }
    }

    #[test]
    fn without_tools_none_are_named() {
        assert_eq!(body(testing::request(&[])).get("tools"), None);
    }
}
