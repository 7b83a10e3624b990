//! One call against the grants and rules: its verdict, what it holds, what an approval would open.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Grants, Held, Limits, Opening, Then, Verdict};
use crate::call::Effects;
use crate::chain::Actor;
use crate::digest::Digest;

/// What is known of a call when it is judged.
#[derive(Clone, Copy, Debug)]
pub struct CallFacts<'a> {
    pub plugin: &'a str,
    pub plugin_digest: &'a Digest,
    /// `<plugin>__<tool>`
    pub tool: &'a str,
    pub effects: Effects,
    pub arguments: &'a Value,
    /// `YYYY-MM-DD` in UTC, for `until`.
    pub today: &'a str,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    pub verdict: Verdict,
    /// The lines that decided, for people: `grants.toml:31: ask files__delete args.path = "/build/**"`.
    pub because: Vec<String>,
    /// In force without any approval.
    pub held: Held,
    /// Comes into force with an approval of this call.
    pub opens: Vec<Opening>,
    /// Why an approved-only line does not open for these arguments.
    pub shut: Vec<String>,
    pub requirements: Requirements,
    pub limits: Limits,
    /// The rules for this tool, as they enter the call digest (no line numbers: moving a rule changes nothing).
    pub rules: Value,
}

/// Who may decide, frozen in the pause.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requirements {
    /// One list per matching rule that names approvers; a decider must stand in each.
    pub approvers: Vec<Vec<Actor>>,
    pub on_deny: Then,
}

impl Requirements {
    pub fn admit(&self, actor: &Actor) -> bool {
        self.approvers.iter().all(|list| list.contains(actor))
    }
}

impl Grants {
    pub fn judge(&self, call: CallFacts<'_>) -> Judgement {
        let _ = call;
        todo!("grants helper")
    }
}
