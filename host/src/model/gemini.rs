//! Gemini's `streamGenerateContent`: parts, with thought signatures that must come back where they stood.

use serde_json::{Map, Value, json};

use super::history::{self, Block};
use super::remote::{CALLS_MAX, Fault, Reading, Stage, Wire};
use super::{AskedCall, Entry, Reply, Request, excerpt, patience};
use crate::call::ToolSpec;
use crate::chain::message::Role;
use crate::event::{Usage, Verbatim};

pub const FORMAT: &str = "gemini";

/// The model's name stands in the address.
pub struct Gemini;

impl Wire for Gemini {
    fn provider(&self) -> &'static str {
        "Gemini"
    }

    fn body(&self, request: &Request<'_>) -> Value {
        let mut contents: Vec<Value> = Vec::new();
        for entry in history::conversation(request) {
            let role = if entry.message.role == Role::Assistant { "model" } else { "user" };
            add(&mut contents, role, parts(entry));
        }
        let mut body = json!({"contents": contents});
        if let Some(system) = history::system(request) {
            body["systemInstruction"] = json!({"parts": [{"text": system}]});
        }
        if !request.tools.is_empty() {
            body["tools"] = json!([{"functionDeclarations": request.tools.iter().map(tool).collect::<Vec<_>>()}]);
        }
        body
    }

    fn reading(&self) -> Box<dyn Reading> {
        Box::new(Answer::default())
    }
}

/// `parametersJsonSchema` takes JSON Schema as it is; `parameters` knows a small part of it.
fn tool(tool: &ToolSpec) -> Value {
    json!({"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.input_schema})
}

/// One content per side in turn: a person's words follow a turn's results in the same one.
fn add(contents: &mut Vec<Value>, role: &str, parts: Vec<Value>) {
    if parts.is_empty() {
        return;
    }
    match contents.last_mut() {
        Some(last) if last["role"] == role => last["parts"].as_array_mut().expect("parts are built as a list").extend(parts),
        _ => contents.push(json!({"role": role, "parts": parts})),
    }
}

fn parts(entry: &Entry) -> Vec<Value> {
    verbatim(entry).unwrap_or_else(|| history::blocks(&entry.message).map(part).collect())
}

fn part(block: Block<'_>) -> Value {
    match block {
        Block::Text(text) => json!({"text": text}),
        Block::Image { media_type, base64 } => json!({"inlineData": {"mimeType": media_type, "data": base64}}),
        Block::Call(call) => {
            let args = history::arguments_object(call.arguments);
            json!({"functionCall": {"id": call.id, "name": history::wire_name(call.name), "args": args}})
        }
        Block::Result(result) => {
            let key = if result.exception.is_some() { "error" } else { "output" };
            let response = json!({key: history::result_text(&result)});
            json!({"functionResponse": {"id": result.id, "name": history::wire_name(result.name), "response": response}})
        }
    }
}

fn verbatim(entry: &Entry) -> Option<Vec<Value>> {
    let message = history::verbatim(entry, FORMAT)?;
    let mut parts = message["parts"].as_array()?.clone();
    let calls = parts.iter_mut().filter_map(|part| part.get_mut("functionCall")?.as_object_mut()).collect();
    history::patch_calls(calls, &history::call_ids(&entry.message), "id").then_some(parts)
}

#[derive(Default)]
struct Answer {
    parts: Vec<Map<String, Value>>,
    calls: Vec<AskedCall>,
    text: String,
    reasoning: String,
    usage: Option<Usage>,
    finish: Option<String>,
}

impl Reading for Answer {
    fn take(&mut self, frame: &Value) -> Result<String, Fault> {
        if frame.get("error").is_some() {
            return Err(patience::stream_fault(frame));
        }
        if let Some(reason) = frame["promptFeedback"]["blockReason"].as_str() {
            return Err(Fault::Refused { status: 200, message: format!("the prompt was blocked ({reason})") });
        }
        if let Some(usage) = frame["usageMetadata"].as_object() {
            let count = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or_default();
            let output_tokens = count("candidatesTokenCount") + count("thoughtsTokenCount");
            self.usage = Some(Usage { input_tokens: count("promptTokenCount"), output_tokens });
        }
        let candidate = &frame["candidates"][0];
        let mut heard = String::new();
        for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
            let Some(part) = part.as_object() else { return Err(Fault::Garbled(format!("a part of another shape: {}", excerpt(part)))) };
            heard.push_str(&self.add(part)?);
        }
        if let Some(finish) = candidate["finishReason"].as_str() {
            self.finish = Some(finish.to_owned());
        }
        self.text.push_str(&heard);
        Ok(heard)
    }

    fn stage(&self) -> Stage {
        if self.finish.is_some() { Stage::Complete } else { Stage::Open }
    }

    fn reply(&mut self) -> Result<Reply, Fault> {
        let finish = self.finish.as_deref().unwrap_or("none");
        // The model stumbled over a call; the next try is another answer.
        if finish == "MALFORMED_FUNCTION_CALL" && self.calls.is_empty() {
            return Err(Fault::Broken("the model wrote a call that Gemini could not read".into()));
        }
        if self.text.is_empty() && self.calls.is_empty() && finish != "STOP" {
            return Err(Fault::Garbled(format!("an empty answer (finish reason `{finish}`)")));
        }
        let message = json!({"role": "model", "parts": std::mem::take(&mut self.parts)});
        Ok(Reply {
            text: std::mem::take(&mut self.text),
            reasoning: std::mem::take(&mut self.reasoning),
            calls: std::mem::take(&mut self.calls),
            verbatim: Some(Verbatim { format: FORMAT.into(), message }),
            usage: self.usage,
        })
    }
}

impl Answer {
    fn add(&mut self, part: &Map<String, Value>) -> Result<String, Fault> {
        if let Some(call) = part.get("functionCall") {
            if self.calls.len() == CALLS_MAX {
                return Err(Fault::Garbled(format!("more than {CALLS_MAX} tool calls")));
            }
            let arguments = call.get("args").filter(|args| !args.is_null()).map(Value::to_string).unwrap_or_default();
            let name = call["name"].as_str().unwrap_or_default().to_owned();
            self.calls.push(AskedCall { id: call["id"].as_str().map(str::to_owned), name, arguments });
        }
        let thought = part.get("thought") == Some(&Value::Bool(true));
        let text = part.get("text").and_then(Value::as_str).unwrap_or_default();
        self.keep(part, thought);
        if thought {
            self.reasoning.push_str(text);
            return Ok(String::new());
        }
        Ok(text.to_owned())
    }

    /// Pieces of one text become one part. A part with a signature is never merged: it must come back where it stood.
    fn keep(&mut self, part: &Map<String, Value>, thought: bool) {
        let plain = |part: &Map<String, Value>| part.keys().all(|key| key == "text" || key == "thought");
        if let Some(last) = self.parts.last_mut()
            && plain(last)
            && plain(part)
            && (last.get("thought") == Some(&Value::Bool(true))) == thought
            && let (Some(Value::String(text)), Some(more)) = (last.get_mut("text"), part.get("text").and_then(Value::as_str))
        {
            text.push_str(more);
            return;
        }
        self.parts.push(part.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, asked, read};
    use super::*;

    fn body(request: Request<'_>) -> Value {
        Gemini.body(&request)
    }

    #[test]
    fn the_results_of_a_turn_are_one_content_and_schemas_go_as_they_are() {
        let history = testing::two_calls(None);
        let tools = testing::tools();
        assert_eq!(
            body(Request { calls_before: 1, system: None, history: &history, tools: &tools }),
            json!({
                "contents": [
                    {"role": "user", "parts": [{"text": "go"}]},
                    {"role": "model", "parts": [
                        {"text": "Looking."},
                        {"functionCall": {"id": "a", "name": "files__list", "args": {"path": "b"}}},
                        {"functionCall": {"id": "tc_2", "name": "no_such_tool", "args": {"_raw": "{\"pa"}}},
                    ]},
                    {"role": "user", "parts": [
                        {"functionResponse": {"id": "a", "name": "files__list", "response": {"output": "one"}}},
                        {"functionResponse": {"id": "tc_2", "name": "no_such_tool", "response": {"error": "{\"error\":1}"}}},
                        {"text": "and now?"},
                    ]},
                ],
                "systemInstruction": {"parts": [{"text": "Imported."}]},
                "tools": [{"functionDeclarations": [{
                    "name": "files__list",
                    "description": "Lists a folder",
                    "parametersJsonSchema": {"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}},
                }]}],
            })
        );
    }

    #[test]
    fn signatures_come_back_where_they_stood() {
        let own = json!({"role": "model", "parts": [
            {"text": "hm", "thought": true},
            {"functionCall": {"name": "files__list", "args": {}}, "thoughtSignature": "s"},
            {"functionCall": {"name": "no such tool", "args": {}}},
        ]});
        assert_eq!(
            body(testing::request(&testing::two_calls(Some((FORMAT, own)))))["contents"][1]["parts"],
            json!([
                {"text": "hm", "thought": true},
                {"functionCall": {"name": "files__list", "args": {}, "id": "a"}, "thoughtSignature": "s"},
                {"functionCall": {"name": "no_such_tool", "args": {}, "id": "tc_2"}},
            ])
        );
    }

    #[test]
    fn parts_come_together_and_keep_their_signatures() {
        let frame = |parts: Value| json!({"candidates": [{"content": {"role": "model", "parts": parts}}]});
        let reply = read(
            Box::new(Answer::default()),
            &[
                frame(json!([{"text": "I ", "thought": true}])),
                frame(json!([{"text": "think", "thought": true}, {"text": "Look"}])),
                frame(json!([{"text": "ing"}])),
                frame(json!([{"functionCall": {"name": "t", "args": {"a": 1}}, "thoughtSignature": "s"}, {"functionCall": {"name": "u", "id": "x"}}])),
                frame(json!([{"text": "", "thoughtSignature": "end"}])),
                json!({"candidates": [{"finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 2, "thoughtsTokenCount": 1}}),
            ],
        )
        .unwrap();
        let parts = json!([
            {"text": "I think", "thought": true},
            {"text": "Looking"},
            {"functionCall": {"name": "t", "args": {"a": 1}}, "thoughtSignature": "s"},
            {"functionCall": {"name": "u", "id": "x"}},
            {"text": "", "thoughtSignature": "end"},
        ]);
        assert_eq!(
            reply,
            Reply {
                text: "Looking".into(),
                reasoning: "I think".into(),
                calls: vec![asked(None, "t", "{\"a\":1}"), asked(Some("x"), "u", "")],
                verbatim: Some(Verbatim { format: FORMAT.into(), message: json!({"role": "model", "parts": parts}) }),
                usage: Some(Usage { input_tokens: 7, output_tokens: 3 }),
            }
        );
    }

    #[test]
    fn what_was_blocked_is_said() {
        let check = |frame: Value| read(Box::new(Answer::default()), &[frame]).unwrap_err();
        assert_eq!(
            check(json!({"promptFeedback": {"blockReason": "SAFETY"}})),
            r#"Refused { status: 200, message: "the prompt was blocked (SAFETY)" }"#
        );
        assert_eq!(
            check(json!({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]})),
            r#"Broken("the model wrote a call that Gemini could not read")"#
        );
        assert_eq!(check(json!({"candidates": [{"finishReason": "SAFETY"}]})), r#"Garbled("an empty answer (finish reason `SAFETY`)")"#);
        assert_eq!(check(json!({"candidates": [{"content": {"parts": [{"text": "half"}]}}]})), "open");
        assert_eq!(
            check(json!({"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}})),
            r#"Away { message: "503: busy", wait: None }"#
        );
    }
}
