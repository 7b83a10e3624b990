//! `docs/conformance.md`, made of the cases: what is in it is held by the tests of the languages.

use std::fmt::Write as _;
use std::path::Path;

use super::Language;
use super::case::{Case, Expected};

const BEFORE: &str = "# What each language's SDK does

The same plugin, written with each SDK (`tests/conformance/`), gives the same results to the same calls. Each row is one
case of `tests/conformance/cases.json`; a ✓ is held by the test of that language, and so is what stands in its place.
This page is written by `tests/conformance/docs.rs`.

";

pub fn table(cases: &[Case], languages: &[Language]) -> String {
    let mut page = BEFORE.to_owned();
    let titles: Vec<&str> = languages.iter().map(|language| language.title).collect();
    writeln!(page, "| case | tool | {} |", titles.join(" | ")).unwrap();
    writeln!(page, "| --- | --- |{}", " :-: |".repeat(languages.len())).unwrap();
    for case in cases {
        let cells: Vec<String> = languages.iter().map(|language| case.but.get(language.name).map_or("✓".to_owned(), instead)).collect();
        let about = case.about.as_ref().map(|row| format!(" ({row})")).unwrap_or_default();
        writeln!(page, "| {}{about} | `{}` | {} |", case.name, case.tool, cells.join(" | ")).unwrap();
    }
    page
}

fn instead(expected: &Expected) -> String {
    let kind = expected.failure.as_ref().and_then(|failure| failure["kind"].as_str());
    kind.map_or("otherwise".to_owned(), |kind| format!("`{kind}`"))
}

/// Fails, and leaves the page as it should be, when the one in the docs is another.
pub fn check(page: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let held = std::fs::read_to_string(root.join("docs/conformance.md")).unwrap_or_default();
    if held != page {
        let made = root.join("target/conformance.md");
        std::fs::write(&made, page).unwrap();
        panic!("docs/conformance.md is another: `cp target/conformance.md docs/conformance.md`");
    }
}
