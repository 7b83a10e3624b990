//! Arguments read strictly: one meaning for the schema check, the person, the digest and the plugin.
//!
//! Refused: duplicate keys, numbers that are not exact within ±2^53, nesting over 64, anything that is not an object.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::digest::canonical_value;

/// Nesting of arrays and objects; deeper text is refused (DESIGN §2).
pub const DEPTH_MAX: usize = 64;
/// Bytes of one call's arguments.
pub const BYTES_MAX: usize = 1 << 20;
/// 2^53: integers up to here are exact in every language's numbers.
const EXACT_MAX: u64 = 1 << 53;

/// Arguments that passed the strict reading, with the canonical bytes that are hashed, shown and handed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments {
    pub value: Value,
    pub canonical: String,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentsError {
    #[error("arguments of {0} bytes are over the limit of {BYTES_MAX}")]
    TooLarge(usize),
    #[error("arguments are not valid JSON: {0}")]
    NotJson(String),
    #[error("arguments must be a JSON object, not {0}")]
    NotAnObject(&'static str),
}

/// Reads what a model or a person wrote; empty text stands for `{}`, as providers send it for a call without arguments.
pub fn read(text: &str) -> Result<Arguments, ArgumentsError> {
    let text = if text.trim().is_empty() { "{}" } else { text };
    let mut value = read_json(text)?;
    // People see the arguments in the order that is hashed and handed over.
    value.sort_all_objects();
    match &value {
        Value::Object(_) => Ok(Arguments { canonical: canonical_value(&value), value }),
        Value::Array(_) => Err(ArgumentsError::NotAnObject("an array")),
        Value::String(_) => Err(ArgumentsError::NotAnObject("a string")),
        Value::Number(_) => Err(ArgumentsError::NotAnObject("a number")),
        Value::Bool(_) => Err(ArgumentsError::NotAnObject("a boolean")),
        Value::Null => Err(ArgumentsError::NotAnObject("null")),
    }
}

/// Keys that begin so are the hosts': a schema that does not name one leaves it to nobody.
const RESERVED: &str = "__";

/// A key of these arguments that no tool could have meant. Any other key is the tool's own, whatever it is called:
/// `approved`, `force` or `auto` in arguments says nothing to the host, which never reads them.
pub fn reserved<'a>(arguments: &'a Value, schema: &Value) -> Option<&'a str> {
    let named = |key: &str| schema.get("properties").and_then(|properties| properties.get(key)).is_some();
    let keys = arguments.as_object()?.keys();
    keys.map(String::as_str).find(|key| key.starts_with(RESERVED) && !named(key))
}

/// Any JSON value under the same strictness: decisions and answers.
pub fn read_json(text: &str) -> Result<Value, ArgumentsError> {
    if text.len() > BYTES_MAX {
        return Err(ArgumentsError::TooLarge(text.len()));
    }
    read_nested(text, DEPTH_MAX).map_err(|error| ArgumentsError::NotJson(error.to_string()))
}

/// The same of a text that holds arguments somewhere inside; errors name the place in it.
pub fn read_nested(text: &str, depth_max: usize) -> serde_json::Result<Value> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Strict { depth: 0, depth_max }.deserialize(&mut deserializer)?;
    deserializer.end().map(|()| value)
}

#[derive(Clone, Copy)]
struct Strict {
    depth: usize,
    depth_max: usize,
}

impl Strict {
    fn deeper<E: de::Error>(self) -> Result<Self, E> {
        if self.depth == self.depth_max {
            return Err(E::custom(format_args!("nested deeper than {}", self.depth_max)));
        }
        Ok(Self { depth: self.depth + 1, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        if value.unsigned_abs() > EXACT_MAX {
            return Err(E::custom(format_args!("number {value} is beyond ±2^53; send it as a string")));
        }
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        if value > EXACT_MAX {
            return Err(E::custom(format_args!("number {value} is beyond ±2^53; send it as a string")));
        }
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        if value.abs() > EXACT_MAX as f64 {
            return Err(E::custom(format_args!("number {value} is beyond ±2^53; send it as a string")));
        }
        // 1.0 and 1 are one number: the canonical text writes both as 1, so the value must not differ either.
        let number = if value.fract() == 0.0 { Number::from(value as i64) } else { Number::from_f64(value).expect("finite") };
        Ok(Value::Number(number))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(inner)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(inner)?;
            if map.contains_key(&key) {
                return Err(de::Error::custom(format_args!("key `{key}` stands twice")));
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// limit: call/arguments::EXACT_MAX
    #[test]
    fn h49_one_meaning_or_a_refusal() {
        let ok = |text: &str| read(text).unwrap().canonical;
        let error = |text: &str| read(text).unwrap_err().to_string();
        assert_eq!(ok(r#"{ "b": 1.0, "a": [1, 1e2] }"#), r#"{"a":[1,100],"b":1}"#);
        assert_eq!(ok(""), "{}");
        assert_eq!(ok(r#"{"n": 9007199254740992, "m": -0.5}"#), r#"{"m":-0.5,"n":9007199254740992}"#);
        assert!(error(r#"{"n": 9007199254740993}"#).contains("2^53"));
        assert!(error(r#"{"n": 1e300}"#).contains("2^53"));
        assert!(error(r#"{"a": 1, "a": 2}"#).contains("`a` stands twice"));
        assert!(error(r#"{"x": {"a": 1, "\u0061": 2}}"#).contains("`a` stands twice"));
        assert_eq!(error("[1]"), "arguments must be a JSON object, not an array");
        assert!(error("{} {}").contains("not valid JSON"));
    }

    #[test]
    fn w37_keys_of_hosts_are_nobodys_unless_a_schema_names_them() {
        let schema = serde_json::json!({"type": "object", "properties": {"__typename": {"type": "string"}}});
        let found = |text: &str| reserved(&read(text).unwrap().value, &schema).map(str::to_owned);
        for key in ["__config", "__ctx", "__", "__type"] {
            assert_eq!(found(&format!(r#"{{"a": 1, "{key}": {{"approved": true}}}}"#)), Some(key.to_owned()));
        }
        assert_eq!(found(r#"{"__typename": "x", "_one": 1, "a__b": 2, "approved": true, "force": true, "auto": {"__x": 1}}"#), None);
        assert_eq!(reserved(&serde_json::json!({"__x": 1}), &serde_json::json!({"type": "object"})), Some("__x"));
    }

    /// limit: call/arguments::DEPTH_MAX
    #[test]
    fn depth_holds_just_under_and_fails_just_over() {
        let nested = |depth: usize| format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
        assert!(read(&nested(DEPTH_MAX)).is_ok());
        assert!(read(&nested(DEPTH_MAX + 1)).unwrap_err().to_string().contains("nested deeper than 64"));
    }

    /// limit: call/arguments::BYTES_MAX
    #[test]
    fn size_holds_just_under_and_fails_just_over() {
        let text = |bytes: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(bytes - 8));
        assert!(read(&text(BYTES_MAX)).is_ok());
        assert_eq!(
            read(&text(BYTES_MAX + 1)).unwrap_err().to_string(),
            format!("arguments of {} bytes are over the limit of {BYTES_MAX}", BYTES_MAX + 1)
        );
    }
}
