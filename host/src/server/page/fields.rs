//! A form made of a JSON Schema, where it is made of plain fields; whatever else a schema asks for is answered as JSON.
//!
//! It only helps to write the answer: the schema itself is what the answer is held to, at the one door for decisions.

use serde_json::{Map, Number, Value};

use super::given::Given;

/// Fields of a form that a person fills in; of more, JSON is the shorter way.
const FIELDS_MAX: usize = 32;
/// References that lead from one to the next.
const REFERENCES_MAX: usize = 8;
/// Before the name of every field, so that none stands for something else of the form.
pub const PREFIX: &str = "value.";
/// An input for an answer that is one value.
const ONE: &str = "value";

#[derive(Debug, PartialEq)]
pub enum Form {
    Object(Vec<Field>),
    /// The answer is one plain value.
    One(Box<[Field; 1]>),
}

#[derive(Debug, PartialEq)]
pub struct Field {
    name: String,
    /// Of its `input` element.
    pub input: String,
    pub label: String,
    pub help: Option<String>,
    pub kind: Kind,
    pub required: bool,
    /// Where it is left empty, the answer says `null`.
    nullable: bool,
    pub initial: String,
}

#[derive(Debug, PartialEq)]
pub enum Kind {
    Text,
    Number {
        whole: bool,
    },
    Choice(Vec<String>),
    /// Yes or no, and neither before one is chosen.
    Truth,
}

impl Form {
    /// `None` for what fields cannot show.
    pub fn of(schema: &Value) -> Option<Self> {
        let root = resolved(schema, schema)?;
        if root.get("type") != Some(&"object".into()) {
            let field = Field::of("", root, schema, true)?;
            return Some(Self::One(Box::new([Field {
                input: ONE.to_owned(),
                label: if field.label.is_empty() { "Your answer".to_owned() } else { field.label },
                ..field
            }])));
        }
        let composed = ["anyOf", "oneOf", "allOf", "if", "patternProperties"].iter().any(|key| root.get(key).is_some());
        let properties = root.get("properties")?.as_object()?;
        if composed || properties.is_empty() || properties.len() > FIELDS_MAX {
            return None;
        }
        let required: Vec<_> = root.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        // What is asked for and is no property has no field.
        if required.iter().any(|name| !properties.contains_key(*name)) {
            return None;
        }
        let field = |(name, property): (&String, &Value)| Field::of(name, resolved(property, schema)?, schema, required.contains(&name.as_str()));
        Some(Self::Object(properties.iter().map(field).collect::<Option<_>>()?))
    }

    pub fn fields(&self) -> &[Field] {
        match self {
            Self::Object(fields) => fields,
            Self::One(field) => &**field,
        }
    }

    /// The answer that was filled in.
    pub fn read(&self, given: &Given) -> Result<Value, String> {
        match self {
            Self::One(field) => field[0].read(given)?.ok_or_else(|| "the answer is empty".to_owned()),
            Self::Object(fields) => {
                let mut answer = Map::new();
                for field in fields {
                    if let Some(value) = field.read(given)? {
                        answer.insert(field.name.clone(), value);
                    }
                }
                Ok(answer.into())
            }
        }
    }
}

impl Field {
    fn of(name: &str, property: &Value, schema: &Value, required: bool) -> Option<Self> {
        let (property, nullable) = without_null(property, schema)?;
        let text = |key: &str| property.get(key).and_then(Value::as_str).map(str::to_owned);
        let kind = kind(property)?;
        let initial = match property.get("default") {
            // A yes that nobody said is none.
            _ if kind == Kind::Truth => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(number @ Value::Number(_)) => number.to_string(),
            _ => String::new(),
        };
        Some(Self {
            input: format!("{PREFIX}{name}"),
            label: text("title").unwrap_or_else(|| name.to_owned()),
            help: text("description"),
            name: name.to_owned(),
            kind,
            required,
            nullable,
            initial,
        })
    }

    fn read(&self, given: &Given) -> Result<Option<Value>, String> {
        let text = given.text(&self.input).unwrap_or_default();
        if text.is_empty() {
            return match (self.required, self.nullable) {
                (false, _) => Ok(None),
                (true, true) => Ok(Some(Value::Null)),
                (true, false) => Err(format!("`{}` is missing", self.label)),
            };
        }
        match &self.kind {
            Kind::Text | Kind::Choice(_) => Ok(Some(text.into())),
            Kind::Number { .. } => number(&text).map(|number| Some(number.into())).ok_or_else(|| format!("`{}` is no number", self.label)),
            Kind::Truth => match text.as_str() {
                "true" => Ok(Some(true.into())),
                "false" => Ok(Some(false.into())),
                _ => Err(format!("`{}` is neither yes nor no", self.label)),
            },
        }
    }
}

/// As strictly as every door reads JSON.
fn number(text: &str) -> Option<Number> {
    match crate::call::arguments::read_json(text.trim()) {
        Ok(Value::Number(number)) => Some(number),
        _ => None,
    }
}

fn kind(property: &Value) -> Option<Kind> {
    if ["anyOf", "oneOf", "allOf", "not", "const"].iter().any(|key| property.get(key).is_some()) {
        return None;
    }
    if let Some(values) = property.get("enum") {
        let values: Option<Vec<_>> =
            values.as_array()?.iter().filter(|value| !value.is_null()).map(|value| value.as_str().map(str::to_owned)).collect();
        return values.filter(|values| values.iter().all(|value| !value.is_empty())).map(Kind::Choice);
    }
    let kinds = match property.get("type")? {
        Value::String(kind) => vec![kind.as_str()],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null").collect(),
        _ => return None,
    };
    match kinds.as_slice() {
        ["string"] => Some(Kind::Text),
        ["integer"] => Some(Kind::Number { whole: true }),
        ["number"] => Some(Kind::Number { whole: false }),
        ["boolean"] => Some(Kind::Truth),
        _ => None,
    }
}

/// The schema beside `null`, and whether there is a `null`.
fn without_null<'s>(property: &'s Value, schema: &'s Value) -> Option<(&'s Value, bool)> {
    let is_null = |value: &Value| value.get("type") == Some(&"null".into());
    if let Some(Value::Array(branches)) = property.get("anyOf") {
        let others: Vec<_> = branches.iter().filter(|branch| !is_null(branch)).collect();
        return match others.as_slice() {
            [other] if branches.len() == 2 => Some((resolved(other, schema)?, true)),
            _ => None,
        };
    }
    let nullable = property.get("type").and_then(Value::as_array).is_some_and(|kinds| kinds.contains(&"null".into()));
    Some((property, nullable))
}

/// What a local reference leads to.
fn resolved<'s>(mut property: &'s Value, schema: &'s Value) -> Option<&'s Value> {
    for _ in 0..REFERENCES_MAX {
        let Some(reference) = property.get("$ref") else { return Some(property) };
        property = schema.pointer(reference.as_str()?.strip_prefix('#')?)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn given(pairs: &[(&str, &str)]) -> Given {
        Given::of(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()).unwrap()
    }

    #[test]
    fn plain_fields_become_inputs_and_their_answer_fits_the_schema() {
        let schema = json!({
            "type": "object",
            "properties": {
                "street": {"type": "string", "title": "Street", "description": "and number"},
                "count": {"type": "integer", "default": 1},
                "size": {"$ref": "#/$defs/Size"},
                "express": {"type": "boolean", "default": true},
                "remark": {"type": ["string", "null"]},
                "wrap": {"anyOf": [{"$ref": "#/$defs/Size"}, {"type": "null"}]},
            },
            "required": ["street", "count", "size", "express"],
            "$defs": {"Size": {"type": "string", "enum": ["small", "large"]}},
        });
        let form = Form::of(&schema).unwrap();
        let kinds: Vec<_> = form.fields().iter().map(|field| (field.input.as_str(), field.required, field.initial.as_str())).collect();
        assert_eq!(
            kinds,
            [
                ("value.street", true, ""),
                ("value.count", true, "1"),
                ("value.size", true, ""),
                ("value.express", true, ""),
                ("value.remark", false, ""),
                ("value.wrap", false, "")
            ]
        );
        let filled = [("value.street", "1\r\nA"), ("value.count", "2"), ("value.size", "large"), ("value.express", "false"), ("value.remark", "")];
        let answer = form.read(&given(&filled)).unwrap();
        assert_eq!(answer, json!({"street": "1\nA", "count": 2, "size": "large", "express": false}));
        crate::call::schema::Schema::compile(&schema).unwrap().check(&answer).unwrap();
    }

    #[test]
    fn s03_what_nobody_filled_in_is_no_answer() {
        let schema = json!({"type": "object", "properties": {"sure": {"type": "boolean"}, "name": {"type": "string"}}, "required": ["sure", "name"]});
        let form = Form::of(&schema).unwrap();
        assert_eq!(form.read(&given(&[("value.name", "a")])), Err("`sure` is missing".to_owned()));
        assert_eq!(form.read(&given(&[("value.sure", "true"), ("value.name", "")])), Err("`name` is missing".to_owned()));
        assert_eq!(form.read(&given(&[("value.sure", "on"), ("value.name", "a")])), Err("`sure` is neither yes nor no".to_owned()));
        let stars = Form::of(&json!({"type": "integer", "minimum": 1})).unwrap();
        assert_eq!(stars.read(&given(&[("value", "3")])), Ok(json!(3)));
        assert_eq!(stars.read(&given(&[("value", "")])), Err("`Your answer` is missing".to_owned()));
        assert_eq!(stars.read(&given(&[("value", "1e400")])), Err("`Your answer` is no number".to_owned()));
    }

    #[test]
    fn what_fields_cannot_show_is_left_to_json() {
        for schema in [
            json!({}),
            json!(true),
            json!({"type": "array", "items": {"type": "string"}}),
            json!({"type": "object"}),
            json!({"type": "object", "properties": {"a": {"type": "array"}}}),
            json!({"type": "object", "properties": {"a": {"type": ["string", "integer"]}}}),
            json!({"type": "object", "properties": {"a": {"oneOf": [{"type": "string"}]}}}),
            json!({"type": "object", "properties": {"a": {"enum": [1, 2]}}}),
            json!({"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}}),
            json!({"type": "object", "properties": {"a": {"$ref": "https://elsewhere.test/"}}}),
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["b"]}),
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "oneOf": [{"required": ["a"]}]}),
        ] {
            assert_eq!(Form::of(&schema), None, "{schema}");
        }
        let many: Map<_, _> = (0..=FIELDS_MAX).map(|number| (format!("f{number}"), json!({"type": "string"}))).collect();
        assert_eq!(Form::of(&json!({"type": "object", "properties": many})), None);
    }
}
