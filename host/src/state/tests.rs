//! Whatever order events come in, whichever are missing: they fold, and no rule over them panics.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::next::{Around, next};
use super::{ChainState, Rules, Schemas, accept, admit, bytes, decide, recheck, recover, start, stop};
use crate::call::{CallKey, Finding, ToolResult, ToolSpec};
use crate::capability::{Grants, Verdict};
use crate::chain::{Actor, ChainId};
use crate::digest::Digest;
use crate::event::{Stamped, StopEnd};
use crate::pause::replaced::Replaced;
use crate::pause::{Decision, Settle, Settled};

const GOLDEN: &str = include_str!("../../../tests/golden/journal-v1.jsonl");

fn golden() -> Vec<Stamped> {
    GOLDEN.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn settled(outcome: Settled) -> Decision {
    Decision::Settle(Settle { outcome, note: None, digest: None })
}

fn replaced(state: &ChainState) -> BTreeMap<String, Replaced> {
    let of_plugin = |tool: &ToolSpec| Replaced {
        pinned: tool.plugin_digest.clone(),
        found: Digest::of_bytes(b"others"),
        pinned_bytes: Some(1),
        found_bytes: None,
        trust: "no".to_owned(),
        changes: Vec::new(),
    };
    state.tools.iter().map(|tool| (tool.plugin.clone(), of_plugin(tool))).collect()
}

/// Asks every rule that a command reaches.
fn ask_all(state: &ChainState, grants: &Grants) {
    let rules = Rules { grants, now: jiff::Timestamp::UNIX_EPOCH, id: &|prefix| format!("{prefix}new"), schemas: &Schemas::default() };
    let by = Actor("os:alice@host".to_owned());
    let loaded: BTreeMap<_, _> = state.tools.iter().map(|tool| (tool.plugin.clone(), tool.plugin_digest.clone())).collect();
    for running in [true, false] {
        next(state, &Around { loaded: &loaded, failures: &BTreeMap::new(), running: &|_| running });
    }
    let calls: Vec<CallKey> = state.calls.keys().copied().chain([CallKey { turn: 99, ordinal: 99 }]).collect();
    admit::admit(state, &rules, &calls);
    start::start(state, &rules, &calls, &mut Default::default());
    for finding in [Finding::Happened(ToolResult::text("done")), Finding::NotHappened, Finding::Unknown] {
        recover::recover(state, &rules, &calls.iter().map(|call| (*call, finding.clone())).collect());
    }
    recover::recover_certain(state);
    recover::lookups(state, &rules);
    recheck::recheck(state, &rules);
    for loaded in [&loaded, &BTreeMap::new()] {
        bytes::recheck(state, loaded);
    }
    bytes::ask(state, &rules, &calls, &replaced(state));
    stop::stop(state, &by, StopEnd::Cancelled, None, None);
    stop::supersede(state);
    accept::changed(state, &loaded);
    state.entries();
    for pause in &state.pauses {
        for decision in [
            Decision::Approve { note: None, digest: None },
            Decision::Deny { note: None, then: None, digest: None },
            Decision::Edit { arguments: serde_json::json!({}), note: None, digest: None },
            Decision::Respond { value: "x".into(), note: None, digest: None },
            Decision::Respond { value: "pinned".into(), note: None, digest: None },
            Decision::Respond { value: "new".into(), note: None, digest: None },
            settled(Settled::Happened("x".into())),
            settled(Settled::RunAgain),
            settled(Settled::GiveUp),
        ] {
            decide::decide(state, &rules, &pause.id, &by, &decision).ok();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_order_of_events_panics_a_rule(events in proptest::sample::subsequence(golden(), 0..=golden().len()).prop_shuffle(), ask in any::<bool>()) {
        let grants = Grants { default_verdict: if ask { Verdict::Ask } else { Verdict::Allow }, ..Grants::default() };
        let mut state = ChainState::new(ChainId("ch_1".to_owned()));
        for (mut event, seq) in events.into_iter().zip(1..) {
            event.seq = seq;
            state.apply(&event);
            ask_all(&state, &grants);
        }
    }
}
