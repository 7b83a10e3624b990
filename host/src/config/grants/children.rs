//! `[children]`: whether calls may start chains of their own, and what these may do.

use std::path::Path;

use super::rule::read_pattern;
use crate::capability::Children;
use crate::config::ConfigError;
use crate::config::document::{Item, Section};

/// Generations: a grandchild's pause is still read with its whole path.
const DEPTH_MAX: u32 = 8;
/// Of one chain; each is asked for by a call, and each asks a model.
const CHAINS_MAX: u32 = 64;
/// Model calls of one child.
const TURNS_MAX: u32 = 1000;

/// `file` is where the section stands: a script in it is found from there.
pub(super) fn read(section: &Section<'_>, file: &Path) -> Result<Children, ConfigError> {
    section.only(&["tools", "depth", "chains", "turns", "model"], &["limits"])?;
    let usual = Children::default();
    Ok(Children {
        tools: section.get("tools").map_or(Ok(Vec::new()), |tools| read_tools(&tools))?,
        depth: read_number(section, "depth", usual.depth, DEPTH_MAX)?,
        chains: read_number(section, "chains", usual.chains, CHAINS_MAX)?,
        turns: read_number(section, "turns", usual.turns, TURNS_MAX)?,
        model: section.get("model").map(|model| read_model(&model, file)).transpose()?,
        line: section.line(),
    })
}

fn read_tools(tools: &Item<'_>) -> Result<Vec<String>, ConfigError> {
    tools.texts()?;
    tools.elements()?.iter().map(read_pattern).collect()
}

fn read_number(section: &Section<'_>, key: &str, usual: u32, most: u32) -> Result<u32, ConfigError> {
    let Some(item) = section.get(key) else { return Ok(usual) };
    let number = u32::try_from(item.integer()?).ok().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| item.error(format!("`{}` must be 1 to {most}", item.name())).with_hint("without the section, no call starts a chain"))
}

fn read_model(model: &Item<'_>, file: &Path) -> Result<String, ConfigError> {
    let name = model.text()?;
    if name.trim().is_empty() {
        return Err(model.error(format!("`{}` is empty", model.name())));
    }
    let folder = file.parent().unwrap_or(Path::new(""));
    Ok(name.strip_prefix("script:").map_or_else(|| name.to_owned(), |script| format!("script:{}", folder.join(script).display())))
}
