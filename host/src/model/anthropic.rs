//! Anthropic's Messages.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Value, json};

use super::history::{self, Block};
use super::remote::{Reading, Wire};
use super::{Entry, Request};
use crate::call::ToolSpec;
use crate::chain::message::Role;

mod stream;

pub const FORMAT: &str = "anthropic";
pub const VERSION: &str = "2023-06-01";
/// The provider demands a limit; every model since Claude 3.5 allows this one.
const OUTPUT_TOKENS_MAX: u32 = 8192;

pub struct Messages {
    pub model: String,
}

impl Wire for Messages {
    fn provider(&self) -> &'static str {
        "Anthropic"
    }

    fn body(&self, request: &Request<'_>) -> Value {
        let mut talk = Talk::default();
        history::conversation(request).for_each(|entry| talk.add(entry));
        let mut body = json!({"model": self.model, "max_tokens": OUTPUT_TOKENS_MAX, "stream": true});
        if let Some(system) = history::system(request) {
            body["system"] = system.into();
        }
        if !request.tools.is_empty() {
            body["tools"] = request.tools.iter().map(tool).collect();
        }
        body["messages"] = talk.messages.into();
        body
    }

    fn reading(&self) -> Box<dyn Reading> {
        Box::new(stream::Answer::default())
    }
}

fn tool(tool: &ToolSpec) -> Value {
    json!({"name": tool.name, "description": tool.description, "input_schema": tool.input_schema})
}

/// Messages as the provider demands them: roles alternate, ids of one alphabet and none twice, the results of a turn in
/// one message and before any text.
#[derive(Default)]
struct Talk {
    messages: Vec<Value>,
    ids: HashSet<String>,
    /// Ours and the provider's, of the last turn with calls.
    turn_ids: Vec<(String, String)>,
}

impl Talk {
    fn add(&mut self, entry: &Entry) {
        let ids = history::call_ids(&entry.message);
        if !ids.is_empty() {
            self.turn_ids = ids.iter().map(|id| ((*id).to_owned(), self.fresh(id))).collect();
        }
        let content = self.verbatim(entry, ids.len()).unwrap_or_else(|| self.told(entry));
        let role = if entry.message.role == Role::Assistant { "assistant" } else { "user" };
        self.push(role, content);
    }

    fn push(&mut self, role: &str, content: Vec<Value>) {
        // A message without content is refused.
        if content.is_empty() {
            return;
        }
        match self.messages.last_mut() {
            Some(last) if last["role"] == role => {
                last["content"].as_array_mut().expect("content is built as a list").extend(content);
            }
            _ => self.messages.push(json!({"role": role, "content": content})),
        }
    }

    fn verbatim(&self, entry: &Entry, calls: usize) -> Option<Vec<Value>> {
        let message = history::verbatim(entry, FORMAT)?;
        let mut content = message["content"].as_array()?.clone();
        // The provider sends empty text and refuses it.
        content.retain(|block| block["type"] != "text" || block["text"] != "");
        let asked = content.iter_mut().filter_map(Value::as_object_mut).filter(|block| block["type"] == "tool_use").collect();
        let ids: Vec<_> = self.turn_ids.iter().take(calls).map(|(_, wire)| wire.as_str()).collect();
        history::patch_calls(asked, &ids, "id").then_some(content)
    }

    fn told(&self, entry: &Entry) -> Vec<Value> {
        let mut call = 0;
        let block = |block| match block {
            Block::Text(text) => json!({"type": "text", "text": text}),
            Block::Image { media_type, base64 } => {
                json!({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": base64}})
            }
            Block::Call(asked) => {
                call += 1;
                let input = history::arguments_object(asked.arguments);
                json!({"type": "tool_use", "id": self.turn_ids[call - 1].1, "name": history::wire_name(asked.name), "input": input})
            }
            Block::Result(result) => {
                let id = result.id.unwrap_or_default();
                let id = self.turn_ids.iter().find(|(own, _)| own == id).map_or_else(|| wire_id(id), |(_, wire)| Cow::Borrowed(wire.as_str()));
                let mut block = json!({"type": "tool_result", "tool_use_id": id, "content": history::result_text(&result)});
                if result.exception.is_some() {
                    block["is_error"] = true.into();
                }
                block
            }
        };
        history::blocks(&entry.message).map(block).collect()
    }

    /// `id` where the provider takes it; ids of other providers repeat from turn to turn and hold other characters.
    fn fresh(&mut self, id: &str) -> String {
        let wire = wire_id(id).into_owned();
        let mut fresh = wire.clone();
        let mut count = 1;
        while !self.ids.insert(fresh.clone()) {
            count += 1;
            fresh = format!("{wire}_{count}");
        }
        fresh
    }
}

fn wire_id(id: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match id {
        "" => Cow::Borrowed("_"),
        id if id.chars().all(fits) => Cow::Borrowed(id),
        id => Cow::Owned(id.chars().map(|c| if fits(c) { c } else { '_' }).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;
    use crate::chain::message::{Message, Part};

    fn body(request: Request<'_>) -> Value {
        Messages { model: "claude-x".into() }.body(&request)
    }

    fn messages(history: &[Entry]) -> Value {
        body(testing::request(history))["messages"].clone()
    }

    #[test]
    fn the_results_of_a_turn_are_one_message_with_the_next_words_after_them() {
        let history = testing::two_calls(None);
        let tools = testing::tools();
        assert_eq!(
            body(Request { calls_before: 1, system: Some("Be brief."), history: &history, tools: &tools }),
            json!({
                "model": "claude-x",
                "max_tokens": 8192,
                "stream": true,
                "system": "Be brief.\n\nImported.",
                "tools": [{
                    "name": "files__list",
                    "description": "Lists a folder",
                    "input_schema": {"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}},
                }],
                "messages": [
                    {"role": "user", "content": [{"type": "text", "text": "go"}]},
                    {"role": "assistant", "content": [
                        {"type": "text", "text": "Looking."},
                        {"type": "tool_use", "id": "a", "name": "files__list", "input": {"path": "b"}},
                        {"type": "tool_use", "id": "tc_2", "name": "no_such_tool", "input": {"_raw": "{\"pa"}},
                    ]},
                    {"role": "user", "content": [
                        {"type": "tool_result", "tool_use_id": "a", "content": "one"},
                        {"type": "tool_result", "tool_use_id": "tc_2", "content": "{\"error\":1}", "is_error": true},
                        {"type": "text", "text": "and now?"},
                    ]},
                ],
            })
        );
    }

    #[test]
    fn thinking_goes_back_unchanged_and_ids_are_the_ones_that_results_name() {
        let block = |id: &str, name: &str| json!({"type": "tool_use", "id": id, "name": name, "input": {"path": "b"}});
        let thinking = json!({"type": "thinking", "thinking": "hm", "signature": "sig"});
        let redacted = json!({"type": "redacted_thinking", "data": "x"});
        let own = json!({"role": "assistant", "content": [
            thinking, redacted, {"type": "text", "text": ""}, block("a", "files__list"), block("a", "no such tool"),
        ]});
        assert_eq!(
            messages(&testing::two_calls(Some((FORMAT, own))))[1]["content"],
            json!([thinking, redacted, block("a", "files__list"), block("tc_2", "no_such_tool")])
        );
    }

    #[test]
    fn ids_of_other_providers_are_made_to_fit() {
        let plain = |role, part| Entry { message: Message::new(role, vec![part]), verbatim: None };
        let turn = || {
            [
                plain(Role::Assistant, Part::tool_call("t", json!({}), "t:0")),
                plain(Role::Tool, Part::tool_result("t", "", "t:0", Some("failed: why".into()))),
            ]
        };
        let history: Vec<_> = turn().into_iter().chain(turn()).collect();
        let messages = messages(&history);
        let ids: Vec<_> = (0..4).map(|at| messages[at]["content"][0][if at % 2 == 0 { "id" } else { "tool_use_id" }].as_str().unwrap()).collect();
        assert_eq!(ids, ["t_0", "t_0", "t_0_2", "t_0_2"]);
        assert_eq!(messages[1]["content"][0]["content"], "failed: why");
    }
}
