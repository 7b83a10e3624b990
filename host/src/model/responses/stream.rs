//! A Responses answer as it streams in: output items, each said whole when it is done.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::FORMAT;
use crate::event::{Usage, Verbatim};
use crate::model::remote::{CALLS_MAX, Fault, Reading, Stage};
use crate::model::{AskedCall, Reply, excerpt, patience};

#[derive(Default)]
pub struct Answer {
    items: BTreeMap<u64, Map<String, Value>>,
    text: String,
    usage: Option<Usage>,
    /// `completed`, or `incomplete` with its reason.
    status: Option<String>,
}

impl Reading for Answer {
    fn take(&mut self, frame: &Value) -> Result<String, Fault> {
        match frame["type"].as_str().unwrap_or_default() {
            "response.output_text.delta" | "response.refusal.delta" => {
                let heard = frame["delta"].as_str().unwrap_or_default();
                self.text.push_str(heard);
                return Ok(heard.to_owned());
            }
            "response.output_item.done" => {
                let (Some(index), Some(item)) = (frame["output_index"].as_u64(), frame["item"].as_object()) else {
                    return Err(Fault::Garbled(format!("an output item of another shape: {}", excerpt(frame))));
                };
                self.items.insert(index, item.clone());
            }
            "response.completed" | "response.incomplete" => self.end(&frame["response"]),
            "response.failed" => return Err(patience::stream_fault(&frame["response"])),
            // `message` and `code` stand in the event itself or under `error`.
            "error" if frame["error"].is_object() => return Err(patience::stream_fault(frame)),
            "error" => return Err(patience::stream_fault(&serde_json::json!({"error": frame}))),
            _ => {}
        }
        Ok(String::new())
    }

    fn stage(&self) -> Stage {
        if self.status.is_some() { Stage::Ended } else { Stage::Open }
    }

    fn reply(&mut self) -> Result<Reply, Fault> {
        let status = self.status.as_deref().unwrap_or("none");
        let items: Vec<_> = std::mem::take(&mut self.items).into_values().collect();
        let of = |kind: &'static str| items.iter().filter(move |item| word(item, "type") == kind);
        let calls: Vec<_> = of("function_call").map(asked).collect();
        if calls.len() > CALLS_MAX {
            return Err(Fault::Garbled(format!("more than {CALLS_MAX} tool calls")));
        }
        if calls.is_empty() && self.text.is_empty() && (status != "completed" || items.is_empty()) {
            return Err(Fault::Garbled(format!("an empty answer (status `{status}`)")));
        }
        let summaries = of("reasoning").filter_map(|item| item.get("summary")?.as_array());
        let reasoning = summaries.flatten().filter_map(|summary| summary["text"].as_str()).collect::<Vec<_>>().join("\n");
        Ok(Reply {
            text: std::mem::take(&mut self.text),
            reasoning,
            calls,
            verbatim: Some(Verbatim { format: FORMAT.into(), message: items.into_iter().map(Value::Object).collect() }),
            usage: self.usage,
        })
    }
}

impl Answer {
    fn end(&mut self, response: &Value) {
        let count = |key: &str| response["usage"][key].as_u64().unwrap_or_default();
        if response["usage"].is_object() {
            self.usage = Some(Usage { input_tokens: count("input_tokens"), output_tokens: count("output_tokens") });
        }
        let status = response["status"].as_str().unwrap_or("completed");
        self.status = Some(match response["incomplete_details"]["reason"].as_str() {
            Some(reason) => format!("{status}: {reason}"),
            None => status.to_owned(),
        });
        // The items stand once more in the end; where one was not said to be done, this is its only whole form.
        for (index, item) in (0..).zip(response["output"].as_array().into_iter().flatten()) {
            if let Some(item) = item.as_object() {
                self.items.entry(index).or_insert_with(|| item.clone());
            }
        }
    }
}

fn word<'a>(item: &'a Map<String, Value>, key: &str) -> &'a str {
    item.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn asked(item: &Map<String, Value>) -> AskedCall {
    AskedCall {
        id: item.get("call_id").and_then(Value::as_str).map(str::to_owned),
        name: word(item, "name").to_owned(),
        arguments: word(item, "arguments").to_owned(),
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

    fn done(index: u64, item: &Value) -> Value {
        json!({"type": "response.output_item.done", "output_index": index, "item": item})
    }

    #[test]
    fn items_come_together_in_their_order() {
        let reasoning =
            json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "I think"}], "encrypted_content": "x"});
        let message = json!({"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "Looking"}]});
        let call =
            |id: &str, arguments: &str| json!({"type": "function_call", "id": "fc", "call_id": id, "name": "files__list", "arguments": arguments});
        let delta = |text: &str| json!({"type": "response.output_text.delta", "output_index": 1, "delta": text});
        let (first, second) = (call("a", "{\"path\":1}"), call("a", "{\"half"));
        let reply = answer(&[
            json!({"type": "response.created"}),
            done(0, &reasoning),
            delta("Look"),
            delta("ing"),
            done(1, &message),
            json!({"type": "response.function_call_arguments.delta", "output_index": 2, "delta": "{\"pa"}),
            done(3, &second),
            done(2, &first),
            json!({"type": "response.completed", "response": {"status": "completed", "usage": {"input_tokens": 7, "output_tokens": 3}}}),
        ])
        .unwrap();
        assert_eq!(
            reply,
            Reply {
                text: "Looking".into(),
                reasoning: "I think".into(),
                calls: vec![asked(Some("a"), "files__list", "{\"path\":1}"), asked(Some("a"), "files__list", "{\"half")],
                verbatim: Some(Verbatim { format: FORMAT.into(), message: json!([reasoning, message, first, second]) }),
                usage: Some(Usage { input_tokens: 7, output_tokens: 3 }),
            }
        );
    }

    #[test]
    fn an_answer_without_its_end_is_no_answer() {
        assert_eq!(answer(&[json!({"type": "response.output_text.delta", "delta": "half"})]).unwrap_err(), "open");
        let cut = json!({"type": "response.incomplete", "response": {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}});
        assert_eq!(answer(&[cut]).unwrap_err(), r#"Garbled("an empty answer (status `incomplete: max_output_tokens`)")"#);
    }

    #[test]
    fn an_error_inside_the_stream_is_what_it_would_be_outside() {
        let failed = |code: &str| answer(&[json!({"type": "response.failed", "response": {"error": {"code": code, "message": "m"}}})]).unwrap_err();
        assert_eq!(failed("server_error"), r#"Away { message: "500: m", wait: None }"#);
        assert_eq!(failed("rate_limit_exceeded"), r#"Away { message: "429: m", wait: None }"#);
        assert_eq!(failed("insufficient_quota"), r#"Refused { status: 429, message: "m" }"#);
        assert_eq!(
            answer(&[json!({"type": "error", "code": "server_error", "message": "m"})]).unwrap_err(),
            r#"Away { message: "500: m", wait: None }"#
        );
    }
}
