//! What a plugin found out about an attempt of its own whose end nobody recorded: its word, shown to a person.

use serde_json::{Value, json};

use super::{Failure, ToolResult};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It took effect; this was, or would have been, its result.
    Happened(ToolResult),
    /// It took no effect, now or later.
    NotHappened,
    /// It cannot be told.
    Unknown,
    /// It could not look.
    Failed(Failure),
}

impl Finding {
    /// Bytes of a result that are shown; more is cut.
    pub const SHOWN_BYTES_MAX: usize = 16 << 10;

    /// For the facts of a pause: the word, and the result or failure in the plugin's words.
    pub fn shown(&self) -> Value {
        match self {
            Self::Happened(result) => {
                let text = result.for_model();
                let shown = &text[..text.floor_char_boundary(Self::SHOWN_BYTES_MAX)];
                json!({"says": "happened", "result": shown, "cut": shown.len() < text.len()})
            }
            Self::NotHappened => json!({"says": "not-happened"}),
            Self::Unknown => json!({"says": "unknown"}),
            Self::Failed(failure) => json!({"says": "nothing", "why": format!("{}: {}", failure.kind, failure.message)}),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// limit: call/finding::SHOWN_BYTES_MAX
    #[test]
    fn a_long_result_is_cut_where_a_character_ends() {
        let shown = |length: usize| Finding::Happened(ToolResult::text("ä".repeat(length))).shown();
        let most = Finding::SHOWN_BYTES_MAX / 2;
        assert_eq!((&shown(most)["cut"], shown(most)["result"].as_str().unwrap().len()), (&json!(false), Finding::SHOWN_BYTES_MAX));
        assert_eq!((&shown(most + 1)["cut"], shown(most + 1)["result"].as_str().unwrap().len()), (&json!(true), Finding::SHOWN_BYTES_MAX));
    }
}
