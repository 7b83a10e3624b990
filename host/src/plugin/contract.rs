//! Which plugin contract a file was built for, read from its declared exports before anything is compiled.

use serde::Serialize;
use wasmparser::{Encoding, Parser, Payload};

/// What this host accepts; later 0.1.x only add.
pub const ACCEPTED: &str = "pausegate:plugin/tools@0.1";
const PREFIX: &str = "pausegate:plugin/";

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAPlugin {
    #[error("the file is empty")]
    Empty,
    #[error("not a WebAssembly file")]
    NotWasm,
    #[error("a core WebAssembly module, not a component; build it for `wasm32-wasip2` or wrap it with `wasm-tools component new`")]
    CoreModule,
    #[error("the file is cut off or damaged: {0}")]
    Damaged(String),
    #[error("built for {found}, this host accepts {ACCEPTED}.x; rebuild it with a matching SDK")]
    OtherContract { found: String },
    #[error(
        "no plugin: a component that exports {found}; a plugin exports {ACCEPTED}.x, and with `adapt = true` in its section of the grants file its functions are tools"
    )]
    NoContract { found: String },
}

/// Whether the bytes are a whole component that exports the contract.
pub fn check(bytes: &[u8]) -> Result<(), NotAPlugin> {
    match bytes {
        [] => return Err(NotAPlugin::Empty),
        [b'\0', b'a', b's', b'm', ..] => {}
        _ if b"\0asm".starts_with(bytes) => return Err(NotAPlugin::Damaged("it ends inside the first four bytes".to_owned())),
        _ => return Err(NotAPlugin::NotWasm),
    }
    let exports = Declared::read(bytes)?.exports;
    let tools: Vec<_> = exports.iter().filter(|name| name.starts_with("pausegate:plugin/tools@")).collect();
    if tools.iter().any(|name| accepts(name)) {
        return Ok(());
    }
    let ours: Vec<_> = exports.iter().filter(|name| name.starts_with(PREFIX)).map(String::as_str).collect();
    if ours.is_empty() {
        let found = if exports.is_empty() { "nothing".to_owned() } else { exports.join(", ") };
        return Err(NotAPlugin::NoContract { found: super::text::cut(&found, 200).into_owned() });
    }
    Err(NotAPlugin::OtherContract { found: super::text::cut(&ours.join(", "), 200).into_owned() })
}

/// A whole component that does not know the contract at all.
pub fn is_foreign(bytes: &[u8]) -> bool {
    matches!(check(bytes), Err(NotAPlugin::NoContract { .. }))
}

fn accepts(name: &str) -> bool {
    name.strip_prefix(ACCEPTED)
        .is_some_and(|patch| patch.strip_prefix('.').is_some_and(|patch| !patch.is_empty() && patch.bytes().all(|b| b.is_ascii_digit())))
}

/// What a component says of itself before anything is compiled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Declared {
    /// Names that the outermost component imports and exports.
    pub imports: Vec<String>,
    pub exports: Vec<String>,
    pub core_modules: u32,
    /// Of all memories together, before anything runs.
    pub memory_bytes: u64,
    /// Of all tables together.
    pub table_elements: u64,
}

impl Declared {
    pub fn read(bytes: &[u8]) -> Result<Self, NotAPlugin> {
        let damaged = |error: wasmparser::BinaryReaderError| NotAPlugin::Damaged(error.to_string());
        let mut depth = 0_usize;
        let mut declared = Self::default();
        for payload in Parser::new(0).parse_all(bytes) {
            match payload.map_err(damaged)? {
                Payload::Version { encoding: Encoding::Module, .. } if depth == 0 => return Err(NotAPlugin::CoreModule),
                Payload::Version { encoding, .. } => {
                    depth += 1;
                    declared.core_modules += u32::from(encoding == Encoding::Module);
                }
                Payload::End(_) => depth -= 1,
                Payload::ComponentExportSection(section) if depth == 1 => {
                    for export in section {
                        declared.exports.push(export.map_err(damaged)?.name.name.to_owned());
                    }
                }
                Payload::ComponentImportSection(section) if depth == 1 => {
                    for import in section {
                        declared.imports.push(import.map_err(damaged)?.name.name.to_owned());
                    }
                }
                Payload::MemorySection(section) => {
                    for memory in section {
                        let memory = memory.map_err(damaged)?;
                        let page = 1_u64.checked_shl(memory.page_size_log2.unwrap_or(16)).unwrap_or(u64::MAX);
                        declared.memory_bytes = declared.memory_bytes.saturating_add(memory.initial.saturating_mul(page));
                    }
                }
                Payload::TableSection(section) => {
                    for table in section {
                        declared.table_elements = declared.table_elements.saturating_add(table.map_err(damaged)?.ty.initial);
                    }
                }
                _ => {}
            }
        }
        Ok(declared)
    }
}

/// What a name that is imported asks of this host.
pub fn offered(import: &str) -> &'static str {
    const OFFERED: &[(&str, &str)] = &[
        ("pausegate:plugin/", "the contract: always there"),
        ("wasi:filesystem/", "files: what `fs` lines grant"),
        ("wasi:http/", "requests: what `http` lines grant"),
        ("wasi:sockets/", "sockets: refused, whatever is granted"),
        ("wasi:keyvalue/", "storage: what `kv` grants"),
        ("wasi:config/", "settings: what `config` grants"),
        ("wasi:cli/environment@", "the environment: what `env` grants"),
        ("wasi:cli/", "always there, and leads nowhere outside"),
        ("wasi:clocks/", "clocks: always there"),
        ("wasi:random/", "randomness: always there"),
        ("wasi:io/", "streams and polling: always there"),
    ];
    OFFERED.iter().find(|(prefix, _)| import.starts_with(prefix)).map_or("not offered by this host", |(_, offered)| offered)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component(exports: &[&str]) -> Vec<u8> {
        let exports: String = exports.iter().map(|name| format!("(export \"{name}\" (instance $i))")).collect();
        wat::parse_str(format!("(component (instance $i) {exports})")).unwrap()
    }

    #[test]
    fn w48_the_contract_is_told_apart_before_anything_runs() {
        let told = |exports: &[&str]| check(&component(exports)).map_err(|error| error.to_string());
        assert_eq!(told(&["pausegate:plugin/tools@0.1.0"]), Ok(()));
        assert_eq!(told(&["extra:thing/x@1.0.0", "pausegate:plugin/tools@0.1.7"]), Ok(()));
        for version in ["0.0.1", "0.2.0", "1.0.0", "0.10.0"] {
            let error = told(&[&format!("pausegate:plugin/tools@{version}")]).unwrap_err();
            assert_eq!(
                error,
                format!("built for pausegate:plugin/tools@{version}, this host accepts pausegate:plugin/tools@0.1.x; rebuild it with a matching SDK")
            );
        }
        assert_eq!(
            told(&["wasi:cli/run@0.2.3"]).unwrap_err(),
            "no plugin: a component that exports wasi:cli/run@0.2.3; a plugin exports pausegate:plugin/tools@0.1.x, and with `adapt = true` in \
             its section of the grants file its functions are tools"
        );
        assert!(told(&[]).unwrap_err().contains("exports nothing"));
    }

    #[test]
    fn what_a_component_declares_is_counted_in_all_its_parts() {
        let text = r#"(component
            (import "wasi:cli/environment@0.2.6" (instance $e))
            (core module (memory 2) (table 3 funcref))
            (component $inner (import "other:inner/x" (instance)) (core module (memory 1) (memory 4)))
            (instance $i) (export "pausegate:plugin/tools@0.1.0" (instance $i)))"#;
        let declared = Declared::read(&wat::parse_str(text).unwrap()).unwrap();
        assert_eq!((declared.imports.as_slice(), declared.exports.len()), (["wasi:cli/environment@0.2.6".to_owned()].as_slice(), 1));
        assert_eq!((declared.core_modules, declared.memory_bytes, declared.table_elements), (2, 7 << 16, 3));
        assert_eq!(offered(&declared.imports[0]), "the environment: what `env` grants");
        assert_eq!(offered("wasi:cli/stdout@0.2.6"), "always there, and leads nowhere outside");
        assert_eq!(offered("evil:all/things"), "not offered by this host");
    }

    #[test]
    fn w51_a_half_written_file_is_named_as_such() {
        let whole = component(&["pausegate:plugin/tools@0.1.0"]);
        assert_eq!(check(&whole), Ok(()));
        for cut in [1, 3, 6, 12, whole.len() - 1] {
            assert!(matches!(check(&whole[..cut]), Err(NotAPlugin::Damaged(_) | NotAPlugin::NoContract { .. })), "{cut}");
        }
        assert_eq!(check(b""), Err(NotAPlugin::Empty));
        assert_eq!(check(b"#!/bin/sh"), Err(NotAPlugin::NotWasm));
        assert_eq!(check(&wat::parse_str("(module)").unwrap()), Err(NotAPlugin::CoreModule));
    }
}
