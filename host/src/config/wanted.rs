//! A plugin's want as lines of the grants file, for the operator to narrow and paste. It grants nothing by itself.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::grants;
use super::places::Places;
use crate::plugin::Want;

/// Lines that the grants file would take, or why the want is none.
pub fn lines(plugin: &str, want: &Want) -> Result<String, String> {
    let lines = written(plugin, want)?;
    let file = format!("version = 1\n[plugins.{plugin}]\ndigest = \"any\"\n{lines}\n");
    match grants::read(file.as_bytes(), Path::new("/grants/grants.toml"), &Places::default(), "") {
        Ok(_) => Ok(lines),
        Err(super::ConfigError::Line { reason, .. }) => Err(reason),
        Err(error) => Err(error.to_string()),
    }
}

fn written(plugin: &str, want: &Want) -> Result<String, String> {
    match want.capability.as_str() {
        "fs" => scope(want).map(|fs| fs_lines(plugin, &fs)),
        "http" => scope(want).map(|http| http_lines(plugin, &http)),
        "env" => scope(want).map(|env: Env| format!("[plugins.{plugin}.env]\n{} = \"\"", key(&env.name))),
        "kv" => scope(want).map(|kv: Kv| format!("[plugins.{plugin}.kv]\nscope = {}\nquota = \"1MiB\"", text(&kv.scope))),
        _ => Err("no capability of this host has that name".to_owned()),
    }
}

#[derive(Deserialize)]
struct Fs {
    mount: String,
    access: String,
    within: Option<String>,
}

#[derive(Deserialize)]
struct Http {
    url: String,
    methods: Vec<String>,
}

#[derive(Deserialize)]
struct Env {
    name: String,
}

#[derive(Deserialize)]
struct Kv {
    #[serde(default = "chain")]
    scope: String,
}

fn chain() -> String {
    "chain".to_owned()
}

fn scope<T: for<'d> Deserialize<'d>>(want: &Want) -> Result<T, String> {
    let value: Value = crate::call::arguments::read_json(&want.scope).map_err(|_| "its scope is no JSON".to_owned())?;
    serde_json::from_value(value).map_err(|error| format!("its scope is no grant line: {error}"))
}

/// The folder's name is a guess: the plugin knows only its own side of the mount.
fn fs_lines(plugin: &str, fs: &Fs) -> String {
    let folder = fs.mount.rsplit('/').find(|segment| !segment.is_empty()).unwrap_or("folder");
    let mut lines =
        format!("[[plugins.{plugin}.fs]]\npath = {}\nmount = {}\naccess = {}", text(&format!("./{folder}")), text(&fs.mount), text(&fs.access));
    if let Some(within) = &fs.within {
        lines += &format!("\nwhen = \"approved\"\nwithin = {}", text(within));
    }
    lines
}

fn http_lines(plugin: &str, http: &Http) -> String {
    let methods: Vec<_> = http.methods.iter().map(|method| text(method)).collect();
    format!("[[plugins.{plugin}.http]]\nurl = {}\nmethods = [{}]", text(&http.url), methods.join(", "))
}

fn text(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn key(name: &str) -> String {
    let bare = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    if bare { name.to_owned() } else { text(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(capability: &str, scope: &str) -> Result<String, String> {
        lines("p", &Want { capability: capability.into(), scope: scope.into(), why: String::new() })
    }

    #[test]
    fn a_want_becomes_lines_that_the_reader_takes() {
        assert_eq!(
            of("fs", r#"{"mount":"/build/out","access":"write"}"#).unwrap(),
            "[[plugins.p.fs]]\npath = \"./out\"\nmount = \"/build/out\"\naccess = \"write\""
        );
        assert!(of("fs", r#"{"mount":"/b","access":"write","within":"args.path"}"#).unwrap().ends_with("within = \"args.path\""));
        assert_eq!(
            of("http", r#"{"url":"https://api.test/v1/*","methods":["GET"]}"#).unwrap(),
            "[[plugins.p.http]]\nurl = \"https://api.test/v1/*\"\nmethods = [\"GET\"]"
        );
        assert_eq!(of("env", r#"{"name":"UNITS"}"#).unwrap(), "[plugins.p.env]\nUNITS = \"\"");
        assert_eq!(of("fs", r#"{"mount":"/","access":"read"}"#).unwrap().lines().nth(1), Some("path = \"./folder\""));
    }

    #[test]
    fn a_want_that_is_no_grant_says_why() {
        for (capability, scope) in [
            ("gpu", "{}"),
            ("fs", "everything"),
            ("fs", r#"{"mount":"/a"}"#),
            ("fs", r#"{"mount":"/a/../b","access":"read"}"#),
            ("fs", r#"{"mount":"/a","access":"root"}"#),
            ("http", r#"{"url":"https://a.test/?q","methods":["GET"]}"#),
            ("http", r#"{"url":"https://a.test/","methods":["*"]}"#),
            ("env", r#"{"name":"A\n[[rules]]","mount":1}"#),
        ] {
            match of(capability, scope) {
                Err(why) => assert!(!why.is_empty()),
                Ok(lines) => assert!(!lines.contains("\n[[rules]]"), "a name breaks out of its line: {lines}"),
            }
        }
    }
}
