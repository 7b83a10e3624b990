//! Tools that break the contract in ways the SDK does not let one, so made by hand.

use pausegate_sdk::{Ask, Body, Call, Catalog, Effects, Failure, Outcome, Pause, Plugin, Success, ToolSpec};
use serde_json::Value;

use crate::Tools;

/// The whole probe.
pub(crate) struct Probe;

impl Plugin for Probe {
    fn catalog() -> Result<Catalog, Failure> {
        let mut catalog = Tools::catalog()?;
        let kib = r#"{"type":"object","properties":{"kib":{"type":"integer"}},"required":["kib"]}"#;
        let nothing = r#"{"type":"object"}"#;
        catalog.tools.extend([
            spec("state_bomb", "Pauses with a saved state of this size.", kib),
            spec("bad_json", "Returns structured content that is no JSON.", nothing),
            spec("bad_pause", "Pauses for a choice among none.", nothing),
        ]);
        Ok(catalog)
    }

    fn attempt(call: Call) -> Outcome {
        match call.tool() {
            "state_bomb" => {
                let arguments: Value = serde_json::from_str(call.arguments()).unwrap_or_default();
                let kib = arguments["kib"].as_u64().and_then(|kib| usize::try_from(kib).ok()).unwrap_or(0);
                pause(Ask::Text, Some(vec![b'x'; kib * 1024]))
            }
            "bad_json" => {
                let content = vec![Body::Structured("{".into()).into()];
                Outcome::Done(Success { content, meta: Vec::new() })
            }
            "bad_pause" => pause(Ask::Choice(Vec::new()), None),
            _ => Tools::attempt(call),
        }
    }
}

fn spec(name: &str, description: &str, input_schema: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        title: None,
        description: description.into(),
        input_schema: input_schema.into(),
        output_schema: None,
        effects: Effects::ReadOnly,
        meta: Vec::new(),
    }
}

fn pause(ask: Ask, state: Option<Vec<u8>>) -> Outcome {
    Outcome::Pause(Pause { key: "q".into(), reason: "Well?".into(), context: None, ask, state, meta: Vec::new() })
}
