//! Every limit on what a guest or a model can drive has a probe that breaks just it: a new one without fails here (W05).
//!
//! Limits are the keys of `limits`, `kv` and `children` in the schema of the grants file, the numbers of a chain's settings and of the
//! plugins' configuration, and every constant of the host's inner layers that is named for a limit. A probe names what it breaks in a comment above it:
//! `/// limit: plugin/lift::KEY_BYTES_MAX` on a test, `;; limit: …` in a hostile plugin; several are joined by commas.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Folders of `host/src` whose constants a guest or a model can reach.
const REACHED: &[&str] = &["call", "capability", "model", "plugin", "runner", "state"];

/// Endings that make a constant a limit.
const ENDINGS: &[&str] = &["_MAX", "_MIN", "_TIME"];

/// Types of a limit.
const NUMBERS: &[&str] = &["usize", "u64", "u32", "u16", "Duration"];

/// What is named like a limit and is broken by no guest and no model, and why.
const NO_PROBE: &[(&str, &str)] = &[
    ("call/schema::COLLECTED_STEPS_MAX", "which of two ways a schema is checked, under the limit of steps"),
    ("call/schema::VIOLATIONS_MAX", "how many faults are told of one value"),
    ("capability/pattern::PATTERN_MAX", "the operator's own words; `config/grants/tests` holds it"),
    ("capability/secret::NAME_BYTES_MAX", "the operator's own words"),
    ("model/anthropic::OUTPUT_TOKENS_MAX", "what a provider is asked for"),
    ("model/remote::HEAD_BYTES_MAX", "the HTTP client's own limit, set and not counted here"),
    ("model/script::BYTES_MAX", "a file that a person names"),
    ("model/script::DEPTH_MAX", "a file that a person names"),
    ("plugin/console::WRITE_BYTES_MAX", "a guest that is given less room writes on"),
    ("plugin/difference::COMPARE_TIME", "a coarser difference is shown after it"),
    ("plugin/difference::LINE_CHARS_MAX", "where a shown line is broken"),
    ("plugin/fs/descriptor::READ_BYTES_MAX", "a guest that is given less reads on"),
    ("plugin/http/pool::READY_TIME", "a kept connection that is not ready is not used"),
    ("plugin/http/send::CONNECT_TIME", "an address that does not answer is needed; the call's own time is shorter by default"),
    ("plugin/limits::INSTANCES_MAX", "the pool refuses a component with fewer than that when it is loaded"),
    ("plugin/load::CHECK_TIME", "the steps of a schema end it long before"),
    ("plugin/trap::MESSAGE_BYTES_MAX", "what is kept of standard error and the engine's own words are less"),
    ("runner/open::CHAINS_MAX", "people carry chains on"),
    ("runner/open::RACES_MAX", "people decide at the same time"),
    ("runner/recent::KEPT_MAX", "a cache: what is not kept is read again"),
    ("runner/work::LEFT_ALONE_CHAINS_MAX", "chains that wait for another try; the list starts anew beyond it"),
    ("runner/work::LEFT_ALONE_MAX", "the longest wait for another try"),
    ("state/decide::ANSWER_BYTES_MAX", "people answer"),
    ("state/fold::CHARS_MAX", "where a shown line is cut"),
    ("state/judged::KEPT_MAX", "a cache that starts anew"),
];

#[test]
fn w05_every_limit_has_a_probe_that_breaks_just_it() {
    let (limits, probed) = (limits(), probed());
    let excused: BTreeSet<_> = NO_PROBE.iter().map(|(limit, _)| (*limit).to_owned()).collect();
    let lacking: Vec<_> = limits.iter().filter(|limit| !probed.contains_key(*limit) && !excused.contains(*limit)).collect();
    assert!(
        lacking.is_empty(),
        "no probe for {lacking:#?}\nwrite a test that trips just that limit, with `/// limit: NAME` above it, or a plugin in tests/hostile with a line \
         `;; limit: NAME`; where no guest and no model can reach it, say why in NO_PROBE"
    );
    let unknown: Vec<_> = probed.iter().filter(|(limit, _)| !limits.contains(*limit)).collect();
    assert!(unknown.is_empty(), "probes of limits that are no more: {unknown:#?}");
    let stale: Vec<_> = excused.iter().filter(|limit| !limits.contains(*limit) || probed.contains_key(*limit)).collect();
    assert!(stale.is_empty(), "excuses that nothing needs: {stale:#?}");
}

fn limits() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let schema: Value = serde_json::from_str(&fs::read_to_string(root().join("host/grants.schema.json")).unwrap()).unwrap();
    let keys = |of: &Value| of["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    found.extend(keys(&schema["$defs"]["limits"]).into_iter().map(|key| format!("limits.{key}")));
    let kv = keys(&schema["$defs"]["kv"]).into_iter().filter(|key| matches!(key.as_str(), "quota" | "keys"));
    found.extend(kv.map(|key| format!("kv.{key}")));
    found.extend(keys(&schema["$defs"]["fs"]).into_iter().filter(|key| key == "quota").map(|key| format!("fs.{key}")));
    let children = keys(&schema["$defs"]["children"]).into_iter().filter(|key| matches!(key.as_str(), "depth" | "chains" | "turns"));
    found.extend(children.map(|key| format!("children.{key}")));
    let settings = serde_json::to_value(pausegate::chain::Settings::default()).unwrap();
    found.extend(settings.as_object().unwrap().iter().filter(|(_, value)| value.is_number()).map(|(key, _)| format!("settings.{key}")));
    let host = fs::read_to_string(root().join("host/src/plugin/host.rs")).unwrap();
    found.extend(numbers_of(&host, "PluginConfig").into_iter().map(|field| format!("config.{field}")));
    for file in files(&root().join("host/src"), "rs").into_iter().filter(|file| !is_test(file)) {
        let path = file.strip_prefix(root().join("host/src")).unwrap().with_extension("");
        let path = path.to_str().unwrap();
        if REACHED.iter().any(|folder| path.split('/').next() == Some(folder)) {
            let text = fs::read_to_string(&file).unwrap();
            found.extend(text.lines().filter_map(constant).map(|name| format!("{path}::{name}")));
        }
    }
    found
}

/// Fields of a struct that are numbers.
fn numbers_of(source: &str, name: &str) -> Vec<String> {
    let body = source.split_once(&format!("pub struct {name} {{")).unwrap().1.split_once("\n}").unwrap().0;
    let fields = body.lines().filter_map(|line| line.trim().strip_prefix("pub ")?.trim_end_matches(',').split_once(": "));
    fields.filter(|(_, of)| NUMBERS.contains(of)).map(|(field, _)| field.to_owned()).collect()
}

/// The name of the limit that a line defines.
fn constant(line: &str) -> Option<&str> {
    let (name, of) = line.trim_start().trim_start_matches("pub ").trim_start_matches("pub(super) ").strip_prefix("const ")?.split_once(": ")?;
    let number = NUMBERS.iter().any(|number| of.starts_with(number));
    (number && ENDINGS.iter().any(|ending| name.ends_with(ending))).then_some(name)
}

/// Limits that probes name, and where.
fn probed() -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    for file in files(&root().join("tests/hostile"), "wat") {
        let text = fs::read_to_string(&file).unwrap();
        named(text.lines().filter_map(|line| line.strip_prefix(";; limit: ")), &file, &mut found);
    }
    for file in files(&root().join("host/src"), "rs").into_iter().chain(files(&root().join("tests"), "rs")) {
        let text = fs::read_to_string(&file).unwrap();
        let lines: Vec<_> = text.lines().map(str::trim_start).collect();
        // Only above a test: elsewhere nothing would be tripped.
        let above_test = |at: usize| lines[at + 1..].iter().find(|line| !line.starts_with("//")).is_some_and(|line| line.contains("test]"));
        let marked = lines.iter().enumerate().filter_map(|(at, line)| line.strip_prefix("/// limit: ").filter(|_| above_test(at)));
        named(marked, &file, &mut found);
    }
    found
}

fn named<'t>(marks: impl Iterator<Item = &'t str>, file: &Path, found: &mut BTreeMap<String, PathBuf>) {
    found.extend(marks.flat_map(|names| names.split(", ")).map(|name| (name.trim().to_owned(), file.to_owned())));
}

fn is_test(file: &Path) -> bool {
    file.components().any(|part| matches!(part.as_os_str().to_str(), Some("tests" | "tests.rs" | "twin.rs")))
}

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.extension().is_some_and(|other| other == ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

#[test]
fn a_field_of_the_configuration_is_a_limit_by_its_type() {
    let source =
        "/// Doc\npub struct C {\n    /// More, pub a: u32,\n    pub dir: PathBuf,\n    pub instances: u32,\n    pub time: Duration,\n}\npub x: u64,";
    assert_eq!(numbers_of(source, "C"), ["instances", "time"]);
}

#[test]
fn a_constant_is_a_limit_by_its_name() {
    assert_eq!(constant("pub const KEY_BYTES_MAX: usize = 1 << 10;"), Some("KEY_BYTES_MAX"));
    assert_eq!(constant("    const CHAINS_MAX: usize = 1000;"), Some("CHAINS_MAX"));
    assert_eq!(constant("pub const TICK: Duration = Duration::from_millis(5);"), None);
    assert_eq!(constant("const NAMES_MAX: &str = \"\";"), None);
}
