//! SHA-256 over canonical JSON (RFC 8785): what people see, decisions carry and approvals hang on.
//!
//! Every digest names its domain, so that no two kinds of digest can be mistaken for each other.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// `sha256:` and 64 lower-case hex digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of bytes as they stand: plugin files.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// `sha256(domain ‖ JCS(value))`.
    pub fn of_json(domain: &str, value: &Value) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(domain.as_bytes());
        hasher.update(canonical_value(value).as_bytes());
        Self(hasher.finalize().into())
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub fn hex(&self) -> String {
        hex::encode(self.0)
    }
}

/// The one canonical text of a JSON value (RFC 8785).
pub fn canonical(value: &impl Serialize) -> String {
    serde_json_canonicalizer::to_string(value).expect("a value built from JSON serializes")
}

/// The same of what is a [`Value`] already. It stands in the way of every call several times, and a serializer that
/// puts keys in order copies every piece of text first.
pub fn canonical_value(value: &Value) -> String {
    let mut text = String::with_capacity(TEXT_BYTES);
    write_canonical(value, &mut text);
    text
}

/// Room for the parts of a usual call.
const TEXT_BYTES: usize = 1 << 10;
/// Integers up to here are exact, and written as they are.
const EXACT_MAX: u64 = 1 << 53;

fn write_canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            text.push('{');
            for (at, (key, value)) in entries.into_iter().enumerate() {
                text.push_str(if at == 0 { "" } else { "," });
                write_string(key, text);
                text.push(':');
                write_canonical(value, text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                text.push_str(if at == 0 { "" } else { "," });
                write_canonical(item, text);
            }
            text.push(']');
        }
        Value::String(string) => write_string(string, text),
        Value::Number(number) if number.as_i64().is_some_and(|number| number.unsigned_abs() <= EXACT_MAX) => text.push_str(&number.to_string()),
        // `null`, `true` and `false`, and the numbers with a form of their own.
        other => text.push_str(&canonical(other)),
    }
}

fn write_string(string: &str, text: &mut String) {
    if string.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
        text.push('"');
        text.push_str(string);
        text.push('"');
    } else {
        text.push_str(&canonical(&string));
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

/// A text that is not `sha256:` and 64 hex digits.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a digest (`sha256:` and 64 hex digits)")]
pub struct NotADigest(String);

impl TryFrom<String> for Digest {
    type Error = NotADigest;

    fn try_from(text: String) -> Result<Self, NotADigest> {
        let mut bytes = [0; 32];
        match text.strip_prefix("sha256:") {
            Some(digits) if hex::decode_to_slice(digits, &mut bytes).is_ok() => Ok(Self(bytes)),
            _ => Err(NotADigest(text)),
        }
    }
}

impl std::str::FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, NotADigest> {
        Self::try_from(text.to_owned())
    }
}

/// The digest a pause shows: what is asked, about which call, with what the host froze.
pub fn pause_digest(parts: &Value) -> Digest {
    Digest::of_json("pausegate-pause/1", parts)
}

/// The digest an approval hangs on: what would run, under which grants and rules.
pub fn call_digest(parts: &Value) -> Digest {
    Digest::of_json("pausegate-call/1", parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn any_value() -> impl Strategy<Value = Value> {
        let number =
            prop_oneof![any::<i32>().prop_map(Value::from), (-(1_i64 << 53)..=1 << 53).prop_map(Value::from), any::<f64>().prop_map(Value::from),];
        let leaf = prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::from), number, any::<String>().prop_map(Value::from)];
        leaf.prop_recursive(4, 32, 6, |inner| {
            let list = proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from);
            // Beside any keys, those whose order in UTF-8 and UTF-16 differs.
            let key = prop_oneof![any::<String>(), "[a-c]{1,2}", "[\u{e000}\u{ffff}\u{10000}\u{10ffff}]{1,2}"];
            let object = proptest::collection::vec((key, inner), 0..6).prop_map(|entries| Value::Object(entries.into_iter().collect()));
            prop_oneof![list, object]
        })
    }

    proptest! {
        #[test]
        fn a_value_has_one_canonical_text(value in any_value()) {
            prop_assert_eq!(canonical_value(&value), canonical(&value));
        }
    }

    #[test]
    fn key_order_does_not_change_a_digest() {
        let a = call_digest(&json!({"a": 1, "b": [1.0, "x"]}));
        let b = call_digest(&json!({"b": [1, "x"], "a": 1}));
        assert_eq!(a, b);
        assert_ne!(a, pause_digest(&json!({"a": 1, "b": [1, "x"]})));
    }

    #[test]
    fn a_digest_reads_back_from_its_text() {
        let digest = Digest::of_bytes(b"wasm");
        assert_eq!(digest.to_string().parse::<Digest>().unwrap(), digest);
        assert!("sha256:12".parse::<Digest>().is_err());
    }
}
