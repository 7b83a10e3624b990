//! Taking something that allows away never widens (DESIGN §11, 13).

use proptest::prelude::*;

use super::*;
use crate::capability::HeldFs;

fn any_fs() -> impl Strategy<Value = FsGrant> {
    let access = prop_oneof![Just(Access::None), Just(Access::Read), Just(Access::Write)];
    let when = prop_oneof![Just(When::Always), Just(within("path")), Just(within("other")), Just(When::Approved(Binding::Whole))];
    (access, prop_oneof![Just("/"), Just("/a"), Just("/a/b")], when).prop_map(|(access, mount, when)| fs(access, mount, when))
}

fn any_http() -> impl Strategy<Value = HttpGrant> {
    let url = prop_oneof![Just("https://a.test/**"), Just("https://a.test/{args.path}"), Just("https://a.test/{args.other}")];
    let when = prop_oneof![Just(When::Always), Just(When::Approved(Binding::Url)), Just(When::Approved(Binding::Whole))];
    (url, prop_oneof![Just(vec!["GET"]), Just(vec!["POST"]), Just(vec!["GET", "POST"])], when)
        .prop_map(|(url, methods, when)| http(url, &methods, when))
}

fn any_args() -> impl Strategy<Value = Vec<(&'static str, &'static str)>> {
    let pattern = prop_oneof![Just("/a/**"), Just("/a/*"), Just("**"), Just("/a/b/c"), Just("x")];
    prop::collection::vec((prop_oneof![Just("path"), Just("other")], pattern), 0..3)
}

fn any_rule() -> impl Strategy<Value = Rule> {
    let effect = prop_oneof![Just(Verdict::Allow), Just(Verdict::Ask), Just(Verdict::Deny)];
    let excepts = prop::collection::vec((any_args(), prop_oneof![Just(None), Just(Some("2026-01-01")), Just(Some("2027-01-01"))]), 0..3);
    (effect, prop_oneof![Just("*"), Just("files__*"), Just("files__read")], any_args(), excepts).prop_map(|(effect, tool, args, excepts)| {
        let excepts = if effect == Verdict::Allow { vec![] } else { excepts };
        Rule { except: excepts.iter().map(|(args, until)| except(args, *until)).collect(), ..rule(effect, tool, &args) }
    })
}

fn any_grants() -> impl Strategy<Value = Grants> {
    let default = prop_oneof![Just(Verdict::Allow), Just(Verdict::Ask), Just(Verdict::Deny)];
    (prop::collection::vec(any_fs(), 0..5), prop::collection::vec(any_http(), 0..4), prop::collection::vec(any_rule(), 0..4), default)
        .prop_map(|(fs, http, rules, default_verdict)| Grants { default_verdict, ..grants(fs, http, rules) })
}

fn any_arguments() -> impl Strategy<Value = Value> {
    let value = prop_oneof![
        Just(json!("/a/b/c")),
        Just(json!("/a/x")),
        Just(json!("/a/../x")),
        Just(json!("x")),
        Just(json!("")),
        Just(json!(3)),
        Just(json!(null))
    ];
    prop::collection::btree_map(prop_oneof![Just("path"), Just("other")], value, 0..3).prop_map(|arguments| json!(arguments))
}

/// Every grants file with one allowing thing fewer; an allow rule counts where the default is no wider than it.
fn narrower(grants: &Grants) -> Vec<Grants> {
    let mut all = Vec::new();
    let mut push = |change: &dyn Fn(&mut Grants)| {
        let mut fewer = grants.clone();
        change(&mut fewer);
        all.push(fewer);
    };
    let section = |grants: &Grants| grants.plugins["files"].clone();
    for index in (0..section(grants).fs.len()).filter(|index| section(grants).fs[*index].access != Access::None) {
        push(&|grants| drop(grants.plugins.get_mut("files").expect("set up").fs.remove(index)));
        for tool in ["delete", "read"] {
            push(&|grants| grants.plugins.get_mut("files").expect("set up").fs[index].tools = for_tools(&[tool]));
        }
    }
    for index in 0..section(grants).http.len() {
        push(&|grants| drop(grants.plugins.get_mut("files").expect("set up").http.remove(index)));
        for tool in ["delete", "read"] {
            push(&|grants| grants.plugins.get_mut("files").expect("set up").http[index].tools = for_tools(&[tool]));
        }
    }
    if grants.plugins["files"].fs.iter().all(|line| line.access != Access::None) {
        push(&|grants| drop(grants.plugins.remove("files")));
    }
    for (index, rule) in grants.rules.iter().enumerate() {
        if rule.effect == Verdict::Allow {
            push(&|grants| drop(grants.rules.remove(index)));
        }
        for inner in 0..rule.except.len() {
            push(&|grants| drop(grants.rules[index].except.remove(inner)));
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn removing_what_allows_never_widens(grants in any_grants(), arguments in any_arguments(), once in any::<bool>()) {
        let effects = if once { Effects::Once } else { Effects::ReadOnly };
        let wide = judge(&grants, effects, &arguments);
        for fewer in narrower(&grants) {
            let narrow = judge(&fewer, effects, &arguments);
            prop_assert!(narrow.verdict >= wide.verdict || wide.because.iter().any(|because| because.contains("none /")), "{:?} became {:?}", wide, narrow);
            prop_assert!(narrow.held.fs.iter().all(|line| wide.held.fs.contains(line)));
            prop_assert!(narrow.held.http.iter().all(|line| wide.held.http.contains(line)));
            // Without its standing approval a call asks for what it held.
            let held = |opening: &Opening| match opening {
                Opening::Fs(line) => wide.held.fs.contains(line),
                Opening::Http(line) => wide.held.http.contains(line),
                _ => false,
            };
            prop_assert!(narrow.opens.iter().all(|opening| wide.opens.contains(opening) || (wide.standing && held(opening))));
            prop_assert!(wide.held.fs.iter().filter(|line| line.access == Access::None).all(|line| narrow.held.fs.contains(line)));
        }
    }

    #[test]
    fn what_opens_is_what_the_argument_names(grants in any_grants(), arguments in any_arguments()) {
        let judgement = judge(&grants, Effects::Once, &arguments);
        for opening in &judgement.opens {
            if let Opening::Fs(HeldFs { only: Some(path), mount, .. }) = opening {
                prop_assert!(arguments["path"] == json!(path) || arguments["other"] == json!(path));
                prop_assert!(crate::capability::guest_path::is_below(mount, path) && !grants.covers_none("files", path));
            }
        }
        for line in &judgement.held.fs {
            prop_assert_eq!(&line.only, &None);
        }
    }

    #[test]
    fn read_only_holds_a_part_of_what_once_holds(grants in any_grants(), arguments in any_arguments()) {
        let (read, once) = (judge(&grants, Effects::ReadOnly, &arguments), judge(&grants, Effects::Once, &arguments));
        prop_assert!(read.held.clone().with(&read.opens).effectful().is_empty());
        for line in &read.held.http {
            prop_assert!(once.held.http.iter().any(|wide| wide.url == line.url && line.methods.iter().all(|method| wide.methods.contains(method))));
        }
        prop_assert_eq!(read.verdict, once.verdict);
    }
}
