//! What is embedded in this program, and the project that `new` makes of it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use include_dir::{Dir, DirEntry, include_dir};

use super::Language;

static NEW: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../sdk/new");
static WIT: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../wit");
static RUST: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../sdk/rust/src");
static RUST_MACROS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../sdk/rust/macros/src");
static PYTHON: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../sdk/python/pausegate");
static JAVASCRIPT: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../sdk/javascript/src");
static JAVASCRIPT_BIN: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../sdk/javascript/bin");
static GO: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../sdk/go");
static C: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../sdk/c");

/// Single files of the SDKs.
const RUST_MANIFEST: &str = include_str!("../../../sdk/rust/Cargo.toml");
const RUST_MACROS_MANIFEST: &str = include_str!("../../../sdk/rust/macros/Cargo.toml");
const RUST_README: &str = include_str!("../../../sdk/rust/README.md");
const PYTHON_README: &str = include_str!("../../../sdk/python/README.md");
const JAVASCRIPT_FILES: [(&str, &str); 3] = [
    ("sdk/package.json", include_str!("../../../sdk/javascript/package.json")),
    ("sdk/tsconfig.plugin.json", include_str!("../../../sdk/javascript/tsconfig.plugin.json")),
    ("sdk/README.md", include_str!("../../../sdk/javascript/README.md")),
];

/// What a folder of this repository may hold that belongs to its own work.
const LEFT_OUT: [&str; 4] = ["__pycache__", "tests", "node_modules", "packed-wit"];

#[derive(Debug, thiserror::Error)]
pub enum NewError {
    #[error("`{}` is there and not empty", .0.display())]
    Occupied(PathBuf),
    #[error("cannot write `{}`", .path.display())]
    Write { path: PathBuf, source: std::io::Error },
}

/// Makes the folder whole or not at all; one that is there must be empty.
pub fn create(folder: &Path, language: Language, name: &str) -> Result<(), NewError> {
    let failed = |source| NewError::Write { path: folder.to_owned(), source };
    let occupied = match fs::read_dir(folder) {
        Ok(entries) => entries.take(1).count() > 0,
        Err(error) => error.kind() == std::io::ErrorKind::NotADirectory,
    };
    if occupied {
        return Err(NewError::Occupied(folder.to_owned()));
    }
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let beside = tempfile::Builder::new().prefix(".pausegate-new-").tempdir_in(parent).map_err(failed)?;
    for (path, bytes) in files(language, name) {
        let path = beside.path().join(path);
        fs::create_dir_all(path.parent().unwrap_or(parent)).and_then(|()| fs::write(&path, bytes)).map_err(failed)?;
    }
    fs::set_permissions(beside.path(), fs::Permissions::from_mode(0o755)).map_err(failed)?;
    // Onto an empty folder this works too, and onto one that somebody filled meanwhile it does not.
    fs::rename(beside.path(), folder).map_err(failed)?;
    let _gone = beside.keep();
    Ok(())
}

/// Every file of a new project, by its path in it.
pub fn files(language: Language, name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = template(language, name);
    let mut add = |under: &str, dir: &'static Dir<'_>| files.extend(all(dir).map(|(path, bytes)| (Path::new(under).join(path), bytes.to_vec())));
    match language {
        Language::Rust => {
            add("sdk/src", &RUST);
            add("sdk/macros/src", &RUST_MACROS);
            add("sdk/wit", &WIT);
            let texts = [("sdk/Cargo.toml", RUST_MANIFEST), ("sdk/macros/Cargo.toml", RUST_MACROS_MANIFEST), ("sdk/README.md", RUST_README)];
            files.extend(texts.map(|(path, text)| (path.into(), standing_alone(text).into_bytes())));
        }
        Language::Python => {
            add("pausegate", &PYTHON);
            files.push(("pausegate/README.md".into(), PYTHON_README.into()));
        }
        Language::Typescript | Language::Javascript => {
            add("sdk/src", &JAVASCRIPT);
            add("sdk/bin", &JAVASCRIPT_BIN);
            add("sdk/wit", &WIT);
            files.extend(JAVASCRIPT_FILES.map(|(path, text)| (path.into(), text.into())));
        }
        Language::Go => add("sdk", &GO),
        Language::C => add("sdk", &C),
    }
    files
}

/// The contract and the WASI definitions it includes, for tools that read a folder.
pub fn write_wit(folder: &Path) -> std::io::Result<()> {
    for (path, bytes) in all(&WIT) {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(path, bytes)?;
    }
    Ok(())
}

/// The language's folder of `sdk/new`, with the plugin's name put in.
fn template(language: Language, name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let dir = NEW.get_dir(language.name()).expect("a folder per language");
    let filled = |(path, bytes): (&Path, &[u8])| {
        let path = path.strip_prefix(language.name()).unwrap_or(path).to_string_lossy().into_owned();
        // Under other names here, where tools would take them for their own.
        let path = path.strip_suffix(".in").unwrap_or(&path).replace("gitignore", ".gitignore");
        (PathBuf::from(path), String::from_utf8_lossy(bytes).replace("%NAME%", name).into_bytes())
    };
    all(dir).map(filled).collect()
}

fn all<'d>(dir: &'d Dir<'d>) -> Box<dyn Iterator<Item = (&'d Path, &'d [u8])> + 'd> {
    let wanted = |entry: &&DirEntry<'_>| {
        let name = entry.path().file_name().unwrap_or_default().to_string_lossy();
        // The SDK's own tests stay here; a project's is `plugin_test.go`.
        !LEFT_OUT.contains(&name.as_ref()) && !name.ends_with(".pyc") && (!name.ends_with("_test.go") || name == "plugin_test.go")
    };
    Box::new(dir.entries().iter().filter(wanted).flat_map(|entry| match entry {
        DirEntry::Dir(inner) => all(inner),
        DirEntry::File(file) => Box::new(std::iter::once((file.path(), file.contents()))),
    }))
}

/// A manifest of this workspace without it.
fn standing_alone(manifest: &str) -> String {
    let inherited = [
        // Before `version`, which its name ends in.
        ("rust-version", env!("CARGO_PKG_RUST_VERSION")),
        ("version", env!("CARGO_PKG_VERSION")),
        ("edition", "2024"),
        ("license", env!("CARGO_PKG_LICENSE")),
    ];
    let alone = inherited
        .iter()
        .fold(manifest.to_owned(), |text, (key, value)| text.replace(&format!("{key}.workspace = true"), &format!("{key} = \"{value}\"")));
    alone.replace("[lints]\nworkspace = true\n", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(language: Language, path: &str) -> String {
        let found = files(language, "web-search").into_iter().find(|(found, _)| found == Path::new(path));
        String::from_utf8(found.unwrap_or_else(|| panic!("{path} is not there")).1).unwrap()
    }

    #[test]
    fn every_project_has_its_plugin_a_test_a_readme_and_the_sdk() {
        let expected = [
            (Language::Rust, "Cargo.toml", "src/lib.rs", "sdk/macros/src/lib.rs"),
            (Language::Python, "plugin.py", "test_plugin.py", "pausegate/wit/plugin.wit"),
            (Language::Typescript, "plugin.ts", "plugin.test.ts", "sdk/wit/deps/http.wit"),
            (Language::Javascript, "plugin.js", "plugin.test.js", "sdk/bin/pausegate-js.mjs"),
            (Language::Go, "plugin.go", "plugin_test.go", "sdk/internal/bindings/wit_exports.go"),
            (Language::C, "plugin.c", "plugin_test.c", "sdk/bindings/plugin_sdk_component_type.o"),
        ];
        assert_eq!(expected.map(|(language, ..)| language), Language::ALL);
        for (language, source, test, sdk) in expected {
            let paths: Vec<_> = files(language, "tidy").into_iter().map(|(path, _)| path).collect();
            for path in [source, test, sdk, "README.md", ".gitignore"] {
                assert!(paths.iter().any(|found| found == Path::new(path)), "{language:?} lacks {path}: {paths:?}");
            }
            let left_out = paths.iter().filter(|path| path.iter().any(|part| LEFT_OUT.iter().any(|name| part == *name)));
            assert_eq!(left_out.count(), 0);
        }
    }

    #[test]
    fn the_name_is_put_in_and_nothing_else_is_left_open() {
        for language in Language::ALL {
            assert!(text(language, "README.md").contains("pausegate call web-search__greet"));
            let open = files(language, "web-search").into_iter().filter(|(_, bytes)| bytes.windows(6).any(|window| window == b"%NAME%"));
            assert_eq!(open.count(), 0);
        }
        assert!(text(Language::Rust, "Cargo.toml").contains("name = \"web-search-plugin\""));
        assert!(text(Language::Go, "go.mod").starts_with("module plugin.example/web-search\n"));
    }

    #[test]
    fn the_readme_names_the_commands_that_new_and_build_name() {
        for language in Language::ALL {
            let (get, test) = language.commands();
            let readme = text(language, "README.md");
            for command in get.split(" && ").chain([test]) {
                assert!(readme.contains(command), "{language:?}: {command}\n{readme}");
            }
        }
    }

    #[test]
    fn the_rust_sdk_stands_without_its_workspace() {
        for path in ["sdk/Cargo.toml", "sdk/macros/Cargo.toml"] {
            let manifest = text(Language::Rust, path);
            assert!(!manifest.contains("workspace"), "{manifest}");
            let package = &manifest.parse::<toml::Table>().unwrap()["package"];
            assert_eq!((package["version"].as_str(), package["rust-version"].as_str()), (Some(env!("CARGO_PKG_VERSION")), Some("1.95")));
        }
    }

    #[test]
    fn a_folder_that_holds_something_is_left_as_it_is() {
        let place = tempfile::tempdir().unwrap();
        let (empty, full, file) = (place.path().join("empty"), place.path().join("full"), place.path().join("file"));
        fs::create_dir(&empty).unwrap();
        create(&empty, Language::Python, "empty").unwrap();
        assert!(empty.join("plugin.py").exists());
        fs::create_dir(&full).unwrap();
        fs::write(full.join("mine"), "").unwrap();
        fs::write(&file, "").unwrap();
        for occupied in [&full, &file] {
            assert!(matches!(create(occupied, Language::C, "full"), Err(NewError::Occupied(_))));
        }
        assert_eq!(fs::read_dir(&full).unwrap().count(), 1);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 3, "nothing is left beside them");
    }
}
