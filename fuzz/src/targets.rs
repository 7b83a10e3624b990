//! What must hold of any bytes, one file for each reader. A target takes bytes, and panics where its promise is broken.

pub mod grants_file;
pub mod journal_payload;
pub mod schemas;
pub mod strict_json;
pub mod url_normal_form;

#[cfg(test)]
mod tests;

pub use crate::plugin::lifted;

/// A reader's promise, and bytes to begin from.
pub struct Target {
    pub name: &'static str,
    pub run: fn(&[u8]),
    pub seeds: &'static [&'static [u8]],
}

pub const ALL: &[Target] = &[
    Target { name: "grants_file", run: grants_file::target, seeds: grants_file::SEEDS },
    Target { name: "journal_payload", run: journal_payload::target, seeds: journal_payload::SEEDS },
    Target { name: "lifted", run: lifted::target, seeds: lifted::SEEDS },
    Target { name: "schemas", run: schemas::target, seeds: schemas::SEEDS },
    Target { name: "strict_json", run: strict_json::target, seeds: strict_json::SEEDS },
    Target { name: "url_normal_form", run: url_normal_form::target, seeds: url_normal_form::SEEDS },
];

/// The two halves around the first line end; the second is empty where there is none.
fn halves(text: &str) -> (&str, &str) {
    text.split_once('\n').unwrap_or((text, ""))
}
