//! A call under the grants and rules of this moment, and the digest that an approval hangs on.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::{Call, ChainState};
use crate::call::schema::Schema;
use crate::call::{CallKey, ToolSpec, arguments};
use crate::capability::judge::{CallFacts, Judgement, day};
use crate::capability::{Grants, Held};
use crate::chain::ChainId;
use crate::digest::{Digest, Object, call_digest, canonical_value};

/// What rules need from outside: the grants in force, the moment, fresh ids.
pub struct Rules<'a> {
    pub grants: &'a Grants,
    pub now: jiff::Timestamp,
    /// A fresh id with this prefix.
    pub id: &'a dyn Fn(&str) -> String,
    pub schemas: &'a Schemas,
}

impl Rules<'_> {
    /// On which dates of rules hang.
    pub fn today(&self) -> jiff::civil::Date {
        day(self.now)
    }
}

/// Compiled input schemas, so that each is compiled once in a process and not once a call.
#[derive(Default)]
pub struct Schemas(Mutex<HashMap<Digest, ByTool>>);

/// Of one plugin's bytes.
type ByTool = HashMap<String, Arc<Schema>>;

impl Schemas {
    /// Kept at most: far more than any catalogue has tools; beyond it the map starts anew.
    const KEPT_MAX: usize = 4096;

    pub fn check(&self, tool: &ToolSpec, arguments: &Value) -> Result<(), String> {
        if let Some(key) = arguments::reserved(arguments, &tool.input_schema) {
            return Err(format!("`{key}`: keys that begin with `__` are reserved for hosts, and the tool's schema does not name this one"));
        }
        let schema = match self.known(tool) {
            Some(schema) => schema,
            None => self.compile(tool)?,
        };
        schema.check(arguments)
    }

    fn known(&self, tool: &ToolSpec) -> Option<Arc<Schema>> {
        self.0.lock().expect("no panic under this lock").get(&tool.plugin_digest)?.get(&tool.name).cloned()
    }

    fn compile(&self, tool: &ToolSpec) -> Result<Arc<Schema>, String> {
        let schema = Arc::new(Schema::of_object(&tool.input_schema).map_err(|error| error.to_string())?);
        let mut schemas = self.0.lock().expect("no panic under this lock");
        if schemas.values().map(HashMap::len).sum::<usize>() >= Self::KEPT_MAX {
            schemas.clear();
        }
        schemas.entry(tool.plugin_digest.clone()).or_default().insert(tool.name.clone(), schema.clone());
        Ok(schema)
    }
}

/// A judgement with its digest.
pub struct Judged {
    pub judgement: Judgement,
    pub digest: Digest,
    /// Canonical.
    pub arguments: String,
}

/// Calls that were admitted, for what starts them at the same moment and under the same grants.
pub type JudgedCalls = HashMap<CallKey, Judged>;

impl ChainState {
    /// Judges `call` with `arguments`; the arguments may be an edit that is not in force yet.
    pub fn judge(&self, rules: &Rules<'_>, tool: &ToolSpec, call: &Call, arguments: &Value) -> Judged {
        let judgement = rules.grants.judge(CallFacts::of(tool, arguments, rules.today()));
        let arguments = canonical_value(arguments);
        let parts = Object::new().written("arguments", &arguments).object("call", |object| call.key.write(object)).text("chain", &self.id.0);
        // An approved child chain holds no more than it would have held when it was approved.
        let parts = if tool.is_hosts() { parts.of("children", &rules.grants.children) } else { parts };
        let parts = parts
            .text("effects", judgement.effects.as_str())
            .object("grants", |object| judgement.held.write(object))
            .list("opens", &judgement.opens)
            .digest("plugin_digest", &tool.plugin_digest)
            .written("rules", &judgement.rules)
            .text("tool", &tool.name);
        let digest = call_digest(parts);
        Judged { judgement, digest, arguments }
    }
}

impl CallKey {
    fn write(self, object: Object) -> Object {
        object.number("ordinal", self.ordinal).number("turn", self.turn)
    }
}

impl Held {
    fn write(&self, object: Object) -> Object {
        // What a call does not hold is not written: digests of calls under older grants stay what they were.
        let object = if self.config.is_empty() { object } else { object.of("config", &self.config) };
        let object = if self.env.is_empty() { object.written("env", "{}") } else { object.of("env", &self.env) };
        let object = object.list("fs", &self.fs).list("http", &self.http);
        let object = if self.kv.is_empty() { object } else { object.of("kv", &self.kv) };
        let object = if self.reach.is_empty() { object } else { object.of("reach", &self.reach) };
        if self.uses.is_empty() { object } else { object.of("uses", &self.uses) }
    }
}

impl Call {
    /// The same over attempts of unchanged arguments; an edit changes it.
    pub fn idempotency_key(&self, state: &ChainState) -> String {
        idempotency_key(&state.id, self.key, &canonical_value(self.arguments.as_deref().unwrap_or(&Value::Null)))
    }
}

/// Of a call with these arguments, which are canonical.
pub fn idempotency_key(chain: &ChainId, call: CallKey, arguments: &str) -> String {
    let parts = Object::new().written("arguments", arguments).object("call", |object| call.write(object)).text("chain", &chain.0);
    Digest::of_object("pausegate-idempotency/1", parts).hex()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::call::Effects;
    use crate::capability::{Access, FsGrant, Pin, PluginGrants, Rule, Then, Verdict, When};
    use crate::event::Requested;

    fn grants() -> Grants {
        let fs = vec![FsGrant {
            mount: "/build".into(),
            path: "/srv/build".into(),
            access: Access::Write,
            when: When::Always,
            on_missing: Default::default(),
            tools: Default::default(),
            one_file: false,
            quota: None,
            line: 3,
        }];
        let section = PluginGrants { fs, ..PluginGrants::holding_nothing(Pin::Any, 2) };
        let rule = |tool: &str, effect| Rule {
            tool: tool.into(),
            args: vec![],
            effect,
            except: vec![],
            approvers: vec![],
            quorum: std::num::NonZeroU32::MIN,
            exclude_requester: false,
            on_deny: Then::Continue,
            expires: None,
            escalation: None,
            remind: None,
            line: 9,
        };
        let rules = vec![rule("files__*", Verdict::Ask), rule("*", Verdict::Allow)];
        Grants { plugins: [("files".to_owned(), section)].into(), rules, ..Grants::default() }
    }

    /// Approvals in old journals hang on it.
    #[test]
    fn a_call_digest_is_that_of_the_object_it_stands_for() {
        let (plugin_digest, effects) = (Digest::of_bytes(b"files"), Effects::ReadOnly);
        let tool = ToolSpec {
            name: "files__read".into(),
            plugin: "files".into(),
            tool: "read".into(),
            title: None,
            description: String::new(),
            input_schema: json!({}).into(),
            output_schema: None,
            effects,
            plugin_digest: plugin_digest.clone(),
        };
        let arguments = json!({"path": "/build/\"a\"", "deep": [1.5, null, {"b": 1, "a": 2}]});
        let key = CallKey { turn: 2, ordinal: 11 };
        let requested = Requested {
            call: key,
            id: "tc".into(),
            provider_id: None,
            tool: tool.name.clone(),
            text: String::new(),
            arguments: Some(arguments.clone().into()),
        };
        let call = Call::requested(&requested, jiff::Timestamp::UNIX_EPOCH);
        let state = ChainState::new(ChainId("ch_a".into()));
        let (grants, schemas) = (grants(), Schemas::default());
        let rules = Rules { grants: &grants, now: jiff::Timestamp::UNIX_EPOCH, id: &|prefix| prefix.to_owned(), schemas: &schemas };
        let judged = state.judge(&rules, &tool, &call, &arguments);
        assert_eq!((judged.judgement.held.fs.len(), judged.judgement.verdict), (1, Verdict::Ask));
        let rule =
            |tool: &str, effect: &str| json!({"tool": tool, "args": [], "effect": effect, "approvers": [], "on_deny": "continue", "except": []});
        let parts = json!({
            "chain": "ch_a",
            "call": key,
            "tool": "files__read",
            "plugin_digest": plugin_digest,
            "effects": effects,
            "arguments": arguments,
            "grants": judged.judgement.held,
            "rules": {"default": "allow", "rules": [rule("*", "allow"), rule("files__*", "ask")]},
            "opens": [],
        });
        // The order of the rules is that of their texts.
        assert_eq!(judged.digest, Digest::of_json("pausegate-call/1", &parts));
        let parts = json!({"chain": "ch_a", "call": key, "arguments": arguments});
        assert_eq!(call.idempotency_key(&state), Digest::of_json("pausegate-idempotency/1", &parts).hex());
    }
}
