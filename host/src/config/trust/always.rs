//! A standing approval: an `except` entry for exactly one call of one tool, until a day, put into the rules that ask.
//!
//! Only characters are added, none is changed: comments, order and line ends stay. What is written is read back, and
//! must be the same rules with this one entry more, or nothing is written.

use std::path::{Path, PathBuf};

use jiff::civil::Date;
use serde_json::Value;

use super::{Mode, NEW_FILE, put};
use crate::capability::pattern::{Side, tool_matches};
use crate::capability::{Except, Grants, Rule, Verdict};
use crate::config::document::{Document, Item, Section};
use crate::config::{ConfigError, Places, grants, read_file};
use crate::digest::canonical;

/// Days that a standing approval holds where no day is given: a quarter, after which somebody looks again.
pub const STANDING_DAYS: i64 = 90;

/// A call that may pass without asking.
#[derive(Clone, Copy, Debug)]
pub struct Standing<'a> {
    /// `<plugin>__<tool>`
    pub tool: &'a str,
    /// All of them, no more and no others.
    pub arguments: &'a Value,
    /// The last day, in UTC.
    pub until: Date,
    pub today: Date,
}

/// What `always` did, or would do.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// The file that was written, links followed.
    pub file: PathBuf,
    /// The text that was added.
    pub text: String,
    /// Lines of the rules that were given an exception, as they were before.
    pub rules: Vec<usize>,
    /// A rule of its own was added, since none asked.
    pub added: bool,
    /// The file as it reads now, or would.
    pub grants: Grants,
}

impl Placed {
    pub fn stood_before(&self) -> bool {
        self.text.is_empty()
    }
}

/// Lets the call pass every rule that asks for it; where none does, adds one that asks for all but this.
pub fn always(file: &Path, places: &Places, host: &str, standing: &Standing<'_>, mode: Mode) -> Result<Placed, ConfigError> {
    let before = read_file(file)?;
    let bytes = before.as_deref().unwrap_or(NEW_FILE);
    let old = grants::read(bytes, file, places, host)?;
    let document = Document::new(file, bytes)?;
    let asking: Vec<usize> = (0..old.rules.len()).filter(|index| asks(&old.rules[*index], standing)).collect();
    let shut: Vec<usize> = asking.iter().copied().filter(|index| !passes(&old.rules[*index], standing)).collect();
    let mut placed = Placed { file: file.to_owned(), text: String::new(), rules: Vec::new(), added: asking.is_empty(), grants: old.clone() };
    let text = match (asking.as_slice(), shut.as_slice()) {
        ([], _) => add_rule(document.text, standing, &mut placed),
        (_, []) => return Ok(placed),
        (_, shut) => add_entries(&document, &old, shut, standing, &mut placed)?,
    };
    placed.grants = verify(&document, grants::read(text.as_bytes(), file, places, host), &old.rules, &shut, standing)?;
    if mode == Mode::Write {
        placed.file = put(file, before.as_deref(), &text)?;
    }
    Ok(placed)
}

fn asks(rule: &Rule, standing: &Standing<'_>) -> bool {
    rule.effect == Verdict::Ask && tool_matches(&rule.tool, standing.tool) && rule.fits(standing.arguments, Side::Guards)
}

fn passes(rule: &Rule, standing: &Standing<'_>) -> bool {
    rule.except.iter().any(|except| except.in_force(standing.today) && except.covers(standing.tool, standing.arguments))
}

/// The rule names the tool already, unless a `*` stands in it.
fn entry(standing: &Standing<'_>, rule: &str) -> String {
    let tool = if rule == standing.tool { String::new() } else { format!("tool = \"{}\", ", standing.tool) };
    // Characters that hide would hide in the file too: JSON names them by number.
    let exact = toml::Value::String(visible(&canonical(standing.arguments))).to_string();
    format!("{{ {tool}exact = {exact}, until = {} }}", standing.until)
}

/// JSON text with all that is not plain ASCII as `\uXXXX`.
fn visible(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            ' '..='~' => shown.push(c),
            c => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| shown.push_str(&format!("\\u{unit:04x}"))),
        }
    }
    shown
}

fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

fn add_rule(text: &str, standing: &Standing<'_>, placed: &mut Placed) -> String {
    let end = line_end(text);
    let gap = if text.ends_with('\n') || text.is_empty() { end.to_owned() } else { end.repeat(2) };
    let entry = entry(standing, standing.tool);
    placed.text = format!("[[rules]]{end}tool = \"{}\"{end}effect = \"ask\"{end}except = [{entry}]{end}", standing.tool);
    format!("{text}{gap}{}", placed.text)
}

fn add_entries(document: &Document<'_>, old: &Grants, shut: &[usize], standing: &Standing<'_>, placed: &mut Placed) -> Result<String, ConfigError> {
    let table = document.parse()?;
    let root = document.root(&table);
    let sections = root.require("rules")?.sections()?;
    let mut additions = Vec::new();
    for index in shut {
        let entry = entry(standing, &old.rules[*index].tool);
        additions.extend(into_rule(document.text, &sections[*index], &entry)?);
        placed.rules.push(old.rules[*index].line);
        placed.text += &format!("{entry}\n");
    }
    // From the end, so that the places before it stay where they are.
    additions.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    let mut text = document.text.to_owned();
    additions.iter().for_each(|(at, addition)| text.insert_str(*at, addition));
    Ok(text)
}

type Additions = Vec<(usize, String)>;

fn into_rule(text: &str, rule: &Section<'_>, entry: &str) -> Result<Additions, ConfigError> {
    match rule.get("except") {
        Some(list) => into_list(text, &list, entry),
        None => Ok(vec![beside_effect(text, &rule.require("effect")?, entry)]),
    }
}

/// On a line of its own below `effect`, or beside it where the rule is written in one line.
fn beside_effect(text: &str, effect: &Item<'_>, entry: &str) -> (usize, String) {
    let at = effect.span().end;
    let rest = text[at..].split('\n').next().unwrap_or_default();
    let end = line_end(text);
    match rest.trim_start().chars().next() {
        None | Some('#') if text[at..].contains('\n') => (at + rest.len() + 1, format!("except = [{entry}]{end}")),
        None | Some('#') => (text.len(), format!("{end}except = [{entry}]")),
        Some(_) => (at, format!(", except = [{entry}]")),
    }
}

fn into_list(text: &str, list: &Item<'_>, entry: &str) -> Result<Additions, ConfigError> {
    let span = list.span();
    let elements = list.elements()?;
    let inline = text[span.clone()].starts_with('[') && text[span.clone()].ends_with(']') && !text[span.clone()].starts_with("[[");
    if !inline {
        let by_hand = list.error("is written as `[[rules.except]]`, where no entry is added");
        return Err(by_hand.with_hint(format!("add it by hand to a list such as `except = [{entry}]`")));
    }
    let Some(last) = elements.last().map(Item::span) else { return Ok(vec![(span.start + 1, entry.to_owned())]) };
    let comma_there = without_comments(&text[last.end..span.end - 1]).contains(',');
    let last_line = text[..last.start].rfind('\n').map_or(0, |at| at + 1);
    let closing_line = text[..span.end - 1].rfind('\n').map_or(0, |at| at + 1);
    // `]` on a line of its own: so gets the entry one, indented as the last.
    if closing_line > last.end && text[closing_line..span.end - 1].trim().is_empty() {
        let indent = if text[last_line..last.start].trim().is_empty() { &text[last_line..last.start] } else { "  " };
        let comma = (!comma_there).then(|| (last.end, ",".to_owned()));
        return Ok(comma.into_iter().chain([(closing_line, format!("{indent}{entry},{}", line_end(text)))]).collect());
    }
    Ok(vec![(last.end, format!(", {entry}"))])
}

fn without_comments(text: &str) -> String {
    text.lines().map(|line| line.split('#').next().unwrap_or_default()).collect()
}

/// The rules as they were, with this entry more, or nothing is written.
fn verify(
    document: &Document<'_>,
    new: Result<Grants, ConfigError>,
    old: &[Rule],
    shut: &[usize],
    standing: &Standing<'_>,
) -> Result<Grants, ConfigError> {
    let by_hand = |reason: String| {
        let entry = entry(standing, standing.tool);
        document.error(0, reason).with_hint(format!("write it by hand into the rule that asks: `except = [{entry}]`"))
    };
    let new = new.map_err(|error| by_hand(format!("no exception can be placed here ({error})")))?;
    let mut wanted: Vec<Rule> = old.to_vec();
    for index in shut {
        let exception = exception(standing, &wanted[*index].tool);
        wanted[*index].except.push(exception);
    }
    let without_lines = |rules: &[Rule]| rules.iter().map(|rule| Rule { line: 0, ..rule.clone() }).collect::<Vec<_>>();
    let as_meant = match (shut, new.rules.split_last()) {
        ([], Some((own, others))) => {
            let asks = own.tool == standing.tool && own.effect == Verdict::Ask && own.args.is_empty();
            asks && own.except == [exception(standing, standing.tool)] && without_lines(others) == without_lines(&wanted)
        }
        _ => without_lines(&new.rules) == without_lines(&wanted),
    };
    if as_meant { Ok(new) } else { Err(by_hand("no exception can be placed here".to_owned())) }
}

/// As the reader makes it of `entry`.
fn exception(standing: &Standing<'_>, rule: &str) -> Except {
    let exact = crate::call::arguments::read(&canonical(standing.arguments)).map(|arguments| arguments.value);
    Except {
        tool: (rule != standing.tool).then(|| standing.tool.to_owned()),
        args: Vec::new(),
        exact: exact.ok(),
        until: Some(standing.until.to_string()),
    }
}

#[cfg(test)]
mod tests;
