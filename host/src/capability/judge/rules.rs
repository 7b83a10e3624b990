//! The rules: deny beats ask beats allow; an except skips its own rule; no match leaves the default.

use std::fmt;

use jiff::civil::Date;
use serde_json::{Value, json};

use super::{CallFacts, Judgement, Requirements};
use crate::capability::pattern::argument::lookup;
use crate::capability::pattern::{ArgumentPattern, Side, tool_matches};
use crate::capability::{Except, Grants, Held, Rule, Verdict};
use crate::digest::{Object, canonical_value};

/// What the rules say; the plugin's own lines are not looked at.
pub(super) fn judge(grants: &Grants, call: &CallFacts<'_>) -> Judgement {
    let for_tool: Vec<&Rule> = grants.rules.iter().filter(|rule| tool_matches(&rule.tool, call.tool)).collect();
    let says: Vec<(Verdict, String)> = for_tool.iter().filter_map(|rule| says(grants, rule, call)).collect();
    let verdict = says.iter().map(|(verdict, _)| *verdict).max();
    let because = match verdict {
        Some(strictest) => says.into_iter().filter(|(verdict, _)| *verdict == strictest).map(|(_, because)| because).collect(),
        None => vec![format!("{}: no rule matches, and the default is tools = \"{}\"", grants.file_name(), word(grants.default_verdict))],
    };
    Judgement {
        verdict: verdict.unwrap_or(grants.default_verdict),
        effects: call.effects,
        because,
        held: Held::default(),
        opens: Vec::new(),
        standing: verdict == Some(Verdict::Allow) && for_tool.iter().any(|rule| approves_beforehand(rule, call).is_some()),
        shut: Vec::new(),
        requirements: requirements(grants, &for_tool, call),
        limits: grants.default_limits.clone(),
        rules: digested(grants, &for_tool, call),
    }
}

/// What one rule for the tool says of these arguments, if anything.
fn says(grants: &Grants, rule: &Rule, call: &CallFacts<'_>) -> Option<(Verdict, String)> {
    let side = if rule.effect == Verdict::Allow { Side::Opens } else { Side::Guards };
    if !rule.fits(call.arguments, side) {
        return None;
    }
    let because = format!("{}: {} {}{}", grants.place(rule.line), word(rule.effect), rule.tool, arguments(&rule.args));
    let Some(except) = rule.except.iter().find(|except| except.in_force(call.today) && except.covers(call.tool, call.arguments)) else {
        return Some((rule.effect, because));
    };
    // Skipping a gate lets the call run; skipping a denial leaves it to the other rules and the default.
    (rule.effect == Verdict::Ask).then(|| (Verdict::Allow, format!("{because}, skipped by {except}")))
}

/// The standing approval of the call, where nothing stricter beats it: `the standing approval at grants.toml:31, until 2026-12-31`
pub(super) fn beforehand(grants: &Grants, call: &CallFacts<'_>) -> Option<String> {
    judge(grants, call).standing.then_some(())?;
    let for_tool = grants.rules.iter().filter(|rule| tool_matches(&rule.tool, call.tool));
    let (rule, except) = for_tool.filter_map(|rule| Some((rule, approves_beforehand(rule, call)?))).next()?;
    Some(format!("the standing approval at {}, until {}", grants.place(rule.line), except.until.as_deref().unwrap_or_default()))
}

/// An `except` of a matching `ask` rule that has a date and names every argument of the call with its exact value.
fn approves_beforehand<'r>(rule: &'r Rule, call: &CallFacts<'_>) -> Option<&'r Except> {
    let named = |except: &Except| {
        let exact = except.args.iter().all(|(_, pattern)| pattern.is_exact());
        except.exact.is_some() || exact && leaves(call.arguments, &mut Vec::new(), &mut |path| except.args.iter().any(|(named, _)| named == path))
    };
    let stands = |except: &&Except| except.until.is_some() && except.in_force(call.today) && except.covers(call.tool, call.arguments);
    let asks = rule.effect == Verdict::Ask && rule.fits(call.arguments, Side::Guards);
    rule.except.iter().filter(|_| asks).filter(stands).find(|except| named(except))
}

/// Whether `holds` of the path of every value that is no object, or an empty one.
fn leaves(value: &Value, path: &mut Vec<String>, holds: &mut impl FnMut(&[String]) -> bool) -> bool {
    let Some(object) = value.as_object().filter(|object| !object.is_empty()) else { return holds(path) };
    object.iter().all(|(key, value)| {
        path.push(key.clone());
        let all = leaves(value, path, holds);
        path.pop();
        all
    })
}

impl Rule {
    /// Whether it is about these arguments; `side` says which way a doubt falls.
    pub fn fits(&self, arguments: &Value, side: Side) -> bool {
        all_match(&self.args, arguments, side)
    }
}

impl Except {
    pub fn covers(&self, tool: &str, arguments: &Value) -> bool {
        self.tool.as_ref().is_none_or(|named| named == tool)
            && self.exact.as_ref().is_none_or(|exact| canonical_value(exact) == canonical_value(arguments))
            && all_match(&self.args, arguments, Side::Opens)
    }

    /// Through its last day, dates being `YYYY-MM-DD`.
    pub fn in_force(&self, today: Date) -> bool {
        self.until.as_deref().is_none_or(|until| until >= today.to_string().as_str())
    }
}

fn all_match(patterns: &[(Vec<String>, ArgumentPattern)], arguments: &Value, side: Side) -> bool {
    patterns.iter().all(|(path, pattern)| pattern.matches(lookup(arguments, path), side))
}

/// `except args.path = "/a" until 2026-12-31`
impl fmt::Display for Except {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tool = self.tool.as_ref().map_or(String::new(), |tool| format!(" {tool}"));
        let exact = self.exact.as_ref().map_or(String::new(), |exact| format!(" exactly {}", canonical_value(exact)));
        let until = self.until.as_ref().map_or(String::new(), |until| format!(" until {until}"));
        write!(f, "except{tool}{}{exact}{until}", arguments(&self.args))
    }
}

/// Of every rule that may be about this call, also where an except skipped it: they hold for all its pauses.
fn requirements(grants: &Grants, for_tool: &[&Rule], call: &CallFacts<'_>) -> Requirements {
    Requirements::of(for_tool.iter().copied().filter(|rule| rule.fits(call.arguments, Side::Guards)), &grants.people)
}

/// In an order of its own and without what has run out, so that the digest changes when the meaning does.
fn digested(grants: &Grants, for_tool: &[&Rule], call: &CallFacts<'_>) -> String {
    let mut rules: Vec<String> = for_tool
        .iter()
        .map(|rule| {
            let mut value = json!({
                "tool": rule.tool, "args": rule.args, "effect": rule.effect, "approvers": rule.approvers, "on_deny": rule.on_deny,
                "except": rule.except.iter().filter(|except| except.in_force(call.today)).map(digested_except).collect::<Vec<_>>(),
            });
            // Left out where they ask for nothing: digests of calls under older rules stay what they were.
            if rule.quorum.get() > 1 {
                value["quorum"] = json!(rule.quorum);
            }
            if rule.exclude_requester {
                value["exclude_requester"] = json!(true);
            }
            if let Some(expires) = rule.expires {
                value["expires"] = json!(expires.as_secs());
            }
            if let Some(escalation) = &rule.escalation {
                value["escalation"] = json!({"after": escalation.after.as_secs(), "to": escalation.to});
            }
            canonical_value(&value)
        })
        .collect();
    rules.sort();
    let digested = Object::new().text("default", word(grants.default_verdict));
    // Whose identities are one person's matters where people are counted.
    let counts = for_tool.iter().any(|rule| rule.quorum.get() > 1 || rule.exclude_requester);
    let digested = if counts { digested.of("people", &grants.people) } else { digested };
    digested.written("rules", &format!("[{}]", rules.join(","))).canonical()
}

/// What was not known to an older program stands only where it is set, so that its digests stay what they were.
fn digested_except(except: &Except) -> Value {
    let mut digested = json!({"args": except.args, "until": except.until});
    if let Some(tool) = &except.tool {
        digested["tool"] = json!(tool);
    }
    if let Some(exact) = &except.exact {
        digested["exact"] = exact.clone();
    }
    digested
}

pub(super) fn arguments(patterns: &[(Vec<String>, ArgumentPattern)]) -> String {
    let each: Vec<String> = patterns.iter().map(|(path, pattern)| format!("args.{} = {pattern}", path.join("."))).collect();
    if each.is_empty() { String::new() } else { format!(" {}", each.join(", ")) }
}

pub(super) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Ask => "ask",
        Verdict::Deny => "deny",
    }
}
