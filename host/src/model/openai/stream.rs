//! A Chat Completions answer as it streams in.

use serde_json::{Map, Value};

use super::FORMAT;
use crate::event::{Usage, Verbatim};
use crate::model::merge::merge;
use crate::model::remote::{CALLS_MAX, Fault, Reading, Stage};
use crate::model::{AskedCall, Reply, excerpt, patience};

#[derive(Default)]
pub struct Answer {
    message: Map<String, Value>,
    calls: Vec<Call>,
    text: String,
    reasoning: String,
    usage: Option<Usage>,
    finish: Option<String>,
    choices: usize,
    ended: bool,
}

#[derive(Default)]
struct Call {
    index: Option<u64>,
    value: Map<String, Value>,
}

impl Reading for Answer {
    fn take(&mut self, frame: &Value) -> Result<String, Fault> {
        if frame.is_null() {
            self.ended = true;
            return Ok(String::new());
        }
        if frame.get("error").is_some_and(|error| !error.is_null()) {
            return Err(patience::stream_fault(frame));
        }
        if let Some(usage) = frame["usage"].as_object() {
            let count = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or_default();
            self.usage = Some(Usage { input_tokens: count("prompt_tokens"), output_tokens: count("completion_tokens") });
        }
        let Some(choices) = frame.get("choices").and_then(Value::as_array) else {
            // Azure and others begin with frames of their own; an answer of another shape has no end mark.
            return Ok(String::new());
        };
        // One answer is asked for; a second choice would be mixed into it.
        let Some(choice) = choices.iter().find(|choice| choice["index"].as_u64().unwrap_or(0) == 0) else { return Ok(String::new()) };
        self.choices += 1;
        let heard = match choice.get("delta").and_then(Value::as_object) {
            Some(delta) => self.add(delta.clone())?,
            None => String::new(),
        };
        if let Some(finish) = choice["finish_reason"].as_str() {
            self.finish = Some(finish.to_owned());
        }
        Ok(heard)
    }

    fn stage(&self) -> Stage {
        match (self.ended, &self.finish) {
            (true, _) => Stage::Ended,
            (false, Some(_)) => Stage::Complete,
            (false, None) => Stage::Open,
        }
    }

    fn reply(&mut self) -> Result<Reply, Fault> {
        let calls: Vec<_> = self.calls.iter().map(Call::asked).collect();
        if self.choices == 0 || (calls.is_empty() && self.text.is_empty() && self.finish.as_deref().is_some_and(|finish| finish != "stop")) {
            return Err(Fault::Garbled(format!("an empty answer (finish reason `{}`)", self.finish.as_deref().unwrap_or("none"))));
        }
        let mut message = std::mem::take(&mut self.message);
        message.insert("role".into(), "assistant".into());
        // Without calls, a message without content is refused.
        message.entry("content").or_insert_with(|| if calls.is_empty() { "".into() } else { Value::Null });
        if !self.calls.is_empty() {
            let values = self.calls.drain(..).map(|call| Value::Object(call.value)).collect();
            message.insert("tool_calls".into(), Value::Array(values));
        }
        Ok(Reply {
            text: std::mem::take(&mut self.text),
            reasoning: std::mem::take(&mut self.reasoning),
            calls,
            verbatim: Some(Verbatim { format: FORMAT.into(), message: Value::Object(message) }),
            usage: self.usage,
        })
    }
}

impl Answer {
    fn add(&mut self, mut delta: Map<String, Value>) -> Result<String, Fault> {
        if let Some(Value::Array(calls)) = delta.shift_remove("tool_calls") {
            for call in calls {
                match call {
                    Value::Object(call) => self.add_call(call)?,
                    other => return Err(Fault::Garbled(format!("a tool call that is no object: {}", excerpt(&other)))),
                }
            }
        }
        let mut heard = delta.get("content").map(text).unwrap_or_default();
        heard.push_str(delta.get("refusal").and_then(Value::as_str).unwrap_or_default());
        for key in ["reasoning_content", "reasoning"] {
            if let Some(text) = delta.get(key).and_then(Value::as_str) {
                self.reasoning.push_str(text);
                break;
            }
        }
        merge(&mut self.message, delta);
        self.text.push_str(&heard);
        Ok(heard)
    }

    fn add_call(&mut self, mut piece: Map<String, Value>) -> Result<(), Fault> {
        let index = piece.shift_remove("index").as_ref().and_then(Value::as_u64);
        let name = piece.get("function").and_then(|function| function.get("name"));
        if name.is_some_and(|name| !name.is_string() && !name.is_null()) {
            return Err(Fault::Garbled(format!("a tool call of another shape: {}", excerpt(&Value::Object(piece)))));
        }
        // Some servers send the arguments as an object.
        if let Some(arguments) = piece.get_mut("function").and_then(|function| function.get_mut("arguments"))
            && (arguments.is_object() || arguments.is_array())
        {
            *arguments = Value::String(arguments.to_string());
        }
        let place = self.calls.iter().rposition(|call| index.is_none() || call.index == index).filter(|place| !self.calls[*place].ended_by(&piece));
        match place {
            Some(place) => merge(&mut self.calls[place].value, piece),
            None if self.calls.len() == CALLS_MAX => return Err(Fault::Garbled(format!("more than {CALLS_MAX} tool calls"))),
            None => self.calls.push(Call { index, value: piece }),
        }
        Ok(())
    }
}

impl Call {
    /// Whether `piece` begins another call, though it names the same place: servers exist that give every parallel
    /// call the index 0, or none.
    fn ended_by(&self, piece: &Map<String, Value>) -> bool {
        let other_id =
            piece.get("id").and_then(Value::as_str).is_some_and(|id| !id.is_empty() && self.id().is_some_and(|own| own != id && !own.is_empty()));
        let function = |key: &str| piece.get("function").and_then(|function| function.get(key)).and_then(Value::as_str).unwrap_or_default();
        let whole =
            !function("name").is_empty() && !function("arguments").is_empty() && serde_json::from_str::<Value>(self.function("arguments")).is_ok();
        other_id || whole
    }

    fn id(&self) -> Option<&str> {
        self.value.get("id").and_then(Value::as_str)
    }

    fn function(&self, key: &str) -> &str {
        self.value.get("function").and_then(|function| function.get(key)).and_then(Value::as_str).unwrap_or_default()
    }

    fn asked(&self) -> AskedCall {
        AskedCall { id: self.id().map(str::to_owned), name: self.function("name").to_owned(), arguments: self.function("arguments").to_owned() }
    }
}

/// Text of a string, or of a list of parts.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::{asked, read};
    use serde_json::json;

    fn answer(frames: &[Value]) -> Result<Reply, String> {
        read(Box::new(Answer::default()), frames)
    }

    fn delta(delta: Value) -> Value {
        json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
    }

    fn end(reason: &str) -> Value {
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    }

    #[test]
    fn text_calls_and_foreign_keys_come_together() {
        let reply = answer(&[
            delta(json!({"role": "assistant", "content": ""})),
            delta(json!({"reasoning_content": "I "})),
            delta(json!({"reasoning_content": "think"})),
            delta(json!({"content": "Look"})),
            delta(json!({"content": "ing"})),
            delta(json!({"tool_calls": [{"index": 0, "id": "a", "type": "function", "function": {"name": "files__list", "arguments": ""}, "extra_content": {"s": "x"}}]})),
            delta(json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"pa"}}, {"index": 1, "id": "b", "type": "function", "function": {"name": "t", "arguments": ""}}]})),
            delta(json!({"tool_calls": [{"index": 1, "function": {"arguments": "{bad"}}, {"index": 0, "function": {"arguments": "th\":1}"}}]})),
            end("tool_calls"),
            json!({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}),
            Value::Null,
        ])
        .unwrap();
        let message = json!({
            "role": "assistant", "content": "Looking", "reasoning_content": "I think",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "files__list", "arguments": "{\"path\":1}"}, "extra_content": {"s": "x"}},
                {"id": "b", "type": "function", "function": {"name": "t", "arguments": "{bad"}},
            ],
        });
        assert_eq!(
            reply,
            Reply {
                text: "Looking".into(),
                reasoning: "I think".into(),
                calls: vec![asked(Some("a"), "files__list", "{\"path\":1}"), asked(Some("b"), "t", "{bad")],
                verbatim: Some(Verbatim { format: FORMAT.into(), message }),
                usage: Some(Usage { input_tokens: 7, output_tokens: 3 }),
            }
        );
    }

    #[test]
    fn calls_with_one_id_or_one_index_stay_apart() {
        let call = |index: Option<u64>, id: Option<&str>, arguments: &str| {
            let mut call = json!({"type": "function", "function": {"name": "t", "arguments": arguments}});
            if let Some(index) = index {
                call["index"] = index.into();
            }
            if let Some(id) = id {
                call["id"] = id.into();
            }
            call
        };
        let check = |calls: [Value; 3]| {
            let reply = answer(&[delta(json!({"tool_calls": calls})), end("tool_calls"), Value::Null]).unwrap();
            reply.calls.iter().map(|call| format!("{} {}", call.id.as_deref().unwrap_or("-"), call.arguments)).collect::<Vec<_>>()
        };
        assert_eq!(check([call(Some(0), Some("x"), "{}"), call(Some(1), Some("x"), "{}"), call(Some(2), Some("x"), "{}")]), ["x {}", "x {}", "x {}"]);
        assert_eq!(
            check([call(Some(0), Some("x"), "{}"), call(Some(0), Some("y"), "{}"), call(Some(0), Some("y"), "[1]")]),
            ["x {}", "y {}", "y [1]"]
        );
        assert_eq!(check([call(None, None, "{}"), call(None, Some(""), "{}"), call(None, None, "7")]), ["- {}", " {}", "- 7"]);
    }

    #[test]
    fn an_answer_without_its_end_is_no_answer() {
        assert_eq!(answer(&[delta(json!({"content": "half"}))]).unwrap_err(), "open");
        let empty = answer(&[delta(json!({"content": null, "function_call": null})), end("stop")]).unwrap();
        assert_eq!(empty.verbatim.unwrap().message, json!({"role": "assistant", "content": ""}));
        assert_eq!(answer(&[end("length"), Value::Null]).unwrap_err(), r#"Garbled("an empty answer (finish reason `length`)")"#);
        assert_eq!(answer(&[Value::Null]).unwrap_err(), r#"Garbled("an empty answer (finish reason `none`)")"#);
    }

    #[test]
    fn an_error_inside_the_stream_is_what_it_would_be_outside() {
        let check = |error: Value| answer(&[json!({"error": error})]).unwrap_err();
        assert_eq!(check(json!({"message": "busy", "type": "server_error"})), r#"Away { message: "500: busy", wait: None }"#);
        assert_eq!(check(json!({"message": "slow", "code": 429})), r#"Away { message: "429: slow", wait: None }"#);
        assert_eq!(check(json!({"message": "no", "type": "invalid_request_error"})), r#"Refused { status: 400, message: "no" }"#);
        assert_eq!(check(json!({"message": "paid up?", "code": "insufficient_quota"})), r#"Refused { status: 429, message: "paid up?" }"#);
    }
}
