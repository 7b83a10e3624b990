//! The conformance plugin of every language as a file: compiled once, and replaced while somebody copies it.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use super::follow::World;
use super::*;

const LANGUAGES: [&str; 6] = ["c", "rust", "typescript", "starlingmonkey", "go", "python"];
/// As large as plugins are that bring an interpreter.
const WHOLE_BYTES: usize = 20 << 20;
const PIECES: usize = 50;

fn file(language: &str) -> String {
    format!("conformance/{language}.wasm")
}

/// The component with a section that means nothing at its end: another file, which does the same.
fn padded(component: &[u8]) -> Vec<u8> {
    const NAME: &[u8] = b"\x07padding";
    const CUSTOM: u8 = 0;
    let mut whole = component.to_vec();
    let rest = WHOLE_BYTES.saturating_sub(whole.len()).max(1 << 20);
    whole.push(CUSTOM);
    whole.extend(leb128(NAME.len() + rest));
    whole.extend_from_slice(NAME);
    whole.resize(whole.len() + rest, 0);
    whole
}

/// A size as WebAssembly writes it.
fn leb128(size: usize) -> Vec<u8> {
    let group = u8::try_from(size & 0x7f).unwrap();
    if size < 0x80 { vec![group] } else { [vec![group | 0x80], leb128(size >> 7)].concat() }
}

fn echo() -> Attempt {
    Attempt { plugin: "conform".into(), tool: "echo".into(), ..attempt("echo", json!({"text": "x"})) }
}

/// Python's has a test of its own.
#[test]
fn w16_a_plugin_of_any_language_is_compiled_once() {
    runtime(2).block_on(async {
        for language in LANGUAGES.into_iter().filter(|language| *language != "python") {
            let (dir, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            fs::copy(guest(&file(language)), dir.path().join("conform.wasm")).unwrap();
            let (_, stages) = python::load(&dir, &cache).await;
            assert_eq!(stages, [LoadStage::Compiling, LoadStage::Listing, LoadStage::Ready], "{language}");
            let (plugins, stages) = python::load(&dir, &cache).await;
            assert_eq!(stages, [LoadStage::Ready], "{language}: neither compiled nor asked");
            for _ in 0..100 {
                assert_eq!(text(&plugins.call(echo()).await), "x", "{language}");
            }
        }
    });
}

#[test]
fn w51_twenty_megabytes_in_fifty_pieces_are_loaded_once_and_whole() {
    // Kept from run to run: what it costs is to compile each language's twice.
    let cache = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/test-cache");
    runtime(2).block_on(async {
        for language in LANGUAGES {
            let before = Digest::of_bytes(&fs::read(guest(&file(language))).unwrap());
            let whole = padded(&fs::read(guest(&file(language))).unwrap());
            let mut world = World::with_cache(&[("conform.wasm", &file(language))], Some(cache.clone())).await;
            let mut writing = File::create(world.dir.path().join("conform.wasm")).unwrap();
            for (number, piece) in whole.chunks(whole.len().div_ceil(PIECES)).enumerate() {
                writing.write_all(piece).unwrap();
                if number == PIECES / 2 {
                    // Half of it rests until somebody has looked at it.
                    let change = world.next().await;
                    assert!(matches!(change, Change::Kept(_)), "{language}: {change:?}");
                }
                assert_eq!(text(&world.plugins.call(echo()).await), "x", "{language}: the one before serves");
                assert_eq!(world.digest("conform"), Some(before.clone()), "{language}: after piece {number}");
            }
            drop(writing);
            let loaded = loop {
                match world.next().await {
                    Change::Kept(_) => {}
                    other => break other,
                }
            };
            assert_eq!(loaded, Change::Loaded("conform".into(), Digest::of_bytes(&whole)), "{language}");
            assert_eq!(text(&world.plugins.call(echo()).await), "x", "{language}");
            assert!(world.changes.try_recv().is_err(), "{language}: it is loaded once");
        }
    });
}
