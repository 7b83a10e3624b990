//! How much work a schema makes of a value, told before it is done: with references, a hundred bytes of schema can ask for
//! more steps than there are seconds.
//!
//! An upper bound: each part of the schema counts where it can be applied, whether or not it would be.

use std::collections::HashMap;

use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::SchemaError;
use crate::call::arguments::DEPTH_MAX;

/// Parts of a schema applied to parts of a value, all together; each takes about a microsecond.
pub const STEPS_MAX: u64 = 2_000_000;
/// Parts of a schema applied inside of each other: the checker calls itself for each.
pub const NESTING_MAX: u64 = 1_000;

/// By how deep a value is nested.
pub struct Work(Vec<Cost>);

/// Of the parts of a value that stand inside of each other.
#[derive(Clone, Copy, Default)]
struct Cost {
    steps: u64,
    nesting: u64,
}

/// One schema inside the schema.
#[derive(Default)]
struct Part {
    /// Applied to the same value.
    here: Vec<usize>,
    /// Applied to what is inside the value.
    below: Vec<usize>,
    /// The same, but only one of them to each piece: properties by their names.
    one_below: Vec<usize>,
    /// `unevaluated…` looks at all of it once more.
    again: bool,
}

impl Work {
    pub fn of(schema: &Value) -> Result<Self, SchemaError> {
        let parts = Parts::of(schema);
        let order = in_order(&parts)?;
        let mut by_depth = Vec::with_capacity(DEPTH_MAX + 1);
        let mut inside: Option<Vec<Cost>> = None;
        for _ in 0..=DEPTH_MAX {
            let mut costs = vec![Cost::default(); parts.len()];
            for part in &order {
                costs[*part] = cost(&parts[*part], &costs, inside.as_deref());
            }
            by_depth.push(costs[0]);
            inside = Some(costs);
        }
        match by_depth[0] {
            Cost { steps, nesting } if steps > STEPS_MAX || nesting > NESTING_MAX => Err(SchemaError::Work),
            _ => Ok(Self(by_depth)),
        }
    }

    /// Steps to check the value; `None` where they are over the limits.
    pub fn steps(&self, value: &Value) -> Option<u64> {
        let (depth, pieces) = extent(value, 0)?;
        let cost = self.0.get(depth)?;
        let steps = cost.steps.checked_mul(pieces)?;
        (steps <= STEPS_MAX && cost.nesting <= NESTING_MAX).then_some(steps)
    }
}

/// Depth and number of pieces; `None` for a value nested deeper than any that was read.
fn extent(value: &Value, above: usize) -> Option<(usize, u64)> {
    if above > DEPTH_MAX {
        return None;
    }
    let mut all = (0, 1);
    let mut add = |inner: &Value| {
        let (depth, pieces) = extent(inner, above + 1)?;
        all = (all.0.max(depth + 1), all.1 + pieces);
        Some(())
    };
    match value {
        Value::Array(items) => items.iter().try_for_each(&mut add)?,
        Value::Object(map) => map.values().try_for_each(&mut add)?,
        _ => {}
    }
    Some(all)
}

fn cost(part: &Part, here: &[Cost], inside: Option<&[Cost]>) -> Cost {
    let applied = part.here.iter().map(|other| here[*other]);
    let below = inside.into_iter().flat_map(|inside| part.below.iter().map(|other| inside[*other]));
    let named = inside.into_iter().flat_map(|inside| part.one_below.iter().map(|other| inside[*other]));
    let sum = applied.clone().chain(below.clone()).fold(0_u64, |sum, cost| sum.saturating_add(cost.steps));
    let largest = named.clone().map(|cost| cost.steps).max().unwrap_or(0);
    Cost {
        steps: sum.saturating_add(largest).saturating_mul(1 + u64::from(part.again)).saturating_add(1),
        nesting: applied.chain(below).chain(named).map(|cost| cost.nesting).max().unwrap_or(0).saturating_add(1),
    }
}

/// Each part behind all that it applies to the same value; a part that would apply itself has no such place.
fn in_order(parts: &[Part]) -> Result<Vec<usize>, SchemaError> {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        Not,
        Entered,
        Left,
    }
    let (mut seen, mut order) = (vec![Seen::Not; parts.len()], Vec::with_capacity(parts.len()));
    for start in 0..parts.len() {
        let mut path = vec![(start, 0)];
        while let Some((part, next)) = path.pop() {
            match seen[part] {
                Seen::Left => continue,
                Seen::Entered if next == 0 => return Err(SchemaError::Endless),
                _ => seen[part] = Seen::Entered,
            }
            match parts[part].here.get(next) {
                Some(other) => path.extend([(part, next + 1), (*other, 0)]),
                None => {
                    seen[part] = Seen::Left;
                    order.push(part);
                }
            }
        }
    }
    Ok(order)
}

/// Reads a schema into its parts; the first is the whole.
struct Parts<'s> {
    parts: Vec<Part>,
    /// By place in memory, with the schema that `#` means there.
    known: HashMap<(*const Value, *const Value), usize>,
    waiting: Vec<(&'s Value, &'s Value)>,
    anchors: Vec<(&'s str, &'s Value)>,
}

impl<'s> Parts<'s> {
    fn of(schema: &'s Value) -> Vec<Part> {
        let mut anchors = Vec::new();
        find_anchors(schema, &mut anchors);
        let mut reading = Self { parts: Vec::new(), known: HashMap::new(), waiting: Vec::new(), anchors };
        reading.part(schema, schema);
        let mut next = 0;
        while let Some((value, root)) = reading.waiting.get(next).copied() {
            reading.parts[next] = reading.read(value, root);
            next += 1;
        }
        reading.parts
    }

    fn part(&mut self, value: &'s Value, root: &'s Value) -> usize {
        let key = (std::ptr::from_ref(value), std::ptr::from_ref(root));
        *self.known.entry(key).or_insert_with(|| {
            self.parts.push(Part::default());
            self.waiting.push((value, root));
            self.parts.len() - 1
        })
    }

    fn read(&mut self, value: &'s Value, root: &'s Value) -> Part {
        let mut part = Part::default();
        let Value::Object(map) = value else { return part };
        let root = if map.contains_key("$id") { value } else { root };
        for (key, inner) in map {
            match (key.as_str(), inner) {
                ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(target)) => {
                    for target in self.resolve(root, target) {
                        part.here.push(self.part(target, root));
                    }
                }
                ("not" | "if" | "then" | "else", inner) => part.here.push(self.part(inner, root)),
                ("allOf" | "anyOf" | "oneOf", Value::Array(list)) => part.here.extend(list.iter().map(|inner| self.part(inner, root))),
                ("dependentSchemas" | "dependencies", Value::Object(map)) => part.here.extend(map.values().map(|inner| self.part(inner, root))),
                ("properties", Value::Object(map)) => part.one_below.extend(map.values().map(|inner| self.part(inner, root))),
                ("prefixItems" | "items", Value::Array(list)) => part.one_below.extend(list.iter().map(|inner| self.part(inner, root))),
                ("patternProperties", Value::Object(map)) => part.below.extend(map.values().map(|inner| self.part(inner, root))),
                ("unevaluatedProperties" | "unevaluatedItems", inner) => {
                    part.again = true;
                    part.below.push(self.part(inner, root));
                }
                ("additionalProperties" | "propertyNames" | "items" | "additionalItems" | "contains", inner) => {
                    part.below.push(self.part(inner, root));
                }
                _ => {}
            }
        }
        part
    }

    /// What a reference may mean: an anchor's name all that bear it.
    fn resolve(&self, root: &'s Value, target: &str) -> Vec<&'s Value> {
        let Some(fragment) = target.strip_prefix('#') else { return Vec::new() };
        let fragment = percent_decode_str(fragment).decode_utf8_lossy();
        if fragment.is_empty() || fragment.starts_with('/') {
            return root.pointer(&fragment).into_iter().collect();
        }
        self.anchors.iter().filter(|(name, _)| *name == fragment).map(|(_, value)| *value).collect()
    }
}

/// Nested no deeper than a schema may be.
fn find_anchors<'s>(schema: &'s Value, found: &mut Vec<(&'s str, &'s Value)>) {
    match schema {
        Value::Object(map) => {
            found.extend(["$anchor", "$dynamicAnchor"].iter().filter_map(|key| Some((map.get(*key)?.as_str()?, schema))));
            map.values().for_each(|inner| find_anchors(inner, found));
        }
        Value::Array(list) => list.iter().for_each(|inner| find_anchors(inner, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::call::schema::Schema;

    fn nested(depth: usize, leaf: Value) -> Value {
        (0..depth).fold(leaf, |inner, _| json!([inner]))
    }

    #[test]
    fn d08_references_that_double_are_refused_before_they_are_followed() {
        let doubling = |times: usize| {
            let level = |at: usize| {
                (format!("d{at}"), json!({"allOf": [{"$ref": format!("#/$defs/d{}", at + 1)}, {"$ref": format!("#/$defs/d{}", at + 1)}]}))
            };
            let mut levels: serde_json::Map<_, _> = (0..times).map(level).collect();
            levels.insert(format!("d{times}"), json!({"type": "string"}));
            json!({"$defs": levels, "$ref": "#/$defs/d0"})
        };
        assert_eq!(Schema::compile(&doubling(8)).unwrap().check(&json!("x")), Ok(()));
        assert_eq!(Schema::compile(&doubling(40)).err(), Some(SchemaError::Work));
    }

    /// limit: call/schema/work::STEPS_MAX
    #[test]
    fn d08_a_value_is_refused_that_a_schema_multiplies_with_its_depth() {
        let twice = json!({"allOf": [{"$ref": "#"}, {"$ref": "#"}]});
        let again = json!({"type": ["array", "string"], "unevaluatedItems": false, "items": {"$ref": "#"}});
        let anchored = json!({"$anchor": "a", "items": {"anyOf": [{"$ref": "#a"}, {"$ref": "#a"}]}});
        for schema in [json!({"type": ["array", "string"], "items": twice}), again, anchored] {
            let schema = Schema::compile(&schema).unwrap();
            assert_eq!(schema.check(&nested(6, json!("x"))), Ok(()));
            assert!(schema.check(&nested(60, json!("x"))).unwrap_err().contains("steps"));
        }
    }

    /// limit: call/schema/work::NESTING_MAX
    #[test]
    fn d08_references_one_behind_the_other_are_followed_so_far() {
        let chain = |length: usize| {
            let level = |at: usize| (format!("d{at}"), json!({"$ref": format!("#/$defs/d{}", at + 1)}));
            let mut levels: serde_json::Map<_, _> = (0..length).map(level).collect();
            levels.insert(format!("d{length}"), json!({"type": "string"}));
            json!({"$defs": levels, "$ref": "#/$defs/d0"})
        };
        assert!(Schema::compile(&chain(100)).is_ok());
        assert_eq!(Schema::compile(&chain(1100)).err(), Some(SchemaError::Work));
    }

    #[test]
    fn d08_a_schema_that_only_refers_to_itself_is_refused() {
        for schema in [json!({"$ref": "#"}), json!({"allOf": [{"$ref": "#"}]}), json!({"not": {"$ref": "#/$defs/a"}, "$defs": {"a": {"$ref": "#"}}})]
        {
            assert_eq!(Schema::compile(&schema).err(), Some(SchemaError::Endless), "{schema}");
        }
    }

    #[test]
    fn lists_and_trees_of_any_depth_are_checked() {
        let tree = json!({"type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}, "n": {"type": "integer"}}});
        let schema = Schema::compile(&tree).unwrap();
        let deep = |leaf: Value| (0..60).fold(leaf, |inner, _| json!({"left": inner, "right": {"n": 1}}));
        assert_eq!(schema.check(&deep(json!({"n": 1}))), Ok(()));
        assert!(schema.check(&deep(json!({"n": "x"}))).unwrap_err().contains("integer"));
        let rows = Schema::compile(&json!({"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer"}}}})).unwrap();
        assert_eq!(rows.check(&json!(vec![json!({"a": 1}); 50_000])), Ok(()));
    }
}
