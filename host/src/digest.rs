//! SHA-256 over canonical JSON (RFC 8785): what people see, decisions carry and approvals hang on.
//!
//! Every digest names its domain, so that no two kinds of digest can be mistaken for each other.

use std::fmt::{self, Write};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// `sha256:` and 64 lower-case hex digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Digest([u8; 32]);

const PREFIX: &str = "sha256:";
const TEXT_BYTES: usize = PREFIX.len() + 64;

impl Digest {
    /// The digest of bytes as they stand: plugin files.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// `sha256(domain ‖ JCS(value))`.
    pub fn of_json(domain: &str, value: &Value) -> Self {
        Self::of_text(domain, &canonical_value(value))
    }

    /// The same over an object that was written out for it.
    pub fn of_object(domain: &str, object: Object) -> Self {
        Self::of_text(domain, &object.canonical())
    }

    fn of_text(domain: &str, text: &str) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(domain.as_bytes());
        hasher.update(text.as_bytes());
        Self(hasher.finalize().into())
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub fn hex(&self) -> String {
        self.with_text(|text| text[PREFIX.len()..].to_owned())
    }

    /// Its text without an allocation: every event of a call names a few.
    fn with_text<R>(&self, read: impl FnOnce(&str) -> R) -> R {
        let mut text = [0; TEXT_BYTES];
        let (prefix, digits) = text.split_at_mut(PREFIX.len());
        prefix.copy_from_slice(PREFIX.as_bytes());
        hex::encode_to_slice(self.0, digits).expect("two digits a byte");
        read(std::str::from_utf8(&text).expect("digits are text"))
    }
}

/// A digest of what comes in pieces.
#[derive(Clone)]
pub struct Hasher(Sha256);

impl Hasher {
    pub fn new(domain: &str) -> Self {
        Self(Sha256::new_with_prefix(domain.as_bytes()))
    }

    /// With its length before it, so that no two rows of parts are the same bytes.
    pub fn part(&mut self, part: &[u8]) {
        self.0.update((part.len() as u64).to_be_bytes());
        self.0.update(part);
    }

    /// What ends it, as long as it may be.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub fn digest(self) -> Digest {
        Digest(self.0.finalize().into())
    }

    /// One of the blocks that follow from a secret, told apart by two numbers.
    pub fn block(secret: &[u8; 32], stream: u8, count: u64) -> [u8; 32] {
        let mut hasher = Sha256::new_with_prefix(secret);
        hasher.update([stream]);
        hasher.update(count.to_be_bytes());
        hasher.finalize().into()
    }
}

/// A JSON object written in its canonical form key by key, for what is hashed at every call: to build it as a value
/// first takes longer than to hash it.
pub struct Object {
    text: String,
    last: &'static str,
}

impl Object {
    /// Room for the parts of a usual call.
    const ROOM: usize = 1 << 10;

    #[expect(clippy::new_without_default, reason = "nobody needs one without keys")]
    pub fn new() -> Self {
        let mut text = String::with_capacity(Self::ROOM);
        text.push('{');
        Self { text, last: "" }
    }

    /// Keys are ASCII and come in their order.
    fn key(&mut self, key: &'static str) {
        assert!(self.last < key, "`{key}` stands after `{}`", self.last);
        self.text.push_str(if self.last.is_empty() { "\"" } else { ",\"" });
        self.text.push_str(key);
        self.text.push_str("\":");
        self.last = key;
    }

    pub fn text(mut self, key: &'static str, text: &str) -> Self {
        self.key(key);
        write_string(text, &mut self.text);
        self
    }

    pub fn digest(mut self, key: &'static str, digest: &Digest) -> Self {
        self.key(key);
        digest.with_text(|text| write_string(text, &mut self.text));
        self
    }

    pub fn number(mut self, key: &'static str, number: u32) -> Self {
        self.key(key);
        write!(self.text, "{number}").expect("text takes all that is written");
        self
    }

    pub fn value(mut self, key: &'static str, value: &Value) -> Self {
        self.key(key);
        write_canonical(value, &mut self.text);
        self
    }

    pub fn object(mut self, key: &'static str, fill: impl FnOnce(Self) -> Self) -> Self {
        self.key(key);
        self.text.push('{');
        Self { text: fill(Self { text: self.text, last: "" }).canonical(), last: key }
    }

    /// What is not JSON yet.
    pub fn of(self, key: &'static str, value: &impl Serialize) -> Self {
        self.value(key, &serde_json::to_value(value).expect("a value built from JSON serializes"))
    }

    /// Most calls hold no line of most kinds: an empty list is written without a look at its type.
    pub fn list<T: Serialize>(self, key: &'static str, items: &[T]) -> Self {
        if items.is_empty() { self.written(key, "[]") } else { self.of(key, &items) }
    }

    /// JSON in canonical form already.
    pub fn written(mut self, key: &'static str, json: &str) -> Self {
        self.key(key);
        self.text.push_str(json);
        self
    }

    pub fn canonical(mut self) -> String {
        self.text.push('}');
        self.text
    }
}

/// The one canonical text of a JSON value (RFC 8785).
pub fn canonical(value: &impl Serialize) -> String {
    serde_json_canonicalizer::to_string(value).expect("a value built from JSON serializes")
}

/// The same of what is a [`Value`] already. It stands in the way of every call several times, and a serializer that
/// puts keys in order copies every piece of text first.
pub fn canonical_value(value: &Value) -> String {
    let mut text = String::with_capacity(Object::ROOM);
    write_canonical(value, &mut text);
    text
}

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
        self.with_text(|text| f.write_str(text))
    }
}

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.with_text(|text| serializer.serialize_str(text))
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
        match text.strip_prefix(PREFIX) {
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
pub fn call_digest(parts: Object) -> Digest {
    Digest::of_object("pausegate-call/1", parts)
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

        #[test]
        fn an_object_written_key_by_key_is_the_same(value in any_value(), text in any::<String>()) {
            let digest = Digest::of_bytes(b"wasm");
            let written = canonical(&value);
            let object = Object::new().digest("a", &digest).of("b", &(1, "x")).text("c", &text).value("d", &value).written("e", &written);
            let object = object.object("f", |inner| inner.number("a", 7).value("b", &value)).number("g", 0);
            let same = json!({"g": 0, "f": {"b": value, "a": 7}, "e": value, "d": value, "c": text, "b": [1, "x"], "a": digest});
            prop_assert_eq!(object.canonical(), canonical(&same));
        }
    }

    #[test]
    fn key_order_does_not_change_a_digest() {
        let a = pause_digest(&json!({"a": 1, "b": [1.0, "x"]}));
        let b = pause_digest(&json!({"b": [1, "x"], "a": 1}));
        assert_eq!(a, b);
        assert_ne!(a, call_digest(Object::new().of("a", &1).of("b", &(1, "x"))));
    }

    #[test]
    fn a_digest_reads_back_from_its_text() {
        let digest = Digest::of_bytes(b"wasm");
        assert_eq!(digest.to_string().parse::<Digest>().unwrap(), digest);
        assert!("sha256:12".parse::<Digest>().is_err());
    }
}
