//! What is known of a call in doubt, and the commands that settle it.

use serde_json::Value;

use super::{escape, section};
use crate::digest::canonical;
use crate::pause::{Pause, PauseId, Settle, Settled};

/// The host's own record, then the plugin's word behind a margin.
pub fn facts(pause: &Pause) -> String {
    let known = known(pause);
    if known.is_empty() {
        return String::new();
    }
    let mut text = section("known of it", &known.join("\n"), "    ");
    if let Some(told) = plugin_says(pause) {
        text += &section(&format!("plugin {} was asked, and says", escape::line(&pause.plugin)), &escape::block(&told), "    > ");
    }
    text
}

/// The host's own record, a fact a line, safe to show.
pub fn known(pause: &Pause) -> Vec<String> {
    let Some(facts) = &pause.context else { return Vec::new() };
    let mut known =
        vec![format!("attempt {} began at {}", facts["attempt"], escape::line(facts["started_at"].as_str().unwrap_or("an unknown time")))];
    known.extend(facts["held"].as_array().into_iter().flatten().filter_map(Value::as_str).map(|held| format!("it held {}", escape::line(held))));
    known.push(format!("idempotency key {}", escape::line(facts["idempotency_key"].as_str().unwrap_or_default())));
    known.push(match pause.uses.effectful() {
        true => format!("attempts before it used {}", canonical(&facts["recorded_uses"])),
        false => "no attempt before it had an effect".to_owned(),
    });
    known
}

/// The plugin's own words on what became of it, where it was asked.
pub fn plugin_says(pause: &Pause) -> Option<String> {
    pause.context.as_ref()?.get("plugin").map(words)
}

fn words(told: &Value) -> String {
    let text = |key: &str| told[key].as_str().unwrap_or_default();
    match text("says") {
        "happened" if told["cut"] == true => format!("it happened: {} …", text("result")),
        "happened" => format!("it happened: {}", text("result")),
        "not-happened" => "it did not happen".to_owned(),
        "unknown" => "it cannot tell".to_owned(),
        _ => format!("nothing: it could not look ({})", text("why")),
    }
}

pub fn commands(id: &PauseId) -> Vec<String> {
    vec![
        format!("pausegate settle {id} --happened --text '…'"),
        format!("pausegate settle {id} --run-again"),
        format!("pausegate settle {id} --give-up"),
    ]
}

pub fn said(settle: &Settle) -> String {
    match &settle.outcome {
        Settled::Happened(result) => format!("settle happened {}", escape::line(&canonical(result))),
        Settled::RunAgain => "settle run-again".to_owned(),
        Settled::GiveUp => "settle give-up".to_owned(),
    }
}
