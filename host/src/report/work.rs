//! What a worker does, a line at a time, each with its chain: many go on side by side.

use super::live::{Live, outcome};
use super::{data, escape, json_line, note, rest};
use crate::chain::ChainId;
use crate::clock::Clock;
use crate::counted::counted;
use crate::digest::canonical;
use crate::event::{Event, Stamped};
use crate::plugin::Watcher;
use crate::runner::{HostError, Observer, Report, Rest};
use crate::state::ChainState;

/// Hears the runner.
pub struct Lines {
    /// NDJSON, as `run --json` has it, but for the text as it streams.
    json: Option<Live>,
}

impl Lines {
    pub fn new(json: bool) -> Self {
        Self { json: json.then(|| Live::new(true)) }
    }

    /// Where a chain came to rest.
    pub fn rested(&self, chain: &ChainId, ended: &Result<Report, HostError>) {
        match ended {
            Ok(report) if self.json.is_some() => json_line(&rest::as_json(report, Clock::system().now())),
            Ok(report) => data(&format!("{chain} {}", at_rest(report))),
            Err(error) if self.json.is_some() => json_line(&serde_json::json!({"id": chain, "error": error.to_string()})),
            Err(error) => data(&format!("{chain} is left: {}", escape::line(&error.to_string()))),
        }
    }
}

fn at_rest(report: &Report) -> String {
    let state = &report.state;
    match &report.rest {
        Rest::Completed => "is completed".to_owned(),
        Rest::Paused => format!("waits for {}", state.open_pauses().map(|pause| pause.id.0.as_str()).collect::<Vec<_>>().join(", ")),
        Rest::Waiting => format!("waits for {}", state.children().map(|child| child.0.as_str()).collect::<Vec<_>>().join(", ")),
        Rest::Blocked(why) => format!("is blocked ({}); `pausegate resume {}` says what unblocks it", why.name(), state.id),
        Rest::Rejected => "is rejected".to_owned(),
        Rest::Cancelled => "is cancelled".to_owned(),
        Rest::Failed => format!("failed: {}", escape::line(state.error.as_deref().unwrap_or("no reason is known"))),
        Rest::ModelAway(error) => format!("waits for its model: {}", escape::line(&error.to_string())),
        Rest::Interrupted => "is let go".to_owned(),
    }
}

impl Watcher for Lines {
    fn log(&self, call_id: &str, level: &'static str, message: &str) {
        match &self.json {
            Some(live) => live.log(call_id, level, message),
            None => note(&format!("  {level}: {}", escape::line(message))),
        }
    }

    fn progress(&self, call_id: &str, done: f64, total: Option<f64>, message: &str) {
        if let Some(live) = &self.json {
            live.progress(call_id, done, total, message);
        }
    }
}

impl Observer for Lines {
    fn event(&self, state: &ChainState, event: &Stamped) {
        if let Some(live) = &self.json {
            return live.event(state, event);
        }
        lines(state, &event.event).iter().for_each(|line| data(&format!("{} {line}", state.id)));
    }

    fn waiting(&self, chain: &ChainState, calls: usize) {
        note(&format!(
            "{} ends {} first, since they may have had their effect; once more exits at once",
            chain.id,
            counted(calls, "call of its", "calls of its")
        ));
    }
}

fn lines(state: &ChainState, event: &Event) -> Vec<String> {
    let tool = |key| state.calls.get(key).map_or_else(|| "a call".to_owned(), |call| escape::line(&call.tool));
    match event {
        Event::CallsStarted { calls } => {
            let line = |call: &crate::state::Call| {
                let arguments = call.arguments.as_ref().map(canonical).unwrap_or_default();
                format!("{} {}", escape::line(&call.tool), escape::line(&arguments))
            };
            calls.iter().filter_map(|started| state.call(started.call)).map(line).collect()
        }
        Event::CallFinished { call, result, .. } => vec![format!("{} {}", tool(call), outcome(result))],
        Event::CallRecovered { call, why, .. } => vec![format!("{} will run again: {}", tool(call), escape::line(why))],
        Event::PauseClosed { pause, status, why, .. } => vec![format!("{pause} is {}: {}", status.as_str(), escape::line(why))],
        Event::PauseDecided { pause, by, decision, .. } => vec![format!("{pause}: {} by {by}", decision.name())],
        _ => Vec::new(),
    }
}
