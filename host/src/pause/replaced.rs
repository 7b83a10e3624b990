//! What is asked about a plugin whose bytes are others than those its chain started with.

use serde::{Deserialize, Serialize};

use super::{Choice, Decision, Pause, PauseKind};
use crate::digest::Digest;

/// Answers: go on with the bytes that the chain started with, or with those that are loaded now.
pub const PINNED: &str = "pinned";
pub const NEW: &str = "new";

/// What differs, frozen in the pause; the plugin's words stand in `changes`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replaced {
    pub pinned: Digest,
    pub found: Digest,
    /// Of the file; `None` where the bytes are not kept.
    pub pinned_bytes: Option<u64>,
    pub found_bytes: Option<u64>,
    /// What the grants file said of the new bytes then: `yes`, `any`, `no` (no section), `other bytes`.
    pub trust: String,
    /// A line each; what stands under a line begins with a blank.
    pub changes: Vec<String>,
}

impl Replaced {
    /// What can be chosen: bytes that are not kept cannot run.
    pub fn options(&self, plugin: &str) -> Vec<Choice> {
        let option = |value: &str, label: String| Choice { value: value.to_owned(), label: Some(label) };
        let mut options = Vec::new();
        if self.pinned_bytes.is_some() {
            options.push(option(PINNED, "go on with the bytes that the chain started with".to_owned()));
        }
        let trusted = match self.trust.as_str() {
            "other bytes" => format!("; they are not trusted: `pausegate trust {plugin}` comes first"),
            "no" => "; no section of the grants file is for it, so it holds nothing".to_owned(),
            _ => String::new(),
        };
        options.push(option(NEW, format!("take the new bytes: its approvals, answers and saved state lapse, and rules ask again{trusted}")));
        options
    }
}

impl Pause {
    /// What a `plugin_changed` pause is about.
    pub fn replaced(&self) -> Option<Replaced> {
        let context = self.context.as_ref().filter(|_| self.kind == PauseKind::PluginChanged)?;
        serde_json::from_value(context.clone()).ok()
    }

    /// Two ways to say the same: to take new bytes is to approve them.
    pub fn meant(&self, decision: &Decision) -> Decision {
        match decision {
            Decision::Respond { value, note, digest } if self.kind == PauseKind::PluginChanged && value == NEW => {
                Decision::Approve { note: note.clone(), digest: digest.clone() }
            }
            other => other.clone(),
        }
    }
}
