//! `kv`: the values that a plugin may keep. One table, or several lines of one scope.

use super::LATER;
use super::plugin::read_on_missing;
use super::tool::read_names;
use super::units;
use crate::capability::keyvalue::{KvGrant, Quota, Scope};
use crate::capability::{Access, Binding, OnMissing, When};
use crate::config::ConfigError;
use crate::config::document::{Item, Section};

pub(super) fn read(item: &Item<'_>, on_missing: OnMissing) -> Result<Vec<KvGrant>, ConfigError> {
    let sections = item.one_or_more()?;
    let lines: Vec<_> = sections.iter().map(|section| read_line(section, on_missing)).collect::<Result<_, _>>()?;
    for (section, line) in sections.iter().zip(&lines) {
        if let Some(other) = lines.first().filter(|first| first.scope != line.scope) {
            let reason = format!("scope is \"{}\" here, and line {} makes it \"{}\"", line.scope.as_str(), other.line, other.scope.as_str());
            return Err(section.error(reason).with_hint("a plugin has one bucket: give all its `kv` lines the same scope"));
        }
    }
    Ok(lines)
}

fn read_line(section: &Section<'_>, on_missing: OnMissing) -> Result<KvGrant, ConfigError> {
    section.only(&["scope", "access", "quota", "keys", "when", "on_missing", "tools"], LATER)?;
    let scope = match section.get("scope").map(|scope| scope.word(&["chain", "plugin"])).transpose()? {
        Some("plugin") => Scope::Plugin,
        _ => Scope::Chain,
    };
    let access = match section.get("access").map(|access| access.word(&["read", "write"])).transpose()? {
        Some("read") => Access::Read,
        _ => Access::Write,
    };
    let when = match section.get("when").map(|when| when.word(&["approved"])).transpose()? {
        // No argument names a key: an approved call has the whole bucket, and its pause says so.
        Some(_) => When::Approved(Binding::Whole),
        None => When::Always,
    };
    let on_missing = read_on_missing(section, on_missing)?;
    Ok(KvGrant { scope, access, quota: read_quota(section)?, when, on_missing, tools: read_names(section)?, line: section.line() })
}

fn read_quota(section: &Section<'_>) -> Result<Quota, ConfigError> {
    let default = Quota::default();
    let bytes = match section.get("quota") {
        Some(quota) => units::bytes(quota.text()?).map_err(|reason| quota.error(format!("`{}`: {reason}", quota.name())))?,
        None => default.bytes,
    };
    let keys = match section.get("keys") {
        Some(keys) => {
            u64::try_from(keys.integer()?).ok().filter(|keys| *keys > 0).ok_or_else(|| keys.error(format!("`{}` must be at least 1", keys.name())))?
        }
        None => default.keys,
    };
    Ok(Quota { bytes, keys })
}
