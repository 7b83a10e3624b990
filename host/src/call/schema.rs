//! JSON Schemas from plugins: hostile input, compiled under limits, used to check arguments, answers and results.
//!
//! No remote `$ref` is followed and patterns run in linear time; a schema that wants more is refused at load. What local
//! references multiply is counted beforehand (`work`).

use serde_json::Value;

use work::{STEPS_MAX, Work};

mod work;

/// Bytes of one schema as JSON text (DESIGN §2).
pub const BYTES_MAX: usize = 64 << 10;
/// Nesting of one schema.
pub const DEPTH_MAX: usize = 32;
/// Violations told to the model; the rest would only cost tokens.
const VIOLATIONS_MAX: usize = 5;

/// Steps of a check whose every violation may be collected; of a larger one the first is told.
const COLLECTED_STEPS_MAX: u64 = 100_000;

pub struct Schema {
    validator: jsonschema::Validator,
    work: Work,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    #[error("schema of {0} bytes is over the limit of {BYTES_MAX}")]
    TooLarge(usize),
    #[error("schema is nested deeper than {DEPTH_MAX}")]
    TooDeep,
    #[error("schema refers to `{0}`; only references inside the schema (`#…`) are followed")]
    RemoteReference(String),
    #[error("schema must describe an object (`\"type\": \"object\"`)")]
    NotAnObject,
    #[error("schema refers to itself without going into the value")]
    Endless,
    #[error("schema takes over {STEPS_MAX} steps for any value; its references multiply")]
    Work,
    #[error("schema is not valid: {0}")]
    Invalid(String),
}

impl Schema {
    /// A schema of a tool's arguments: it must describe an object.
    pub fn of_object(schema: &Value) -> Result<Self, SchemaError> {
        if schema.get("type") != Some(&Value::String("object".into())) {
            return Err(SchemaError::NotAnObject);
        }
        Self::compile(schema)
    }

    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        let bytes = schema.to_string().len();
        if bytes > BYTES_MAX {
            return Err(SchemaError::TooLarge(bytes));
        }
        check_shape(schema, 0)?;
        let work = Work::of(schema)?;
        jsonschema::options()
            .with_draft(jsonschema::Draft::Draft202012)
            .with_pattern_options(jsonschema::PatternOptions::regex())
            .should_validate_formats(false)
            .build(schema)
            .map(|validator| Self { validator, work })
            .map_err(|error| SchemaError::Invalid(error.to_string()))
    }

    /// `Err` names each field and what was expected of it.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        let Some(steps) = self.work.steps(value) else {
            return Err(format!("it would take over {STEPS_MAX} steps to check: less of it, or less deeply nested, can be"));
        };
        if self.validator.is_valid(value) {
            return Ok(());
        }
        if steps > COLLECTED_STEPS_MAX {
            return self.validator.validate(value).map_err(|error| told(&error));
        }
        let mut errors = self.validator.iter_errors(value).map(|error| told(&error));
        let first: Vec<_> = errors.by_ref().take(VIOLATIONS_MAX).collect();
        match errors.count() {
            0 => Err(first.join("; ")),
            more => Err(format!("{}; and {more} more", first.join("; "))),
        }
    }
}

fn told(error: &jsonschema::ValidationError<'_>) -> String {
    let path = error.instance_path().to_string();
    if path.is_empty() { error.to_string() } else { format!("`{}`: {error}", path.trim_start_matches('/')) }
}

fn check_shape(schema: &Value, depth: usize) -> Result<(), SchemaError> {
    if depth > DEPTH_MAX {
        return Err(SchemaError::TooDeep);
    }
    match schema {
        Value::Object(map) => {
            for key in ["$ref", "$dynamicRef"] {
                if let Some(Value::String(target)) = map.get(key)
                    && !target.starts_with('#')
                {
                    return Err(SchemaError::RemoteReference(target.clone()));
                }
            }
            map.values().try_for_each(|value| check_shape(value, depth + 1))
        }
        Value::Array(items) => items.iter().try_for_each(|value| check_shape(value, depth + 1)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_missing_or_wrong_field_is_named() {
        let schema = Schema::of_object(&json!({
            "type": "object", "properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a"], "additionalProperties": false
        }))
        .unwrap();
        assert_eq!(schema.check(&json!({"a": 1})), Ok(()));
        assert_eq!(schema.check(&json!({})).unwrap_err(), r#""a" is a required property"#);
        assert_eq!(schema.check(&json!({"a": "notint"})).unwrap_err(), r#"`a`: "notint" is not of type "integer""#);
        assert!(schema.check(&json!({"a": 1, "c": 2})).unwrap_err().contains("'c'"));
    }

    /// limit: call/schema::BYTES_MAX, call/schema::DEPTH_MAX
    #[test]
    fn hostile_schemas_are_refused_at_load() {
        let refused = |schema: Value| Schema::of_object(&schema).err().map(|error| error.to_string());
        assert!(refused(json!({"type": "object", "$ref": "https://evil.test/x"})).unwrap().contains("evil.test"));
        assert!(refused(json!({"type": "object", "title": "x".repeat(BYTES_MAX)})).unwrap().contains("over the limit"));
        let mut deep = json!({"type": "string"});
        for _ in 0..40 {
            deep = json!({"not": deep});
        }
        assert_eq!(refused(json!({"type": "object", "not": deep})).unwrap(), "schema is nested deeper than 32");
        assert!(refused(json!({"type": "object", "properties": {"a": {"pattern": "(?=x)"}}})).is_some());
        assert_eq!(refused(json!({"type": "string"})).unwrap(), SchemaError::NotAnObject.to_string());
    }
}
