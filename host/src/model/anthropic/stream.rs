//! A Messages answer as it streams in: content blocks, put together as the provider would have sent them whole.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::FORMAT;
use crate::event::{Usage, Verbatim};
use crate::model::history::text_object;
use crate::model::merge::merge;
use crate::model::remote::{CALLS_MAX, Fault, Reading, Stage};
use crate::model::{AskedCall, Reply, excerpt, patience};

#[derive(Default)]
pub struct Answer {
    blocks: BTreeMap<u64, Block>,
    text: String,
    usage: Usage,
    stop_reason: Option<String>,
    ended: bool,
}

#[derive(Default)]
struct Block {
    value: Map<String, Value>,
    /// The model's own text of a call's input.
    input: String,
}

impl Reading for Answer {
    fn take(&mut self, frame: &Value) -> Result<String, Fault> {
        match frame["type"].as_str().unwrap_or_default() {
            "message_start" => self.count(&frame["message"]["usage"]),
            "content_block_start" => return self.start(frame),
            "content_block_delta" => return self.add(frame),
            "message_delta" => {
                self.count(&frame["usage"]);
                self.stop_reason = frame["delta"]["stop_reason"].as_str().map(str::to_owned).or(self.stop_reason.take());
            }
            "message_stop" => self.ended = true,
            "error" => return Err(patience::stream_fault(frame)),
            // `ping`, `content_block_stop`, and what a newer version adds: it says that unknown events may come.
            _ => {}
        }
        Ok(String::new())
    }

    fn stage(&self) -> Stage {
        match (self.ended, &self.stop_reason) {
            (true, _) => Stage::Ended,
            (false, Some(_)) => Stage::Complete,
            (false, None) => Stage::Open,
        }
    }

    fn reply(&mut self) -> Result<Reply, Fault> {
        let blocks: Vec<_> = std::mem::take(&mut self.blocks).into_values().collect();
        let calls: Vec<_> = blocks.iter().filter(|block| block.is("tool_use")).map(Block::asked).collect();
        let stop = self.stop_reason.as_deref().unwrap_or("none");
        if calls.len() > CALLS_MAX {
            return Err(Fault::Garbled(format!("more than {CALLS_MAX} tool calls")));
        }
        if calls.is_empty() && self.text.is_empty() && !matches!(stop, "end_turn" | "stop_sequence") {
            return Err(Fault::Garbled(format!("an empty answer (stop reason `{stop}`)")));
        }
        let reasoning = blocks.iter().filter(|block| block.is("thinking")).filter_map(|block| block.value.get("thinking")?.as_str()).collect();
        let content: Vec<Value> = blocks.into_iter().map(Block::whole).collect();
        Ok(Reply {
            text: std::mem::take(&mut self.text),
            reasoning,
            calls,
            verbatim: Some(Verbatim { format: FORMAT.into(), message: json!({"role": "assistant", "content": content}) }),
            usage: Some(self.usage),
        })
    }
}

impl Answer {
    fn start(&mut self, frame: &Value) -> Result<String, Fault> {
        let (Some(index), Some(value)) = (frame["index"].as_u64(), frame["content_block"].as_object()) else {
            return Err(Fault::Garbled(format!("a content block of another shape: {}", excerpt(frame))));
        };
        let block = Block { value: value.clone(), input: String::new() };
        let heard = if block.is("text") { value.get("text").and_then(Value::as_str).unwrap_or_default() } else { "" };
        self.text.push_str(heard);
        if self.blocks.insert(index, block).is_some() {
            return Err(Fault::Garbled(format!("content block {index} begins twice")));
        }
        Ok(heard.to_owned())
    }

    fn add(&mut self, frame: &Value) -> Result<String, Fault> {
        let block = frame["index"].as_u64().and_then(|index| self.blocks.get_mut(&index));
        let (Some(block), Some(delta)) = (block, frame["delta"].as_object()) else {
            return Err(Fault::Garbled(format!("a piece of no content block: {}", excerpt(frame))));
        };
        let word = |key: &str| delta.get(key).and_then(Value::as_str).unwrap_or_default();
        match word("type") {
            "input_json_delta" => block.input.push_str(word("partial_json")),
            "citations_delta" => {
                let citations = block.value.entry("citations").or_insert_with(|| json!([]));
                match citations {
                    Value::Array(list) => list.extend(delta.get("citation").cloned()),
                    other => *other = delta.get("citation").cloned().into_iter().collect(),
                }
            }
            kind => {
                let mut piece = delta.clone();
                piece.shift_remove("type");
                merge(&mut block.value, piece);
                if kind == "text_delta" {
                    self.text.push_str(word("text"));
                    return Ok(word("text").to_owned());
                }
            }
        }
        Ok(String::new())
    }

    /// Counts are said anew, not added up; those of the cache stand beside the input's.
    fn count(&mut self, usage: &Value) {
        let count = |key: &str| usage[key].as_u64();
        let input = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"].into_iter().filter_map(count).sum();
        self.usage.input_tokens = self.usage.input_tokens.max(input);
        self.usage.output_tokens = count("output_tokens").unwrap_or(self.usage.output_tokens);
    }
}

impl Block {
    fn is(&self, kind: &str) -> bool {
        self.value.get("type").and_then(Value::as_str) == Some(kind)
    }

    fn asked(&self) -> AskedCall {
        let word = |key: &str| self.value.get(key).and_then(Value::as_str);
        let whole = self.value.get("input").filter(|input| input.as_object().is_some_and(|input| !input.is_empty()));
        let arguments = match whole {
            Some(input) if self.input.is_empty() => input.to_string(),
            _ => self.input.clone(),
        };
        AskedCall { id: word("id").map(str::to_owned), name: word("name").unwrap_or_default().to_owned(), arguments }
    }

    fn whole(mut self) -> Value {
        if !self.input.is_empty() {
            self.value.insert("input".into(), text_object(&self.input));
        }
        Value::Object(self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::{asked, read};

    fn answer(frames: &[Value]) -> Result<Reply, String> {
        read(Box::new(Answer::default()), frames)
    }

    fn start(index: u64, block: Value) -> Value {
        json!({"type": "content_block_start", "index": index, "content_block": block})
    }

    fn delta(index: u64, delta: Value) -> Value {
        json!({"type": "content_block_delta", "index": index, "delta": delta})
    }

    fn input(index: u64, text: &str) -> Value {
        delta(index, json!({"type": "input_json_delta", "partial_json": text}))
    }

    fn stop(reason: &str) -> Value {
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 9}})
    }

    #[test]
    fn blocks_come_together_as_the_provider_would_send_them_whole() {
        let reply = answer(&[
            json!({"type": "message_start", "message": {"usage": {"input_tokens": 5, "cache_read_input_tokens": 2, "output_tokens": 1}}}),
            start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
            json!({"type": "ping"}),
            delta(0, json!({"type": "thinking_delta", "thinking": "I "})),
            delta(0, json!({"type": "thinking_delta", "thinking": "think"})),
            delta(0, json!({"type": "signature_delta", "signature": "c2ln"})),
            start(1, json!({"type": "redacted_thinking", "data": "x"})),
            start(2, json!({"type": "text", "text": ""})),
            delta(2, json!({"type": "text_delta", "text": "Look"})),
            delta(2, json!({"type": "text_delta", "text": "ing"})),
            start(3, json!({"type": "tool_use", "id": "a", "name": "files__list", "input": {}})),
            start(4, json!({"type": "tool_use", "id": "a", "name": "t", "input": {}})),
            input(3, "{\"pa"),
            input(4, "{\"half"),
            input(3, "th\": 1}"),
            start(5, json!({"type": "tool_use", "id": "", "name": "u", "input": {}})),
            stop("max_tokens"),
            json!({"type": "message_stop"}),
        ])
        .unwrap();
        let content = json!([
            {"type": "thinking", "thinking": "I think", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "x"},
            {"type": "text", "text": "Looking"},
            {"type": "tool_use", "id": "a", "name": "files__list", "input": {"path": 1}},
            {"type": "tool_use", "id": "a", "name": "t", "input": {"_raw": "{\"half"}},
            {"type": "tool_use", "id": "", "name": "u", "input": {}},
        ]);
        assert_eq!(
            reply,
            Reply {
                text: "Looking".into(),
                reasoning: "I think".into(),
                calls: vec![asked(Some("a"), "files__list", "{\"path\": 1}"), asked(Some("a"), "t", "{\"half"), asked(Some(""), "u", "")],
                verbatim: Some(Verbatim { format: FORMAT.into(), message: json!({"role": "assistant", "content": content}) }),
                usage: Some(Usage { input_tokens: 7, output_tokens: 9 }),
            }
        );
    }

    #[test]
    fn an_answer_without_its_end_is_no_answer() {
        let text = start(0, json!({"type": "text", "text": "half"}));
        assert_eq!(answer(std::slice::from_ref(&text)).unwrap_err(), "open");
        assert_eq!(answer(&[text, stop("end_turn")]).unwrap().text, "half");
        assert_eq!(answer(&[stop("refusal")]).unwrap_err(), r#"Garbled("an empty answer (stop reason `refusal`)")"#);
        assert_eq!(answer(&[stop("end_turn")]).unwrap().text, "");
    }

    #[test]
    fn an_error_inside_the_stream_is_what_it_would_be_outside() {
        let check = |kind: &str| answer(&[json!({"type": "error", "error": {"type": kind, "message": "m"}})]).unwrap_err();
        assert_eq!(check("overloaded_error"), r#"Away { message: "503: m", wait: None }"#);
        assert_eq!(check("api_error"), r#"Away { message: "500: m", wait: None }"#);
        assert_eq!(check("invalid_request_error"), r#"Refused { status: 400, message: "m" }"#);
        assert!(answer(&[delta(0, json!({"type": "text_delta", "text": "x"}))]).unwrap_err().starts_with("Garbled"));
    }
}
