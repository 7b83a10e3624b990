//! JSON to a component's values and back, as [`super::schema`] describes them.
//!
//! Arguments were checked against that schema; what is read here again is what a schema cannot say, such as the range
//! of a string of digits. Nothing here panics, whatever it is given.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Number, Value, json};
use wasmtime::component::{Type, Val};

use super::schema::{EXACT_MAX, is_nullable};

/// The value of `ty`, or what is wrong with it, to follow its name.
pub fn lower(ty: &Type, value: &Value) -> Result<Val, String> {
    let wanted = |what: &str| format!("is not {what}");
    let number = |least: i128, most: i128| {
        whole(value).filter(|number| (least..=most).contains(number)).ok_or_else(|| format!("is not a whole number from {least} to {most}"))
    };
    let text = || value.as_str().ok_or_else(|| wanted("a text"));
    let items = || value.as_array().ok_or_else(|| wanted("a list"));
    Ok(match ty {
        Type::Bool => Val::Bool(value.as_bool().ok_or_else(|| wanted("true or false"))?),
        Type::S8 => Val::S8(number(i8::MIN.into(), i8::MAX.into())? as i8),
        Type::U8 => Val::U8(number(0, u8::MAX.into())? as u8),
        Type::S16 => Val::S16(number(i16::MIN.into(), i16::MAX.into())? as i16),
        Type::U16 => Val::U16(number(0, u16::MAX.into())? as u16),
        Type::S32 => Val::S32(number(i32::MIN.into(), i32::MAX.into())? as i32),
        Type::U32 => Val::U32(number(0, u32::MAX.into())? as u32),
        Type::S64 => Val::S64(number(i64::MIN.into(), i64::MAX.into())? as i64),
        Type::U64 => Val::U64(number(0, u64::MAX.into())? as u64),
        Type::Float32 => Val::Float32(float(value).ok_or_else(|| wanted("a number"))? as f32),
        Type::Float64 => Val::Float64(float(value).ok_or_else(|| wanted("a number"))?),
        Type::Char => Val::Char(only(text()?.chars()).ok_or_else(|| wanted("one character"))?),
        Type::String => Val::String(text()?.to_owned()),
        Type::List(list) if matches!(list.ty(), Type::U8) => {
            let bytes = STANDARD.decode(text()?).map_err(|error| format!("is not base64: {error}"))?;
            Val::List(bytes.into_iter().map(Val::U8).collect())
        }
        Type::List(list) => Val::List(items()?.iter().map(|item| lower(&list.ty(), item)).collect::<Result<_, _>>()?),
        Type::FixedLengthList(list) => {
            let items = items()?.iter().map(|item| lower(&list.ty(), item)).collect::<Result<Vec<_>, _>>()?;
            if items.len() != list.len() as usize {
                return Err(format!("has {} items, not {}", items.len(), list.len()));
            }
            Val::FixedLengthList(items)
        }
        Type::Record(record) => {
            let field = |name: &str, ty: &Type| {
                let inner = lower(ty, value.get(name).unwrap_or(&Value::Null)).map_err(|why| format!("has a `{name}` that {why}"))?;
                Ok((name.to_owned(), inner))
            };
            Val::Record(record.fields().map(|found| field(found.name, &found.ty)).collect::<Result<_, String>>()?)
        }
        Type::Tuple(tuple) => {
            let items = items()?;
            if items.len() != tuple.types().len() {
                return Err(format!("has {} items, not {}", items.len(), tuple.types().len()));
            }
            Val::Tuple(tuple.types().zip(items).map(|(ty, item)| lower(&ty, item)).collect::<Result<_, _>>()?)
        }
        Type::Variant(variant) => {
            let (name, inner) = case(value).ok_or_else(|| wanted("one of its cases"))?;
            let found = variant.cases().find(|case| case.name == name).ok_or_else(|| format!("has no case `{name}`"))?;
            Val::Variant(name.to_owned(), payload(found.ty.as_ref(), inner)?)
        }
        Type::Enum(names) => {
            let text = text()?;
            names.names().find(|name| *name == text).map(|name| Val::Enum(name.to_owned())).ok_or_else(|| wanted("one of its cases"))?
        }
        Type::Flags(flags) => {
            let given = items()?.iter().map(|item| item.as_str().unwrap_or_default()).collect::<Vec<_>>();
            if let Some(odd) = given.iter().find(|name| !flags.names().any(|known| known == **name)) {
                return Err(format!("has no flag `{odd}`"));
            }
            Val::Flags(flags.names().filter(|name| given.contains(name)).map(str::to_owned).collect())
        }
        Type::Option(_) if value.is_null() => Val::Option(None),
        Type::Option(option) => {
            let inner = option.ty();
            let some = if is_nullable(&inner) { value.get("some").ok_or_else(|| wanted("`{\"some\": …}` or null"))? } else { value };
            Val::Option(Some(Box::new(lower(&inner, some)?)))
        }
        Type::Result(result) => match case(value) {
            Some(("ok", inner)) => Val::Result(Ok(payload(result.ok().as_ref(), inner)?)),
            Some(("error", inner)) => Val::Result(Err(payload(result.err().as_ref(), inner)?)),
            _ => return Err(wanted("`{\"ok\": …}` or `{\"error\": …}`")),
        },
        Type::Map(_) | Type::Own(_) | Type::Borrow(_) | Type::Future(_) | Type::Stream(_) | Type::ErrorContext => {
            return Err("has a type that JSON has nothing for".to_owned());
        }
    })
}

/// As JSON; the engine has bounded how much there is of it, and types how deep it is.
pub fn lift(ty: &Type, value: &Val) -> Result<Value, String> {
    let all = |ty: &Type, items: &[Val]| items.iter().map(|item| lift(ty, item)).collect::<Result<Vec<_>, _>>().map(Value::Array);
    Ok(match (ty, value) {
        (_, Val::Bool(value)) => json!(value),
        (_, Val::S8(value)) => json!(value),
        (_, Val::U8(value)) => json!(value),
        (_, Val::S16(value)) => json!(value),
        (_, Val::U16(value)) => json!(value),
        (_, Val::S32(value)) => json!(value),
        (_, Val::U32(value)) => json!(value),
        (_, Val::S64(value)) => exact(*value, (-EXACT_MAX..=EXACT_MAX).contains(value)),
        (_, Val::U64(value)) => exact(*value, *value <= EXACT_MAX.unsigned_abs()),
        (_, Val::Float32(value)) => number(f64::from(*value)),
        (_, Val::Float64(value)) => number(*value),
        (_, Val::Char(value)) => json!(value),
        (_, Val::String(text)) => json!(text),
        (_, Val::Enum(name)) => json!(name),
        (_, Val::Flags(names)) => json!(names),
        (Type::List(list), Val::List(items)) if matches!(list.ty(), Type::U8) => {
            let bytes: Vec<u8> = items.iter().filter_map(|item| if let Val::U8(byte) = item { Some(*byte) } else { None }).collect();
            json!(STANDARD.encode(bytes))
        }
        (Type::List(list), Val::List(items)) => all(&list.ty(), items)?,
        (Type::FixedLengthList(list), Val::FixedLengthList(items)) => all(&list.ty(), items)?,
        (Type::Tuple(tuple), Val::Tuple(items)) => {
            Value::Array(tuple.types().zip(items).map(|(ty, item)| lift(&ty, item)).collect::<Result<_, _>>()?)
        }
        (Type::Record(record), Val::Record(fields)) => {
            let field = |(known, (name, value)): (_, &(String, Val))| {
                let known: wasmtime::component::types::Field<'_> = known;
                Ok((name.clone(), lift(&known.ty, value)?))
            };
            Value::Object(record.fields().zip(fields).map(field).collect::<Result<Map<_, _>, String>>()?)
        }
        (Type::Variant(variant), Val::Variant(name, inner)) => {
            let ty = variant.cases().find(|case| case.name == *name).and_then(|case| case.ty);
            told(name, ty.as_ref(), inner.as_deref())?
        }
        (Type::Option(_), Val::Option(None)) => Value::Null,
        (Type::Option(option), Val::Option(Some(inner))) if is_nullable(&option.ty()) => told("some", Some(&option.ty()), Some(inner))?,
        (Type::Option(option), Val::Option(Some(inner))) => lift(&option.ty(), inner)?,
        (Type::Result(result), Val::Result(Ok(inner))) => told("ok", result.ok().as_ref(), inner.as_deref())?,
        (Type::Result(result), Val::Result(Err(inner))) => told("error", result.err().as_ref(), inner.as_deref())?,
        _ => return Err("it has a type that JSON has nothing for".to_owned()),
    })
}

fn told(case: &str, ty: Option<&Type>, inner: Option<&Val>) -> Result<Value, String> {
    Ok(match (ty, inner) {
        (Some(ty), Some(inner)) => json!({case: lift(ty, inner)?}),
        _ => json!(case),
    })
}

/// A name alone, or with its one value.
fn case(value: &Value) -> Option<(&str, Option<&Value>)> {
    match value {
        Value::String(name) => Some((name, None)),
        Value::Object(object) if object.len() == 1 => object.iter().next().map(|(name, value)| (name.as_str(), Some(value))),
        _ => None,
    }
}

fn payload(ty: Option<&Type>, value: Option<&Value>) -> Result<Option<Box<Val>>, String> {
    match (ty, value) {
        (None, None) => Ok(None),
        (Some(ty), Some(value)) => Ok(Some(Box::new(lower(ty, value)?))),
        (Some(_), None) => Err("lacks the value of its case".to_owned()),
        (None, Some(_)) => Err("has a value where its case has none".to_owned()),
    }
}

fn whole(value: &Value) -> Option<i128> {
    match value {
        Value::Number(number) => number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from)).or_else(|| {
            // `1.0` and `1e3` are whole too.
            number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() <= EXACT_MAX as f64).map(|float| float as i128)
        }),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

fn float(value: &Value) -> Option<f64> {
    match value.as_str() {
        Some("NaN") => Some(f64::NAN),
        Some("Infinity") => Some(f64::INFINITY),
        Some("-Infinity") => Some(f64::NEG_INFINITY),
        _ => value.as_f64(),
    }
}

fn number(value: f64) -> Value {
    let unspeakable = || {
        if value.is_nan() {
            "NaN"
        } else if value > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        }
    };
    Number::from_f64(value).map_or_else(|| json!(unspeakable()), Value::Number)
}

fn exact(value: impl Into<i128>, fits: bool) -> Value {
    let value: i128 = value.into();
    match i64::try_from(value) {
        Ok(small) if fits => json!(small),
        _ => json!(value.to_string()),
    }
}

fn only<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    let first = items.next();
    if items.next().is_none() { first } else { None }
}
