//! What `explain` tells beyond the verdict: every rule for the tool, and what would let the call run without asking.

use super::rules::{arguments, word};
use super::{CallFacts, Judgement, lines};
use crate::call::HOST;
use crate::capability::pattern::{Side, tool_matches};
use crate::capability::{Except, Grants, Rule, Verdict};
use crate::digest::canonical;

/// One line for each rule whose pattern the tool fits.
pub(super) fn rules(grants: &Grants, call: &CallFacts<'_>) -> Vec<String> {
    let for_tool = grants.rules.iter().filter(|rule| tool_matches(&rule.tool, call.tool));
    for_tool
        .map(|rule| format!("{}: {} {}{}: {}", grants.place(rule.line), word(rule.effect), rule.tool, arguments(&rule.args), says(rule, call)))
        .collect()
}

fn says(rule: &Rule, call: &CallFacts<'_>) -> String {
    if !fits(rule, call) {
        return "does not match these arguments".to_owned();
    }
    let said = match (skipping(rule, call), rule.effect) {
        (Some(except), _) => format!("skipped by {except}"),
        (None, Verdict::Allow) => "allows".to_owned(),
        (None, Verdict::Ask) => format!("asks{}", whom(rule)),
        (None, Verdict::Deny) => "denies".to_owned(),
    };
    let past = rule.except.iter().filter(|except| !except.in_force(call.today) && except.covers(call.tool, call.arguments));
    past.fold(said, |said, except| format!("{said}; {except} ran out"))
}

fn fits(rule: &Rule, call: &CallFacts<'_>) -> bool {
    rule.fits(call.arguments, if rule.effect == Verdict::Allow { Side::Opens } else { Side::Guards })
}

fn skipping<'a>(rule: &'a Rule, call: &CallFacts<'_>) -> Option<&'a Except> {
    rule.except.iter().find(|except| except.in_force(call.today) && except.covers(call.tool, call.arguments))
}

fn whom(rule: &Rule) -> String {
    let names: Vec<_> = rule.approvers.iter().map(ToString::to_string).collect();
    if names.is_empty() { String::new() } else { format!(" {}", names.join(" or ")) }
}

/// Lines to write or to take out, most of them ready to paste.
pub(super) fn needed(grants: &Grants, call: &CallFacts<'_>, judgement: &Judgement, exactly: bool) -> Vec<String> {
    match judgement.verdict {
        Verdict::Allow => Vec::new(),
        Verdict::Ask => vec!["an approval each time; after the first, `pausegate trust --always PAUSE` lets exactly these arguments pass".to_owned()],
        Verdict::Deny => undenied(grants, call, exactly),
    }
}

fn undenied(grants: &Grants, call: &CallFacts<'_>, exactly: bool) -> Vec<String> {
    let denying = grants.rules.iter().filter(|rule| rule.effect == Verdict::Deny && tool_matches(&rule.tool, call.tool));
    let denying = denying.filter(|rule| fits(rule, call) && skipping(rule, call).is_none());
    let exact = toml::Value::String(canonical(call.arguments)).to_string();
    let mut needed: Vec<String> = denying
        .map(|rule| {
            let tool = if rule.tool == call.tool { String::new() } else { format!("tool = \"{}\", ", call.tool) };
            let place = grants.place(rule.line);
            match exactly {
                true => format!("{place}: take the rule out, or let just this call pass with `except = [{{ {tool}exact = {exact} }}]`"),
                false => format!("{place}: take the rule out; with the arguments, this shows how to let just one call pass"),
            }
        })
        .collect();
    if call.plugin == HOST && grants.children.is_none() {
        needed.push("a section `[children]`, which says what chains may do that a call starts".to_owned());
    }
    if let Some(tool) = grants.disabled(call.plugin, call.own_tool()) {
        needed.push(format!("{}: take `enabled = false` out", grants.place(tool.line)));
    }
    if let Some(section) = grants.plugins.get(call.plugin) {
        let covered = lines::bound_paths(section, call).into_iter().filter_map(|(_, path)| lines::covering_none(section, call, path));
        needed.extend(covered.map(|none| format!("{}: take the line `access = \"none\"` at mount {} out", grants.place(none.line), none.mount)));
    }
    needed.dedup();
    if needed.is_empty() && grants.default_verdict == Verdict::Deny {
        needed.extend(["[[rules]]".to_owned(), format!("tool = \"{}\"", call.tool), "effect = \"allow\"".to_owned()]);
    }
    needed
}
