//! Where a chain stands when it rests, and the command that carries it on.

use std::fmt::Write;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{bold, escape, note, pause};
use crate::chain::{Blocked, ChainId};
use crate::counted::counted;
use crate::runner::{Report, Rest};

/// For a person, on standard error; the answer itself goes to standard output.
pub fn show(report: &Report, now: Timestamp) {
    let (id, state) = (&report.state.id, &report.state);
    match &report.rest {
        Rest::Completed => note(&format!("{} {id} is completed", bold("chain"))),
        Rest::Paused => {
            for open in state.open_pauses() {
                note(&pause::full(open, id, now));
            }
            let below = below(report, now);
            note(&format!("{} {id} is paused; after deciding, carry it on with\n  pausegate resume {id}{below}", bold("chain")));
        }
        Rest::Waiting => note(&format!("{} {id} waits for {}{}", bold("chain"), children(report), below(report, now))),
        Rest::Blocked(why) => note(&format!("{} {id} is blocked\n{}", bold("chain"), blocked(id, why))),
        Rest::Rejected => note(&format!("{} {id} is rejected: a person stopped it{}", bold("chain"), stop_note(report))),
        Rest::Cancelled => note(&format!("{} {id} is cancelled{}", bold("chain"), stop_note(report))),
        Rest::Failed => note(&format!("{} {id} failed: {}", bold("chain"), escape::line(state.error.as_deref().unwrap_or("no reason is known")))),
        Rest::ModelAway(_) => note(&format!("{} {id} waits for its model; carry it on with\n  pausegate resume {id}", bold("chain"))),
        Rest::Interrupted => note(&format!("{} {id} is interrupted{}", bold("chain"), interrupted(report))),
    }
}

fn children(report: &Report) -> String {
    report.state.children().map(|child| child.0.as_str()).collect::<Vec<_>>().join(", ")
}

/// What chains below it wait for: their questions in full, or what their operator has to mend.
fn below(report: &Report, now: Timestamp) -> String {
    let mut text = String::new();
    for state in &report.below {
        for open in state.open_pauses() {
            note(&pause::full(open, &state.id, now));
        }
        if let Some(why) = &state.blocked {
            write!(text, "\n{} {} is blocked\n{}", bold("chain"), state.id, blocked(&state.id, why)).expect("strings take all");
        }
    }
    let root = report.state.path().into_iter().next().unwrap_or_else(|| report.state.id.clone());
    if matches!(report.rest, Rest::Waiting) {
        write!(text, "; after deciding, carry them on with\n  pausegate resume {root}").expect("strings take all");
    }
    text
}

/// What it takes to carry an interrupted chain on.
fn interrupted(report: &Report) -> String {
    let (id, state) = (&report.state.id, &report.state);
    if let Some(why) = &state.blocked {
        return format!(" and blocked\n{}", blocked(id, why));
    }
    let open: Vec<_> = state.open_pauses().map(|open| open.id.0.as_str()).collect();
    match open.is_empty() {
        true => format!("; carry it on with\n  pausegate resume {id}"),
        false => format!("; it waits for {}; carry it on with\n  pausegate resume {id}", open.join(", ")),
    }
}

/// The facts, then the command that unblocks.
pub fn blocked(id: &ChainId, why: &Blocked) -> String {
    match why {
        Blocked::MaxTurns { limit } => {
            let calls = if *limit == 1 { "once".to_owned() } else { counted(limit, "time", "times") };
            format!("  the model was called {calls}, the limit, and asks for more\n  pausegate resume {id} --max-turns {}", limit.saturating_mul(2))
        }
        Blocked::MissingPlugin { plugin, why } => {
            let why = why.as_deref().map(|why| format!(": {}", escape::line(why))).unwrap_or_default();
            format!(
                "  plugin `{0}` is not loaded{why}\n  put `{0}.wasm` back into the plugin directory, then\n  pausegate resume {id}",
                escape::line(plugin)
            )
        }
        Blocked::PluginChanged { plugin, pinned, found } => format!(
            "  the bytes of plugin `{0}` changed\n    the chain started with {pinned}\n    now loaded is          {found}\n  accept them (its approvals and answers lapse) with\n  pausegate resume {id} --accept-plugin",
            escape::line(plugin)
        ),
        Blocked::UnknownOutcome { calls } => {
            let mut text = String::from("  calls were started and nobody knows whether they happened; they are not run again by themselves\n");
            for call in calls {
                let (tool, arguments) = (escape::line(&call.tool), escape::line(&crate::digest::canonical(&call.arguments)));
                writeln!(text, "    {tool} {arguments}, call {}, attempt {}", escape::line(&call.call_id), call.attempt).expect("strings take all");
                for held in &call.held {
                    writeln!(text, "      it held: {}", escape::line(held)).expect("strings take all");
                }
            }
            write!(text, "  look at what happened; taken up, the chain asks about each of them\n  pausegate resume {id}").expect("strings take all");
            text
        }
    }
}

/// The last line of `--json`.
pub fn as_json(report: &Report, now: Timestamp) -> Value {
    let state = &report.state;
    let held = [state].into_iter().chain(&report.below);
    let pauses: Vec<_> = held.flat_map(|state| state.open_pauses().map(|open| pause::as_json(open, &state.id, now))).collect();
    let mut last = json!({
        "id": state.id,
        "status": status(report),
        "answer": matches!(report.rest, Rest::Completed).then(|| state.answer()),
        "pauses": pauses,
    });
    if let Rest::Blocked(why) = &report.rest {
        last["blocked"] = json!(why);
    }
    let error = match &report.rest {
        Rest::ModelAway(error) => Some(error.to_string()),
        Rest::Failed => state.error.clone(),
        _ => None,
    };
    if let Some(error) = error {
        last["error"] = error.into();
    }
    last
}

fn status(report: &Report) -> &'static str {
    match report.rest {
        Rest::Interrupted => "interrupted",
        _ => report.state.status.as_str(),
    }
}

fn stop_note(report: &Report) -> String {
    let Some(stop) = &report.state.stop else { return String::new() };
    let note = stop.note.as_deref().map(|note| format!(": {}", escape::line(note))).unwrap_or_default();
    format!(" ({}{note})", stop.by)
}
