//! A wassette `policy.yaml` as lines of the grants file.
//!
//! Never wider than the policy: what has no equal here is left out, with a comment that says why. Each block is put to
//! the reader of the grants file together with those before it, so that all of it can be pasted.

use std::path::Path;

use serde_json::{Map, Value};

use super::grants::{self, is_plugin_name};
use super::places::Places;
use super::{ConfigError, units};
use crate::digest::canonical;

/// Bytes of a policy; a larger one is a mistake.
pub const BYTES_MAX: u64 = 1 << 20;
/// What a wassette host admits; `TRACE` and `CONNECT` cannot be granted here.
const METHODS: &str = r#"["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"]"#;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WassetteError {
    #[error("`{0}` is no plugin name")]
    Plugin(String),
    #[error("it is no YAML: {0}")]
    NotYaml(String),
    #[error("it is no policy: {0}")]
    NotAPolicy(String),
}

/// Blocks of lines, ready to paste one after the other; the digest is left to `trust`.
pub fn lines(plugin: &str, text: &str) -> Result<Vec<String>, WassetteError> {
    if !is_plugin_name(plugin) {
        return Err(WassetteError::Plugin(plugin.to_owned()));
    }
    // Its own value first: that one refuses a key that stands twice.
    let not_yaml = |error: serde_norway::Error| WassetteError::NotYaml(first_line(&error.to_string()));
    let policy: serde_norway::Value = serde_norway::from_str(text).map_err(not_yaml)?;
    let policy: Value = serde_norway::from_value(policy).map_err(not_yaml)?;
    let policy = policy.as_object().ok_or_else(|| WassetteError::NotAPolicy("it holds no keys".to_owned()))?;
    match policy.get("version") {
        Some(Value::String(version)) if version == "1.0" => {}
        Some(other) => return Err(WassetteError::NotAPolicy(format!("version {} is not known, \"1.0\" is", canonical(other)))),
        None => return Err(WassetteError::NotAPolicy("it has no `version`".to_owned())),
    }
    let permissions = match policy.get("permissions") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(permissions)) => permissions.clone(),
        Some(_) => return Err(WassetteError::NotAPolicy("`permissions` holds no keys".to_owned())),
    };
    let mut written = Written { plugin, taken: String::new(), blocks: Vec::new() };
    written.blocks.push(format!("[plugins.{plugin}] # `pausegate trust {plugin}` writes the digest here"));
    written.others(policy, "", &["version", "description", "permissions", "$schema"]);
    written.others(&permissions, "permissions.", &["storage", "network", "environment", "resources"]);
    written.environment(permissions.get("environment"));
    written.resources(permissions.get("resources"));
    written.storage(permissions.get("storage"));
    written.network(permissions.get("network"));
    Ok(written.blocks)
}

struct Written<'a> {
    plugin: &'a str,
    /// All blocks that the reader takes.
    taken: String,
    blocks: Vec<String>,
}

impl Written<'_> {
    /// Denials first: where one cannot be said, no allowance is carried over that might cover it.
    fn storage(&mut self, storage: Option<&Value>) {
        let mut unsaid = false;
        for entry in self.entries("storage", storage, "deny") {
            unsaid |= !self.folder("storage.deny", &entry, Some("none"));
        }
        for entry in self.entries("storage", storage, "allow") {
            if unsaid {
                self.leave(
                    &format!("storage.allow {}", canonical(&entry)),
                    "the policy denies what cannot be denied here; grant a folder without it",
                );
            } else {
                self.folder("storage.allow", &entry, None);
            }
        }
    }

    fn folder(&mut self, list: &str, entry: &Value, always: Option<&str>) -> bool {
        match storage_lines(entry, always) {
            Ok(lines) => self.take(entry, &format!("[[plugins.{}.fs]]\n{lines}", self.plugin)),
            Err(why) => {
                self.leave(&format!("{list} {}", canonical(entry)), &why);
                false
            }
        }
    }

    /// A denied host cannot be said here, so what might cover one is not carried over.
    fn network(&mut self, network: Option<&Value>) {
        let denied = self.entries("network", network, "deny");
        let mut told = false;
        for entry in self.entries("network", network, "allow") {
            let shown = format!("network.allow {}", canonical(&entry));
            match url(&entry) {
                Ok(url) if url.contains("//*") && !denied.is_empty() => {
                    self.leave(&shown, "the policy denies some hosts, and a pattern here cannot leave any out; name each host");
                }
                Ok(url) => {
                    if !told {
                        self.blocks.push(
                            "# a wassette host admits http, too; write such a line where it is meant, and fewer methods where they are enough"
                                .to_owned(),
                        );
                        told = true;
                    }
                    let url = toml::Value::String(url).to_string();
                    self.take(&entry, &format!("[[plugins.{}.http]]\nurl = {url}\nmethods = {METHODS}", self.plugin));
                }
                Err(why) => self.leave(&shown, &why),
            }
        }
        for entry in denied {
            self.leave(&format!("network.deny {}", canonical(&entry)), "what no line allows is refused already");
        }
    }

    fn environment(&mut self, environment: Option<&Value>) {
        for entry in self.entries("environment", environment, "allow") {
            let shown = format!("environment.allow {}", canonical(&entry));
            self.leave(&shown, &format!("write the value itself, below `[plugins.{}.env]`; nothing is taken from the surroundings", self.plugin));
        }
    }

    fn resources(&mut self, resources: Option<&Value>) {
        let Some(resources) = resources.and_then(Value::as_object) else { return };
        let limits = resources.get("limits").and_then(Value::as_object).cloned().unwrap_or_default();
        self.others(resources, "permissions.resources.", &["limits"]);
        for (key, value) in &limits {
            let shown = format!("resources.limits.{key} {}", canonical(value));
            match (key.as_str(), value.as_str().and_then(memory)) {
                ("memory", Some(memory)) => drop(self.take(value, &format!("[plugins.{}.limits]\nmemory = \"{memory}\"", self.plugin))),
                ("memory", None) => self.leave(&shown, "it is no size such as \"512Mi\""),
                ("cpu", _) => self.leave(&shown, "a share of a processor; the limit `cpu` here is processor time of one attempt"),
                _ => self.leave(&shown, "there is no such limit here"),
            }
        }
    }

    /// The list, and a comment for everything beside it.
    fn entries(&mut self, what: &str, section: Option<&Value>, list: &str) -> Vec<Value> {
        match section {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::Object(section)) => match section.get(list) {
                None | Some(Value::Null) => return Vec::new(),
                Some(Value::Array(entries)) => return entries.clone(),
                Some(other) => self.leave(&format!("{what}.{list} {}", canonical(other)), "it is no list"),
            },
            Some(other) => self.leave(&format!("{what} {}", canonical(other)), "it holds no lists"),
        }
        Vec::new()
    }

    fn others(&mut self, map: &Map<String, Value>, path: &str, known: &[&str]) {
        for (key, value) in map.iter().filter(|(key, value)| !known.contains(&key.as_str()) && !value.is_null()) {
            self.leave(&format!("{path}{} {}", canonical(key), canonical(value)), "there is no such thing here");
        }
    }

    /// The block, if the reader takes it after those before.
    fn take(&mut self, entry: &Value, block: &str) -> bool {
        let all = format!("{}{block}\n", self.taken);
        let file = format!("version = 1\n[plugins.{}]\ndigest = \"any\"\n{all}", self.plugin);
        match grants::read(file.as_bytes(), Path::new("/grants/grants.toml"), &Places::default(), "") {
            Ok(_) => {
                self.taken = all;
                self.blocks.push(block.to_owned());
                return true;
            }
            Err(ConfigError::Line { reason, .. }) => self.leave(&canonical(entry), &reason),
            Err(error) => self.leave(&canonical(entry), &error.to_string()),
        }
        false
    }

    /// One line, whatever stands in it: canonical JSON has no line breaks.
    fn leave(&mut self, what: &str, why: &str) {
        let line = format!("# not carried over: {what}: {why}");
        self.blocks.push(line.replace(['\n', '\r'], " "));
    }
}

fn storage_lines(entry: &Value, always: Option<&str>) -> Result<String, String> {
    let uri = entry.get("uri").and_then(Value::as_str).ok_or("it has no `uri`")?;
    let rest = uri.strip_prefix("fs://").ok_or("only `fs://` is known")?;
    let folder = rest.strip_suffix("/**").unwrap_or(rest);
    let folder = if folder.len() > 1 { folder.strip_suffix('/').unwrap_or(folder) } else { folder };
    if folder.contains('*') {
        return Err("a folder is granted whole or not at all, so no `*` stands in its path".to_owned());
    }
    if matches!(folder, "" | "/") {
        return Err("the root of the disk holds what runs the host, which cannot be granted".to_owned());
    }
    let access = match always {
        Some(access) => access,
        None => access(entry)?,
    };
    let text = |text: String| toml::Value::String(text).to_string();
    let path = if folder.starts_with('/') { folder.to_owned() } else { format!("./{folder}") };
    let mount = format!("/{}", folder.trim_start_matches('/'));
    Ok(format!("path = {}\nmount = {}\naccess = \"{access}\"", text(path), text(mount)))
}

fn access(entry: &Value) -> Result<&'static str, String> {
    let named = entry.get("access").and_then(Value::as_array).ok_or("it has no `access`")?;
    let words: Option<Vec<&str>> = named.iter().map(Value::as_str).collect();
    match words.as_deref() {
        Some(["read"]) => Ok("read"),
        Some(["read", "write"] | ["write", "read"]) => Ok("write"),
        Some(["write"]) => Err("writing includes reading here, so writing alone cannot be granted".to_owned()),
        _ => Err("its `access` is no list of read and write".to_owned()),
    }
}

/// All paths of a host over https, or the URL that stands in the host's place.
fn url(entry: &Value) -> Result<String, String> {
    let Some(host) = entry.get("host").and_then(Value::as_str) else {
        return Err(match entry.get("cidr") {
            Some(_) => "requests are granted by name; private addresses need `private = true` in the line".to_owned(),
            None => "it has no `host`".to_owned(),
        });
    };
    match host.split_once("://") {
        _ if host == "*" => Err("any host at all cannot be granted; name those that are needed".to_owned()),
        Some((_, rest)) if rest.trim_end_matches('/').contains('/') => Ok(host.to_owned()),
        Some(_) => Ok(format!("{}/**", host.trim_end_matches('/'))),
        None => Ok(format!("https://{host}/**")),
    }
}

/// `512Mi` as `512MiB`, decimal units as bytes.
fn memory(text: &str) -> Option<String> {
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let number: u64 = digits.parse().ok()?;
    let shown = match unit {
        "Ki" | "Mi" | "Gi" => format!("{number}{unit}B"),
        "" => format!("{number}B"),
        "k" => format!("{}B", number.checked_mul(1000)?),
        "M" => format!("{}B", number.checked_mul(1_000_000)?),
        "G" => format!("{}B", number.checked_mul(1_000_000_000)?),
        _ => return None,
    };
    units::bytes(&shown).is_ok().then_some(shown)
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
