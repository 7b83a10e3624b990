//! A call under the grants and rules of this moment, and the digest that an approval hangs on.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::{Call, ChainState};
use crate::call::ToolSpec;
use crate::call::schema::Schema;
use crate::capability::Grants;
use crate::capability::judge::{CallFacts, Judgement};
use crate::digest::{Digest, call_digest};

/// What rules need from outside: the grants in force, the moment, fresh ids.
pub struct Rules<'a> {
    pub grants: &'a Grants,
    pub now: jiff::Timestamp,
    /// A fresh id with this prefix.
    pub id: &'a dyn Fn(&str) -> String,
    pub schemas: &'a Schemas,
}

/// Compiled input schemas, so that each is compiled once in a process and not once a call.
#[derive(Default)]
pub struct Schemas(Mutex<HashMap<Digest, Arc<Schema>>>);

impl Schemas {
    /// Kept at most: far more than any catalogue has tools; beyond it the map starts anew.
    const KEPT_MAX: usize = 4096;

    pub fn check(&self, tool: &ToolSpec, arguments: &Value) -> Result<(), String> {
        let key = Digest::of_bytes(format!("{}\0{}", tool.plugin_digest, tool.name).as_bytes());
        let known = self.0.lock().expect("no panic under this lock").get(&key).cloned();
        let schema = match known {
            Some(schema) => schema,
            None => {
                let schema = Arc::new(Schema::of_object(&tool.input_schema).map_err(|error| error.to_string())?);
                let mut schemas = self.0.lock().expect("no panic under this lock");
                if schemas.len() >= Self::KEPT_MAX {
                    schemas.clear();
                }
                schemas.insert(key, schema.clone());
                schema
            }
        };
        schema.check(arguments)
    }
}

/// A judgement with its digest.
pub struct Judged {
    pub judgement: Judgement,
    pub digest: Digest,
}

impl ChainState {
    /// Judges `call` with `arguments`; the arguments may be an edit that is not in force yet.
    pub fn judge(&self, rules: &Rules<'_>, tool: &ToolSpec, call: &Call, arguments: &Value) -> Judged {
        let today = rules.now.strftime("%Y-%m-%d").to_string();
        let judgement = rules.grants.judge(CallFacts {
            plugin: &tool.plugin,
            plugin_digest: &tool.plugin_digest,
            tool: &tool.name,
            effects: tool.effects,
            arguments,
            today: &today,
        });
        let digest = call_digest(&json!({
            "chain": self.id,
            "call": call.key,
            "tool": tool.name,
            "plugin_digest": tool.plugin_digest,
            "effects": tool.effects,
            "arguments": arguments,
            "grants": judgement.held,
            "rules": judgement.rules,
            "opens": judgement.opens,
        }));
        Judged { judgement, digest }
    }
}

impl Call {
    /// The same over attempts of unchanged arguments; an edit changes it.
    pub fn idempotency_key(&self, state: &ChainState) -> String {
        let parts = json!({"chain": state.id, "call": self.key, "arguments": self.arguments});
        Digest::of_json("pausegate-idempotency/1", &parts).hex()
    }
}
