//! The plugins of all languages beside each other: what they offer is the same, and each call goes where it says.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::LANGUAGES;
use crate::e2e::TestEnvironment;

/// In Python alone, for the host's tests of a large guest that waits.
const PYTHON_ALONE: &str = "nap";

/// Each under its language's name.
fn all() -> (TestEnvironment, Vec<Value>) {
    let env = TestEnvironment::new();
    for language in &LANGUAGES {
        env.add_conform_as(language.name, language.name);
    }
    let tools = env.pausegate(&["tools", "--json"]).json().as_array().unwrap().clone();
    (env, tools)
}

/// What must be the same: its effects, and each argument with whether it must be there and the types it may have.
fn shape(tool: &Value) -> Value {
    let schema = &tool["input_schema"];
    let required = |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|each| each == name));
    let properties = schema["properties"].as_object().into_iter().flatten();
    let arguments: BTreeMap<_, _> = properties.map(|(name, _)| (name, required(name))).collect();
    json!({"effects": tool["effects"], "arguments": arguments, "description": tool["description"]})
}

#[test]
fn w44_w45_w46_every_language_offers_the_same_tools_under_names_that_models_take() {
    let (_, tools) = all();
    let mut offered: BTreeMap<&str, BTreeMap<&str, Value>> = BTreeMap::new();
    for tool in &tools {
        let name = tool["name"].as_str().unwrap();
        assert!(name.len() <= 64 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)), "{name}");
        let (plugin, tool_name) = name.split_once("__").unwrap();
        if tool_name != PYTHON_ALONE {
            let before = offered.entry(plugin).or_default().insert(tool_name, shape(tool));
            assert_eq!(before, None, "{name} is there once");
        }
    }
    let expected = offered["rust"].clone();
    assert_eq!(expected["keep"]["arguments"], json!({"key": true, "value": true}), "models see what is required");
    for language in &LANGUAGES {
        let differing: Vec<_> = expected.iter().filter(|(name, shape)| offered[language.name].get(*name) != Some(shape)).collect();
        assert!(differing.is_empty(), "{} differs in {differing:#?}, not {:#?}", language.title, offered[language.name]);
        assert_eq!(offered[language.name].len(), expected.len(), "{}", language.title);
    }
}

#[test]
fn w45_a_call_goes_to_the_plugin_that_it_names_although_all_have_its_tool() {
    let (env, _) = all();
    for language in &LANGUAGES {
        let name = format!("{}__echo", language.name);
        let called = env.pausegate(&["call", &name, r#"{"text": "x"}"#, "--json"]);
        let chain: Value = called.json();
        assert_eq!(chain["result"]["content"][0]["text"], "x", "{}", language.title);
        let call = env.pausegate(&["inspect", &env.chains()[0], "--json"]).json()["calls"][0].clone();
        assert_eq!((&call["tool"], &call["status"]), (&json!(name), &json!("succeeded")));
        assert!(called.stderr.contains("all offer a tool `echo`"), "never silent: {}", called.stderr);
    }
}

#[test]
fn w48_every_language_s_component_says_the_contract_it_was_built_for() {
    let env = TestEnvironment::new();
    for language in &LANGUAGES {
        env.add_conform_as(language.name, "conform");
        let checked = env.pausegate(&["check", env.path("home/.local/share/pausegate/plugins/conform.wasm").to_str().unwrap(), "--json"]);
        let exports = checked.json()["exports"].clone();
        let has = |name: &str| exports.as_array().unwrap().iter().any(|export| export == name);
        assert!(has("pausegate:plugin/tools@0.1.0") && has("pausegate:plugin/reconcile@0.1.0"), "{}: {exports}", language.title);
        assert_eq!(checked.json()["problems"], json!([]), "{}", language.title);
    }
}
