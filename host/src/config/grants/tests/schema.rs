//! `grants.schema.json` against the reader: an editor that goes by the one must not disagree with the other.

use serde_json::{Map, Value, json};

use super::*;

fn schema() -> Value {
    serde_json::from_str(include_str!("../../../../grants.schema.json")).unwrap()
}

/// A file as an editor's checker sees it; `None` where it is no TOML.
fn as_json(text: &str) -> Option<Value> {
    fn json_of(value: toml::Value) -> Value {
        match value {
            toml::Value::String(text) => text.into(),
            toml::Value::Integer(integer) => integer.into(),
            toml::Value::Float(float) => json!(float),
            toml::Value::Boolean(boolean) => boolean.into(),
            toml::Value::Datetime(date) => date.to_string().into(),
            toml::Value::Array(array) => array.into_iter().map(json_of).collect(),
            toml::Value::Table(table) => Value::Object(table.into_iter().map(|(key, value)| (key, json_of(value))).collect::<Map<_, _>>()),
        }
    }
    text.parse::<toml::Table>().ok().map(|table| json_of(toml::Value::Table(table)))
}

#[test]
fn what_the_reader_takes_fits_the_schema() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let standing = "version = 1\n[[rules]]\ntool = \"files__*\"\neffect = \"ask\"\nexcept = [{ tool = \"files__list\", exact = '{\"path\":\"/a\"}', until = 2026-12-31 }]\n";
    let later = r#"version = 1
[people]
alice = ["os:alice", "token:alice"]
[plugins.files]
digest = "any"
config = { units = "metric" }
kv = { scope = "plugin", quota = "1MiB", keys = 3 }
[plugins.files.tools.delete]
enabled = false
effects = "once"
[[plugins.files.http]]
url = "https://a.test/v1"
methods = ["GET"]
tools = ["list"]
on_missing = "refuse"
secret = { name = "K", source = "env", header = "authorization", format = "Bearer {}" }
[[rules]]
tool = "*"
effect = "ask"
approvers = ["alice", "bob"]
quorum = 2
exclude_requester = true
[[rules]]
tool = "chain"
effect = "ask"
[children]
tools = ["files__*", "chain"]
depth = 2
chains = 4
turns = 10
model = "script:child.json"
"#;
    let lines = around("[[plugins.files.kv]]\nwhen = \"approved\"\n[[plugins.files.kv]]\ntools = [\"list\"]\naccess = \"read\"", "");
    let mut samples = vec![design(), later.to_owned(), lines, standing.to_owned(), "version = 1\n".to_owned()];
    for readme in ["README.md", "plugins/files/README.md", "plugins/fetch/README.md", "plugins/survey/README.md"] {
        let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(readme)).unwrap();
        let blocks = text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
        let blocks: Vec<_> = blocks.map(|block| block.replace("\"sha256:…\"", "\"any\"").replace("version = 1\n", "")).collect();
        // What `trust` is still to write.
        let pinned = |block: &String| {
            let plugin = block.split("[plugins.").nth(1).and_then(|rest| rest.split(['.', ']']).next()).expect("a section");
            let header = format!("[plugins.{plugin}]");
            let digest = format!("{header}\ndigest = \"any\" #");
            match block.lines().find(|line| line.starts_with(&header)) {
                _ if block.contains("digest =") => block.clone(),
                Some(_) => block.replace(&header, &digest),
                None => format!("{digest}\n{block}"),
            }
        };
        samples.extend(blocks.iter().filter(|block| block.contains("[plugins.")).map(|block| format!("version = 1\n{}", pinned(block))));
    }
    assert!(samples.len() > 5, "the READMEs show none");
    for sample in samples {
        read_text(&sample).unwrap_or_else(|error| panic!("{error}\n{sample}"));
        let errors: Vec<_> = validator.iter_errors(&as_json(&sample).unwrap()).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(errors.is_empty(), "{errors:?}\n{sample}");
    }
}

/// Slips that only the reader sees: what hangs on two lines, on the disk or inside a string.
const UNSEEN: &[&str] = &["byte-order mark", "one mount, two folders", "mount in a mount", "except that is no JSON"];

#[test]
fn what_the_reader_refuses_the_schema_refuses_too() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for (name, text) in broken() {
        let Some(file) = as_json(&text) else { continue };
        assert_eq!(validator.is_valid(&file), UNSEEN.contains(&name), "{name}: {text}");
    }
}

#[test]
fn the_schema_has_the_keys_that_the_reader_knows() {
    let schema = schema();
    let section = |lines: &str| around(lines, "");
    let places = [
        ("", "version = 1\nxx = 1\n".to_owned()),
        ("/$defs/defaults", "version = 1\n[defaults]\nxx = 1\n".to_owned()),
        ("/$defs/limits", "version = 1\n[defaults.limits]\nxx = 1\n".to_owned()),
        ("/$defs/plugin", section("xx = 1")),
        ("/$defs/fs", section("[[plugins.files.fs]]\nxx = 1")),
        ("/$defs/http", section("[[plugins.files.http]]\nxx = 1")),
        ("/$defs/kv", section("kv = { xx = 1 }")),
        ("/$defs/secret", section("[[plugins.files.http]]\nurl = \"https://a.test\"\nmethods = [\"GET\"]\nsecret = { xx = 1 }")),
        ("/$defs/tool", section("[plugins.files.tools.read]\nxx = 1")),
        ("/$defs/children", "version = 1\n[children]\nxx = 1\n".to_owned()),
        ("/$defs/rule", around("", "[[rules]]\nxx = 1")),
        ("/$defs/except", around("", "[[rules]]\ntool = \"*\"\neffect = \"ask\"\nexcept = [{ xx = 1 }]")),
    ];
    for (place, text) in places {
        let error = read_text(&text).unwrap_err();
        let hint = error.hint().unwrap_or_default();
        let (_, known) = hint.split_once(" may hold: ").unwrap_or_else(|| panic!("{place}: {error}, {hint}"));
        let mut known: Vec<_> = known.split(", ").collect();
        let mut keys: Vec<_> = schema.pointer(&format!("{place}/properties")).unwrap().as_object().unwrap().keys().map(String::as_str).collect();
        known.sort_unstable();
        keys.sort_unstable();
        assert_eq!(keys, known, "`{place}` of grants.schema.json and the reader differ");
    }
}
