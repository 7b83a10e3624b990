//! What authors of tools type: `new`, `build`, and components that were made for something else.

use std::fs;

use super::TestEnvironment;

const LANGUAGES: [(&str, &str); 6] = [
    ("rust", "cargo is missing"),
    ("python", "componentize-py is missing"),
    ("typescript", "node is missing"),
    ("javascript", "node is missing"),
    ("go", "Go 1.27 is missing"),
    ("c", "a C compiler for wasm32-wasi is missing"),
];

/// The environment of tests has no way to programs.
#[test]
fn a_new_plugin_s_missing_compiler_is_named_with_the_way_to_get_it() {
    let env = TestEnvironment::new();
    for (language, missing) in LANGUAGES {
        let name = format!("my-{language}");
        let made = env.pausegate(&["new", "--lang", language, &name]);
        assert_eq!((made.code, made.stdout.as_str()), (Some(0), format!("{name}/\n").as_str()), "{made}");
        let get = made.stderr.lines().nth(1).unwrap().trim().trim_end_matches("  # once").to_owned();
        let built = env.pausegate(&["build", &name]);
        assert_eq!(built.code, Some(69), "{built}");
        assert!(built.stderr.contains(missing), "{built}");
        assert!(["rust", "typescript", "javascript"].contains(&language) || built.stderr.contains(&get), "{built}");
        assert!(!env.path("work").join(&name).join("plugins").exists());
    }
}

#[test]
fn what_cannot_be_begun_or_built_is_said_and_changes_nothing() {
    let env = TestEnvironment::new();
    let code = |arguments: &[&str]| env.pausegate(arguments).code;
    assert_eq!(code(&["new", "--lang", "python", "../x"]), Some(64));
    assert_eq!(code(&["new", "--lang", "cobol", "x"]), Some(64));
    // `build` is there and holds files.
    assert_eq!(code(&["new", "--lang", "python", "build"]), Some(65));
    assert_eq!(code(&["build", "build"]), Some(65));
    assert_eq!(code(&["build", "nowhere"]), Some(1));
    let core = r#"(module (memory (export "memory") 1)
        (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable)
        (func (export "pausegate:plugin/tools@0.1.0#list-tools") (result i32) unreachable)
        (func (export "pausegate:plugin/tools@0.1.0#call-tool") (param i32) (result i32) unreachable))"#;
    fs::write(env.path("work/core.wasm"), wat::parse_str(core).unwrap()).unwrap();
    let built = env.pausegate(&["build", "core.wasm", "--world", "plugin", "--out", "mine.wasm"]);
    assert_eq!(built.code, Some(1), "{built}");
    assert!(built.stderr.contains("would not load") && built.stderr.contains("list-tools failed: trapped"), "{built}");
    assert!(!env.path("work/mine.wasm").exists());
}

/// Knows nothing of our contract, and stands for the many that do not.
const ADDER: &str = r#"(component
    (core module $m (func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1))))
    (core instance $i (instantiate $m))
    (func (export "add") (param "a" u32) (param "b" u32) (result u32) (canon lift (core func $i "add"))))"#;

#[test]
fn a_component_without_the_contract_is_a_plugin_on_the_operator_s_word_alone() {
    let env = TestEnvironment::new();
    fs::write(env.path("home/.local/share/pausegate/plugins/adder.wasm"), wat::parse_str(ADDER).unwrap()).unwrap();
    let refused = env.pausegate(&["tools"]);
    assert!(refused.stderr.contains("`adapt = true`") && !refused.stdout.contains("adder__add"), "{refused}");
    env.grants("[plugins.adder]\ndigest = \"any\"\nadapt = true\n");
    let called = env.pausegate(&["call", "adder__add", r#"{"a": 40, "b": 2}"#]);
    assert_eq!((called.code, called.stdout.as_str()), (Some(0), "42\n"), "{called}");
    // Judged like any call: by its schema, and by rules.
    let wrong = env.pausegate(&["call", "adder__add", r#"{"a": -1}"#]);
    assert!(wrong.code == Some(1) && wrong.stderr.contains("invalid-input"), "{wrong}");
    env.grants("[plugins.adder]\ndigest = \"any\"\nadapt = true\n[[rules]]\ntool = \"adder__*\"\neffect = \"ask\"\n");
    assert_eq!(env.pausegate(&["call", "adder__add", r#"{"a": 1, "b": 2}"#]).code, Some(75));
    env.grants("[plugins.adder]\ndigest = \"any\"\nadapt = \"yes\"\n");
    assert_eq!(env.pausegate(&["tools"]).code, Some(78));
}
