use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde_json::json;

use super::*;
use crate::capability::pattern::ArgumentPattern;
use crate::capability::{Access, Binding, Except, ForTools, FsGrant, HttpGrant, Pin, Rule, Then, ToolGrants, When};
use crate::chain::Actor;

mod properties;

const TODAY: &str = "2026-06-15";

pub(super) fn digest() -> Digest {
    Digest::of_bytes(b"files")
}

pub(super) fn fs(access: Access, mount: &str, when: When) -> FsGrant {
    FsGrant {
        path: format!("/srv{mount}").into(),
        mount: mount.into(),
        access,
        when,
        on_missing: Default::default(),
        tools: ForTools::default(),
        one_file: false,
        quota: None,
        line: 10,
    }
}

pub(super) fn http(url: &str, methods: &[&str], when: When) -> HttpGrant {
    HttpGrant {
        url: url.into(),
        methods: methods.iter().map(|method| (*method).to_owned()).collect(),
        private: false,
        secret: None,
        when,
        on_missing: Default::default(),
        tools: ForTools::default(),
        line: 20,
    }
}

pub(super) fn for_tools(names: &[&str]) -> ForTools {
    ForTools(Some(names.iter().map(|name| (*name).to_owned()).collect()))
}

pub(super) fn within(argument: &str) -> When {
    When::Approved(Binding::Within(vec![argument.into()]))
}

pub(super) fn rule(effect: Verdict, tool: &str, args: &[(&str, &str)]) -> Rule {
    Rule {
        tool: tool.into(),
        args: patterns(args),
        effect,
        except: vec![],
        approvers: vec![],
        quorum: NonZeroU32::MIN,
        exclude_requester: false,
        on_deny: Then::Continue,
        expires: None,
        escalation: None,
        remind: None,
        line: 31,
    }
}

pub(super) fn except(args: &[(&str, &str)], until: Option<&str>) -> Except {
    Except { args: patterns(args), until: until.map(str::to_owned), ..Except::default() }
}

fn patterns(args: &[(&str, &str)]) -> Vec<(Vec<String>, ArgumentPattern)> {
    args.iter().map(|(path, pattern)| (path.split('.').map(str::to_owned).collect(), (*pattern).into())).collect()
}

pub(super) fn grants(fs: Vec<FsGrant>, http: Vec<HttpGrant>, rules: Vec<Rule>) -> Grants {
    let env = BTreeMap::from([("UNITS".to_owned(), "metric".to_owned())]);
    let section = PluginGrants {
        fs,
        http,
        env,
        limits: Limits { output_bytes: 7, ..Limits::default() },
        ..PluginGrants::holding_nothing(Pin::Exact(digest()), 5)
    };
    Grants { plugins: BTreeMap::from([("files".to_owned(), section)]), rules, file: "/etc/pausegate/grants.toml".into(), ..Grants::default() }
}

pub(super) fn judge(grants: &Grants, effects: Effects, arguments: &Value) -> Judgement {
    grants.judge(CallFacts { plugin: "files", plugin_digest: &digest(), tool: "files__delete", effects, arguments, today: TODAY.parse().unwrap() })
}

#[test]
fn h63_deny_beats_ask_beats_allow() {
    let path = json!({"path": "/build/a"});
    let (allow, ask, deny) = (
        rule(Verdict::Allow, "files__*", &[]),
        rule(Verdict::Ask, "files__delete", &[("path", "/build/**")]),
        rule(Verdict::Deny, "*", &[("path", "/build/a")]),
    );
    for (rules, default, verdict) in [
        (vec![allow.clone(), ask.clone(), deny.clone()], Verdict::Allow, Verdict::Deny),
        (vec![deny.clone(), allow.clone()], Verdict::Allow, Verdict::Deny),
        (vec![ask.clone(), allow.clone()], Verdict::Allow, Verdict::Ask),
        (vec![allow.clone()], Verdict::Deny, Verdict::Allow),
        (vec![], Verdict::Ask, Verdict::Ask),
        (vec![], Verdict::Deny, Verdict::Deny),
        (vec![rule(Verdict::Deny, "other__*", &[])], Verdict::Allow, Verdict::Allow),
        (vec![rule(Verdict::Ask, "files__delete", &[("path", "/build/**"), ("mode", "hard")])], Verdict::Allow, Verdict::Ask),
        (vec![rule(Verdict::Allow, "files__delete", &[("path", "/build/**"), ("mode", "hard")])], Verdict::Ask, Verdict::Ask),
    ] {
        let grants = Grants { default_verdict: default, ..grants(vec![], vec![], rules) };
        assert_eq!(judge(&grants, Effects::Once, &path).verdict, verdict, "{:?}", grants.rules);
    }
}

#[test]
fn the_deciding_lines_are_named() {
    let ask = Rule {
        except: vec![except(&[("path", "/build/tmp/**")], Some("2026-12-31"))],
        ..rule(Verdict::Ask, "files__delete", &[("path", "/build/**")])
    };
    let grants = grants(vec![], vec![], vec![ask]);
    let because = |path: &str| judge(&grants, Effects::Once, &json!({"path": path})).because.join("\n");
    insta::assert_snapshot!(because("/build/a"), @r#"grants.toml:31: ask files__delete args.path = "/build/**""#);
    insta::assert_snapshot!(because("/build/tmp/a"), @r#"grants.toml:31: ask files__delete args.path = "/build/**", skipped by except args.path = "/build/tmp/**" until 2026-12-31"#);
    insta::assert_snapshot!(because("/src/a"), @r#"grants.toml: no rule matches, and the default is tools = "allow""#);
}

#[test]
fn an_except_skips_its_own_rule_through_its_last_day() {
    let path = json!({"path": "/build/tmp/a"});
    let excepted =
        |effect: Verdict, until: Option<&str>| Rule { except: vec![except(&[("path", "/build/tmp/*")], until)], ..rule(effect, "files__*", &[]) };
    for (rules, default, verdict) in [
        (vec![excepted(Verdict::Ask, None)], Verdict::Ask, Verdict::Allow),
        (vec![excepted(Verdict::Ask, Some(TODAY))], Verdict::Ask, Verdict::Allow),
        (vec![excepted(Verdict::Ask, Some("2026-06-14"))], Verdict::Allow, Verdict::Ask),
        (vec![excepted(Verdict::Deny, None)], Verdict::Ask, Verdict::Ask),
        (vec![excepted(Verdict::Deny, None)], Verdict::Allow, Verdict::Allow),
        (vec![excepted(Verdict::Deny, Some("2026-01-01"))], Verdict::Allow, Verdict::Deny),
        (vec![excepted(Verdict::Ask, None), rule(Verdict::Ask, "*", &[])], Verdict::Allow, Verdict::Ask),
    ] {
        let grants = Grants { default_verdict: default, ..grants(vec![], vec![], rules) };
        let judgement = judge(&grants, Effects::Once, &path);
        assert_eq!(judgement.verdict, verdict, "{:?}", grants.rules);
        assert!(judgement.opens.is_empty());
    }
    let grants = grants(vec![], vec![], vec![excepted(Verdict::Ask, None)]);
    assert_eq!(judge(&grants, Effects::Once, &json!({"path": "/build/tmp/../a"})).verdict, Verdict::Ask);
    assert_eq!(judge(&grants, Effects::Once, &json!({})).verdict, Verdict::Ask);
}

#[test]
fn an_approval_beforehand_is_for_the_arguments_it_names_and_no_others() {
    let skipped = Rule { except: vec![except(&[("path", "/build/a")], Some(TODAY))], ..rule(Verdict::Ask, "files__*", &[]) };
    let grants = grants(vec![fs(Access::Write, "/build", within("path"))], vec![], vec![skipped]);
    for (arguments, stands) in [
        (json!({"path": "/build/a"}), true),
        (json!({"path": "/build/a", "deep": {}}), false),
        (json!({"path": "/build/a", "deep": {"deeper": {}}}), false),
        (json!({"path": "/build/a", "list": []}), false),
    ] {
        let judgement = judge(&grants, Effects::Once, &arguments);
        assert_eq!((judgement.verdict, judgement.standing, judgement.held.fs.len()), (Verdict::Allow, stands, usize::from(stands)), "{arguments}");
    }
}

#[test]
fn approvers_and_stop_hold_for_every_matching_rule_also_a_skipped_one() {
    let [alice, bob] = ["os:alice@h", "os:bob@h"].map(|name| Actor(name.into()));
    let skipped = Rule {
        except: vec![except(&[("path", "/a")], None)],
        approvers: vec![alice.clone()],
        on_deny: Then::Stop,
        ..rule(Verdict::Ask, "files__*", &[])
    };
    let ask = Rule { approvers: vec![alice.clone(), bob.clone()], ..rule(Verdict::Ask, "*", &[("path", "/a")]) };
    let elsewhere = Rule { approvers: vec![bob.clone()], ..rule(Verdict::Ask, "*", &[("path", "/b")]) };
    let allow = Rule { approvers: vec![bob.clone()], ..rule(Verdict::Allow, "*", &[("mode", "soft")]) };
    let grants = grants(vec![], vec![], vec![skipped, ask, elsewhere, allow]);
    let requirements = judge(&grants, Effects::Once, &json!({"path": "/a", "mode": "hard"})).requirements;
    assert_eq!(
        requirements,
        Requirements { approvers: vec![vec![alice.clone()], vec![alice.clone(), bob.clone()]], on_deny: Then::Stop, ..Requirements::default() }
    );
    let requester = Actor("os:carol@h".into());
    assert!(requirements.admit(&alice, &requester) && !requirements.admit(&bob, &requester));
    let doubtful = judge(&grants, Effects::Once, &json!({"path": "/a"})).requirements;
    assert!(!doubtful.admit(&alice, &requester), "an allow rule whose argument is absent still names its approvers");
}

#[test]
fn d06_other_bytes_hold_nothing() {
    let grants = grants(vec![fs(Access::Write, "/build", When::Always)], vec![], vec![]);
    let other = Digest::of_bytes(b"other");
    let judgement = grants.judge(CallFacts {
        plugin: "files",
        plugin_digest: &other,
        tool: "files__delete",
        effects: Effects::Once,
        arguments: &json!({}),
        today: TODAY.parse().unwrap(),
    });
    assert_eq!((judgement.held, judgement.opens, judgement.limits), (Held::default(), vec![], Limits::default()));
    assert!(judgement.shut[0].starts_with("grants.toml:5: `[plugins.files]` is for other bytes"), "{:?}", judgement.shut);
    assert_eq!(judge(&grants, Effects::Once, &json!({})).limits.output_bytes, 7);
    let unknown = grants.judge(CallFacts {
        plugin: "none",
        plugin_digest: &other,
        tool: "none__x",
        effects: Effects::Once,
        arguments: &json!({}),
        today: TODAY.parse().unwrap(),
    });
    assert_eq!((unknown.held, unknown.shut), (Held::default(), vec![]));
}

#[test]
fn d03_a_read_only_call_holds_only_reading() {
    let lines =
        vec![fs(Access::Write, "/build", When::Always), fs(Access::Write, "/build", within("path")), fs(Access::None, "/build/keep", When::Always)];
    let requests = vec![http("https://a.test/**", &["GET", "POST"], When::Always), http("https://b.test/**", &["POST"], When::Always)];
    let grants = grants(lines, requests, vec![]);
    let judgement = judge(&grants, Effects::ReadOnly, &json!({"path": "/build/a"}));
    insta::assert_snapshot!(shown(&judgement), @r"
    fs read everything below /build
    fs none everything below /build/keep
    http GET https://a.test/**
    opens fs read /build/a, exactly this entry
    ");
    assert!(judgement.held.effectful().is_empty());
    assert_eq!(judge(&grants, Effects::Idempotent, &json!({"path": "/build/a"})).held.effectful().len(), 3);
}

#[test]
fn w49_a_line_is_in_force_for_the_tools_it_names_alone() {
    let none = FsGrant { tools: for_tools(&["list"]), ..fs(Access::None, "/build/keep", When::Always) };
    let lines = vec![
        FsGrant { tools: for_tools(&["list", "delete"]), ..fs(Access::Read, "/build", When::Always) },
        FsGrant { tools: for_tools(&["list"]), ..fs(Access::Write, "/build", When::Always) },
        FsGrant { tools: for_tools(&["list"]), ..fs(Access::Write, "/build", within("path")) },
        none,
    ];
    let requests = vec![HttpGrant { tools: for_tools(&["fetch"]), ..http("https://a.test/**", &["GET"], When::Always) }];
    let grants = grants(lines, requests, vec![]);
    let arguments = json!({"path": "/build/keep/a"});
    let explained = |tool: &str| {
        let tool = format!("files__{tool}");
        let facts = CallFacts {
            plugin: "files",
            plugin_digest: &digest(),
            tool: &tool,
            effects: Effects::Once,
            arguments: &arguments,
            today: TODAY.parse().unwrap(),
        };
        grants.explain(facts, true)
    };
    insta::assert_snapshot!(explained("delete").lines.join("\n"), @r"
    grants.toml:10: in force: fs read everything below /build
    grants.toml:10: for other tools of the plugin: fs write /build
    grants.toml:10: for other tools of the plugin: fs write /build
    grants.toml:10: for other tools of the plugin: fs none /build/keep
    grants.toml:20: for other tools of the plugin: http GET https://a.test/**
    ");
    assert_eq!(explained("delete").judgement.verdict, Verdict::Allow, "a `none` line for another tool denies nothing here");
    assert_eq!(explained("list").judgement.verdict, Verdict::Deny);
    assert_eq!(shown(&explained("other").judgement), "");
    assert_eq!(shown(&explained("fetch").judgement), "http GET https://a.test/**");
}

#[test]
fn the_operators_word_on_effects_narrows_and_widens_what_a_tool_is_held_to() {
    let with = |effects| {
        let mut grants = grants(vec![fs(Access::Write, "/build", When::Always)], vec![], vec![]);
        let tool = ToolGrants { enabled: true, effects, line: 8 };
        grants.plugins.get_mut("files").unwrap().tools.insert("delete".into(), tool);
        grants
    };
    let held = |grants: &Grants, declared| {
        let judgement = judge(grants, declared, &json!({}));
        (judgement.effects, shown(&judgement))
    };
    let (read, write) = ("fs read everything below /build".to_owned(), "fs write everything below /build".to_owned());
    assert_eq!(held(&with(None), Effects::ReadOnly), (Effects::ReadOnly, read.clone()));
    assert_eq!(held(&with(Some(Effects::ReadOnly)), Effects::Once), (Effects::ReadOnly, read));
    assert_eq!(held(&with(Some(Effects::Idempotent)), Effects::ReadOnly), (Effects::Idempotent, write));
}

#[test]
fn a_tool_that_is_taken_out_is_denied_whatever_the_rules_say() {
    let mut grants = grants(vec![], vec![], vec![rule(Verdict::Allow, "files__delete", &[])]);
    let tools = &mut grants.plugins.get_mut("files").unwrap().tools;
    tools.insert("delete".into(), ToolGrants { enabled: false, effects: None, line: 8 });
    for declared in [Effects::Once, Effects::ReadOnly] {
        let judgement = judge(&grants, declared, &json!({}));
        assert_eq!((judgement.verdict, judgement.because.join("")), (Verdict::Deny, "grants.toml:8: enabled = false for files__delete".into()));
    }
    grants.plugins.get_mut("files").unwrap().digest = Pin::Exact(Digest::of_bytes(b"other"));
    assert_eq!(judge(&grants, Effects::Once, &json!({})).verdict, Verdict::Deny, "also under other bytes");
}

#[test]
fn d01_an_approval_opens_exactly_the_entry_or_nothing() {
    let grants = grants(vec![fs(Access::Write, "/build", within("path")), fs(Access::None, "/build/keep", When::Always)], vec![], vec![]);
    let check = |path: Value| shown(&judge(&grants, Effects::Once, &json!({"path": path})));
    insta::assert_snapshot!(check(json!("/build/a.tmp")), @r"
    fs none everything below /build/keep
    opens fs write /build/a.tmp, exactly this entry
    ");
    for path in ["/build", "/build/", "/build/../a", "/build/./a", "/build//a", "/buildx/a", "build/a", "a", "/", "", "/build/a/", "/build/a\0"] {
        let judgement = judge(&grants, Effects::Once, &json!({"path": path}));
        assert_eq!((judgement.opens.len(), judgement.shut.len()), (0, 1), "{path}");
    }
    insta::assert_snapshot!(check(json!(["/build/a"])), @r#"
    fs none everything below /build/keep
    shut grants.toml:10: stays shut: fs write within args.path: args.path = ["/build/a"] is not an absolute path in normal form (no `.`, `..`, `//` or final slash)
    "#);
}

#[test]
fn a_bound_path_under_none_is_denied() {
    let keep = FsGrant { line: 12, ..fs(Access::None, "/build/keep", When::Always) };
    let grants = grants(vec![fs(Access::Write, "/build", within("path")), keep], vec![], vec![rule(Verdict::Ask, "*", &[])]);
    for path in ["/build/keep", "/build/keep/a"] {
        let judgement = judge(&grants, Effects::Once, &json!({"path": path}));
        assert_eq!((judgement.verdict, judgement.opens), (Verdict::Deny, vec![]));
        assert_eq!(judgement.because, [format!("grants.toml:12: none /build/keep covers args.path = \"{path}\"")]);
    }
    assert_eq!(judge(&grants, Effects::Once, &json!({"path": "/build/keeper"})).verdict, Verdict::Ask);
    assert!(grants.covers_none("files", "/build/keep/a") && !grants.covers_none("files", "/build/a"));
}

#[test]
fn an_argument_binds_a_url() {
    let bound = http("https://a.test/v1/{args.id}", &["DELETE"], When::Approved(Binding::Url));
    let grants = grants(
        vec![],
        vec![
            bound,
            http("https://a.test/v1/{args.id}", &["GET"], When::Always),
            http("https://a.test/all", &["POST"], When::Approved(Binding::Whole)),
        ],
        vec![],
    );
    let check = |arguments: Value| shown(&judge(&grants, Effects::Once, &arguments));
    insta::assert_snapshot!(check(json!({"id": "a b/*"})), @r"
    http GET https://a.test/v1/a%20b%2F%2A
    opens http DELETE https://a.test/v1/a%20b%2F%2A
    opens http POST https://a.test/all
    ");
    insta::assert_snapshot!(check(json!({"id": ".."})), @r#"
    opens http POST https://a.test/all
    shut grants.toml:20: stays shut: http DELETE https://a.test/v1/{args.id}: args.id = ".." is empty or holds `.`, `..` or control characters
    shut grants.toml:20: stays shut: http GET https://a.test/v1/{args.id}: args.id = ".." is empty or holds `.`, `..` or control characters
    "#);
}

#[test]
fn moving_a_rule_changes_no_digest_and_changing_one_does() {
    let (ask, deny) = (rule(Verdict::Ask, "files__*", &[("path", "/a")]), Rule { line: 99, ..rule(Verdict::Deny, "*", &[("path", "/b")]) });
    let value = |rules: Vec<Rule>| judge(&grants(vec![], vec![], rules), Effects::Once, &json!({"path": "/a"})).rules;
    let before = value(vec![ask.clone(), deny.clone()]);
    assert_eq!(before, value(vec![Rule { line: 1, ..deny.clone() }, ask.clone()]));
    assert_ne!(before, value(vec![ask.clone()]));
    assert_ne!(before, value(vec![Rule { on_deny: Then::Stop, ..ask.clone() }, deny.clone()]));
    assert_eq!(before, value(vec![ask.clone(), deny.clone(), rule(Verdict::Deny, "other__*", &[])]));
    let dated = |until: &str| value(vec![Rule { except: vec![except(&[("path", "/a")], Some(until))], ..ask.clone() }, deny.clone()]);
    assert_eq!(before, dated("2026-06-14"));
    assert_ne!(before, dated(TODAY));
}

#[test]
fn an_explanation_names_every_line() {
    let grants = grants(
        vec![fs(Access::Read, "/build", When::Always), fs(Access::Write, "/build", within("path"))],
        vec![http("https://a.test/**", &["POST"], When::Always)],
        vec![],
    );
    let arguments = json!({"path": "/build/a"});
    let explanation = grants.explain(
        CallFacts {
            plugin: "files",
            plugin_digest: &digest(),
            tool: "files__delete",
            effects: Effects::ReadOnly,
            arguments: &arguments,
            today: TODAY.parse().unwrap(),
        },
        true,
    );
    insta::assert_snapshot!(explanation.lines.join("\n"), @r"
    grants.toml:10: in force: fs read everything below /build
    grants.toml:10: in force once approved: fs read /build/a, exactly this entry
    grants.toml:20: not for a read-only tool: http POST https://a.test/**
    ");
}

#[test]
fn an_explanation_says_which_standing_approval_opens_a_line() {
    let skipped = Rule { except: vec![except(&[("path", "/build/a")], Some(TODAY))], ..rule(Verdict::Ask, "files__*", &[]) };
    let grants = grants(vec![fs(Access::Write, "/build", within("path"))], vec![], vec![skipped]);
    let told = |path: &str| {
        let arguments = json!({"path": path});
        let facts = CallFacts {
            plugin: "files",
            plugin_digest: &digest(),
            tool: "files__delete",
            effects: Effects::Once,
            arguments: &arguments,
            today: TODAY.parse().unwrap(),
        };
        grants.explain(facts, true).lines.join("; ")
    };
    let place = grants.place(grants.rules[0].line);
    assert_eq!(
        told("/build/a"),
        format!("grants.toml:10: in force, opened by the standing approval at {place}, until {TODAY}: fs write /build/a, exactly this entry")
    );
    assert_eq!(told("/build/b"), "grants.toml:10: in force once approved: fs write /build/b, exactly this entry");
}

fn shown(judgement: &Judgement) -> String {
    let held = judgement.held.fs.iter().map(ToString::to_string).chain(judgement.held.http.iter().map(ToString::to_string));
    let opens = judgement.opens.iter().map(|opening| format!("opens {opening}"));
    held.chain(opens).chain(judgement.shut.iter().map(|shut| format!("shut {shut}"))).collect::<Vec<_>>().join("\n")
}
