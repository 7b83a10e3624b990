//! `[[rules]]`: what is allowed, asked or denied, and who may decide.

use super::{LATER, VERDICTS, verdict};
use crate::capability::pattern::{ArgumentPattern, PATTERN_MAX};
use crate::capability::{Except, Rule, Then, Verdict};
use crate::chain::Actor;
use crate::config::ConfigError;
use crate::config::document::{Item, Section};

/// Argument paths and patterns, in the file's order.
type Patterns = Vec<(Vec<String>, ArgumentPattern)>;

pub(super) fn read(section: &Section<'_>, host: &str) -> Result<Rule, ConfigError> {
    section.only(&["tool", "args", "effect", "except", "approvers", "quorum", "on_deny"], LATER)?;
    let effect = verdict(section.require("effect")?.word(VERDICTS)?);
    refuse_quorum(section)?;
    let args = match section.get("args") {
        Some(args) => read_patterns(&args)?,
        None => Vec::new(),
    };
    let approvers = match section.get("approvers") {
        Some(names) => names.texts()?.into_iter().map(|name| read_approver(&names, name, host)).collect::<Result<_, _>>()?,
        None => Vec::new(),
    };
    let on_deny = match section.get("on_deny") {
        Some(then) if then.word(&["continue", "stop"])? == "stop" => Then::Stop,
        _ => Then::Continue,
    };
    Ok(Rule { tool: read_tool(section)?, args, effect, except: read_excepts(section, effect)?, approvers, on_deny, line: section.line() })
}

/// A pattern that no tool name can fit would guard nothing without a word.
fn read_tool(section: &Section<'_>) -> Result<String, ConfigError> {
    let item = section.require("tool")?;
    let tool = item.text()?;
    let readable =
        !tool.is_empty() && tool.len() <= PATTERN_MAX && tool.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'*'));
    if readable && (tool.contains('*') || tool.contains("__")) {
        return Ok(tool.to_owned());
    }
    Err(item
        .error(format!("`{}`: \"{}\" fits no tool", item.name(), tool.escape_debug()))
        .with_hint("tools are named `PLUGIN__TOOL`; `files__*` is every tool of `files`, `*` every tool"))
}

fn read_patterns(item: &Item<'_>) -> Result<Patterns, ConfigError> {
    let mut patterns = Vec::new();
    for (key, item) in item.section()?.items() {
        match item.scalar()? {
            Some(value) => patterns
                .push((vec![key.to_owned()], ArgumentPattern::read(value).map_err(|error| item.error(format!("`{}`: {error}", item.name())))?)),
            None => {
                let inner = read_patterns(&item)?;
                if inner.is_empty() {
                    return Err(item.error(format!("`{}` is empty", item.name())));
                }
                patterns.extend(inner.into_iter().map(|(path, pattern)| (std::iter::once(key.to_owned()).chain(path).collect(), pattern)));
            }
        }
    }
    Ok(patterns)
}

fn read_excepts(section: &Section<'_>, effect: Verdict) -> Result<Vec<Except>, ConfigError> {
    let Some(excepts) = section.get("except") else { return Ok(Vec::new()) };
    if effect == Verdict::Allow {
        return Err(excepts.error("an `allow` rule takes no `except`").with_hint("write an `ask` or `deny` rule for those arguments; it wins"));
    }
    excepts.sections()?.iter().map(read_except).collect()
}

fn read_except(section: &Section<'_>) -> Result<Except, ConfigError> {
    section.only(&["args", "until"], LATER)?;
    let item = section.require("args")?;
    let args = read_patterns(&item)?;
    if args.is_empty() {
        return Err(item.error("an `except` entry must name an argument").with_hint("without one it would undo the whole rule"));
    }
    Ok(Except { args, until: section.get("until").map(|until| until.date()).transpose()? })
}

fn read_approver(item: &Item<'_>, name: &str, host: &str) -> Result<Actor, ConfigError> {
    if name.is_empty() || name.chars().any(|character| character.is_whitespace() || character.is_control()) {
        return Err(item.error(format!("`{}`: \"{}\" is no name", item.name(), name.escape_debug())));
    }
    Ok(Actor(if name.contains(':') { name.to_owned() } else { format!("os:{name}@{host}") }))
}

fn refuse_quorum(section: &Section<'_>) -> Result<(), ConfigError> {
    match section.get("quorum") {
        Some(quorum) => match quorum.integer()? {
            1 => Ok(()),
            2.. => Err(quorum.error("a quorum above 1 comes with a later version").with_hint("this version asks one person")),
            _ => Err(quorum.error(format!("`{}` must be at least 1", quorum.name()))),
        },
        None => Ok(()),
    }
}
