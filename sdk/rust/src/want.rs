//! What a plugin would like to be granted.

use serde_json::{Value, json};

use crate::bindings::pausegate::plugin::types::Want;

/// Each shows the operator a wish and its reason; none grants anything.
impl Want {
    /// A folder of the host at `mount`; `access` is `read` or `write`.
    pub fn fs(mount: &str, access: &str, why: &str) -> Self {
        Self::new("fs", &json!({ "mount": mount, "access": access }), why)
    }

    /// Requests to `url`, which may hold `*`, with these methods.
    pub fn http(url: &str, methods: &[&str], why: &str) -> Self {
        Self::new("http", &json!({ "url": url, "methods": methods }), why)
    }

    /// An environment variable.
    pub fn env(name: &str, why: &str) -> Self {
        Self::new("env", &json!({ "name": name }), why)
    }

    /// Key-value storage; `scope` is `chain` or `plugin`.
    pub fn kv(scope: &str, why: &str) -> Self {
        Self::new("kv", &json!({ "scope": scope }), why)
    }

    /// Anything else, with the keys of its grant line as `scope`.
    pub fn new(capability: &str, scope: &Value, why: &str) -> Self {
        Self { capability: capability.into(), scope: scope.to_string(), why: why.into() }
    }
}
