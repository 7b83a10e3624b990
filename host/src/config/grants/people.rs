//! `[people]`: which identities are one person.

use std::collections::BTreeMap;

use crate::capability::People;
use crate::chain::Actor;
use crate::config::ConfigError;
use crate::config::document::{Item, Section};

pub(super) fn read(section: &Section<'_>, host: &str) -> Result<People, ConfigError> {
    let mut people: BTreeMap<String, Vec<Actor>> = BTreeMap::new();
    for (name, item) in section.items() {
        if !is_name(name) || name.contains(':') {
            return Err(item.error(format!("\"{}\" is no person's name", name.escape_debug())).with_hint("a name holds no `:` and no blanks"));
        }
        let mut identities = Vec::new();
        for identity in item.texts()? {
            if !identity.contains(':') {
                return Err(item
                    .error(format!("`{}`: \"{}\" is no identity", item.name(), identity.escape_debug()))
                    .with_hint(format!("write `os:{identity}` for that user of this machine, or `token:{identity}`")));
            }
            let identity = read_identity(&item, identity, host)?;
            let elsewhere = people.iter().find(|(_, others)| others.contains(&identity)).map(|(other, _)| other.as_str());
            if let Some(other) = elsewhere.or(identities.contains(&identity).then_some(name)) {
                return Err(item
                    .error(format!("`{}`: {identity} stands for `{other}` already", item.name()))
                    .with_hint("an identity is one person's, once"));
            }
            identities.push(identity);
        }
        people.insert(name.to_owned(), identities);
    }
    Ok(People(people))
}

/// `os:alice@host` as it stands; `os:alice`, and a bare name, of this machine.
pub(super) fn read_identity(item: &Item<'_>, name: &str, host: &str) -> Result<Actor, ConfigError> {
    if !is_name(name) {
        return Err(item.error(format!("`{}`: \"{}\" is no name", item.name(), name.escape_debug())));
    }
    Ok(Actor(match name.strip_prefix("os:") {
        Some(user) if !user.contains('@') => format!("os:{user}@{host}"),
        None if !name.contains(':') => format!("os:{name}@{host}"),
        _ => name.to_owned(),
    }))
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.chars().any(|character| character.is_whitespace() || character.is_control())
}
