//! Tools of one name in several plugins: both are there under their plugins' names, and nobody has to find out by chance.

use serde_json::json;

use super::TestEnvironment;

const WARNED: &str = "warning: plugins `again`, `files` all offer a tool `read`; models see `again__read`, `files__read`";

/// `files` once more, under a name that is loaded before or after it.
fn twice(name: &str) -> TestEnvironment {
    let env = TestEnvironment::new();
    let plugins = env.path("home/.local/share/pausegate/plugins");
    std::fs::copy(plugins.join("files.wasm"), plugins.join(format!("{name}.wasm"))).unwrap();
    env
}

/// The host itself offers no tool, so there is no built-in one to collide with.
#[test]
fn w45_tools_of_one_name_are_told_wherever_plugins_are_loaded() {
    let env = twice("again");
    env.script(json!([{"tool_calls": [{"id": "a", "name": "files__read", "arguments": {"path": "/build/a.tmp"}}]}, {"text": "done"}]));
    for command in [&["plugins"][..], &["plugins", "--json"], &["tools"], &["tools", "--json"], &["run", "go", "--model", "script:turns.json"]] {
        let shown = env.pausegate(command);
        assert_eq!(shown.code, Some(0), "{shown}");
        assert_eq!(shown.stderr.lines().filter(|line| line.contains(WARNED)).count(), 1, "{shown}");
    }
    let plugins = env.pausegate(&["plugins", "--json"]).json();
    let same = |name: &str| plugins.as_array().unwrap().iter().find(|plugin| plugin["name"] == name).unwrap()["same_names"].clone();
    assert_eq!((same("again"), same("survey")), (json!(["delete", "list", "read", "write"]), json!([])));
    let tools = env.pausegate(&["tools", "--json"]).json();
    let other = |name: &str| tools.as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap()["same_name_in"].clone();
    assert_eq!((other("again__read"), other("files__read")), (json!(["files"]), json!(["again"])));
}

#[test]
fn w45_names_are_the_same_in_any_order_and_each_call_goes_where_it_says() {
    for name in ["again", "z-later"] {
        let env = twice(name);
        let call = |id: &str, plugin: &str| json!({"id": id, "name": format!("{plugin}__read"), "arguments": {"path": "/build/a.tmp"}});
        env.script(json!([{"tool_calls": [call("a", "files"), call("b", name)]}, {"text": "done"}]));
        assert_eq!(env.pausegate(&["run", "go", "--model", "script:turns.json"]).code, Some(0));
        let chain = env.pausegate(&["inspect", &env.chains()[0], "--json"]).json();
        let came: Vec<_> = chain["calls"].as_array().unwrap().iter().map(|call| (&call["tool"], &call["status"])).collect();
        // Only `files` has a section in the grants file.
        assert_eq!(came, [(&json!("files__read"), &json!("succeeded")), (&json!(format!("{name}__read")), &json!("failed"))]);
    }
}

#[test]
fn w45_a_tool_that_one_plugin_alone_offers_is_not_told() {
    let env = TestEnvironment::new();
    let shown = env.pausegate(&["tools"]);
    assert!(!shown.stderr.contains("offer a tool"), "{shown}");
}
