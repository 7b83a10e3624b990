//! From a `.wat` file to a component: the prelude goes in, `@"text"` becomes a pointer and a length.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Where the guest's texts begin; below it lies what a null pointer would reach.
const TEXTS: usize = 1024;
const PAGE: usize = 65_536;

#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// The file is no plugin; the reason holds this.
    Refused(String),
    /// Its one tool is not offered; the reason holds this.
    ToolRefused(String),
    /// The call's result is a failure of one of these kinds.
    Fails(Vec<String>),
    Done,
    Pauses,
}

pub struct Hostile {
    pub expected: Expected,
    text: String,
}

/// By name.
pub fn all() -> BTreeMap<String, Hostile> {
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|ending| ending == "wat") && !path.ends_with("prelude.wat"));
    let named = files.map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), Hostile::read(&path)));
    named.collect()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/hostile")
}

impl Hostile {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let expect = directive(&text, "expect").unwrap_or_else(|| panic!("{}: no `;; expect:`", path.display()));
        let (word, rest) = expect.split_once(' ').unwrap_or((&expect, ""));
        let kinds = |rest: &str| rest.split(" or ").map(str::to_owned).collect();
        let expected = match word {
            "refused" => Expected::Refused(rest.trim().to_owned()),
            "tool-refused" => Expected::ToolRefused(rest.trim().to_owned()),
            "fails" => Expected::Fails(kinds(rest)),
            "pauses" => Expected::Pauses,
            "done" if rest.is_empty() || rest == "ok" => Expected::Done,
            "done" => Expected::Fails(kinds(&expect)),
            other => panic!("{}: `{other}` is nothing to expect", path.display()),
        };
        Self { expected, text }
    }

    pub fn component(&self) -> Vec<u8> {
        if self.text.contains(";; raw\n") {
            return wat::parse_str(&self.text).unwrap();
        }
        let mut core = wat::parse_str(self.module()).unwrap_or_else(|error| panic!("{error}"));
        let (resolve, world) = contract(directive(&self.text, "contract").as_deref());
        wit_component::embed_component_metadata(&mut core, &resolve, world, wit_component::StringEncoding::UTF8, false).unwrap();
        // Not validated: some are wrong on purpose.
        wit_component::ComponentEncoder::default().validate(false).module(&core).unwrap().encode().unwrap_or_else(|error| panic!("{error:#}"))
    }

    /// The whole module: imports, prelude, the file's own parts, and the usual ones where it has none.
    fn module(&self) -> String {
        let prelude = fs::read_to_string(folder().join("prelude.wat")).unwrap();
        let body = self.text.split_once("(module").expect("a module").1;
        let (imports, rest): (Vec<_>, Vec<_>) = body.lines().partition(|line| line.trim_start().starts_with("(import"));
        let mut whole = format!("(module\n{}\n{prelude}", imports.join("\n"));
        for (export, usual) in [
            ("\"list\"", "(func (export \"list\") (result i32) (call $usual))"),
            ("\"call\"", "(func (export \"call\") (param i32) (result i32) (call $text @\"ok\"))"),
            ("\"cabi_realloc\"", "(func (export \"cabi_realloc\") (param i32 i32 i32 i32) (result i32) (call $alloc (local.get 3)))"),
        ] {
            if !body.contains(export) {
                whole.push_str(usual);
            }
        }
        whole.push_str(&rest.join("\n"));
        let (text, data, end) = with_texts(&whole);
        let pages = directive(&self.text, "pages").unwrap_or_else(|| (end / PAGE + 2).to_string());
        let text = text.replace("PAGES", &pages).replace("NEXT", &end.to_string());
        let version = directive(&self.text, "contract").unwrap_or_else(|| "0.1.0".to_owned());
        let close = text.rfind(')').unwrap();
        format!("{}{data})", &text[..close])
            .replace("\"list\"", &format!("\"pausegate:plugin/tools@{version}#list-tools\""))
            .replace("\"call\"", &format!("\"pausegate:plugin/tools@{version}#call-tool\""))
            .replace("\"post\"", &format!("\"cabi_post_pausegate:plugin/tools@{version}#call-tool\""))
    }
}

fn directive(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| line.strip_prefix(&format!(";; {name}:")).map(|rest| rest.trim().to_owned()))
}

/// `@"text"` and `@(3*"text" "text")` as pointer and length, the data segments, and where they end.
fn with_texts(text: &str) -> (String, String, usize) {
    let (mut out, mut data, mut at) = (String::new(), String::new(), TEXTS);
    let mut rest = text;
    while let Some(found) = rest.find('@') {
        let after = &rest[found + 1..];
        // Versions of interfaces hold an `@` too.
        if !after.starts_with(['"', '(']) {
            out.push_str(&rest[..=found]);
            rest = after;
            continue;
        }
        out.push_str(&rest[..found]);
        let (bytes, length) = if after.starts_with('"') { literal(after) } else { joined(after) };
        out.push_str(&format!("(i32.const {at}) (i32.const {})", bytes.len()));
        let escaped: String =
            bytes.iter().map(|byte| if byte.is_ascii_alphanumeric() { char::from(*byte).to_string() } else { format!("\\{byte:02x}") }).collect();
        data.push_str(&format!("(data (i32.const {at}) \"{escaped}\")"));
        at += bytes.len();
        rest = &after[length..];
    }
    out.push_str(rest);
    (out, data, at)
}

/// The bytes of a quoted text, and its length in the source.
fn literal(text: &str) -> (Vec<u8>, usize) {
    let mut bytes = Vec::new();
    let mut at = 1;
    let source = text.as_bytes();
    while source[at] != b'"' {
        if source[at] != b'\\' {
            bytes.push(source[at]);
            at += 1;
            continue;
        }
        match source[at + 1] {
            b'n' => bytes.push(b'\n'),
            quoted @ (b'"' | b'\\') => bytes.push(quoted),
            b'u' => {
                let end = at + text[at..].find('}').unwrap();
                let code = u32::from_str_radix(&text[at + 3..end], 16).unwrap();
                bytes.extend(char::from_u32(code).unwrap().to_string().bytes());
                at = end - 1;
            }
            _ => {
                bytes.push(u8::from_str_radix(&text[at + 1..at + 3], 16).unwrap());
                at += 1;
            }
        }
        at += 2;
    }
    (bytes, at + 1)
}

/// `(3*"text" "text")`
fn joined(text: &str) -> (Vec<u8>, usize) {
    let mut bytes = Vec::new();
    let mut at = 1;
    while !text[at..].starts_with(')') {
        let rest = &text[at..];
        let quote = rest.find('"').unwrap();
        let times = rest[..quote].trim().trim_end_matches('*').parse().unwrap_or(1);
        let (piece, length) = literal(&rest[quote..]);
        bytes.extend(piece.repeat(times));
        at += quote + length;
        at += text[at..].len() - text[at..].trim_start().len();
    }
    (bytes, at + 1)
}

/// The contract with everything that the host links, or the same of another version.
fn contract(version: Option<&str>) -> (wit_parser::Resolve, wit_parser::WorldId) {
    static OURS: OnceLock<(wit_parser::Resolve, wit_parser::WorldId)> = OnceLock::new();
    let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit");
    let ours = || {
        let mut resolve = wit_parser::Resolve::default();
        let (package, _) = resolve.push_dir(&wit).unwrap();
        let world = resolve.select_world(&[package], Some("plugin-wasi")).unwrap();
        (resolve, world)
    };
    let Some(version) = version else { return OURS.get_or_init(ours).clone() };
    let text = fs::read_to_string(wit.join("plugin.wit")).unwrap().replace("pausegate:plugin@0.1.0", &format!("pausegate:plugin@{version}"));
    let mut resolve = wit_parser::Resolve::default();
    // Only the world without WASI is needed.
    let package = resolve.push_str("plugin.wit", text.split("/// A plugin that can tell after a crash").next().unwrap()).unwrap();
    let world = resolve.select_world(&[package], Some("plugin")).unwrap();
    (resolve, world)
}
