//! Values that the adapters' tests share.

use serde_json::{Value, json};

use super::remote::{Reading, Stage};
use super::{AskedCall, Entry, Reply, Request};
use crate::call::{Effects, ToolSpec};
use crate::chain::message::{Message, Part, Role};
use crate::digest::Digest;
use crate::event::Verbatim;

pub fn tools() -> Vec<ToolSpec> {
    vec![ToolSpec {
        name: "files__list".into(),
        plugin: "files".into(),
        tool: "list".into(),
        title: None,
        description: "Lists a folder".into(),
        input_schema: json!({"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}}).into(),
        output_schema: None,
        effects: Effects::ReadOnly,
        plugin_digest: Digest::of_bytes(b"files"),
    }]
}

/// A question, a turn with two calls (one with a name that no provider accepts and arguments that are no JSON), their
/// results (the second an error), and a person's next message.
pub fn two_calls(verbatim: Option<(&str, Value)>) -> Vec<Entry> {
    let plain = |message| Entry { message, verbatim: None };
    let calls = vec![
        Part::text("Looking."),
        Part::tool_call("files__list", json!({"path": "b"}), "a"),
        Part::tool_call("no such tool", json!({"_raw": "{\"pa"}), "tc_2"),
    ];
    let results = vec![
        Part::tool_result("files__list", "one", "a", None),
        Part::tool_result("no such tool", "{\"error\":1}", "tc_2", Some("not-found: no such tool".into())),
    ];
    vec![
        plain(Message::text(Role::System, "Imported.")),
        plain(Message::text(Role::User, "go")),
        Entry {
            message: Message::new(Role::Assistant, calls),
            verbatim: verbatim.map(|(format, message)| Verbatim { format: format.into(), message }),
        },
        plain(Message::new(Role::Tool, results)),
        plain(Message::text(Role::User, "and now?")),
    ]
}

pub fn request(history: &[Entry]) -> Request<'_> {
    Request { calls_before: 0, system: None, history, tools: &[] }
}

pub fn asked(id: Option<&str>, name: &str, arguments: &str) -> AskedCall {
    AskedCall { id: id.map(str::to_owned), name: name.into(), arguments: arguments.into() }
}

/// Reads frames as the network would bring them; checks that the text heard is the text kept.
pub fn read(mut reading: Box<dyn Reading>, frames: &[Value]) -> Result<Reply, String> {
    let mut heard = String::new();
    for frame in frames {
        heard += &reading.take(frame).map_err(|fault| format!("{fault:?}"))?;
    }
    if reading.stage() == Stage::Open {
        return Err("open".into());
    }
    let reply = reading.reply().map_err(|fault| format!("{fault:?}"))?;
    assert_eq!(heard, reply.text);
    Ok(reply)
}
