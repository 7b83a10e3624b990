//! What a grants file allows, use by use, against a second reading of it that shares no code with the first.
//!
//! Left out: symlinks that a plugin makes, which also hang on the mount they are made in (`plugin/fs/change.rs`).

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::call::Effects;
use crate::capability::frozen::{FrozenUse, FsOperation, FsUse, HttpUse, KvOperation, KvUse};
use crate::capability::judge::{CallFacts, Judgement};
use crate::capability::{Held, HeldFs, HeldHttp, HeldKv, Opening};
use crate::plugin::file_rules::{Need, can_be_asked, rights, shuts_below};
use crate::plugin::{allows, request_form};

mod naive;
mod written;

use naive::{Naive, Said, TODAY, TOOL};
use written::{RuleLine, Use, Written, any_arguments, any_none, any_rule, any_use, any_written};

/// A call of the file's one plugin, judged.
fn judge(written: &Written, read_only: bool, arguments: &Value) -> Judgement {
    let text = written.text();
    let grants = read_text(&text).unwrap_or_else(|error| panic!("{error}: {:?}\n{text}", error.hint()));
    let effects = if read_only { Effects::ReadOnly } else { Effects::Once };
    let digest = Digest::of_bytes(b"files");
    grants.judge(CallFacts { plugin: "files", plugin_digest: &digest, tool: TOOL, effects, arguments, today: TODAY.parse().unwrap() })
}

/// What becomes of a use in an attempt that holds what the judgement says, as the doors find it.
fn says(judgement: &Judgement, tried: &Use, approved: bool) -> Said {
    if judgement.verdict == Verdict::Deny {
        return Said::Refused;
    }
    let held = if approved { judgement.held.clone().with(&judgement.opens) } else { judgement.held.clone() };
    match tried {
        Use::Fs { operation, path, to } => by_files(&held, &FsUse { operation: *operation, path: path.clone(), to: to.clone() }),
        Use::Http { method, url } => by_requests(&held, method, &url.text),
        Use::Kv { operation } => by_values(&held, *operation),
    }
}

fn by_files(held: &Held, frozen: &FsUse) -> Said {
    let reach: Vec<HeldFs> =
        held.reach.iter().filter_map(|opening| if let Opening::Fs(line) = opening { Some(line.clone()) } else { None }).collect();
    let mounts: Vec<_> = held.fs.iter().chain(&reach).filter(|line| line.access != Access::None).collect();
    let ways = |end: &str| mounts.iter().filter(|line| crate::capability::guest_path::covers(&line.mount, end)).copied().collect::<Vec<_>>();
    let ends: Vec<&str> = frozen.ends().collect();
    let (first, last) = (ways(ends[0]), ways(ends[ends.len() - 1]));
    let mut said = None;
    for (one, other) in first.iter().flat_map(|one| last.iter().map(move |other| (one, other))) {
        let through = |at: usize| if at == 0 { one } else { other };
        let permits = |(at, end): (usize, &&str)| {
            let mount = through(at);
            rights(&held.fs, (&mount.mount, &mount.host), end).permits(Need::of(frozen.operation), false)
        };
        let moves = matches!(frozen.operation, FsOperation::Rename | FsOperation::RemoveFolder);
        let now = match () {
            () if !ends.iter().enumerate().all(permits) && can_be_asked(&held.fs, &reach, frozen) => Said::Asked,
            () if !ends.iter().enumerate().all(permits) => Said::Refused,
            () if moves && ends.iter().any(|end| shuts_below(&held.fs, end)) => Said::Refused,
            () => Said::Open,
        };
        assert!(said.is_none_or(|said| said == now), "{frozen:?} hangs on the mount: {said:?} and {now:?} through {one:?}, {other:?}");
        said = Some(now);
    }
    let said = said.unwrap_or(Said::Refused);
    if !matches!(frozen.operation, FsOperation::Look | FsOperation::Rename | FsOperation::RemoveFolder) {
        assert_eq!(FrozenUse::Fs(frozen.clone()).is_held(held), said == Said::Open, "{frozen:?}");
    }
    said
}

fn by_values(held: &Held, operation: KvOperation) -> Said {
    let gives = |line: &HeldKv| line.access >= operation.access();
    let reach = held.reach.iter().any(|opening| if let Opening::Kv(line) = opening { gives(line) } else { false });
    let said = match () {
        () if held.kv.iter().any(gives) => Said::Open,
        () if reach => Said::Asked,
        () => Said::Refused,
    };
    let frozen = KvUse { operation, keys: vec!["k".into()], digest: Digest::of_bytes(b""), bytes: 0, preview: String::new() };
    assert_eq!(FrozenUse::Kv(frozen).is_held(held), said == Said::Open, "{operation:?}");
    said
}

fn by_requests(held: &Held, method: &str, url: &str) -> Said {
    let Some(url) = url.parse().ok().and_then(|uri| request_form::normal_form(&uri)) else { return Said::Refused };
    let reach: Vec<HeldHttp> =
        held.reach.iter().filter_map(|opening| if let Opening::Http(line) = opening { Some(line.clone()) } else { None }).collect();
    let said = match () {
        () if allows(&held.http, method, &url) => Said::Open,
        () if allows(&reach, method, &url) => Said::Asked,
        () => Said::Refused,
    };
    if !request_form::is_local(&url) {
        let body_digest = Digest::of_bytes(b"");
        let frozen = HttpUse { method: method.into(), url: url.to_string(), headers: vec![], body_digest, body_bytes: 0, preview: String::new() };
        assert_eq!(FrozenUse::Http(frozen).is_held(held), said == Said::Open, "{url}");
    }
    said
}

/// Neither the verdict nor any use is wider.
fn assert_no_wider(wide: &Judgement, narrow: &Judgement, uses: &[Use], how: &dyn std::fmt::Debug) {
    assert!(narrow.verdict >= wide.verdict, "{how:?}: {wide:?} became {narrow:?}");
    for tried in uses {
        for approved in [false, true] {
            let (before, after) = (says(wide, tried, approved), says(narrow, tried, approved));
            assert!(after <= before, "{how:?}: {tried:?} (approved: {approved}) was {before:?} and became {after:?}");
        }
    }
}

fn any_uses() -> impl Strategy<Value = Vec<Use>> {
    prop::collection::vec(any_use(), 8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, max_shrink_iters: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_use_is_what_a_second_reading_of_the_file_says(
        written in any_written(), read_only in prop::bool::weighted(0.2), arguments in any_arguments(), uses in any_uses()
    ) {
        let judgement = judge(&written, read_only, &arguments);
        let naive = Naive { written: &written, read_only, arguments: &arguments };
        prop_assert_eq!(judgement.verdict, naive.verdict(), "{}", written.text());
        if judgement.verdict != Verdict::Deny {
            prop_assert_eq!(judgement.standing, naive.standing(), "{}", written.text());
        }
        for tried in &uses {
            for approved in [false, true] {
                prop_assert_eq!(says(&judgement, tried, approved), naive.says(tried, approved), "{:?}, approved: {}\n{}", tried, approved, written.text());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, max_shrink_iters: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn taking_away_what_allows_never_widens_a_use(
        written in any_written(), read_only in prop::bool::weighted(0.2), arguments in any_arguments(), uses in any_uses()
    ) {
        // Where a `none` line denies the call for the entry that a binding names, the binding is part of the denial.
        prop_assume!(!Naive { written: &written, read_only, arguments: &arguments }.denied_by_none());
        let wide = judge(&written, read_only, &arguments);
        for fewer in written.narrower() {
            assert_no_wider(&wide, &judge(&fewer, read_only, &arguments), &uses, &fewer);
        }
    }

    #[test]
    fn adding_what_forbids_never_widens_a_use(
        written in any_written(), none in any_none(), rule in any_rule(), read_only in any::<bool>(), arguments in any_arguments(), uses in any_uses()
    ) {
        let wide = judge(&written, read_only, &arguments);
        let mut shut = written.clone();
        shut.fs.push(none);
        assert_no_wider(&wide, &judge(&shut, read_only, &arguments), &uses, &shut);
        let mut denied = written;
        denied.rules.push(RuleLine { effect: "deny", ..rule });
        assert_no_wider(&wide, &judge(&denied, read_only, &arguments), &uses, &denied);
    }
}

#[test]
fn the_generators_reach_every_answer() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut found = std::collections::BTreeMap::new();
    for _ in 0..3_000 {
        let tree = (any_written(), any_arguments(), any_use()).new_tree(&mut runner).unwrap();
        let (written, arguments, tried) = tree.current();
        let judgement = judge(&written, false, &arguments);
        let kind = match tried {
            Use::Fs { .. } => "fs",
            Use::Http { .. } => "http",
            Use::Kv { .. } => "kv",
        };
        let answer = (kind, judgement.standing, says(&judgement, &tried, false), says(&judgement, &tried, true));
        *found.entry(format!("{answer:?}")).or_insert(0) += 1;
    }
    for answer in ["Refused, Refused", "Asked, Asked", "Asked, Open", "Refused, Open", "Open, Open"] {
        for kind in ["fs", "http", "kv"] {
            // An approval of the call opens every `kv` line of its tool.
            if (kind, answer) == ("kv", "Asked, Asked") {
                continue;
            }
            let wanted = format!("(\"{kind}\", false, {answer})");
            assert!(found.get(&wanted).is_some_and(|times| *times >= 3), "{wanted} is rare: {found:#?}");
        }
    }
    assert!(found.keys().any(|answer| answer.contains("true, Open")), "no standing approval opens anything: {found:#?}");
}
