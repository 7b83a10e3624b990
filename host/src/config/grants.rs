//! `grants.toml`: read whole and checked whole, or refused with its line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::document::{Document, Section};
use super::places::Places;
use super::{ConfigError, read_file, units};
use crate::capability::{Grants, Limits, OnMissing, Verdict};

mod children;
mod enclosure;
mod keyvalue;
mod people;
mod plugin;
mod rule;
mod secret;
mod tool;

/// Keys that mean something in a later version; ignoring one would promise what is not enforced.
const LATER: &[&str] = &["secrets", "expiry"];

/// A missing file is an empty one, unless it was named; `host` is this machine's name, for approvers.
pub fn load(named: Option<&Path>, places: &Places, host: &str) -> Result<Grants, ConfigError> {
    let file = named.unwrap_or(&places.grants);
    match read_file(file)? {
        Some(bytes) => read(&bytes, file, places, host),
        None if named.is_some() => Err(ConfigError::Unreadable { file: file.to_owned(), source: std::io::ErrorKind::NotFound.into() }),
        None => Ok(Grants::default()),
    }
}

/// The text of a grants file as it would stand at `file`.
pub fn read(bytes: &[u8], file: &Path, places: &Places, host: &str) -> Result<Grants, ConfigError> {
    let document = Document::new(file, bytes)?;
    let table = document.parse()?;
    let root = document.root(&table);
    version(&root)?;
    root.only(&["version", "defaults", "people", "plugins", "rules", "children"], LATER)?;
    let mut grants = Grants { file: file.to_owned(), ..Grants::default() };
    let on_missing = match root.get("defaults") {
        Some(defaults) => read_defaults(&defaults.section()?, &mut grants)?,
        None => OnMissing::default(),
    };
    grants.plugins = match root.get("plugins") {
        Some(plugins) => read_plugins(&plugins.section()?, (&grants.default_limits, on_missing), file, places)?,
        None => BTreeMap::new(),
    };
    if let Some(people) = root.get("people") {
        grants.people = people::read(&people.section()?, host)?;
    }
    grants.children = root.get("children").map(|children| children::read(&children.section()?, file)).transpose()?;
    if let Some(rules) = root.get("rules") {
        grants.rules = rules.sections()?.iter().map(|section| rule::read(section, host, &grants.people)).collect::<Result<_, _>>()?;
    }
    Ok(grants)
}

/// Looked at before anything else: a newer file may hold anything.
pub(super) fn version(root: &Section<'_>) -> Result<(), ConfigError> {
    let version = root.get("version").ok_or_else(|| root.error("lacks `version`").with_hint("write `version = 1` as its first line"))?;
    match version.integer()? {
        1 => Ok(()),
        other => Err(version.error(format!("version {other} is not known to this program")).with_hint("it reads `version = 1`")),
    }
}

fn read_defaults(section: &Section<'_>, grants: &mut Grants) -> Result<OnMissing, ConfigError> {
    // Here `tools` is the default verdict, not the later narrowing by tool.
    section.only(&["tools", "limits", "on_missing"], &["expiry", "expires"])?;
    if let Some(tools) = section.get("tools") {
        grants.default_verdict = verdict(tools.word(VERDICTS)?);
    }
    if let Some(limits) = section.get("limits") {
        grants.default_limits = read_limits(&limits.section()?, &Limits::default())?;
    }
    plugin::read_on_missing(section, OnMissing::default())
}

fn read_plugins(
    section: &Section<'_>,
    inherited: (&Limits, OnMissing),
    file: &Path,
    places: &Places,
) -> Result<BTreeMap<String, crate::capability::PluginGrants>, ConfigError> {
    let enclosure = enclosure::Enclosure::around(places, file, secret_files(section, file));
    let mut plugins = BTreeMap::new();
    for (name, item) in section.items() {
        if !is_plugin_name(name) {
            return Err(item
                .error(format!("`{}` is no plugin name", name.escape_debug()))
                .with_hint("a plugin is named for its file without `.wasm`: lower-case letters and digits, joined by single `-` or `_`"));
        }
        plugins.insert(name.to_owned(), plugin::read(&item.section()?, name, inherited, file, &enclosure)?);
    }
    Ok(plugins)
}

/// Of all plugins: what one may read, another must not hold the key of.
fn secret_files(plugins: &Section<'_>, file: &Path) -> Vec<PathBuf> {
    let folder = file.parent().unwrap_or(Path::new(""));
    let of = |(_, item): (&str, super::document::Item<'_>)| item.section().map_or_else(|_| Vec::new(), |plugin| secret::files(&plugin, folder));
    plugins.items().into_iter().flat_map(of).collect()
}

fn read_limits(section: &Section<'_>, inherited: &Limits) -> Result<Limits, ConfigError> {
    section.only(&["memory", "time", "cpu", "output", "written", "entries"], LATER)?;
    let size = |key: &str, inherited: u64| match section.get(key) {
        Some(item) => units::bytes(item.text()?).map_err(|reason| item.error(format!("`{}`: {reason}", item.name()))),
        None => Ok(inherited),
    };
    let time = |key: &str, inherited| match section.get(key) {
        Some(item) => units::duration(item.text()?).map_err(|reason| item.error(format!("`{}`: {reason}", item.name()))),
        None => Ok(inherited),
    };
    let entries = match section.get("entries") {
        Some(item) => u64::try_from(item.integer()?).map_err(|_| item.error(format!("`{}` must be 0 or more", item.name())))?,
        None => inherited.entries,
    };
    Ok(Limits {
        memory_bytes: size("memory", inherited.memory_bytes)?,
        time: time("time", inherited.time)?,
        cpu: time("cpu", inherited.cpu)?,
        output_bytes: size("output", inherited.output_bytes)?,
        written_bytes: size("written", inherited.written_bytes)?,
        entries,
    })
}

const VERDICTS: &[&str] = &["allow", "ask", "deny"];

fn verdict(word: &str) -> Verdict {
    match word {
        "allow" => Verdict::Allow,
        "ask" => Verdict::Ask,
        _ => Verdict::Deny,
    }
}

/// `[a-z0-9]+([-_][a-z0-9]+)*`
pub(super) fn is_plugin_name(name: &str) -> bool {
    name.split(['-', '_']).all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests;
