//! A plugin's new bytes as a person is asked about them, and the commands that answer.

use super::escape;
use crate::pause::replaced::{NEW, Replaced};
use crate::pause::{Choice, PauseId};

/// Both digests, and the sizes of the files; safe to show.
pub fn bytes(replaced: &Replaced) -> Vec<String> {
    let size = |bytes: Option<u64>, other: &str| bytes.map_or_else(|| other.to_owned(), |bytes| format!("{bytes} bytes"));
    let trust = match replaced.trust.as_str() {
        "yes" => "trusted",
        "any" => "any bytes are trusted",
        "no" => "no section of the grants file is for the plugin",
        _ => "not trusted: the grants file pins other bytes",
    };
    vec![
        format!("pinned {} ({})", replaced.pinned, size(replaced.pinned_bytes, "not kept")),
        format!("new    {} ({}; {trust})", replaced.found, size(replaced.found_bytes, "its size is not known")),
    ]
}

/// A line each, escaped.
pub fn changes(replaced: &Replaced) -> String {
    match replaced.changes.as_slice() {
        [] => "only its code: tools, schemas, effects, descriptions and imports are the same".to_owned(),
        changes => changes.iter().map(|line| escape::message(line)).collect::<Vec<_>>().join("\n"),
    }
}

pub fn commands(id: &PauseId, options: &[Choice]) -> Vec<String> {
    let answer = |option: &Choice| match option.value.as_str() {
        NEW => format!("pausegate approve {id}"),
        value => format!("pausegate respond {id} --choice {}", escape::line(value)),
    };
    let deny = format!("pausegate deny {id} --note '…'");
    options.iter().map(answer).chain([deny]).collect()
}
