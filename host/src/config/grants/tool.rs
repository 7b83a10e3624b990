//! `[plugins.NAME.tools.TOOL]`, and the `tools` of a grant line: what holds for single tools.

use super::LATER;
use crate::call::Effects;
use crate::capability::{ForTools, ToolGrants};
use crate::config::ConfigError;
use crate::config::document::{Item, Section};

pub(super) fn read((name, item): (&str, Item<'_>)) -> Result<(String, ToolGrants), ConfigError> {
    check_name(&item, name)?;
    let section = item.section()?;
    section.only(&["enabled", "effects"], LATER)?;
    let enabled = section.get("enabled").map_or(Ok(true), |enabled| enabled.boolean())?;
    let effects = section.get("effects").map(|effects| effects.word(&["read-only", "idempotent", "once"])).transpose()?;
    let effects = effects.map(|word| match word {
        "read-only" => Effects::ReadOnly,
        "idempotent" => Effects::Idempotent,
        _ => Effects::Once,
    });
    Ok((name.to_owned(), ToolGrants { enabled, effects, line: section.line() }))
}

/// `tools = ["list", "read"]` of a line.
pub(super) fn read_names(section: &Section<'_>) -> Result<ForTools, ConfigError> {
    let Some(item) = section.get("tools") else { return Ok(ForTools::default()) };
    let names = item.texts()?;
    names.iter().try_for_each(|name| check_name(&item, name))?;
    Ok(ForTools(Some(names.into_iter().map(str::to_owned).collect())))
}

fn check_name(item: &Item<'_>, name: &str) -> Result<(), ConfigError> {
    let plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    match plain {
        true => Ok(()),
        false => Err(item
            .error(format!("`{}`: \"{}\" is no tool's name", item.name(), name.escape_debug()))
            .with_hint("name each tool as its plugin does, without the plugin's name: `delete` for `files__delete`")),
    }
}
