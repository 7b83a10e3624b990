//! `[children]`: what chains may do that a call of another chain starts, and the host's own tool that starts one.
//!
//! A child chain is judged by the same grants and rules as any, and holds no more: what stands here only narrows.

use serde::Serialize;
use serde_json::json;

use crate::call::{Effects, HOST, ToolSpec};
use crate::digest::Digest;

/// Without a section there is no tool, and no child chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Children {
    /// Patterns of the tools that a child may have, of those that its parent has; empty for all of these.
    pub tools: Vec<String>,
    /// Generations below a chain that somebody started.
    pub depth: u32,
    /// Child chains of one chain, ended ones included.
    pub chains: u32,
    /// Model calls of one child chain; it has no more than its parent either.
    pub turns: u32,
    /// Which model they ask; the parent's where none is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Of `[children]` in the file.
    #[serde(skip)]
    pub line: usize,
}

impl Default for Children {
    fn default() -> Self {
        Self { tools: Vec::new(), depth: 1, chains: 8, turns: 20, model: None, line: 0 }
    }
}

/// As the model sees it: no plugin's tool has a name without `__`.
pub const CHAIN: &str = "chain";
/// Tool patterns in one call.
const ASKED_TOOLS_MAX: usize = 64;

/// The tool as catalogues hold it.
pub fn chain_tool() -> ToolSpec {
    ToolSpec {
        name: CHAIN.to_owned(),
        plugin: HOST.to_owned(),
        tool: CHAIN.to_owned(),
        title: None,
        description: "Hands a task to a chain of its own, which asks a model, runs tools as this one does, and knows nothing but \
                      the prompt. Returns its last answer."
            .to_owned(),
        input_schema: json!({
            "type": "object",
            "required": ["prompt"],
            "additionalProperties": false,
            "properties": {
                "prompt": {"type": "string", "minLength": 1, "description": "The whole task: the chain sees nothing else of this conversation."},
                "tools": {
                    "type": "array",
                    "maxItems": ASKED_TOOLS_MAX,
                    "items": {"type": "string", "minLength": 1},
                    "description": "Names of the tools it gets, of those offered here; `*` stands for anything in a name. Left out, it gets all that it may have.",
                },
            },
        })
        .into(),
        output_schema: None,
        effects: Effects::Once,
        plugin_digest: Digest::of_bytes(b"pausegate-chain/1"),
    }
}
