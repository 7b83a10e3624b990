//! Ollama's chat: one JSON per line, calls without ids, arguments as objects.

use serde_json::{Map, Value, json};

use super::frames::Framing;
use super::history::{self, Block};
use super::merge::merge;
use super::remote::{CALLS_MAX, Fault, Reading, Stage, Wire};
use super::{AskedCall, Entry, Reply, Request, excerpt, patience};
use crate::call::ToolSpec;
use crate::chain::message::Role;
use crate::event::{Usage, Verbatim};

pub const FORMAT: &str = "ollama";

pub struct Ollama {
    pub model: String,
}

impl Wire for Ollama {
    fn provider(&self) -> &'static str {
        "Ollama"
    }

    fn framing(&self) -> Framing {
        Framing::JsonLines
    }

    fn body(&self, request: &Request<'_>) -> Value {
        let system = history::system(request).map(|text| json!({"role": "system", "content": text}));
        let messages: Vec<Value> = system.into_iter().chain(history::conversation(request).flat_map(messages)).collect();
        let mut body = json!({"model": self.model, "messages": messages, "stream": true});
        if !request.tools.is_empty() {
            body["tools"] = request.tools.iter().map(tool).collect();
        }
        body
    }

    fn reading(&self) -> Box<dyn Reading> {
        Box::new(Answer::default())
    }
}

fn tool(tool: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
    })
}

/// Results are matched by their order: the format has no ids.
fn messages(entry: &Entry) -> Vec<Value> {
    // Nothing in the message refers to an id of ours, so the provider's own goes back as it is.
    if let Some(message) = history::verbatim(entry, FORMAT) {
        return vec![message];
    }
    let mut messages = Vec::new();
    let (mut text, mut images, mut calls) = (String::new(), Vec::new(), Vec::new());
    for block in history::blocks(&entry.message) {
        match block {
            Block::Text(part) => text.push_str(&part),
            Block::Image { base64, .. } => images.push(base64),
            Block::Call(call) => {
                let arguments = history::arguments_object(call.arguments);
                calls.push(json!({"function": {"name": history::wire_name(call.name), "arguments": arguments}}));
            }
            Block::Result(result) => {
                let name = history::wire_name(result.name);
                messages.push(json!({"role": "tool", "tool_name": name, "content": history::result_text(&result)}));
            }
        }
    }
    if !(text.is_empty() && images.is_empty() && calls.is_empty()) {
        let role = if entry.message.role == Role::Assistant { "assistant" } else { "user" };
        let mut message = json!({"role": role, "content": text});
        if !images.is_empty() {
            message["images"] = images.into();
        }
        if !calls.is_empty() {
            message["tool_calls"] = calls.into();
        }
        messages.push(message);
    }
    messages
}

#[derive(Default)]
struct Answer {
    message: Map<String, Value>,
    calls: Vec<Value>,
    text: String,
    usage: Option<Usage>,
    done: Option<String>,
}

impl Reading for Answer {
    fn take(&mut self, frame: &Value) -> Result<String, Fault> {
        if let Some(error) = frame.get("error") {
            return Err(Fault::Away { message: patience::error_message(frame).map_or_else(|| excerpt(error), super::excerpt_text), wait: None });
        }
        let Some(done) = frame.get("done").and_then(Value::as_bool) else {
            return Err(Fault::Garbled(format!("no chat message: {}", excerpt(frame))));
        };
        let mut heard = String::new();
        if let Some(mut message) = frame["message"].as_object().cloned() {
            if let Some(Value::Array(calls)) = message.shift_remove("tool_calls") {
                self.calls.extend(calls);
            }
            heard = message.get("content").and_then(Value::as_str).unwrap_or_default().to_owned();
            merge(&mut self.message, message);
        }
        if self.calls.len() > CALLS_MAX {
            return Err(Fault::Garbled(format!("more than {CALLS_MAX} tool calls")));
        }
        if done {
            let count = |key: &str| frame[key].as_u64().unwrap_or_default();
            self.usage = Some(Usage { input_tokens: count("prompt_eval_count"), output_tokens: count("eval_count") });
            self.done = Some(frame["done_reason"].as_str().unwrap_or("stop").to_owned());
        }
        self.text.push_str(&heard);
        Ok(heard)
    }

    fn stage(&self) -> Stage {
        if self.done.is_some() { Stage::Ended } else { Stage::Open }
    }

    fn reply(&mut self) -> Result<Reply, Fault> {
        let done = self.done.as_deref().unwrap_or("none");
        if self.text.is_empty() && self.calls.is_empty() && done != "stop" {
            return Err(Fault::Garbled(format!("an empty answer (done reason `{done}`)")));
        }
        let mut message = std::mem::take(&mut self.message);
        message.insert("role".into(), "assistant".into());
        message.entry("content").or_insert_with(|| "".into());
        let calls = self.calls.iter().map(asked).collect();
        if !self.calls.is_empty() {
            message.insert("tool_calls".into(), std::mem::take(&mut self.calls).into());
        }
        Ok(Reply {
            text: std::mem::take(&mut self.text),
            reasoning: message.get("thinking").and_then(Value::as_str).unwrap_or_default().to_owned(),
            calls,
            verbatim: Some(Verbatim { format: FORMAT.into(), message: message.into() }),
            usage: self.usage,
        })
    }
}

fn asked(call: &Value) -> AskedCall {
    let arguments = match &call["function"]["arguments"] {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        arguments => arguments.to_string(),
    };
    AskedCall { id: call["id"].as_str().map(str::to_owned), name: call["function"]["name"].as_str().unwrap_or_default().to_owned(), arguments }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, asked, read};
    use super::*;

    fn messages(history: &[Entry]) -> Value {
        Ollama { model: "llama-x".into() }.body(&testing::request(history))["messages"].clone()
    }

    #[test]
    fn results_stand_in_the_order_asked_with_the_names_of_their_tools() {
        assert_eq!(
            messages(&testing::two_calls(None)),
            json!([
                {"role": "system", "content": "Imported."},
                {"role": "user", "content": "go"},
                {"role": "assistant", "content": "Looking.", "tool_calls": [
                    {"function": {"name": "files__list", "arguments": {"path": "b"}}},
                    {"function": {"name": "no_such_tool", "arguments": {"_raw": "{\"pa"}}},
                ]},
                {"role": "tool", "tool_name": "files__list", "content": "one"},
                {"role": "tool", "tool_name": "no_such_tool", "content": "{\"error\":1}"},
                {"role": "user", "content": "and now?"},
            ])
        );
        let own = json!({"role": "assistant", "content": "", "thinking": "hm", "tool_calls": []});
        assert_eq!(messages(&testing::two_calls(Some((FORMAT, own.clone()))))[2], own);
    }

    #[test]
    fn lines_come_together() {
        let call = |path: &str| json!({"function": {"name": "files__list", "arguments": {"path": path}}});
        let line = |message: Value| json!({"message": message, "done": false});
        let reply = read(
            Box::new(Answer::default()),
            &[
                line(json!({"role": "assistant", "content": "", "thinking": "I "})),
                line(json!({"role": "assistant", "content": "Look", "thinking": "think"})),
                line(json!({"role": "assistant", "content": "ing", "tool_calls": [call("b")]})),
                line(json!({"role": "assistant", "content": "", "tool_calls": [call("a")]})),
                json!({"done": true, "done_reason": "stop", "prompt_eval_count": 7, "eval_count": 3}),
            ],
        )
        .unwrap();
        let message = json!({"role": "assistant", "content": "Looking", "thinking": "I think", "tool_calls": [call("b"), call("a")]});
        assert_eq!(
            reply,
            Reply {
                text: "Looking".into(),
                reasoning: "I think".into(),
                calls: vec![asked(None, "files__list", "{\"path\":\"b\"}"), asked(None, "files__list", "{\"path\":\"a\"}")],
                verbatim: Some(Verbatim { format: FORMAT.into(), message }),
                usage: Some(Usage { input_tokens: 7, output_tokens: 3 }),
            }
        );
    }

    #[test]
    fn what_is_no_chat_is_no_answer() {
        let check = |frame: Value| read(Box::new(Answer::default()), &[frame]).unwrap_err();
        assert_eq!(check(json!({"error": "out of memory"})), r#"Away { message: "out of memory", wait: None }"#);
        assert_eq!(check(json!({"hello": 1})), r#"Garbled("no chat message: {\"hello\":1}")"#);
        assert_eq!(check(json!({"message": {"content": "half"}, "done": false})), "open");
        assert_eq!(check(json!({"done": true, "done_reason": "length"})), r#"Garbled("an empty answer (done reason `length`)")"#);
    }
}
