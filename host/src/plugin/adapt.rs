//! A component that does not know our contract: each function that it exports is offered as a tool (`adapt = true`).
//!
//! Its types become the schema, the docs that it brings along the description. What it may do outside nobody knows, so
//! every tool is `once`. It runs like any plugin: a fresh instance per attempt, the same limits, and only what its
//! section grants. It cannot pause.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use wasmtime::component::types::{ComponentFunc, ComponentItem};
use wasmtime::component::{Component, ComponentExportIndex, InstancePre, Type, Val};
use wasmtime::{Engine, Store};

use super::bindings::types;
use super::catalog::{TOOLS_MAX, Told, ToldTool};
use super::state::State;
use crate::call::{Effects, kind};

mod docs;
mod schema;
mod values;

use docs::Docs;

/// Parameters of one function.
const PARAMETERS_MAX: usize = 64;
/// Interfaces of WASI's own are doors of a program, not tools.
const WASI: &str = "wasi:";

/// What is exported, ready to be called.
pub struct Adapted {
    pre: InstancePre<State>,
    functions: BTreeMap<String, Function>,
}

struct Function {
    index: ComponentExportIndex,
    parameters: Vec<(String, Type)>,
    result: Option<Type>,
}

/// A component's functions, what is told of each, and why others cannot be tools.
pub struct Adapting {
    pub adapted: Adapted,
    pub told: Told,
    pub misfits: Vec<(String, String)>,
}

impl Adapting {
    pub fn new(engine: &Engine, component: &Component, pre: InstancePre<State>, bytes: &[u8]) -> Self {
        let docs = Docs::read(bytes);
        let mut adapted = Adapted { pre, functions: BTreeMap::new() };
        let mut told = Told { tools: Vec::new(), wants: Vec::new() };
        let mut misfits = Vec::new();
        for (interface, name, ty, index) in exported(engine, component) {
            // One more than fits tells that there are more.
            if told.tools.len() + misfits.len() > TOOLS_MAX {
                break;
            }
            let tool = match &interface {
                Some(interface) => format!("{}_{name}", short(interface)),
                None => name.clone(),
            };
            let parameters: Vec<_> = ty.params().map(|(name, ty)| (name.to_owned(), ty)).collect();
            let said = docs.function(interface.as_deref(), &name).unwrap_or_else(|| signature(interface.as_deref(), &name));
            match input_schema(&parameters) {
                Ok(schema) => told.tools.push(ToldTool::adapted(&tool, said, schema.to_string(), Effects::Once)),
                Err(why) => misfits.push((tool.clone(), why)),
            }
            adapted.functions.insert(tool, Function { index, parameters, result: ty.results().next() });
        }
        Self { adapted, told, misfits }
    }
}

impl Adapted {
    /// One call, in a store of its own; what the function returns stands in the contract's own words.
    pub async fn call(&self, store: &mut Store<State>, call: &types::Call) -> wasmtime::Result<types::Outcome> {
        let Some(function) = self.functions.get(&call.tool) else {
            return Ok(failed(kind::NOT_FOUND, format!("there is no function `{}`", call.tool)));
        };
        let arguments = match function.arguments(&call.arguments) {
            Ok(arguments) => arguments,
            Err(why) => return Ok(failed(kind::INVALID_INPUT, why)),
        };
        let instance = self.pre.instantiate_async(&mut *store).await?;
        let Some(entry) = instance.get_func(&mut *store, function.index) else {
            return Ok(failed(kind::NOT_FOUND, format!("`{}` is no function", call.tool)));
        };
        let mut results = vec![Val::Bool(false); usize::from(function.result.is_some())];
        entry.call_async(&mut *store, &arguments, &mut results).await?;
        Ok(outcome(function.result.as_ref(), results.pop()))
    }
}

impl Function {
    fn arguments(&self, text: &str) -> Result<Vec<Val>, String> {
        let given: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let one = |(name, ty): &(String, Type)| {
            let value = given.get(name).unwrap_or(&Value::Null);
            values::lower(ty, value).map_err(|why| format!("`{name}` {why}"))
        };
        self.parameters.iter().map(one).collect()
    }
}

/// Functions at the root and in exported interfaces, with the interface's name.
fn exported(engine: &Engine, component: &Component) -> Vec<(Option<String>, String, ComponentFunc, ComponentExportIndex)> {
    let mut found = Vec::new();
    let ty = component.component_type();
    for (name, export) in ty.exports(engine) {
        let Some(index) = component.get_export_index(None, name) else { continue };
        match export.ty {
            ComponentItem::ComponentFunc(function) => found.push((None, name.to_owned(), function, index)),
            ComponentItem::ComponentInstance(instance) if !name.starts_with(WASI) => {
                for (inner, export) in instance.exports(engine) {
                    if let (ComponentItem::ComponentFunc(function), Some(index)) = (export.ty, component.get_export_index(Some(&index), inner)) {
                        found.push((Some(name.to_owned()), inner.to_owned(), function, index));
                    }
                }
            }
            _ => {}
        }
    }
    found
}

/// `calc` of `docs:adder/calc@0.1.0`.
fn short(interface: &str) -> &str {
    let name = interface.rsplit('/').next().unwrap_or(interface);
    name.split('@').next().unwrap_or(name)
}

fn signature(interface: Option<&str>, name: &str) -> String {
    match interface {
        Some(interface) => format!("Calls `{name}` of `{interface}`."),
        None => format!("Calls `{name}`."),
    }
}

/// Or why the function cannot be a tool.
fn input_schema(parameters: &[(String, Type)]) -> Result<Value, String> {
    if parameters.len() > PARAMETERS_MAX {
        return Err(format!("the function has {} parameters, at most {PARAMETERS_MAX} fit", parameters.len()));
    }
    let (mut properties, mut required) = (Map::new(), Vec::new());
    let mut room = schema::Room::default();
    for (name, ty) in parameters {
        properties.insert(name.clone(), schema::of(ty, &mut room).map_err(|why| format!("parameter `{name}` {why}"))?);
        if !matches!(ty, Type::Option(_)) {
            required.push(name);
        }
    }
    Ok(json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false}))
}

/// The error of a function's own `result` is a failure that the model reads.
fn outcome(ty: Option<&Type>, result: Option<Val>) -> types::Outcome {
    let (Some(ty), Some(result)) = (ty, result) else { return done(Vec::new()) };
    match (ty, result) {
        (Type::Result(ty), Val::Result(Ok(inner))) => shown(ty.ok().as_ref(), inner.as_deref()),
        (Type::Result(ty), Val::Result(Err(inner))) => match ty.err().zip(inner).map(|(ty, inner)| values::lift(&ty, &inner)).transpose() {
            Ok(Some(Value::String(text))) => failed(kind::FAILED, text),
            Ok(Some(value)) => failed(kind::FAILED, value.to_string()),
            Ok(None) => failed(kind::FAILED, "the function failed and did not say why".to_owned()),
            Err(why) => failed(kind::FAILED, format!("its error cannot be shown: {why}")),
        },
        (ty, value) => shown(Some(ty), Some(&value)),
    }
}

/// A text as it is, all else as a value.
fn shown(ty: Option<&Type>, value: Option<&Val>) -> types::Outcome {
    let (Some(ty), Some(value)) = (ty, value) else { return done(Vec::new()) };
    let body = match values::lift(ty, value) {
        Ok(Value::String(text)) => types::Body::Text(text),
        Ok(value) => types::Body::Structured(value.to_string()),
        Err(why) => return failed(kind::FAILED, format!("its result cannot be shown: {why}")),
    };
    done(vec![types::Content { body, meta: Vec::new() }])
}

fn done(content: Vec<types::Content>) -> types::Outcome {
    types::Outcome::Done(types::Success { content, meta: Vec::new() })
}

fn failed(kind: &str, message: String) -> types::Outcome {
    types::Outcome::Failed(types::Failure {
        kind: kind.to_owned(),
        message,
        retry_after_ms: None,
        effect: types::EffectState::Maybe,
        meta: Vec::new(),
    })
}
