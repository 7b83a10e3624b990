//! `secret` of a `[[plugins.NAME.http]]` line: which value goes where in its requests.

use std::path::{Path, PathBuf};

use super::enclosure::resolve;
use crate::capability::Secret;
use crate::capability::pattern::UrlTemplate;
use crate::capability::secret::{NAME_BYTES_MAX, Slot, Source};
use crate::config::ConfigError;
use crate::config::document::{Item, Section};

/// Headers that say how a message travels, or that the host sets itself.
const REFUSED_HEADERS: [&str; 15] = [
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

pub(super) fn read(line: &Section<'_>, url: &UrlTemplate, folder: &Path) -> Result<Option<Secret>, ConfigError> {
    let Some(item) = line.get("secret") else { return Ok(None) };
    let section = item.section()?;
    section.only(&["name", "source", "path", "header", "query", "format"], &[])?;
    if !url.names_one_origin() {
        return Err(item
            .error("a secret is sent to one origin, and `*` stands in the host of this line's `url`")
            .with_hint("write one line for each host"));
    }
    let name = read_name(&section.require("name")?)?;
    Ok(Some(Secret { name, source: read_source(&section, folder)?, slot: read_slot(&section)?, format: read_format(&section)? }))
}

/// The files that secrets of a plugin's lines are read from, with what is wrong left to [`read`].
pub(super) fn files(plugin: &Section<'_>, folder: &Path) -> Vec<PathBuf> {
    let lines = plugin.get("http").and_then(|lines| lines.sections().ok()).unwrap_or_default();
    let path = |line: &Section<'_>| Some(folder.join(line.get("secret")?.section().ok()?.get("path")?.text().ok()?));
    lines.iter().filter_map(path).collect()
}

fn read_name(item: &Item<'_>) -> Result<String, ConfigError> {
    let name = item.text()?;
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') && !name.starts_with(|first: char| first.is_ascii_digit());
    match plain && !name.is_empty() && name.len() <= NAME_BYTES_MAX {
        true => Ok(name.to_owned()),
        false => Err(item.error(format!("`{}` must be letters, digits and `_`, at most {NAME_BYTES_MAX}, such as \"WEATHER_KEY\"", item.name()))),
    }
}

fn read_source(section: &Section<'_>, folder: &Path) -> Result<Source, ConfigError> {
    let source = section.require("source")?;
    match (source.word(&["env", "file", "keyring"])?, section.get("path")) {
        ("env", None) => Ok(Source::Env),
        ("keyring", None) if cfg!(feature = "keyring") => Ok(Source::Keyring),
        ("keyring", None) => Err(source
            .error("this program was built without the feature `keyring`")
            .with_hint("build it with `cargo build --release --features keyring`, or take `source = \"env\"` or `\"file\"`")),
        ("env" | "keyring", Some(path)) => Err(path.error(format!("`{}` needs `source = \"file\"`", path.name()))),
        (_, None) => Err(source.error("a secret from a file lacks `path`").with_hint("add `path = \"./NAME.key\"`, relative to this file")),
        (_, Some(path)) => {
            let text = path.text()?;
            if text.is_empty() || text.contains('\0') {
                return Err(path.error(format!("`{}` is no path", path.name())));
            }
            let resolved = resolve(&folder.join(text));
            Ok(Source::File(resolved.map_err(|error| path.error(format!("`{}`: {text} cannot be resolved: {error}", path.name())))?))
        }
    }
}

fn read_slot(section: &Section<'_>) -> Result<Slot, ConfigError> {
    let hint = "write `header = \"authorization\"`, or `query = \"key\"` where the server takes nothing else";
    match (section.get("header"), section.get("query")) {
        (Some(header), None) => read_header(&header).map(Slot::Header),
        (None, Some(query)) => match query.text()? {
            name if name.is_empty() || name.chars().any(char::is_control) => Err(query.error(format!("`{}` is no parameter", query.name()))),
            name => Ok(Slot::Query(name.to_owned())),
        },
        (Some(_), Some(query)) => Err(query.error("`header` and `query` exclude each other")),
        (None, None) => Err(section.error("a secret does not say where it goes").with_hint(hint)),
    }
}

fn read_header(item: &Item<'_>) -> Result<String, ConfigError> {
    let name = item.text()?.to_ascii_lowercase();
    if http::HeaderName::from_bytes(name.as_bytes()).is_err() {
        return Err(item.error(format!("`{}`: \"{}\" is no header", item.name(), name.escape_debug())));
    }
    match REFUSED_HEADERS.contains(&name.as_str()) {
        true => Err(item.error(format!("`{}`: the header {name} is the host's own", item.name()))),
        false => Ok(name),
    }
}

fn read_format(section: &Section<'_>) -> Result<String, ConfigError> {
    let Some(item) = section.get("format") else { return Ok("{}".to_owned()) };
    let format = item.text()?;
    match format.matches("{}").count() == 1 && format.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        true => Ok(format.to_owned()),
        false => {
            Err(item
                .error(format!("`{}` must be printable ASCII that holds `{{}}` once, where the value goes, such as \"Bearer {{}}\"", item.name())))
        }
    }
}
