//! The source as it is looked at: files of Rust, and their code without comments and strings.

use std::fs;
use std::path::{Path, PathBuf};

use super::is_word;

/// A file of Rust.
pub struct Source {
    /// From `host/src` in [`host`], from the root in [`all`].
    pub path: String,
    pub text: String,
    /// `text` with comments and the inside of strings blanked; lines stay where they are.
    pub code: String,
}

impl Source {
    pub fn new(path: &str, text: String) -> Self {
        Self { path: path.to_owned(), code: without_comments_and_strings(&text), text }
    }

    /// The top-level module.
    pub fn module(&self) -> &str {
        let first = self.path.split('/').next().unwrap_or_default();
        first.strip_suffix(".rs").unwrap_or(first)
    }

    pub fn is_in(&self, places: &[&str]) -> bool {
        places.iter().any(|place| self.path == *place || place.ends_with('/') && self.path.starts_with(place))
    }

    pub fn is_test(&self) -> bool {
        let (path, name) = (format!("/{}", self.path), self.path.rsplit('/').next().unwrap_or_default());
        path.contains("/tests/") || name == "tests.rs" || name == "testing.rs"
    }
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("host/ stands in the root").to_owned()
}

/// The host's own source; what stands behind `#[cfg(test)] mod tests {` is test code and left out of `code`.
pub fn host() -> Vec<Source> {
    let mut sources = read_below(&root().join("host/src"), "");
    for source in &mut sources {
        if let Some(at) = source.code.find("#[cfg(test)]\nmod tests {") {
            source.code.truncate(at);
        }
    }
    assert!(sources.len() > 50, "the source was not found");
    sources
}

pub fn all() -> Vec<Source> {
    ["host/src", "sdk", "plugins", "tests", "fuzz"].iter().flat_map(|folder| read_below(&root().join(folder), &format!("{folder}/"))).collect()
}

fn read_below(folder: &Path, prefix: &str) -> Vec<Source> {
    let mut found = Vec::new();
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(Result::unwrap).collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() && !["target", "node_modules"].contains(&&*name) {
            found.extend(read_below(&entry.path(), &format!("{prefix}{name}/")));
        } else if name.ends_with(".rs") {
            found.push(Source::new(&format!("{prefix}{name}"), fs::read_to_string(entry.path()).unwrap()));
        }
    }
    found
}

fn without_comments_and_strings(text: &str) -> String {
    let (mut code, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(c) = rest.chars().next() {
        // What is blanked, and how many of its bytes at both ends stay.
        let (length, kept) = match c {
            '/' if rest.starts_with("//") => (rest.find('\n').unwrap_or(rest.len()), 0),
            '/' if rest.starts_with("/*") => (rest.find("*/").map_or(rest.len(), |end| end + 2), 0),
            '"' => (quoted(rest, '"'), 1),
            'r' if !code.ends_with(is_word) || code.ends_with('b') => (raw(rest), 0),
            '\'' => (character(rest), 0),
            _ => (0, 0),
        };
        if length == 0 {
            code.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        }
        let token = &rest[..length];
        let blank = |(at, c): (usize, char)| if c == '\n' || at < kept || at + kept >= length { c } else { ' ' };
        code.extend(token.char_indices().map(blank));
        rest = &rest[length..];
    }
    code
}

/// Length of a quoted token.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Length of `r"…"` or `r#"…"#`; 0 where it is none.
fn raw(text: &str) -> usize {
    let hashes = text[1..].chars().take_while(|c| *c == '#').count();
    if !text[1 + hashes..].starts_with('"') {
        return 0;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    let start = 2 + hashes;
    text[start..].find(&end).map_or(text.len(), |at| start + at + end.len())
}

/// Length of a character literal; 0 for a lifetime.
fn character(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), _) => quoted(text, '\''),
        (Some(_), Some((end, '\''))) => end + 1,
        _ => 0,
    }
}

#[test]
fn comments_and_strings_are_no_code() {
    let text = "a(\"x // y\\\"\"); // crate::z\n/* b */ r#\"c \"d\"\"# 'e' '\\'' &'f str b\"g\" for\n\"h\ni\"";
    assert_eq!(without_comments_and_strings(text).split_whitespace().collect::<Vec<_>>().join(" "), "a(\" \"); &'f str b\" \" for \" \"");
    assert_eq!(without_comments_and_strings(text).lines().count(), text.lines().count());
}
