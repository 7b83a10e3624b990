//! `[[rules]]`: what is allowed, asked or denied, and who may decide.

use std::num::NonZeroU32;
use std::time::Duration;

use super::{LATER, VERDICTS, units, verdict};
use crate::call::arguments;
use crate::capability::children::CHAIN;
use crate::capability::pattern::{ArgumentPattern, PATTERN_MAX};
use crate::capability::{Escalation, Except, People, Rule, Then, Verdict};
use crate::chain::Actor;
use crate::config::ConfigError;
use crate::config::document::{Item, Section};

/// Bytes of the arguments of one standing approval; larger ones are no call that somebody wants to repeat.
pub const EXACT_BYTES_MAX: usize = 16 << 10;

/// Between two reminders of one pause.
const REMIND_MIN: Duration = Duration::from_secs(60);

/// Argument paths and patterns, in the file's order.
type Patterns = Vec<(Vec<String>, ArgumentPattern)>;

pub(super) fn read(section: &Section<'_>, host: &str, people: &People) -> Result<Rule, ConfigError> {
    section.only(
        &[
            "tool",
            "args",
            "effect",
            "except",
            "approvers",
            "quorum",
            "exclude_requester",
            "on_deny",
            "expires",
            "escalate_after",
            "escalate_to",
            "remind",
        ],
        LATER,
    )?;
    let effect = verdict(section.require("effect")?.word(VERDICTS)?);
    let args = match section.get("args") {
        Some(args) => read_patterns(&args)?,
        None => Vec::new(),
    };
    let approvers = match section.get("approvers") {
        Some(names) => read_approvers(&names, host, people)?,
        None => Vec::new(),
    };
    let quorum = read_quorum(section, &approvers, people)?;
    let exclude_requester = section.get("exclude_requester").map_or(Ok(false), |exclude| exclude.boolean())?;
    let on_deny = match section.get("on_deny") {
        Some(then) if then.word(&["continue", "stop"])? == "stop" => Then::Stop,
        _ => Then::Continue,
    };
    let expires = section.get("expires").map(|item| read_time(&item)).transpose()?;
    let escalation = read_escalation(section, host, people, &approvers, expires)?;
    let remind = section.get("remind").map(|item| read_remind(&item)).transpose()?;
    Ok(Rule {
        tool: read_pattern(&section.require("tool")?)?,
        args,
        effect,
        except: read_excepts(section, effect)?,
        approvers,
        quorum,
        exclude_requester,
        on_deny,
        expires,
        escalation,
        remind,
        line: section.line(),
    })
}

/// A pattern that no tool name can fit would guard nothing without a word.
pub(super) fn read_pattern(item: &Item<'_>) -> Result<String, ConfigError> {
    let tool = item.text()?;
    let readable =
        !tool.is_empty() && tool.len() <= PATTERN_MAX && tool.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'*'));
    if readable && (tool.contains('*') || tool.contains("__") || tool == CHAIN) {
        return Ok(tool.to_owned());
    }
    Err(item
        .error(format!("`{}`: \"{}\" fits no tool", item.name(), tool.escape_debug()))
        .with_hint("tools are named `PLUGIN__TOOL`; `files__*` is every tool of `files`, `*` every tool, `chain` the one that starts chains"))
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
    section.only(&["tool", "args", "exact", "until"], LATER)?;
    let args = section.get("args").map(|args| Ok((read_patterns(&args)?, args))).transpose()?;
    let exact = section.get("exact").map(|exact| Ok((read_exact(&exact)?, exact))).transpose()?;
    let (args, exact) = match (args, exact) {
        (None, None) => {
            return Err(section.error("`rules.except` lacks `args`").with_hint("`args` holds patterns; `exact` all arguments of one call, as JSON"));
        }
        (Some(_), Some((_, item))) => return Err(item.error("`args` and `exact` exclude each other")),
        (Some((args, item)), None) if args.is_empty() => {
            return Err(item.error("an `except` entry must name an argument").with_hint("without one it would undo the whole rule"));
        }
        (Some((args, _)), None) => (args, None),
        (None, Some((exact, _))) => (Vec::new(), Some(exact)),
    };
    let tool = section.get("tool").map(|tool| read_one_tool(&tool)).transpose()?;
    Ok(Except { tool, args, exact, until: section.get("until").map(|until| until.date()).transpose()? })
}

/// The arguments of one call, whole, as JSON: what no pattern can say of lists, nulls and stars.
fn read_exact(item: &Item<'_>) -> Result<serde_json::Value, ConfigError> {
    let text = item.text()?;
    if text.len() > EXACT_BYTES_MAX {
        return Err(item.error(format!("`{}` has {} bytes, the limit is {EXACT_BYTES_MAX}", item.name(), text.len())));
    }
    match arguments::read(text) {
        Ok(read) if !text.trim().is_empty() => Ok(read.value),
        Ok(_) => Err(item.error(format!("`{}` is empty; no arguments are `{{}}`", item.name()))),
        Err(error) => Err(item.error(format!("`{}`: {error}", item.name()))),
    }
}

fn read_one_tool(item: &Item<'_>) -> Result<String, ConfigError> {
    let tool = item.text()?;
    let whole = tool.contains("__") && tool.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    if whole { Ok(tool.to_owned()) } else { Err(item.error(format!("`{}` must be the whole name of one tool, without `*`", item.name()))) }
}

/// Each name's identities, none of them twice.
fn read_approvers(item: &Item<'_>, host: &str, people: &People) -> Result<Vec<Actor>, ConfigError> {
    let mut approvers = Vec::new();
    for name in item.texts()? {
        let identities = match people.identities(name) {
            Some(identities) => identities.to_vec(),
            None => vec![super::people::read_identity(item, name, host)?],
        };
        let new: Vec<_> = identities.into_iter().filter(|identity| !approvers.contains(identity)).collect();
        approvers.extend(new);
    }
    Ok(approvers)
}

/// In whole seconds: people decide.
fn read_time(item: &Item<'_>) -> Result<Duration, ConfigError> {
    let time = units::duration(item.text()?).map_err(|reason| item.error(format!("`{}`: {reason}", item.name())))?;
    if time.as_secs() == 0 { Err(item.error(format!("`{}` is shorter than a second", item.name()))) } else { Ok(time) }
}

/// People who are told of one thing every few seconds stop looking.
fn read_remind(item: &Item<'_>) -> Result<Duration, ConfigError> {
    let time = read_time(item)?;
    if time < REMIND_MIN { Err(item.error(format!("`{}` is shorter than a minute", item.name()))) } else { Ok(time) }
}

/// A list that names nobody cannot be widened, and nobody decides what has expired.
fn read_escalation(
    section: &Section<'_>,
    host: &str,
    people: &People,
    approvers: &[Actor],
    expires: Option<Duration>,
) -> Result<Option<Escalation>, ConfigError> {
    let (after, to) = match (section.get("escalate_after"), section.get("escalate_to")) {
        (None, None) => return Ok(None),
        (Some(after), Some(to)) => (after, to),
        (Some(item), None) | (None, Some(item)) => return Err(item.error("`escalate_after` and `escalate_to` stand together")),
    };
    if approvers.is_empty() {
        return Err(to.error("the rule names no `approvers`, so that anyone decides from the first").with_hint("name who decides first"));
    }
    let time = read_time(&after)?;
    if expires.is_some_and(|expires| expires <= time) {
        return Err(after.error("the pause has expired by then").with_hint("escalate earlier, or let it expire later"));
    }
    Ok(Some(Escalation { after: time, to: read_approvers(&to, host, people)? }))
}

/// One that could never be reached is refused here, before a chain waits for it.
fn read_quorum(section: &Section<'_>, approvers: &[Actor], people: &People) -> Result<NonZeroU32, ConfigError> {
    let Some(item) = section.get("quorum") else { return Ok(NonZeroU32::MIN) };
    let quorum = u32::try_from(item.integer()?).ok().and_then(NonZeroU32::new);
    let quorum = quorum.ok_or_else(|| item.error(format!("`{}` must be at least 1", item.name())))?;
    let persons = people.persons(approvers).len();
    if !approvers.is_empty() && quorum.get() as usize > persons {
        return Err(item
            .error(format!("a quorum of {quorum} among {persons} approvers can never be reached"))
            .with_hint("identities of one person count once; name more approvers, or lower the quorum"));
    }
    Ok(quorum)
}
