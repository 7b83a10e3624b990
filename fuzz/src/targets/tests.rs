//! The targets under stable: each over its seeds, over mutations of them, and over bytes of no meaning.

use proptest::prelude::*;
use proptest::sample::Index;

use super::ALL;

/// One change of the bytes.
#[derive(Clone, Debug)]
enum Edit {
    Set(Index, u8),
    Insert(Index, Vec<u8>),
    Remove(Index, usize),
    /// A piece of it once more, elsewhere.
    Repeat(Index, usize, Index),
}

/// Pieces that the readers know.
const WORDS: &[&str] = &[
    "\"",
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\n",
    "\0",
    "\\u0061",
    "{args.path}",
    "*",
    "**",
    "%2f",
    "%2e",
    "..",
    "/",
    "//",
    "@",
    "://",
    "?",
    "#",
    "1e308",
    "-0",
    "0.1",
    "true",
    "null",
    "$ref",
    "#/$defs/a",
    "allOf",
    "\u{202e}",
    "ä",
    "when = \"approved\"\n",
    "scope = \"whole\"\n",
    "[[rules]]\n",
    "'''",
    "[plugins.a]\n",
    "digest = \"any\"\n",
    "sha256:",
    "ChainCompleted",
    "seq",
    "payload",
];

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let word = prop_oneof![prop::sample::select(WORDS).prop_map(|word| word.as_bytes().to_vec()), prop::collection::vec(any::<u8>(), 1..4)];
    let edit = prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Edit::Set(at, byte)),
        (any::<Index>(), word).prop_map(|(at, bytes)| Edit::Insert(at, bytes)),
        (any::<Index>(), 1..20_usize).prop_map(|(at, length)| Edit::Remove(at, length)),
        (any::<Index>(), 1..60_usize, any::<Index>()).prop_map(|(at, length, to)| Edit::Repeat(at, length, to)),
    ];
    prop::collection::vec(edit, 0..8)
}

fn edited(seed: &[u8], edits: &[Edit]) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for edit in edits {
        let place = |at: &Index| at.index(bytes.len() + 1);
        match edit {
            Edit::Set(at, byte) => {
                let at = place(at);
                if let Some(found) = bytes.get_mut(at) {
                    *found = *byte;
                }
            }
            Edit::Insert(at, piece) => {
                let at = place(at);
                bytes.splice(at..at, piece.iter().copied());
            }
            Edit::Remove(at, length) => {
                let at = place(at);
                let end = (at + length).min(bytes.len());
                bytes.drain(at..end);
            }
            Edit::Repeat(at, length, to) => {
                let (at, to) = (place(at), place(to));
                let piece = bytes[at..(at + length).min(bytes.len())].to_vec();
                bytes.splice(to..to, piece);
            }
        }
    }
    bytes
}

#[test]
fn every_seed_keeps_its_promise() {
    for target in ALL {
        target.seeds.iter().for_each(|seed| (target.run)(seed));
    }
}

/// Cases of each target; the fuzzers go on for as long as they are let.
fn cases() -> ProptestConfig {
    ProptestConfig { cases: 800, max_shrink_iters: 2_000, failure_persistence: None, ..ProptestConfig::default() }
}

macro_rules! promises {
    ($($name:ident)*) => {$(
        proptest! {
            #![proptest_config(cases())]
            #[test]
            fn $name(seed in any::<Index>(), edits in edits(), noise in prop::collection::vec(any::<u8>(), 0..200)) {
                let target = ALL.iter().find(|target| target.name == stringify!($name)).expect("a target of that name");
                (target.run)(&edited(target.seeds[seed.index(target.seeds.len())], &edits));
                (target.run)(&noise);
            }
        }
    )*};
}

promises! { grants_file journal_payload lifted schemas strict_json url_normal_form }
