//! Components that know nothing of our contract (`adapt = true`), made here from WIT and text.

use std::collections::BTreeSet;
use std::path::Path;

use super::*;
use crate::call::kind;
use crate::capability::Limits;

/// Memory and an allocator that only moves on.
const CORE: &str = r#"
    (memory (export "memory") 16)
    (global $next (mut i32) (i32.const 4096))
    (data (i32.const 64) "no name")
    (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (local $at i32)
      (local.set $at (i32.and (i32.add (global.get $next) (i32.sub (local.get 2) (i32.const 1))) (i32.sub (i32.const 0) (local.get 2))))
      (global.set $next (i32.add (local.get $at) (local.get 3)))
      (local.get $at))"#;

/// A component of `wit`, a package with a world `w`.
fn component(wit: &str, core: &str) -> Vec<u8> {
    let mut core = wat::parse_str(format!("(module {CORE} {core})")).unwrap();
    let mut resolve = wit_parser::Resolve::default();
    let package = resolve.push_str("w.wit", wit).unwrap();
    let world = resolve.select_world(&[package], Some("w")).unwrap();
    wit_component::embed_component_metadata(&mut core, &resolve, world, wit_component::StringEncoding::UTF8, false).unwrap();
    wit_component::ComponentEncoder::default().validate(true).module(&core).unwrap().encode().unwrap()
}

async fn loaded(dir: &Path, adapt: bool, bytes: &[u8]) -> WasmPlugins {
    std::fs::write(dir.join("c.wasm"), bytes).unwrap();
    let adapt: BTreeSet<String> = if adapt { BTreeSet::from(["c".to_owned()]) } else { BTreeSet::new() };
    WasmPlugins::load(PluginConfig { adapt, ..PluginConfig::new(dir, Some(dir.join("cache"))) }).await.unwrap()
}

async fn adapted(bytes: &[u8]) -> WasmPlugins {
    let dir = tempfile::tempdir().unwrap();
    loaded(dir.path(), true, bytes).await
}

async fn call(plugins: &WasmPlugins, tool: &str, arguments: Value) -> AttemptOutcome {
    let limits = Limits { time: Duration::from_secs(20), cpu: Duration::from_millis(300), ..Limits::default() };
    let arguments = crate::digest::canonical(&arguments);
    plugins.call(Attempt { plugin: "c".into(), tool: tool.into(), arguments, limits, ..attempt("echo", json!({})) }).await
}

const GREETER: &str = "package test:greeter@0.1.0;
    interface hello { greet: func(name: string, loud: option<bool>) -> result<string, string>; }
    world w {
        export hello;
        export add: func(a: u32, b: s8) -> u32;
        export most: func() -> u64;
        export nothing: func();
        export spin: func();
        export trap: func();
    }";

/// `greet` hands its name back, or the error `no name`.
const GREETER_CORE: &str = r#"
    (func (export "test:greeter/hello@0.1.0#greet") (param $at i32) (param $len i32) (param i32 i32) (result i32)
      (i32.store8 (i32.const 16) (i32.eqz (local.get $len)))
      (i32.store (i32.const 20) (select (local.get $at) (i32.const 64) (local.get $len)))
      (i32.store (i32.const 24) (select (local.get $len) (i32.const 7) (local.get $len)))
      (i32.const 16))
    (func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1)))
    (func (export "most") (result i64) (i64.const -1))
    (func (export "nothing"))
    (func (export "spin") (loop $l (br $l)))
    (func (export "trap") (unreachable))"#;

#[tokio::test]
async fn exported_functions_are_tools_with_schemas_of_their_types() {
    let plugins = adapted(&component(GREETER, GREETER_CORE)).await;
    assert_eq!(plugins.failures(), []);
    let catalog = plugins.catalog();
    let names: BTreeSet<_> = catalog.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, BTreeSet::from(["c__add", "c__hello_greet", "c__most", "c__nothing", "c__spin", "c__trap"]));
    assert!(catalog.iter().all(|tool| tool.effects == Effects::Once), "nobody knows what they do outside");
    let greet = catalog.iter().find(|tool| tool.tool == "hello_greet").unwrap();
    assert_eq!(greet.description, "Calls `greet` of `test:greeter/hello@0.1.0`.");
    assert_eq!(
        greet.input_schema,
        json!({
            "type": "object", "required": ["name"], "additionalProperties": false,
            "properties": {"name": {"type": "string"}, "loud": {"anyOf": [{"type": "boolean"}, {"type": "null"}]}},
        })
        .into()
    );
}

#[tokio::test]
async fn results_errors_and_traps_are_told_as_a_plugin_s_are() {
    let plugins = adapted(&component(GREETER, GREETER_CORE)).await;
    assert_eq!(text(&call(&plugins, "hello_greet", json!({"name": "Ada"})).await), "Ada");
    let error = call(&plugins, "hello_greet", json!({"name": "", "loud": true})).await;
    assert_eq!((failure(&error).kind.as_str(), failure(&error).message.as_str()), (kind::FAILED, "no name"));
    assert_eq!(structured(&call(&plugins, "add", json!({"a": 40, "b": -2})).await), &json!(38));
    // Beyond what JSON holds exactly it is a string of digits.
    assert_eq!(text(&call(&plugins, "most", json!({})).await), u64::MAX.to_string());
    let nothing = call(&plugins, "nothing", json!({})).await;
    assert!(matches!(nothing.ended, Ended::Result(ToolResult::Success { ref content }) if content.is_empty()), "{nothing:?}");
    assert_eq!(failure(&call(&plugins, "trap", json!({})).await).kind, kind::TRAPPED);
    assert_eq!(failure(&call(&plugins, "spin", json!({})).await).kind, kind::OUT_OF_CPU);
    for bad in [json!({"a": -1, "b": 0}), json!({"a": 0, "b": 128}), json!({"a": "x", "b": 0}), json!({})] {
        assert_eq!(failure(&call(&plugins, "add", bad).await).kind, kind::INVALID_INPUT);
    }
}

const EVERYTHING: &str = "package test:all;
    interface values {
        record point { x: f64, y: f32 }
        variant shape { dot, line(u8), area(point) }
        enum colour { red, dark-blue }
        flags marks { bold, wide }
        record all {
            text: string, letter: char, yes: bool, small: s16, large: u64, least: s64, numbers: list<u32>, bytes: list<u8>,
            nested: point, maybe: option<string>, twice: option<option<u8>>, ended: result<u8, string>, shape: shape,
            colour: colour, marks: marks, pair: tuple<u8, string>, empty: result,
        }
        echo: func(all: all) -> all;
    }
    world w { export values; }";

/// So many parts are handed over in memory, and a result as one lies there the same way.
const ECHO: &str = r#"(func (export "test:all/values#echo") (param i32) (result i32) (local.get 0))"#;

fn all() -> Value {
    json!({
        "text": "grüße", "letter": "ß", "yes": true, "small": -7, "large": 9_007_199_254_740_992_u64, "least": -9_007_199_254_740_992_i64,
        "numbers": [1, 2, 4_294_967_295_u32], "bytes": "AP8=", "nested": {"x": 0.5, "y": -2.25}, "maybe": "here", "twice": {"some": null},
        "ended": {"error": "why"}, "shape": {"area": {"x": 1.5, "y": 2.5}}, "colour": "dark-blue", "marks": ["bold", "wide"],
        "pair": [3, "c"], "empty": "ok",
    })
}

fn with(changes: Value) -> Value {
    let mut all = all();
    changes.as_object().unwrap().iter().for_each(|(key, value)| all[key] = value.clone());
    all
}

#[tokio::test]
async fn every_type_goes_there_and_back() {
    let plugins = adapted(&component(EVERYTHING, ECHO)).await;
    let schema = crate::call::schema::Schema::of_object(&plugins.catalog()[0].input_schema).unwrap();
    let changed = [
        json!({}),
        json!({"large": "9007199254740993", "least": "-9223372036854775808"}),
        json!({"large": "18446744073709551615", "least": "9223372036854775807"}),
        json!({"twice": null, "maybe": null, "ended": {"ok": 255}, "shape": "dot", "marks": [], "empty": "error", "numbers": [], "bytes": ""}),
        json!({"twice": {"some": 7}, "shape": {"line": 1}, "nested": {"x": "NaN", "y": "-Infinity"}, "marks": ["wide"]}),
    ];
    for changes in changed {
        let given = with(changes);
        schema.check(&json!({"all": given})).unwrap();
        assert_eq!(structured(&call(&plugins, "values_echo", json!({"all": given})).await), &given);
    }
}

#[tokio::test]
async fn what_does_not_fit_a_type_is_invalid_input_and_runs_nothing() {
    let plugins = adapted(&component(EVERYTHING, ECHO)).await;
    let wrong = [
        (json!({"large": "18446744073709551616"}), "large"),
        (json!({"large": -1}), "large"),
        (json!({"least": "9223372036854775808"}), "least"),
        (json!({"letter": "ab"}), "letter"),
        (json!({"bytes": "not base64!"}), "bytes"),
        (json!({"colour": "green"}), "colour"),
        (json!({"marks": ["thin"]}), "marks"),
        (json!({"shape": "line"}), "shape"),
        (json!({"shape": {"dot": 1}}), "shape"),
        (json!({"shape": {"dot": 1, "line": 2}}), "shape"),
        (json!({"pair": [1]}), "pair"),
        (json!({"twice": 7}), "twice"),
        (json!({"nested": {"x": 1.0}}), "nested"),
        (json!({"numbers": [4_294_967_296_u64]}), "numbers"),
    ];
    for (changes, named) in wrong {
        let outcome = call(&plugins, "values_echo", json!({"all": with(changes.clone())})).await;
        let failure = failure(&outcome);
        assert_eq!(failure.kind, kind::INVALID_INPUT, "{changes}");
        assert!(failure.message.contains(&format!("`{named}`")), "{}", failure.message);
    }
}

/// Of a component whose `f` takes these, with what core function that makes.
async fn misfit(parameters: &str, core: &str) -> Option<String> {
    let wit = format!("package test:one; world w {{ export f: func({parameters}); export g: func(); }}");
    let plugins = adapted(&component(&wit, &format!(r#"(func (export "g")) (func (export "f") {core})"#))).await;
    assert!(plugins.catalog().iter().any(|tool| tool.name == "c__g"), "one function stops no other: {:?}", plugins.failures());
    plugins.failures().into_iter().find(|failure| failure.name == "c__f").map(|failure| failure.reason)
}

/// limit: plugin/adapt::PARAMETERS_MAX, plugin/adapt/schema::DEPTH_MAX, plugin/adapt/schema::TYPES_MAX
#[tokio::test]
async fn a_function_of_too_much_is_left_out_alone() {
    let parameters = |count: usize| (0..count).map(|number| format!("p{number}: u8")).collect::<Vec<_>>().join(", ");
    assert_eq!(misfit(&parameters(64), "(param i32)").await, None);
    assert_eq!(misfit(&parameters(65), "(param i32)").await.unwrap(), "the function has 65 parameters, at most 64 fit");
    let deep = |levels: usize| format!("p: {}u8{}", "option<list<".repeat(levels), ">>".repeat(levels));
    assert_eq!(misfit(&deep(4), "(param i32 i32 i32)").await, None);
    assert!(misfit(&deep(7), "(param i32 i32 i32)").await.unwrap().contains("nested over 12 deep"));
    let wide = |count: usize| format!("p: tuple<{}>", vec!["u8"; count].join(", "));
    assert_eq!(misfit(&wide(500), "(param i32)").await, None);
    assert!(misfit(&wide(1_000), "(param i32)").await.unwrap().contains("more than 1000 types"));
}

/// limit: plugin/adapt/docs::BYTES_MAX
#[tokio::test]
async fn docs_that_a_component_brings_along_describe_its_tools() {
    let with_docs = |docs: &[u8]| {
        let mut bytes = component(GREETER, GREETER_CORE);
        let leb = |mut value: usize| {
            let mut out = Vec::new();
            while value >= 0x80 {
                out.push(0x80 | (value & 0x7f) as u8);
                value >>= 7;
            }
            out.push(value as u8);
            out
        };
        let name = [leb(12), b"package-docs".to_vec()].concat();
        bytes.extend([vec![0], leb(name.len() + docs.len()), name, docs.to_vec()].concat());
        bytes
    };
    let described = async |docs: &[u8], tool: &str| {
        let catalog = adapted(&with_docs(docs)).await.catalog();
        catalog.into_iter().find(|spec| spec.tool == tool).unwrap().description
    };
    let docs =
        b"\x01{\"interfaces\":{\"hello\":{\"funcs\":{\"greet\":{\"docs\":\" Greets. \"}}}},\"worlds\":{\"w\":{\"funcs\":{\"add\":\"Adds.\"}}}}";
    assert_eq!(described(docs, "hello_greet").await, "Greets.");
    assert_eq!(described(docs, "add").await, "Adds.");
    let padded = |bytes: usize| [docs.as_slice(), &vec![b' '; bytes - docs.len()]].concat();
    assert_eq!(described(&padded(1 << 20), "add").await, "Adds.");
    for unread in [padded((1 << 20) + 1), b"\x01{".to_vec(), Vec::new()] {
        assert_eq!(described(&unread, "add").await, "Calls `add`.");
    }
}

#[tokio::test]
async fn w48_without_the_operator_s_word_it_is_no_plugin_also_when_its_code_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = component(GREETER, GREETER_CORE);
    for (adapt, tools) in [(false, 0), (true, 6), (false, 0)] {
        let plugins = loaded(dir.path(), adapt, &bytes).await;
        assert_eq!(plugins.catalog().len(), tools);
        let told = plugins.failures().iter().any(|failure| failure.reason.contains("`adapt = true`"));
        assert_eq!(told, !adapt, "{:?}", plugins.failures());
    }
    // A plugin of the contract stays one.
    let survey = std::fs::read(guest("plugins/survey.wasm")).unwrap();
    assert_eq!(loaded(dir.path(), true, &survey).await.failures(), []);
}
