//! Whenever a chain is taken up: open pauses under today's rules.

use super::admit::{self, Asked, denied};
use super::{ChainState, Rules};
use crate::capability::Verdict;
use crate::event::{Event, Readied};
use crate::pause::{Pause, PauseKind, PauseStatus};

/// Open pauses whose call digest no longer holds.
pub fn recheck(state: &ChainState, rules: &Rules<'_>) -> Vec<Event> {
    // What became of a call that ran is asked whatever the rules say now.
    state.open_pauses().filter(|pause| pause.kind != PauseKind::InDoubt).flat_map(|pause| recheck_one(state, rules, pause)).collect()
}

fn recheck_one(state: &ChainState, rules: &Rules<'_>, pause: &Pause) -> Vec<Event> {
    let call = &state.calls[&pause.call];
    let (Some(tool), Some(arguments)) = (state.tool(&call.tool), &call.arguments) else {
        return Vec::new();
    };
    let judged = state.judge(rules, tool, call, arguments);
    if judged.digest == pause.call_digest {
        return Vec::new();
    }
    let superseded =
        |why: &str| Event::PauseClosed { pause: pause.id.clone(), call: pause.call, status: PauseStatus::Superseded, why: why.to_owned() };
    match (judged.judgement.verdict, pause.kind) {
        (Verdict::Deny, _) => vec![superseded("the rules deny the call now"), denied(call, &judged)],
        (_, PauseKind::Capability) if pause.frozen().is_none_or(|frozen| frozen.is_held(&judged.judgement.held)) => {
            let readied = Event::CallsReadied { calls: vec![Readied { call: call.key, digest: judged.digest }] };
            vec![superseded("the grants allow this use without asking now"), readied]
        }
        (Verdict::Allow, PauseKind::Gate) => {
            let readied = Event::CallsReadied { calls: vec![Readied { call: call.key, digest: judged.digest }] };
            vec![superseded("no rule asks for this call any more"), readied]
        }
        _ => {
            let difference = difference(pause, &judged.judgement);
            let pause = admit::pause(state, rules, call, tool, arguments, &judged, Asked::anew(pause, difference));
            vec![superseded("the grants or rules behind it changed"), Event::pause_opened(pause)]
        }
    }
}

pub(super) fn difference(old: &Pause, new: &crate::capability::judge::Judgement) -> String {
    let lines = |opens: &[crate::capability::Opening]| opens.iter().map(ToString::to_string).collect::<Vec<_>>();
    let (before, now) = (lines(&old.opens), lines(&new.opens));
    let mut changes: Vec<String> = before.iter().filter(|line| !now.contains(line)).map(|line| format!("no longer opens {line}")).collect();
    if old.asks_approval() {
        changes.extend(now.iter().filter(|line| !before.contains(line)).map(|line| format!("now opens {line}")));
    }
    changes.extend(new.because.iter().filter(|line| !old.because.contains(line)).map(|line| format!("now under {line}")));
    if changes.is_empty() {
        changes.push("grants or rules that hold for this tool changed".to_owned());
    }
    changes.join("; ")
}
