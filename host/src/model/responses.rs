//! OpenAI's Responses, kept on our side: nothing is stored there, reasoning comes back to us encrypted.

use serde_json::{Value, json};

use super::history::{self, Block};
use super::remote::{Reading, Wire};
use super::{Entry, Request};
use crate::call::ToolSpec;
use crate::chain::message::Role;

mod stream;

pub const FORMAT: &str = "openai-responses";

pub struct Responses {
    pub model: String,
}

impl Wire for Responses {
    fn provider(&self) -> &'static str {
        "OpenAI"
    }

    fn body(&self, request: &Request<'_>) -> Value {
        let input: Vec<Value> = history::conversation(request).flat_map(items).collect();
        let mut body = json!({
            "model": self.model,
            "input": input,
            "stream": true,
            "store": false,
        });
        if reasons(&self.model) {
            body["include"] = json!(["reasoning.encrypted_content"]);
        }
        if let Some(system) = history::system(request) {
            body["instructions"] = system.into();
        }
        if !request.tools.is_empty() {
            body["tools"] = request.tools.iter().map(tool).collect();
        }
        body
    }

    fn reading(&self) -> Box<dyn Reading> {
        Box::new(stream::Answer::default())
    }
}

/// Models that do not reason refuse to be asked for encrypted reasoning.
fn reasons(model: &str) -> bool {
    !["gpt-3", "gpt-4", "chatgpt-"].iter().any(|family| model.contains(family))
}

/// Not strict: that mode takes only schemas in which every property is required.
fn tool(tool: &ToolSpec) -> Value {
    json!({"type": "function", "name": tool.name, "description": tool.description, "parameters": tool.input_schema, "strict": false})
}

fn items(entry: &Entry) -> Vec<Value> {
    if let Some(items) = verbatim(entry) {
        return items;
    }
    let (role, text_type) = match entry.message.role {
        Role::Assistant => ("assistant", "output_text"),
        _ => ("user", "input_text"),
    };
    let (mut items, mut content) = (Vec::new(), Vec::new());
    for block in history::blocks(&entry.message) {
        match block {
            Block::Text(text) => content.push(json!({"type": text_type, "text": text})),
            Block::Image { media_type, base64 } => {
                content.push(json!({"type": "input_image", "image_url": format!("data:{media_type};base64,{base64}")}));
            }
            Block::Call(call) => items.push(json!({
                "type": "function_call",
                "call_id": call.id.unwrap_or_default(),
                "name": history::wire_name(call.name),
                "arguments": history::arguments_text(call.arguments),
            })),
            Block::Result(result) => items.push(json!({
                "type": "function_call_output",
                "call_id": result.id.unwrap_or_default(),
                "output": history::result_text(&result),
            })),
        }
    }
    if !content.is_empty() {
        let message = json!({"type": "message", "role": role, "content": content});
        // A person's words stand after results, the model's before its calls.
        let place = if role == "assistant" { 0 } else { items.len() };
        items.insert(place, message);
    }
    items
}

fn verbatim(entry: &Entry) -> Option<Vec<Value>> {
    let mut items = history::verbatim(entry, FORMAT)?.as_array()?.clone();
    let calls =
        items.iter_mut().filter_map(Value::as_object_mut).filter(|item| item.get("type").is_some_and(|kind| kind == "function_call")).collect();
    history::patch_calls(calls, &history::call_ids(&entry.message), "call_id").then_some(items)
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    fn body(request: Request<'_>) -> Value {
        Responses { model: "gpt-x".into() }.body(&request)
    }

    #[test]
    fn a_turn_is_its_calls_and_their_outputs_in_the_order_asked() {
        let history = testing::two_calls(None);
        let tools = testing::tools();
        assert_eq!(
            body(Request { calls_before: 1, system: Some("Be brief."), history: &history, tools: &tools }),
            json!({
                "model": "gpt-x",
                "input": [
                    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
                    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Looking."}]},
                    {"type": "function_call", "call_id": "a", "name": "files__list", "arguments": "{\"path\":\"b\"}"},
                    {"type": "function_call", "call_id": "tc_2", "name": "no_such_tool", "arguments": "{\"pa"},
                    {"type": "function_call_output", "call_id": "a", "output": "one"},
                    {"type": "function_call_output", "call_id": "tc_2", "output": "{\"error\":1}"},
                    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "and now?"}]},
                ],
                "stream": true,
                "store": false,
                "include": ["reasoning.encrypted_content"],
                "instructions": "Be brief.\n\nImported.",
                "tools": [{
                    "type": "function",
                    "name": "files__list",
                    "description": "Lists a folder",
                    "parameters": {"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}},
                    "strict": false,
                }],
            })
        );
    }

    #[test]
    fn reasoning_is_asked_of_models_that_reason() {
        let include = |model: &str| Responses { model: model.into() }.body(&testing::request(&[])).get("include").is_some();
        assert_eq!(["o3", "gpt-5", "gpt-4.1", "ft:gpt-4o:me"].map(include), [true, true, false, false]);
    }

    #[test]
    fn reasoning_goes_back_unchanged() {
        let reasoning = json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"});
        let call = |id: &str, name: &str| json!({"type": "function_call", "id": "fc_1", "call_id": id, "name": name, "arguments": "{\"pa"});
        let own = json!([reasoning, call("a", "files__list"), call("a", "no such tool")]);
        let input = body(testing::request(&testing::two_calls(Some((FORMAT, own)))))["input"].clone();
        assert_eq!(input.as_array().unwrap()[1..4], [reasoning, call("a", "files__list"), call("tc_2", "no_such_tool")]);
    }
}
