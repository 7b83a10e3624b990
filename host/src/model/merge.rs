//! Deltas put together to the message they are pieces of, keys of compatible servers included.

use serde_json::{Map, Value};

/// Adds `delta` to `whole`: text is appended, objects are merged, list items with an `index` meet their own.
pub fn merge(whole: &mut Map<String, Value>, delta: Map<String, Value>) {
    for (key, piece) in delta {
        match whole.get_mut(&key) {
            Some(value) => merge_value(&key, value, piece),
            // Servers say what is not there; some refuse to hear it.
            None if piece.is_null() => {}
            None => {
                whole.insert(key, piece);
            }
        }
    }
}

fn merge_value(key: &str, value: &mut Value, piece: Value) {
    match (value, piece) {
        (_, Value::Null) => {}
        (Value::String(text), Value::String(more)) => {
            // Said whole each time they are said.
            if matches!(key, "role" | "type" | "id" | "format" | "name") {
                if !more.is_empty() {
                    *text = more;
                }
            } else {
                text.push_str(&more);
            }
        }
        (Value::Object(object), Value::Object(more)) => merge(object, more),
        (Value::Array(items), Value::Array(more)) => more.into_iter().for_each(|item| merge_item(items, item)),
        (value, piece) => *value = piece,
    }
}

fn merge_item(items: &mut Vec<Value>, item: Value) {
    let index = item.get("index").and_then(Value::as_u64);
    let same = items.iter_mut().find(|other| index.is_some() && other.get("index").and_then(Value::as_u64) == index);
    match (same, item) {
        (Some(Value::Object(object)), Value::Object(more)) => merge(object, more),
        (_, item) => items.push(item),
    }
}
