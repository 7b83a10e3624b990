//! Schemas from plugins: compiled and checked in bounded time, or refused.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::call::arguments::read_json;
use crate::call::schema::Schema;

use super::halves;

pub const SEEDS: &[&[u8]] = &[
    include_bytes!("../../seeds/schemas/object.json"),
    include_bytes!("../../seeds/schemas/tree.json"),
    include_bytes!("../../seeds/schemas/itself.json"),
    include_bytes!("../../seeds/schemas/choices.json"),
    include_bytes!("../../seeds/schemas/doubling.json"),
    include_bytes!("../../seeds/schemas/multiplying.json"),
];

/// Far more than any takes, and far less than one without a bound.
const TIME: Duration = Duration::from_secs(5);

/// A schema on one line, and behind it a value.
pub fn target(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (schema, value) = halves(text);
    let Ok(schema) = read_json(schema) else { return };
    let began = Instant::now();
    let compiled = Schema::compile(&schema);
    assert!(began.elapsed() < TIME, "compiling {schema} took {:?}", began.elapsed());
    let Ok(compiled) = compiled else { return };
    let began = Instant::now();
    for value in [read_json(value).unwrap_or(Value::Null), serde_json::json!({"a": [[1]], "b": {"a": {"a": "x"}}})] {
        if let Err(why) = compiled.check(&value) {
            assert!(!why.is_empty());
        }
    }
    assert!(began.elapsed() < TIME, "checking by {schema} took {:?}", began.elapsed());
}
