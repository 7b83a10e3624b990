//! Lines of the grants file that do nothing: a slip, most often. A warning stops nothing and changes nothing.

use std::collections::BTreeMap;

use jiff::civil::Date;
use serde_json::Value;

use crate::call::{Effects, ToolSpec};
use crate::capability::pattern::tool_matches;
use crate::capability::{Access, Binding, Grants, PluginGrants, Rule, Then, Verdict, When, guest_path, is_safe};
use crate::digest::Digest;
use crate::plugin::LoadFailure;

/// What is loaded when the file is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Loaded<'a> {
    pub tools: &'a [ToolSpec],
    pub plugins: &'a BTreeMap<String, Digest>,
    pub failures: &'a [LoadFailure],
    /// In UTC, for `until`.
    pub today: Date,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    pub line: usize,
    pub text: String,
}

/// By line.
pub fn warnings(grants: &Grants, loaded: &Loaded<'_>) -> Vec<Warning> {
    let mut found: Vec<Warning> = grants.plugins.iter().flat_map(|(name, section)| of_section(grants, name, section, loaded)).collect();
    found.extend((0..grants.rules.len()).flat_map(|index| of_rule(grants, index, loaded)));
    found.extend(out_of_anyones_reach(grants, loaded));
    found.sort_by_key(|warning| warning.line);
    found
}

/// Rules that ask or deny, and are about no tool that is there: what they should hold back is another name by now, or was
/// never this one.
pub fn unguarding(grants: &Grants, tools: &[ToolSpec]) -> Vec<Warning> {
    let guards = grants.rules.iter().filter(|rule| rule.effect != Verdict::Allow);
    let idle = guards.filter(|rule| !tools.iter().any(|tool| tool_matches(&rule.tool, &tool.name)));
    let text = |rule: &Rule| format!("this rule holds nothing back: no loaded tool fits `{}`", rule.tool);
    idle.map(|rule| Warning { line: rule.line, text: text(rule) }).collect()
}

fn of_section(grants: &Grants, name: &str, section: &PluginGrants, loaded: &Loaded<'_>) -> Vec<Warning> {
    let at = |line: usize, text: String| Warning { line, text };
    if !loaded.plugins.contains_key(name) {
        let failed = loaded.failures.iter().any(|failure| failure.name == name);
        let why = if failed { format!("plugin `{name}` cannot be loaded") } else { format!("there is no plugin `{name}`") };
        return vec![at(section.line, format!("`[plugins.{name}]` grants nothing: {why}"))];
    }
    let tools: Vec<&ToolSpec> = loaded.tools.iter().filter(|tool| tool.plugin == name).collect();
    let reads_only = !tools.is_empty() && tools.iter().all(|tool| grants.effects(tool) == Effects::ReadOnly);
    let mut found = Vec::new();
    for line in section.fs.iter().filter(|line| line.access != Access::None) {
        let none =
            section.fs.iter().find(|none| none.access == Access::None && none.tools.0.is_none() && guest_path::covers(&none.mount, &line.mount));
        if let Some(none) = none {
            found.push(at(line.line, format!("never in force: the `none` line {} covers all of {}", none.line, line.mount)));
        } else if line.access == Access::Write && reads_only {
            found.push(at(line.line, format!("no more than reading: every tool of `{name}` is read-only")));
        }
        if let When::Approved(Binding::Within(path)) = &line.when
            && nobody_has(&tools, path)
        {
            found.push(at(line.line, format!("opens nothing: no tool of `{name}` has an argument `{}`", path.join("."))));
        }
    }
    let idle = section.http.iter().filter(|line| reads_only && !line.methods.iter().any(|method| is_safe(method)));
    found.extend(idle.map(|line| at(line.line, format!("never in force: every tool of `{name}` is read-only, which leaves GET and HEAD"))));
    found
}

fn of_rule(grants: &Grants, index: usize, loaded: &Loaded<'_>) -> Vec<Warning> {
    let rule = &grants.rules[index];
    let at = |text: String| Warning { line: rule.line, text };
    let tools: Vec<&ToolSpec> = loaded.tools.iter().filter(|tool| tool_matches(&rule.tool, &tool.name)).collect();
    if tools.is_empty() {
        return vec![at(format!("the rule matches nothing: no loaded tool fits `{}`", rule.tool))];
    }
    let mut found = Vec::new();
    for (path, _) in rule.args.iter().filter(|(path, _)| nobody_has(&tools, path)) {
        let so = if rule.effect == Verdict::Allow { "never matches" } else { "matches whatever that argument would be" };
        found.push(at(format!("no tool that fits `{}` has an argument `{}`, so the rule {so}", rule.tool, path.join("."))));
    }
    found.extend(beaten(grants, index, &tools, loaded.today).map(at));
    for except in &rule.except {
        if !except.in_force(loaded.today) {
            found.push(at(format!("its {except} ran out; take it out, or give it a later day")));
        } else if except.tool.as_ref().is_some_and(|tool| !tool_matches(&rule.tool, tool)) {
            found.push(at(format!("its {except} is for a tool that the rule is not about")));
        }
    }
    found
}

/// A rule that another makes pointless: a stricter one for all its tools and any arguments, or the same one again.
fn beaten(grants: &Grants, index: usize, tools: &[&ToolSpec], today: Date) -> Option<String> {
    let rule = &grants.rules[index];
    let says_more = !rule.approvers.is_empty() || rule.on_deny != Then::Continue;
    let covers = |other: &&Rule| {
        let always = other.args.is_empty() && !other.except.iter().any(|except| except.in_force(today));
        always && tools.iter().all(|tool| tool_matches(&other.tool, &tool.name))
    };
    let stricter = |other: &&Rule| other.effect > rule.effect && (other.effect == Verdict::Deny || !says_more);
    if let Some(other) = grants.rules.iter().filter(stricter).find(covers) {
        let word = if other.effect == Verdict::Deny { "denies" } else { "asks for" };
        return Some(format!("the rule never decides: line {} {word} all of it", other.line));
    }
    let same = |other: &&Rule| Rule { line: rule.line, ..(*other).clone() } == *rule;
    grants.rules[..index].iter().find(same).map(|other| format!("the rule says what line {} says", other.line))
}

/// Rules that hold together for every call of one of them, and whose approvers together are too few. What hangs on the
/// arguments of the call is left to the pause, which says who decides.
fn out_of_anyones_reach(grants: &Grants, loaded: &Loaded<'_>) -> Vec<Warning> {
    let asking = || grants.rules.iter().filter(|rule| rule.effect == Verdict::Ask);
    let mut found: Vec<(Vec<usize>, Warning)> = Vec::new();
    for rule in asking() {
        let tools: Vec<&ToolSpec> = loaded.tools.iter().filter(|tool| tool_matches(&rule.tool, &tool.name)).collect();
        let always =
            |other: &&Rule| (other.args.is_empty() || other.args == rule.args) && tools.iter().all(|tool| tool_matches(&other.tool, &tool.name));
        let together: Vec<&Rule> = asking().filter(always).collect();
        let lines: Vec<usize> = together.iter().map(|rule| rule.line).collect();
        let lists: Vec<_> = together.iter().map(|rule| &rule.approvers).filter(|list| !list.is_empty()).collect();
        let Some(first) = lists.first() else { continue };
        let in_all = first.iter().filter(|actor| lists.iter().all(|list| list.contains(actor)));
        let people = grants.people.persons(in_all).len();
        let quorum = together.iter().map(|rule| rule.quorum.get()).max().unwrap_or(1);
        if tools.is_empty() || people >= quorum as usize || found.iter().any(|(others, _)| *others == lines) {
            continue;
        }
        let all: Vec<_> = lines.iter().map(ToString::to_string).collect();
        let text = format!("nobody can approve: lines {} hold together, want {quorum} of their approvers, and share {people}", all.join(", "));
        found.push((lines, Warning { line: rule.line, text }));
    }
    found.into_iter().map(|(_, warning)| warning).collect()
}

/// Every one of these tools lists its arguments, and none has this one.
fn nobody_has(tools: &[&ToolSpec], path: &[String]) -> bool {
    !tools.is_empty() && tools.iter().all(|tool| lacks(&tool.input_schema, path))
}

/// A schema that says nothing of its properties, or refers elsewhere, lacks nothing.
fn lacks(schema: &Value, path: &[String]) -> bool {
    let Some((key, rest)) = path.split_first() else { return false };
    let elsewhere = ["$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties"].iter().any(|word| schema.get(word).is_some());
    match schema.get("properties").and_then(Value::as_object) {
        _ if elsewhere || schema.get("additionalProperties").is_some_and(|more| more != &Value::Bool(false)) => false,
        Some(properties) => properties.get(key).is_none_or(|property| !rest.is_empty() && lacks(property, rest)),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;
    use crate::config::{Places, grants};

    fn tool(plugin: &str, name: &str, effects: Effects, argument: &str) -> ToolSpec {
        ToolSpec {
            name: format!("{plugin}__{name}"),
            plugin: plugin.into(),
            tool: name.into(),
            title: None,
            description: "Does.".into(),
            input_schema: json!({"type": "object", "properties": {argument: {"type": "string"}}}).into(),
            output_schema: None,
            effects,
            plugin_digest: Digest::of_bytes(b""),
        }
    }

    fn warned(text: &str) -> Vec<String> {
        let tools = [
            tool("files", "list", Effects::ReadOnly, "path"),
            tool("files", "delete", Effects::Once, "path"),
            tool("web", "get", Effects::ReadOnly, "url"),
        ];
        let plugins = ["files", "web"].map(|name| (name.to_owned(), Digest::of_bytes(b""))).into();
        let failures = [LoadFailure { name: "broken".into(), reason: "cut off".into() }];
        let grants = grants::read(format!("version = 1\n{text}").as_bytes(), Path::new("/g/grants.toml"), &Places::default(), "h").unwrap();
        let loaded = Loaded { tools: &tools, plugins: &plugins, failures: &failures, today: "2026-06-01".parse().unwrap() };
        warnings(&grants, &loaded).into_iter().map(|warning| format!("{}: {}", warning.line, warning.text)).collect()
    }

    #[test]
    fn rules_that_hold_nothing_back_are_told_before_anything_runs() {
        let tools = [tool("files", "delete", Effects::Once, "path")];
        let unguarding = |text: &str| {
            let grants = grants::read(format!("version = 1\n{text}").as_bytes(), Path::new("/g/grants.toml"), &Places::default(), "h").unwrap();
            unguarding(&grants, &tools).into_iter().map(|warning| format!("{}: {}", warning.line, warning.text)).collect::<Vec<_>>()
        };
        let told = "2: this rule holds nothing back: no loaded tool fits `files__delte`";
        assert_eq!(unguarding(&rule("deny", "files__delte", "")), [told]);
        assert_eq!(unguarding(&rule("ask", "files__delte", "")), [told]);
        assert_eq!(unguarding(&rule("allow", "files__delte", "")), [""; 0], "it gives nothing away");
        assert_eq!(unguarding(&(rule("deny", "files__*", "") + &rule("ask", "files__delete", "args.pth = \"/a\""))), [""; 0]);
    }

    fn rule(effect: &str, tool: &str, more: &str) -> String {
        format!("[[rules]]\ntool = \"{tool}\"\neffect = \"{effect}\"\n{more}\n")
    }

    #[test]
    fn a_file_without_a_slip_is_not_warned_about() {
        let fs = "[[plugins.files.fs]]\npath = \"./a\"\nmount = \"/a\"\naccess = \"write\"\nwhen = \"approved\"\nwithin = \"args.path\"\n";
        let none = "[[plugins.files.fs]]\nmount = \"/a/b\"\naccess = \"none\"\n";
        let http = "[plugins.web]\ndigest = \"any\"\n[[plugins.web.http]]\nurl = \"https://a.test\"\nmethods = [\"GET\", \"POST\"]\n";
        let rules = [
            rule("ask", "files__*", "args.path = \"/a/**\"\nexcept = [{ args.path = \"/a/x\", until = 2026-06-01 }]"),
            rule("deny", "files__delete", "args.path = \"/a/**\""),
            rule("allow", "*", ""),
        ];
        assert_eq!(warned(&format!("[plugins.files]\ndigest = \"any\"\n{fs}{none}{http}{}", rules.concat())), [] as [String; 0]);
        assert_eq!(warned(""), [] as [String; 0]);
    }

    #[test]
    fn lines_that_grant_nothing_are_named() {
        let section = |name: &str, lines: &str| format!("[plugins.{name}]\ndigest = \"any\"\n{lines}");
        let fs = |plugin: &str, access: &str, more: &str| {
            format!("[[plugins.{plugin}.fs]]\npath = \"./a\"\nmount = \"/a\"\naccess = \"{access}\"\n{more}")
        };
        for (text, warning) in [
            (section("fils", ""), "2: `[plugins.fils]` grants nothing: there is no plugin `fils`"),
            (section("broken", ""), "2: `[plugins.broken]` grants nothing: plugin `broken` cannot be loaded"),
            (
                section("files", &format!("{}{}", fs("files", "read", ""), fs("files", "none", ""))),
                "4: never in force: the `none` line 8 covers all of /a",
            ),
            (section("web", &fs("web", "write", "")), "4: no more than reading: every tool of `web` is read-only"),
            (
                section("files", &fs("files", "write", "when = \"approved\"\nwithin = \"args.pth\"\n")),
                "4: opens nothing: no tool of `files` has an argument `pth`",
            ),
            (
                section("web", "[[plugins.web.http]]\nurl = \"https://a.test\"\nmethods = [\"POST\"]\n"),
                "4: never in force: every tool of `web` is read-only, which leaves GET and HEAD",
            ),
        ] {
            assert_eq!(warned(&text), [warning]);
        }
    }

    #[test]
    fn rules_that_nobody_can_satisfy_together_are_named() {
        let ask = |tool: &str, more: &str| rule("ask", tool, more);
        let alice_or_bob = "approvers = [\"alice\", \"bob\"]";
        let two = "approvers = [\"alice\", \"bob\"]\nquorum = 2";
        for (text, warned_of) in [
            (
                ask("files__*", alice_or_bob) + &ask("files__delete", "approvers = [\"carol\"]"),
                Some("6: nobody can approve: lines 2, 6 hold together, want 1 of their approvers, and share 0"),
            ),
            (
                ask("*", two) + &ask("web__get", "approvers = [\"bob\", \"carol\"]"),
                Some("7: nobody can approve: lines 2, 7 hold together, want 2 of their approvers, and share 1"),
            ),
            (ask("files__*", alice_or_bob) + &ask("files__delete", "approvers = [\"bob\", \"carol\"]"), None),
            (ask("files__delete", alice_or_bob) + &ask("web__get", "approvers = [\"carol\"]"), None),
            // Whether both are about one call hangs on its arguments.
            (
                ask("files__delete", &format!("args.path = \"/a\"\n{alice_or_bob}"))
                    + &ask("files__delete", "args.path = \"/b\"\napprovers = [\"carol\"]"),
                None,
            ),
        ] {
            assert_eq!(warned(&text), warned_of.into_iter().collect::<Vec<_>>(), "{text}");
        }
    }

    #[test]
    fn rules_that_never_decide_are_named() {
        for (text, warning) in [
            (rule("deny", "files__delte", ""), "2: the rule matches nothing: no loaded tool fits `files__delte`"),
            (
                rule("ask", "files__*", "args.pth = \"/a\""),
                "2: no tool that fits `files__*` has an argument `pth`, so the rule matches whatever that argument would be",
            ),
            (rule("allow", "web__get", "args.path = \"/a\""), "2: no tool that fits `web__get` has an argument `path`, so the rule never matches"),
            (rule("ask", "files__delete", "") + &rule("deny", "files__*", ""), "2: the rule never decides: line 6 denies all of it"),
            (rule("allow", "web__get", "") + &rule("ask", "*", ""), "2: the rule never decides: line 6 asks for all of it"),
            (rule("ask", "web__get", "") + &rule("ask", "web__get", ""), "6: the rule says what line 2 says"),
            (
                rule("ask", "files__*", "except = [{ args.path = \"/a\", until = 2026-05-31 }]"),
                "2: its except args.path = \"/a\" until 2026-05-31 ran out; take it out, or give it a later day",
            ),
            (
                rule("ask", "files__*", "except = [{ tool = \"web__get\", exact = '{}' }]"),
                "2: its except web__get exactly {} is for a tool that the rule is not about",
            ),
        ] {
            assert_eq!(warned(&text), [warning], "{text}");
        }
        // Approvers of a rule that is beaten hold all the same, and an exception in force leaves something to decide.
        assert_eq!(warned(&(rule("allow", "web__get", "approvers = [\"bob\"]") + &rule("ask", "*", ""))), [] as [String; 0]);
        assert_eq!(warned(&(rule("allow", "web__get", "") + &rule("ask", "*", "except = [{ args.url = \"/a\" }]"))), [] as [String; 0]);
    }
}
