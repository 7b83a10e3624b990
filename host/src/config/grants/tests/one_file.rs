//! A line whose path is one file, on a disk.

use super::*;
use crate::call::Effects;
use crate::capability::Opening;
use crate::capability::judge::CallFacts;

/// Reads `[[plugins.files.fs]]` lines, of (path, mount, more), in a folder with files `a/conf.toml` and `b/keys.toml`.
fn lines(lines: &[(&str, &str, &str)]) -> Result<Grants, ConfigError> {
    let home = tempfile::tempdir().unwrap();
    for file in ["a/conf.toml", "b/keys.toml"] {
        std::fs::create_dir_all(home.path().join(file).parent().unwrap()).unwrap();
        std::fs::write(home.path().join(file), "x").unwrap();
    }
    let line = |(path, mount, more): &(&str, &str, &str)| format!("[[plugins.files.fs]]\npath = {path:?}\nmount = {mount:?}\n{more}\n");
    let text = around(&lines.iter().map(line).collect::<String>(), "");
    read(text.as_bytes(), &home.path().join("grants.toml"), &places(), "h")
}

fn held(grants: &Grants, arguments: serde_json::Value) -> Vec<(String, Option<String>)> {
    let facts = CallFacts {
        tool: "files__t",
        plugin: "files",
        plugin_digest: &DIGEST.parse().unwrap(),
        effects: Effects::Once,
        arguments: &arguments,
        today: jiff::civil::date(2026, 1, 1),
    };
    let found = grants.judge(facts);
    let opened = found.opens.iter().filter_map(|opening| if let Opening::Fs(line) = opening { Some(line) } else { None });
    found.held.fs.iter().chain(opened).map(|line| (line.mount.clone(), line.only.clone())).collect()
}

#[test]
fn one_file_is_held_alone_under_its_own_name() {
    let read = "access = \"read\"";
    let grants = lines(&[("a/conf.toml", "/data/conf.toml", read)]).unwrap();
    assert_eq!(held(&grants, serde_json::json!({})), [("/data".to_owned(), Some("/data/conf.toml".to_owned()))]);
    let named = lines(&[("a/conf.toml", "/data/other.toml", read)]).unwrap_err();
    assert!(named.to_string().contains("is one file, which keeps its name"), "{named}");
    assert_eq!(named.hint(), Some("end the mount in it, such as \"/conf.toml\""));
    assert!(lines(&[("a/conf.toml", "/", read)]).is_err());
}

#[test]
fn one_folder_of_the_guest_holds_files_of_one_folder() {
    let read = "access = \"read\"";
    let error = lines(&[("a/conf.toml", "/data/conf.toml", read), ("b/keys.toml", "/data/keys.toml", read)]).unwrap_err();
    assert!(error.to_string().contains("makes it another folder"), "{error}");
    assert!(lines(&[("a/conf.toml", "/data/conf.toml", read), ("b/keys.toml", "/keys/keys.toml", read)]).is_ok());
    assert!(lines(&[("a/conf.toml", "/data/conf.toml", read), ("b", "/data", read)]).is_err());
    assert!(lines(&[("a", "/data", read), ("a/conf.toml", "/data/conf.toml", "access = \"write\"")]).is_ok());
}

#[test]
fn an_approval_opens_one_file_where_the_argument_names_it() {
    let within = "access = \"write\"\nwhen = \"approved\"\nwithin = \"args.path\"";
    let grants = lines(&[("a/conf.toml", "/data/conf.toml", within)]).unwrap();
    let opened = |path: &str| held(&grants, serde_json::json!({"path": path}));
    assert_eq!(opened("/data/conf.toml"), [("/data".to_owned(), Some("/data/conf.toml".to_owned()))]);
    assert_eq!(opened("/data/other.toml"), []);
    assert_eq!(opened("/data"), []);
}

#[test]
fn a_quota_is_of_a_line_for_writing() {
    let line = |access: &str| format!("access = \"{access}\"\nquota = \"10MiB\"");
    let grants = lines(&[("a", "/data", &line("write"))]).unwrap();
    assert_eq!(grants.plugins["files"].fs[0].quota, Some(10 << 20));
    let error = lines(&[("a", "/data", &line("read"))]).unwrap_err();
    assert!(error.to_string().contains("is of a line with `access = \"write\"`"), "{error}");
    assert!(lines(&[("a", "/data", "access = \"write\"\nquota = 5")]).is_err());
}
