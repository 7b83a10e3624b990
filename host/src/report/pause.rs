//! A pause as a person sees it in full, and as JSON.
//!
//! Tool, arguments, openings and digest are the host's own words; what the plugin said stands behind a margin.

use std::fmt::Write;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::{age, seconds};
use super::{bold, escape};
use crate::capability::frozen::HttpUse;
use crate::capability::judge::Requirements;
use crate::capability::{FrozenUse, Uses};
use crate::chain::ChainId;
use crate::counted::counted;
use crate::digest::canonical;
use crate::pause::{Ask, Decision, Pause, PauseKind};

/// All that is needed to decide, and the commands to copy.
pub fn full(pause: &Pause, chain: &ChainId, now: Timestamp) -> String {
    let mut text = format!("{} {}\n", bold(&format!("pause {}", pause.id)), asks(&pause.ask));
    let mut field = |name: &str, value: &str| writeln!(text, "  {name:<10} {value}").expect("strings take all");
    field("chain", &super::chain::path(&pause.path.iter().chain([chain]).cloned().collect::<Vec<_>>()));
    field(
        "call",
        &format!("{} of plugin {}, {}, call {}", escape::line(&pause.tool), escape::line(&pause.plugin), pause.effects, escape::line(&pause.call_id)),
    );
    field("kind", kind(pause.kind));
    text += &section("arguments", &pretty(&pause.arguments), "    ");
    let says = match pause.kind {
        PauseKind::Tool => format!("in the words of plugin {}", escape::line(&pause.plugin)),
        PauseKind::Gate => "asked because".to_owned(),
        PauseKind::Capability => "held back by the host".to_owned(),
        PauseKind::InDoubt => "in doubt, since".to_owned(),
        PauseKind::PluginChanged => "asked by the host, since".to_owned(),
    };
    text += &section(&says, &escape::block(&pause.reason), "    > ");
    if let Some(FrozenUse::Http(http)) = pause.frozen() {
        text += &section("the request, whole", &escape::block(&request(http)), "    > ");
    } else if let Some(context) = pause.context.as_ref().filter(|_| pause.kind == PauseKind::Tool) {
        text += &section("context, from the plugin", &pretty(context), "    > ");
    }
    if pause.kind == PauseKind::InDoubt {
        text += &doubt::facts(pause);
    }
    if let Some(replaced) = pause.replaced() {
        text += &section("the bytes", &replaced::bytes(&replaced).join("\n"), "    ");
        text += &section("what changed", &replaced::changes(&replaced), "    > ");
    }
    if let Some(written) = written_before(pause.uses).filter(|_| pause.kind == PauseKind::Tool) {
        text += &lines("worth a look", &[written]);
    }
    text += &question(&pause.ask);
    text += &openings(pause);
    text += &lines("stays shut", &pause.shut);
    text += &lines("lines behind it", &pause.because);
    if let Some(difference) = &pause.difference {
        text += &section("changed since it was last asked", &escape::block(difference), "    ");
    }
    let mut field = |name: &str, value: &str| writeln!(text, "  {name:<10} {value}").expect("strings take all");
    field("approvers", &approvers(&pause.requirements));
    if pause.requirements.quorum.get() > 1 {
        field("votes", &votes(pause));
    }
    field("age", &age(pause.opened_at, now));
    if let Some(at) = pause.expires_at() {
        field("expires", &expires(at, now));
    }
    field("digest", &pause.digest.to_string());
    for command in commands(pause) {
        writeln!(text, "  {command}").expect("strings take all");
    }
    text
}

pub fn expires(at: Timestamp, now: Timestamp) -> String {
    if at <= now { "its time is over".to_owned() } else { format!("in {}", age(now, at)) }
}

/// What would be done, as the host read it from the plugin's call.
pub fn request(http: &HttpUse) -> String {
    let headers: String = http.headers.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
    let cut = if http.preview.len() < http.body_bytes as usize { " …" } else { "" };
    format!("{} {}\n{headers}body: {} bytes, {}\n{}{cut}", http.method, http.url, http.body_bytes, http.body_digest, http.preview)
}

/// The commands that answer it, ready to copy. Nothing foreign stands in them.
pub fn commands(pause: &Pause) -> Vec<String> {
    let id = &pause.id;
    if pause.kind == PauseKind::InDoubt {
        return doubt::commands(id);
    }
    if let (PauseKind::PluginChanged, Ask::Choice { options }) = (pause.kind, &pause.ask) {
        return replaced::commands(id, options);
    }
    let answer = match pause.ask {
        Ask::Approval => format!("pausegate approve {id}"),
        Ask::Choice { .. } => format!("pausegate respond {id} --choice VALUE"),
        Ask::Text => format!("pausegate respond {id} --text '…'"),
        Ask::Form { .. } | Ask::Other { .. } | Ask::Outcome => format!("pausegate respond {id} --value '…'"),
    };
    vec![answer, format!("pausegate deny {id} --note '…'")]
}

/// Every key is there for every kind of pause.
pub fn as_json(pause: &Pause, chain: &ChainId, now: Timestamp) -> Value {
    json!({
        "id": pause.id,
        "chain": chain,
        "path": pause.path,
        "call": pause.call,
        "call_id": pause.call_id,
        "kind": pause.kind,
        "status": pause.status,
        "tool": pause.tool,
        "plugin": pause.plugin,
        "effects": pause.effects,
        "arguments": pause.arguments,
        "key": pause.key,
        "reason": pause.reason,
        "ask": pause.ask,
        "context": pause.context,
        "opens": pause.opens,
        "holds": pause.holds,
        "opens_text": pause.opens.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "shut": pause.shut,
        "because": pause.because,
        "requirements": pause.requirements,
        "approvers": pause.requirements.approvers,
        "quorum": pause.requirements.quorum,
        "votes": pause.votes,
        "difference": pause.difference,
        "uses": pause.uses,
        "call_digest": pause.call_digest,
        "digest": pause.digest,
        "opened_at": pause.opened_at,
        "age_seconds": seconds(pause.opened_at, now),
        "expires_at": pause.expires_at(),
        "decided": pause.decided,
        "next": commands(pause),
    })
}

/// What is asked, in a few words.
pub fn asks(ask: &Ask) -> String {
    match ask {
        Ask::Approval => "asks for an approval".to_owned(),
        Ask::Choice { .. } => "asks for a choice".to_owned(),
        Ask::Text => "asks for a text".to_owned(),
        Ask::Form { .. } => "asks for a form".to_owned(),
        Ask::Other { kind, .. } => format!("asks for `{}`", escape::line(kind)),
        Ask::Outcome => "asks what became of a call".to_owned(),
    }
}

pub fn kind(kind: PauseKind) -> &'static str {
    match kind {
        PauseKind::Tool => "tool: the plugin asked",
        PauseKind::Gate => "gate: a rule asks, no plugin code has run for it",
        PauseKind::Capability => "capability: the plugin reached for it, and had no effect before",
        PauseKind::InDoubt => "in_doubt: the call was started, and nobody recorded how it ended",
        PauseKind::PluginChanged => "plugin_changed: the plugin's bytes were replaced while the call waited",
    }
}

fn question(ask: &Ask) -> String {
    match ask {
        Ask::Approval | Ask::Text | Ask::Outcome => String::new(),
        Ask::Choice { options } => {
            let option = |option: &crate::pause::Choice| match &option.label {
                Some(label) => format!("{}  {}", escape::line(&option.value), escape::line(label)),
                None => escape::line(&option.value),
            };
            let numbered = options.iter().map(option).zip(1..).map(|(option, number)| format!("{number}  {option}"));
            section("choose one value", &numbered.collect::<Vec<_>>().join("\n"), "    > ")
        }
        Ask::Form { schema } | Ask::Other { schema, .. } => section("the answer is JSON that fits", &pretty(schema), "    > "),
    }
}

fn openings(pause: &Pause) -> String {
    if pause.kind == PauseKind::InDoubt {
        return String::new();
    }
    if !pause.asks_approval() {
        return format!("  answering opens nothing\n{}", holds(pause));
    }
    if pause.opens.is_empty() {
        return format!("  approving opens nothing beyond running the call\n{}", holds(pause));
    }
    lines("approving opens, for this call alone", &pause.opens.iter().map(ToString::to_string).collect::<Vec<_>>()) + &holds(pause)
}

fn holds(pause: &Pause) -> String {
    lines("the call holds, whatever is decided here", &pause.holds)
}

/// Of attempts that paused after they had changed files: nothing of that is recorded, so it is done anew.
pub fn written_before(uses: Uses) -> Option<String> {
    let changes = counted(uses.fs_writes, "change", "changes");
    (uses.fs_writes > 0)
        .then(|| format!("it paused after {changes} to files, which the next attempt makes again; a plugin asks first, and changes files afterwards"))
}

pub fn approvers(requirements: &Requirements) -> String {
    escape::line(&requirements.in_words())
}

/// `1 of 2 people: approve by os:alice@host`
pub fn votes(pause: &Pause) -> String {
    let shown: Vec<_> = pause.last_votes().iter().map(|vote| format!("{} by {}", voted(&vote.decision), vote.by)).collect();
    let by = if shown.is_empty() { String::new() } else { format!(": {}", shown.join(", ")) };
    format!("{} of {} people{by}", pause.votes_most(), pause.requirements.quorum)
}

fn voted(decision: &Decision) -> String {
    match decision {
        Decision::Respond { value, .. } => format!("respond {}", escape::line(&canonical(value))),
        Decision::Settle(settle) => doubt::said(settle),
        other => other.name().to_owned(),
    }
}

fn lines(title: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    section(title, &lines.iter().map(|line| escape::line(line)).collect::<Vec<_>>().join("\n"), "    ")
}

fn section(title: &str, text: &str, margin: &str) -> String {
    let body: String = text.lines().map(|line| format!("{margin}{line}\n")).collect();
    format!("  {title}\n{body}")
}

/// Canonical key order, one member a line, escaped.
pub fn pretty(value: &Value) -> String {
    let ordered: Value = serde_json::from_str(&canonical(value)).unwrap_or_else(|_| value.clone());
    escape::block(&serde_json::to_string_pretty(&ordered).expect("a JSON value"))
}

mod doubt;
pub mod replaced;

pub use doubt::{known, plugin_says};

#[cfg(test)]
mod tests;
