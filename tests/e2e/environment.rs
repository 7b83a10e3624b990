//! A home of its own for one test: plugins, grants, a journal, a folder to work in, and nothing of the real one.

use std::collections::HashMap;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use regex::Regex;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The main job's grants: `/build` can be read, and an approved call changes the file it names.
pub const FILES_GRANTS: &str = r#"
[plugins.files]
digest = "any"
[[plugins.files.fs]]
path = "BUILD"
mount = "/build"
access = "read"
[[plugins.files.fs]]
path = "BUILD"
mount = "/build"
access = "write"
when = "approved"
within = "args.path"
"#;

pub struct TestEnvironment {
    root: TempDir,
    /// Real ids by the order in which they were shown.
    names: Mutex<HashMap<String, String>>,
    /// The journal's URL, where it is not the default file.
    journal: Option<String>,
}

/// A command that ended, as a person saw it.
pub struct Shown {
    pub stdout: String,
    pub stderr: String,
    pub code: Option<i32>,
    transcript: String,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.transcript)
    }
}

impl Shown {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self}"))
    }

    /// NDJSON.
    pub fn lines(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
    }
}

impl TestEnvironment {
    /// With the `files` and `survey` plugins and the main job's grants, and `build/` holding two `.tmp` files and one other.
    pub fn new() -> Self {
        let env = Self { root: TempDir::new().unwrap(), names: Mutex::default(), journal: None };
        for plugin in ["files", "survey"] {
            env.add_plugin(plugin);
        }
        for file in ["a.tmp", "b.tmp", "keep.txt"] {
            env.write(&format!("work/build/{file}"), file);
        }
        env.grants(FILES_GRANTS);
        env
    }

    /// The same with its journal in a database of its own.
    pub fn on_postgres() -> Self {
        Self::at(crate::postgres::shared().database())
    }

    /// The same with its journal at a URL.
    pub fn at(journal: String) -> Self {
        Self { journal: Some(journal), ..Self::new() }
    }

    /// The journal's URL, where it is not the default file.
    pub fn journal(&self) -> Option<&str> {
        self.journal.as_deref()
    }

    pub fn path(&self, below: &str) -> PathBuf {
        self.root.path().join(below)
    }

    pub fn write(&self, below: &str, text: &str) {
        let path = self.path(below);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn add_plugin(&self, name: &str) {
        self.add(&built("plugins"), name);
    }

    /// A plugin that is made for tests alone.
    pub fn add_guest(&self, name: &str) {
        self.add(&built("guests"), name);
    }

    /// The conformance plugin in a language, as `conform`; false if it is not built.
    pub fn add_conform(&self, language: &str) -> bool {
        self.add_conform_as(language, "conform")
    }

    pub fn add_conform_as(&self, language: &str, name: &str) -> bool {
        let from = target().join("conformance").join(format!("{language}.wasm"));
        std::fs::copy(from, self.path("home/.local/share/pausegate/plugins").join(format!("{name}.wasm"))).is_ok()
    }

    fn add(&self, from: &Path, name: &str) {
        let to = self.path("home/.local/share/pausegate/plugins");
        std::fs::create_dir_all(&to).unwrap();
        std::fs::copy(from.join(format!("{name}.wasm")), to.join(format!("{name}.wasm"))).unwrap();
    }

    /// The grants file, its `version` line left out; `BUILD` stands for the folder to work in.
    pub fn grants(&self, text: &str) {
        let build = self.path("work/build");
        self.write("home/.config/pausegate/grants.toml", &format!("version = 1\n{}", text.replace("BUILD", build.to_str().unwrap())));
    }

    /// A script for the model; each turn is its text and its calls.
    pub fn script(&self, turns: Value) {
        self.write("work/turns.json", &json!({ "turns": turns }).to_string());
    }

    /// The main job: list, delete two files, say so.
    pub fn script_of_the_main_job(&self) {
        self.script(json!([
            {"text": "Looking first.", "tool_calls": [{"id": "list", "name": "files__list", "arguments": {"path": "/build"}}]},
            {"tool_calls": [
                {"id": "a", "name": "files__delete", "arguments": {"path": "/build/a.tmp"}},
                {"id": "b", "name": "files__delete", "arguments": {"path": "/build/b.tmp"}}]},
            {"text": "Deleted a.tmp; b.tmp stays."}
        ]));
    }

    /// In the folder to work in, with nothing of the real environment.
    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pausegate"));
        command.env_clear().env("HOME", self.path("home")).env("PAUSEGATE_CACHE", target().join("test-cache")).current_dir(self.path("work"));
        if let Some(journal) = &self.journal {
            command.env("PAUSEGATE_JOURNAL", journal);
        }
        command
    }

    pub fn pausegate(&self, args: &[&str]) -> Shown {
        self.with_input(args, "")
    }

    /// Beside others; what it says can be read.
    pub fn spawn(&self, args: &[&str]) -> std::process::Child {
        self.command().args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    pub fn with_input(&self, args: &[&str], input: &str) -> Shown {
        let mut child = self.command().args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // A command that does not read its input may have closed it.
        child.stdin.take().unwrap().write_all(input.as_bytes()).ok();
        let output = child.wait_with_output().unwrap();
        self.shown(args, &output)
    }

    /// The command line on a terminal of its own, made by `script`, with `typed` typed ahead; all that the terminal showed.
    pub fn at_a_terminal(&self, line: &str, typed: &str) -> (Option<i32>, String) {
        self.at_a_terminal_with("", line, typed)
    }

    /// The same with variables set before the command, as a shell has them.
    pub fn at_a_terminal_with(&self, variables: &str, line: &str, typed: &str) -> (Option<i32>, String) {
        let mut child = self.terminal(variables, line).spawn().expect("`script` of util-linux");
        child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        (output.status.code(), self.normal(&String::from_utf8_lossy(&output.stdout)))
    }

    /// The command line on a terminal, to be started; what is typed and shown goes through pipes.
    pub fn terminal(&self, variables: &str, line: &str) -> Command {
        let pausegate = self.command();
        let mut command = Command::new("script");
        command.args([
            "--quiet",
            "--return",
            "--command",
            &format!("{variables} '{}' {line}", pausegate.get_program().to_str().unwrap()),
            "/dev/null",
        ]);
        command
            .env_clear()
            .envs(pausegate.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .env("PATH", std::env::var_os("PATH").unwrap());
        command.current_dir(self.path("work")).stdin(Stdio::piped()).stdout(Stdio::piped());
        command
    }

    pub fn shown(&self, args: &[&str], output: &std::process::Output) -> Shown {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        let mut transcript = format!("$ pausegate {}\n{stdout}", args.iter().map(|arg| quoted(arg)).collect::<Vec<_>>().join(" "));
        if !stderr.is_empty() {
            transcript += &format!("--- stderr\n{stderr}");
        }
        transcript += &format!("--- exit {}\n", output.status.code().map_or("by a signal".to_owned(), |code| code.to_string()));
        Shown { stdout, stderr, code: output.status.code(), transcript: self.normal(&transcript) }
    }

    /// Ids by order of appearance; times, ages, digests, paths and the user by a word.
    pub fn normal(&self, text: &str) -> String {
        let id = Regex::new(r"\b(ch|pa|tc)_[0-9a-hjkmnp-tv-z]{26}\b").unwrap();
        let mut names = self.names.lock().unwrap();
        // In a column of a table the name keeps the id's width.
        let text = id.replace_all(text, |found: &regex::Captures<'_>| {
            let count = names.values().filter(|name| name.starts_with(&found[1])).count();
            let name = names.entry(found[0].to_owned()).or_insert_with(|| format!("{}_{}", &found[1], count + 1)).clone();
            if text[found.get(0).unwrap().end()..].starts_with("  ") { format!("{name:<width$}", width = found[0].len()) } else { name }
        });
        let root = self.root.path().to_str().unwrap();
        let text = text.replace(root, "[TMP]");
        let text = Regex::new(r"sha256:[0-9a-f]{64}").unwrap().replace_all(&text, "sha256:…");
        let text = Regex::new(r"\d{4}-\d\d-\d\dT[0-9:.]+Z").unwrap().replace_all(&text, "[TIME]");
        let text = Regex::new(r"os:[^@\s]+@[\w.-]+").unwrap().replace_all(&text, "[ME]");
        let text = Regex::new(r"\b\d+ s\b").unwrap().replace_all(&text, "0 s");
        text.into_owned()
    }

    /// Ids of open pauses, oldest first.
    pub fn pending(&self) -> Vec<String> {
        ids(&self.pausegate(&["pending", "--json"]).json())
    }

    /// Ids of chains, newest first.
    pub fn chains(&self) -> Vec<String> {
        ids(&self.pausegate(&["chains", "--json"]).json())
    }

    /// Names in `build/`, sorted.
    pub fn build(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path("work/build")).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn ids(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

/// As a shell would want it.
fn quoted(arg: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=".contains(c);
    if !arg.is_empty() && arg.chars().all(plain) { arg.to_owned() } else { format!("'{arg}'") }
}

fn target() -> &'static Path {
    let binary = Path::new(env!("CARGO_BIN_EXE_pausegate"));
    binary.parent().and_then(Path::parent).unwrap()
}

fn built(what: &str) -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target").join(what);
    let built = [target().join(what), own].into_iter().find(|dir| dir.is_dir());
    built.expect("plugins are built: run `tools/build-plugins.sh` first")
}
