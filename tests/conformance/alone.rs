//! Each language's plugin with little or nothing granted to it.

use serde_json::{Value, json};

use super::LANGUAGES;
use super::world::World;

/// Every door that a tool of the suite knocks at.
fn knocks() -> [(&'static str, Value, &'static str); 8] {
    [
        ("read", json!({"path": "/data/hello.txt"}), "denied"),
        ("write", json!({"path": "/data/new.txt", "text": "x"}), "denied"),
        ("get", json!({"url": "SERVER/page"}), "denied"),
        ("keep", json!({"key": "a", "value": "x"}), "denied"),
        ("kept", json!({"key": "a"}), "denied"),
        ("forget", json!({"key": "a"}), "denied"),
        ("keys", json!({}), "denied"),
        ("env", json!({"name": "UNITS"}), "not-found"),
    ]
}

#[test]
fn without_grants_every_door_is_shut_in_every_language_and_none_of_them_traps() {
    for language in &LANGUAGES {
        let world = World::granting(language, "");
        for (tool, arguments, kind) in knocks() {
            let result = world.call(tool, &arguments).unwrap()["result"].clone();
            assert_eq!((&result["result"], &result["kind"]), (&json!("failure"), &json!(kind)), "{}: {tool}: {result}", language.title);
        }
        assert_eq!(world.call("setting", &json!({"name": "units"})).unwrap()["result"]["content"][0]["text"], "none of 0");
        assert_eq!(world.data("new.txt"), "");
    }
}

/// One block for all tools of the component, and each of them narrowed.
const NARROWED: &str = r#"
[plugins.conform]
digest = "any"
kv = { scope = "plugin", quota = "1KiB" }
[plugins.conform.tools.echo]
enabled = false
[plugins.conform.tools.keep]
effects = "read-only"
[[plugins.conform.fs]]
path = "DATA"
mount = "/data"
access = "write"
tools = ["write"]
"#;

#[test]
fn w49_one_block_serves_all_tools_of_a_component_and_narrows_each_in_every_language() {
    for language in &LANGUAGES {
        let world = World::granting(language, NARROWED);
        let kind = |tool: &str, arguments: Value| world.call(tool, &arguments).unwrap()["result"]["kind"].clone();
        assert_eq!(kind("write", json!({"path": "/data/new.txt", "text": "x"})), Value::Null, "{}", language.title);
        assert_eq!(world.data("new.txt"), "x");
        assert_eq!(kind("read", json!({"path": "/data/new.txt"})), "denied", "a line for another tool: {}", language.title);
        assert_eq!(kind("keep", json!({"key": "a", "value": "x"})), "denied", "by the operator it only reads: {}", language.title);
        assert_eq!(kind("kept", json!({"key": "a"})), Value::Null);
        let tools = world.env.pausegate(&["tools", "--json"]).json();
        assert!(tools.as_array().unwrap().iter().all(|tool| tool["name"] != "conform__echo"), "{}", language.title);
    }
}
