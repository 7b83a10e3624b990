//! What hostile plugins say, on its way to a person: nothing of it reaches a terminal raw.

use std::fs;

use crate::e2e::TestEnvironment;

use super::{Expected, all};

/// Characters that a terminal acts on, or that reorder or hide what a person reads.
fn acts(character: char) -> bool {
    let hides = matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    hides || (character.is_control() && character != '\n')
}

#[test]
fn h59_h61_nothing_a_hostile_plugin_says_reaches_a_terminal_raw() {
    let env = TestEnvironment::new();
    let hostile = all();
    for (name, guest) in hostile.iter().filter(|(name, _)| speaks(name)) {
        fs::write(env.path(&format!("home/.local/share/pausegate/plugins/{name}.wasm")), guest.component()).unwrap();
    }
    let check = |args: &[&str]| {
        let shown = env.pausegate(args);
        for text in [&shown.stdout, &shown.stderr] {
            let raw: Vec<_> = text.chars().filter(|character| acts(*character)).collect();
            assert!(raw.is_empty(), "{args:?} shows {raw:?}");
        }
        shown
    };
    for args in [&["plugins"][..], &["tools"], &["plugins", "--json"], &["tools", "--json"], &["doctor"]] {
        check(args);
    }
    for (name, guest) in hostile.iter().filter(|(name, _)| speaks(name)) {
        if !matches!(guest.expected, Expected::Refused(_) | Expected::ToolRefused(_)) {
            check(&["call", &format!("{name}__go"), "{}"]);
        }
        check(&["trust", name]);
    }
    for args in [&["pending"][..], &["chains"], &["pending", "--json"]] {
        check(args);
    }
    for chain in env.chains() {
        check(&["inspect", &chain]);
        check(&["inspect", &chain, "--json"]);
        check(&["inspect", &chain, "--messages"]);
    }
}

fn speaks(name: &str) -> bool {
    const WORDS: [&str; 12] = [
        "name-",
        "title-",
        "description-",
        "wants-everything",
        "message-is-a-book",
        "message-clears",
        "text-clears",
        "text-forges",
        "logs-escapes",
        "progress-is",
        "pauses-with-escap",
        "pauses-with-an-escaping",
    ];
    WORDS.iter().any(|word| name.starts_with(word))
}
