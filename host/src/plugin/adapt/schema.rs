//! The JSON Schema of a component's type, as [`super::values`] reads and writes it.
//!
//! Whole numbers of 64 bits beyond what JSON holds exactly are strings of digits; lists of bytes are base64; an option is
//! its value or null, and one of another option `{"some": …}` or null; a case with a value is `{"case": value}`, one
//! without it `"case"`; a result is `{"ok": …}` or `{"error": …}`.

use serde_json::{Map, Value, json};
use wasmtime::component::Type;

/// Levels of one type; a schema has a few more.
pub const DEPTH_MAX: u32 = 12;
/// Types and their names in one schema, a long name as several: a type may name others many times over.
pub const TYPES_MAX: u32 = 1_000;
/// Bytes of a name that count as one.
const NAME_BYTES: usize = 32;
/// What JSON holds exactly.
pub const EXACT_MAX: i64 = 1 << 53;

/// What is left for the schema of one function.
pub struct Room {
    types: u32,
    depth: u32,
}

impl Default for Room {
    fn default() -> Self {
        Self { types: TYPES_MAX, depth: DEPTH_MAX }
    }
}

impl Room {
    fn take(&mut self, count: usize) -> Result<(), String> {
        let left = u32::try_from(count).ok().and_then(|count| self.types.checked_sub(count));
        self.types = left.ok_or_else(|| format!("is built of more than {TYPES_MAX} types and names"))?;
        Ok(())
    }

    fn name<'n>(&mut self, name: &'n str) -> Result<&'n str, String> {
        self.take(name.len().div_ceil(NAME_BYTES))?;
        Ok(name)
    }
}

/// Or why the type cannot be an argument.
pub fn of(ty: &Type, room: &mut Room) -> Result<Value, String> {
    room.take(1)?;
    room.depth = room.depth.checked_sub(1).ok_or_else(|| format!("is nested over {DEPTH_MAX} deep"))?;
    let schema = shape(ty, room);
    room.depth += 1;
    schema
}

fn shape(ty: &Type, room: &mut Room) -> Result<Value, String> {
    let range = |least: i64, most: i64| json!({"type": "integer", "minimum": least, "maximum": most});
    Ok(match ty {
        Type::Bool => json!({"type": "boolean"}),
        Type::S8 => range(i8::MIN.into(), i8::MAX.into()),
        Type::U8 => range(0, u8::MAX.into()),
        Type::S16 => range(i16::MIN.into(), i16::MAX.into()),
        Type::U16 => range(0, u16::MAX.into()),
        Type::S32 => range(i32::MIN.into(), i32::MAX.into()),
        Type::U32 => range(0, u32::MAX.into()),
        Type::S64 => json!({"anyOf": [range(-EXACT_MAX, EXACT_MAX), {"type": "string", "pattern": "^-?[0-9]{1,20}$"}]}),
        Type::U64 => json!({"anyOf": [range(0, EXACT_MAX), {"type": "string", "pattern": "^[0-9]{1,20}$"}]}),
        Type::Float32 | Type::Float64 => json!({"anyOf": [{"type": "number"}, {"enum": ["NaN", "Infinity", "-Infinity"]}]}),
        Type::Char => json!({"type": "string", "minLength": 1, "maxLength": 1}),
        Type::String => json!({"type": "string"}),
        Type::List(list) if matches!(list.ty(), Type::U8) => json!({"type": "string", "contentEncoding": "base64"}),
        Type::List(list) => json!({"type": "array", "items": of(&list.ty(), room)?}),
        Type::FixedLengthList(list) => json!({"type": "array", "items": of(&list.ty(), room)?, "minItems": list.len(), "maxItems": list.len()}),
        Type::Record(record) => object(record.fields().map(|field| (field.name.to_owned(), field.ty)).collect(), room)?,
        Type::Tuple(tuple) => {
            let items = tuple.types().map(|ty| of(&ty, room)).collect::<Result<Vec<_>, _>>()?;
            json!({"type": "array", "minItems": items.len(), "maxItems": items.len(), "prefixItems": items})
        }
        Type::Variant(variant) => {
            let cases = variant.cases().map(|case| self::case(case.name, case.ty.as_ref(), room));
            json!({"anyOf": cases.collect::<Result<Vec<_>, _>>()?})
        }
        Type::Enum(names) => json!({"enum": names.names().map(|name| room.name(name)).collect::<Result<Vec<_>, _>>()?}),
        Type::Flags(flags) => {
            let names = flags.names().map(|name| room.name(name)).collect::<Result<Vec<_>, _>>()?;
            json!({"type": "array", "items": {"enum": names}, "uniqueItems": true})
        }
        Type::Option(option) => {
            let inner = option.ty();
            let some = if is_nullable(&inner) { case("some", Some(&inner), room)? } else { of(&inner, room)? };
            json!({"anyOf": [some, {"type": "null"}]})
        }
        Type::Result(result) => {
            json!({"anyOf": [case("ok", result.ok().as_ref(), room)?, case("error", result.err().as_ref(), room)?]})
        }
        Type::Map(_) | Type::Own(_) | Type::Borrow(_) | Type::Future(_) | Type::Stream(_) | Type::ErrorContext => {
            return Err("has a type that JSON has nothing for: a map, resource, future, stream or error context".to_owned());
        }
    })
}

fn object(fields: Vec<(String, Type)>, room: &mut Room) -> Result<Value, String> {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (name, ty) in fields {
        properties.insert(room.name(&name)?.to_owned(), of(&ty, room)?);
        if !matches!(ty, Type::Option(_)) {
            required.push(name);
        }
    }
    Ok(json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false}))
}

fn case(name: &str, ty: Option<&Type>, room: &mut Room) -> Result<Value, String> {
    room.name(name)?;
    match ty {
        Some(ty) => Ok(json!({"type": "object", "properties": {name: of(ty, room)?}, "required": [name], "additionalProperties": false})),
        None => Ok(json!({"const": name})),
    }
}

/// Whether null already means something there.
pub fn is_nullable(ty: &Type) -> bool {
    matches!(ty, Type::Option(_))
}
