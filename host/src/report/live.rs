//! A chain as it runs: the model's text on standard output, what happens to its calls on standard error; or NDJSON.

use std::collections::HashMap;
use std::io::IsTerminal;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use super::{bold, escape, note};
use crate::call::{CallKey, ToolResult};
use crate::capability::Refusal;
use crate::chain::ChainId;
use crate::chain::message::Part;
use crate::counted::counted;
use crate::digest::{Digest, canonical};
use crate::event::{Event, Origin, Stamped};
use crate::plugin::Watcher;
use crate::runner::Observer;
use crate::state::{Call, ChainState};

/// Hears the runner.
pub struct Live {
    json: bool,
    /// A person watches the text come in; a pipe gets the answer alone.
    streams: bool,
    /// What the model said since its last turn was stored.
    said: Mutex<String>,
    /// By call id: what runs right now, on a terminal.
    spinners: Mutex<HashMap<String, ProgressBar>>,
    /// The result of some call was told.
    told_result: AtomicBool,
}

impl Live {
    pub fn new(json: bool) -> Self {
        let streams = !json && std::io::stdout().is_terminal();
        Self { json, streams, said: Mutex::default(), spinners: Mutex::default(), told_result: AtomicBool::new(false) }
    }

    pub fn is_json(&self) -> bool {
        self.json
    }

    pub fn told_result(&self) -> bool {
        self.told_result.load(Ordering::Relaxed)
    }

    /// Prints the answer, unless a person has just read it as it came.
    pub fn answer(&self, answer: &str) {
        let said = std::mem::take(&mut *lock(&self.said));
        let was_read = self.streams && said == answer;
        if !was_read && !answer.is_empty() {
            super::piece(&escape::piece(answer));
            super::piece(if answer.ends_with('\n') { "" } else { "\n" });
        }
        super::end_line();
    }

    /// What was refused, and the lines that would allow it.
    pub fn refusal(refusal: &Refusal) -> String {
        let allow: String = escape::block(&refusal.allow_with).lines().map(|line| format!("\n    {line}")).collect();
        let from = if allow.contains("path = \"./") { "\n    # a relative path counts from the folder of this file" } else { "" };
        format!("  refused: {}\n  allowed by{allow}{from}", escape::line(&refusal.attempted))
    }

    fn tell(&self, state: &ChainState, event: &Event) {
        match event {
            Event::ChainStarted { continues: Some(parent), .. } => note(&format!("{} {} carries {parent} on", bold("chain"), state.id)),
            Event::ChainStarted { parent: Some(parent), .. } => note(&format!("{} {} for {}", bold("chain"), state.id, parent.chain)),
            Event::ChainStarted { .. } => note(&format!("{} {}", bold("chain"), state.id)),
            Event::TurnReceived { origin: Origin::Model, parts, calls, .. } if !calls.is_empty() && !self.streams => {
                // Nobody has read it as it came, and standard output is the answer's.
                let text: String = parts.iter().filter_map(Part::as_text).collect();
                escape::block(&text).lines().for_each(|line| note(&format!("model: {line}")));
            }
            Event::TurnReceived { calls, .. } if !calls.is_empty() => super::end_line(),
            Event::CallsStarted { calls } => calls.iter().filter_map(|started| state.calls.get(&started.call)).for_each(|call| self.started(call)),
            Event::CallFinished { call, result, refusals, .. } => {
                self.told_result.store(true, Ordering::Relaxed);
                note(&format!("{} {}", self.ended(state, *call), outcome(result)));
                refusals.iter().for_each(|refusal| note(&Self::refusal(refusal)));
            }
            Event::ChildStarted { call, .. } => {
                if let Some(call) = state.calls.get(call) {
                    self.told_start(call);
                }
            }
            Event::AttemptPaused { call, .. } => drop(self.ended(state, *call)),
            Event::CallRecovered { call, why, .. } => note(&format!("{} will run again: {}", self.ended(state, *call), escape::line(why))),
            Event::PauseClosed { pause, status, why, .. } => note(&format!("{pause} is {}: {}", status.as_str(), escape::line(why))),
            Event::VoteCounted { pause, by, decision, .. } => note(&format!("{pause}: a vote to {} by {by}", decision.name())),
            Event::PauseDecided { pause, by, decision, .. } => note(&format!("{pause}: {} by {by}", decision.name())),
            Event::ModelChanged { by, model } => note(&format!("model `{}` from here on, by {by}", escape::line(model))),
            Event::ApprovalLapsed { call, why } => note(&format!("an approval of {} lapsed: {}", tool_of(state, *call), escape::line(why))),
            _ => {}
        }
    }

    fn told_start(&self, call: &Call) {
        let arguments = call.arguments.as_ref().map(canonical).unwrap_or_default();
        note(&format!("{} {}", escape::line(&call.tool), escape::line(&arguments)));
    }

    fn started(&self, call: &Call) {
        self.told_start(call);
        if super::on_terminal() {
            let style = ProgressStyle::with_template("{spinner} {prefix} {elapsed} {msg}").expect("a fixed template");
            let spinner = super::progress().add(ProgressBar::new_spinner().with_style(style).with_prefix(escape::line(&call.tool)));
            spinner.enable_steady_tick(Duration::from_millis(100));
            lock(&self.spinners).insert(call.id.clone(), spinner);
        }
    }

    /// Its tool, for the line that says so.
    fn ended(&self, state: &ChainState, key: CallKey) -> String {
        let spinner = state.calls.get(&key).and_then(|call| lock(&self.spinners).remove(&call.id));
        if let Some(spinner) = spinner {
            spinner.finish_and_clear();
        }
        tool_of(state, key)
    }
}

impl Watcher for Live {
    fn log(&self, call_id: &str, level: &'static str, message: &str) {
        if self.json {
            return super::json_line(&json!({"kind": "log", "call_id": call_id, "level": level, "message": message}));
        }
        note(&format!("  {level}: {}", escape::line(message)));
    }

    fn progress(&self, call_id: &str, done: f64, total: Option<f64>, message: &str) {
        if self.json {
            return super::json_line(&json!({"kind": "progress", "call_id": call_id, "done": done, "total": total, "message": message}));
        }
        if let Some(spinner) = lock(&self.spinners).get(call_id) {
            let of = total.map(|total| format!(" of {total}")).unwrap_or_default();
            spinner.set_message(format!("{done}{of} {}", escape::line(message)));
        }
    }
}

impl Observer for Live {
    fn event(&self, state: &ChainState, event: &Stamped) {
        if let Event::TurnReceived { origin: Origin::Model, calls, .. } = &event.event
            && !calls.is_empty()
        {
            lock(&self.said).clear();
        }
        if !self.json {
            return self.tell(state, &event.event);
        }
        let mut line = json!({"chain": state.id});
        let rest = serde_json::to_value(event).expect("events serialize");
        for (key, value) in rest.as_object().expect("a map") {
            line[key] = value.clone();
        }
        super::json_line(&line);
    }

    fn waiting(&self, _chain: &ChainState, calls: usize) {
        note(&waiting(calls));
    }

    fn kept(&self, chain: &ChainState, plugin: &str, digest: &Digest) {
        note(&kept(chain, plugin, digest));
    }

    fn text(&self, chain: &ChainId, piece: &str) {
        if self.json {
            return super::json_line(&json!({"chain": chain, "kind": "text", "text": piece}));
        }
        if self.streams {
            lock(&self.said).push_str(piece);
            super::piece(&escape::piece(piece));
        }
    }
}

fn tool_of(state: &ChainState, key: CallKey) -> String {
    state.calls.get(&key).map_or_else(|| "a call".to_owned(), |call| escape::line(&call.tool))
}

/// Tells nothing on the way but what a person at the keyboard has to know.
pub struct Hushed;

impl Watcher for Hushed {
    fn log(&self, _call_id: &str, _level: &'static str, _message: &str) {}
    fn progress(&self, _call_id: &str, _done: f64, _total: Option<f64>, _message: &str) {}
}

impl Observer for Hushed {
    fn event(&self, _state: &ChainState, event: &Stamped) {
        if let Event::AttemptPaused { uses, .. } = &event.event
            && let Some(told) = super::pause::written_before(*uses)
        {
            note(&format!("warning: {told}"));
        }
    }

    fn waiting(&self, _chain: &ChainState, calls: usize) {
        note(&waiting(calls));
    }

    fn kept(&self, chain: &ChainState, plugin: &str, digest: &Digest) {
        note(&kept(chain, plugin, digest));
    }
}

fn waiting(calls: usize) -> String {
    let calls = counted(calls, "call", "calls");
    format!("waiting for {calls} that may have had its effect; once more exits at once")
}

fn kept(chain: &ChainState, plugin: &str, digest: &Digest) -> String {
    let id = &chain.id;
    format!(
        "plugin `{plugin}` is another one now; {id} goes on with the bytes it was asked about, {digest}; `resume {id} --accept-plugin` takes the new ones"
    )
}

/// `done: …` or `failed (kind): …`, on one line.
pub fn outcome(result: &ToolResult) -> String {
    match result.as_failure() {
        Some(failure) => format!("failed ({}): {}", escape::line(&failure.kind), escape::line(&failure.message)),
        None => format!("done: {}", escape::line(&result.for_model())),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
