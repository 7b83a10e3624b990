//! JSON Schemas of Rust types, as the contract wants them.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// The JSON Schema 2020-12 of `T`, without `$schema` and the Rust type's name.
pub(crate) fn of<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.meta_schema = None;
    // Models and forms read a nested type better in its place; only a recursive one keeps its `$ref`.
    settings.inline_subschemas = true;
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema.to_value()
}
