//! A folder with a plugin's sources: in which language, and which of its files is the plugin.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use super::{BuildError, Language, languages};

/// Folders that are made, not written: a change in them is none of the plugin's.
pub const IGNORED: [&str; 7] = ["target", "plugins", "node_modules", ".venv", "venv", "__pycache__", ".git"];
/// Entries looked at in the folder itself.
const ENTRIES_MAX: usize = 10_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// Absolute.
    pub path: PathBuf,
    pub language: Language,
    /// Relative to the folder; all of them for C, none where a manifest says so.
    pub sources: Vec<PathBuf>,
}

impl Folder {
    /// By its manifest, else by the one source that is there.
    pub fn recognise(path: &Path) -> Result<Self, BuildError> {
        let unreadable = |source| BuildError::Files { path: path.to_owned(), source };
        // Absolute, since tools run in the folder and this program somewhere else.
        let path = &fs::canonicalize(path).map_err(unreadable)?;
        let names = names(path).map_err(unreadable)?;
        let unrecognised = |why: String| BuildError::Unrecognised { folder: path.to_owned(), why };
        let has = |name: &str| names.iter().any(|found| found == name);
        let found = |language, sources| Ok(Self { path: path.to_owned(), language, sources });
        let one = |endings: &[&str]| the_plugin(&names, endings).map_err(unrecognised);
        if has("Cargo.toml") {
            return found(Language::Rust, Vec::new());
        }
        if has("go.mod") {
            return found(Language::Go, Vec::new());
        }
        if has("package.json") {
            let source = one(&["ts", "js", "mjs"])?;
            let language = if source.extension() == Some(OsStr::new("ts")) { Language::Typescript } else { Language::Javascript };
            return found(language, vec![source]);
        }
        if names.iter().any(|name| name.ends_with(".c")) {
            let sources = names.iter().filter(|name| name.ends_with(".c") && !is_test(name)).map(PathBuf::from).collect();
            return found(Language::C, sources);
        }
        if names.iter().any(|name| name.ends_with(".py")) {
            return found(Language::Python, vec![one(&["py"])?]);
        }
        Err(unrecognised("there is no Cargo.toml, go.mod, package.json, plugin.py or plugin.c".to_owned()))
    }

    /// The name that a host would know the plugin by: the folder's.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The component, not checked yet.
    pub fn build(&self, cancel: &CancellationToken) -> Result<Vec<u8>, BuildError> {
        languages::build(self, cancel)
    }
}

fn names(path: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path)?.take(ENTRIES_MAX) {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// `plugin.…`, or the only source that is no test and no setting of a tool.
fn the_plugin(names: &[String], endings: &[&str]) -> Result<PathBuf, String> {
    let ends = |name: &&String| endings.iter().any(|ending| name.strip_suffix(ending).is_some_and(|stem| stem.ends_with('.')));
    let sources: Vec<&String> =
        names.iter().filter(ends).filter(|name| !is_test(name) && !name.contains(".config.") && !name.ends_with(".d.ts")).collect();
    if let Some(plugin) = sources.iter().find(|name| name.starts_with("plugin.")) {
        return Ok(plugin.into());
    }
    match sources[..] {
        [only] => Ok(only.into()),
        [] => Err(format!("there is no `plugin.{}`", endings[0])),
        _ => Err(format!("which of its files is the plugin? Name it `plugin.{}`", endings[0])),
    }
}

fn is_test(name: &str) -> bool {
    name.starts_with("test_") || name.contains(".test.") || name.rsplit_once('.').is_some_and(|(stem, _)| stem.ends_with("_test"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recognised(files: &[&str]) -> Result<(Language, Vec<String>), String> {
        let place = tempfile::tempdir().unwrap();
        files.iter().for_each(|file| fs::write(place.path().join(file), "").unwrap());
        let found = Folder::recognise(place.path()).map_err(|error| match error {
            BuildError::Unrecognised { why, .. } => why,
            other => other.to_string(),
        })?;
        Ok((found.language, found.sources.iter().map(|source| source.display().to_string()).collect()))
    }

    #[test]
    fn a_folder_is_recognised_by_its_manifest_or_its_one_source() {
        let is = |language, sources: &[&str]| Ok((language, sources.iter().map(|source| (*source).to_owned()).collect()));
        assert_eq!(recognised(&["Cargo.toml", "helper.py"]), is(Language::Rust, &[]));
        assert_eq!(recognised(&["go.mod", "plugin.go"]), is(Language::Go, &[]));
        assert_eq!(recognised(&["package.json", "plugin.ts", "other.ts", "plugin.test.ts"]), is(Language::Typescript, &["plugin.ts"]));
        assert_eq!(recognised(&["package.json", "tidy.js", "eslint.config.js"]), is(Language::Javascript, &["tidy.js"]));
        assert_eq!(recognised(&["notes_py.py", "test_notes_py.py"]), is(Language::Python, &["notes_py.py"]));
        assert_eq!(recognised(&["grep.c", "more.c", "grep_test.c", "grep.h"]), is(Language::C, &["grep.c", "more.c"]));
    }

    #[test]
    fn a_folder_that_is_none_says_what_is_missing() {
        assert!(recognised(&["README.md"]).unwrap_err().contains("plugin.py"));
        assert_eq!(recognised(&["a.py", "b.py"]), Err("which of its files is the plugin? Name it `plugin.py`".into()));
        assert_eq!(recognised(&["package.json"]), Err("there is no `plugin.ts`".into()));
    }
}
