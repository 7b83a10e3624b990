//! `decide`: the only door for a person's answer to a pause. Runs no plugin code; returns events or a refusal.

use std::sync::Arc;

use serde_json::Value;

use super::admit::{finished, gate};
use super::expire::expired;
use super::settle::settle;
use super::{Call, ChainState, Rules, bytes, stop};
use crate::call::schema::Schema;
use crate::call::{CallStatus, ToolResult, ToolSpec, kind};
use crate::capability::requirements::Requirements;
use crate::capability::{Then, Verdict};
use crate::chain::Actor;
use crate::digest::Digest;
use crate::event::{Event, Readied, StopEnd};
use crate::pause::{Ask, Decided, Decision, Pause, PauseId, PauseKind, PauseStatus};

/// Bytes of an answer's JSON.
pub const ANSWER_BYTES_MAX: usize = 64 << 10;

/// Why a decision is not taken. Each says what the decider can do.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refused {
    #[error("there is no pause `{0}`")]
    Unknown(PauseId),
    #[error("{pause} was already decided: {} by {} at {}", .decided.decision.name(), .decided.by, .decided.at)]
    Already { pause: PauseId, decided: Box<Decided> },
    #[error("{pause} is {}: nothing waits for it any more", .status.as_str())]
    Gone { pause: PauseId, status: PauseStatus },
    #[error("{actor} may not decide {pause}; its rules name {}", .requirements.in_words())]
    NotEligible { pause: PauseId, actor: Actor, requirements: Box<Requirements> },
    #[error("{actor} started the chain and may not decide {pause}; its rules want somebody else")]
    Requester { pause: PauseId, actor: Actor },
    #[error("the digest differs: {pause} is now {expected}; look at it again before deciding")]
    DigestDiffers { pause: PauseId, expected: Digest },
    #[error("{0}")]
    DoesNotFit(String),
}

/// What a decision leads to.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Decided, or counted while the quorum stays open.
    Decided(Vec<Event>),
    /// The same decision was made, or the same vote given, before; nothing to write.
    Same(Box<Decided>),
    /// Its time is over: this is written in the decision's place, and the decider is told.
    Expired(Vec<Event>),
}

pub fn decide(state: &ChainState, rules: &Rules<'_>, id: &PauseId, by: &Actor, decision: &Decision) -> Result<Outcome, Refused> {
    let pause = state.pause(id).ok_or_else(|| Refused::Unknown(id.clone()))?;
    let decision = &pause.meant(decision);
    if !pause.is_open() {
        return match &pause.decided {
            Some(decided) if decided.decision.same_as(decision) => Ok(Outcome::Same(Box::new(decided.clone()))),
            Some(decided) => Err(Refused::Already { pause: id.clone(), decided: Box::new(decided.clone()) }),
            None => Err(Refused::Gone { pause: id.clone(), status: pause.status }),
        };
    }
    if pause.is_due(rules.now) {
        return Ok(Outcome::Expired(expired(pause)));
    }
    let requirements = pause.requirements.after(rules.now.duration_since(pause.opened_at));
    if requirements.excludes(by, &state.started_by) {
        return Err(Refused::Requester { pause: id.clone(), actor: by.clone() });
    }
    if !requirements.admit(by, &state.started_by) {
        let requirements = Box::new(requirements.into_owned());
        return Err(Refused::NotEligible { pause: id.clone(), actor: by.clone(), requirements });
    }
    if decision.digest().is_some_and(|digest| *digest != pause.digest) {
        return Err(Refused::DigestDiffers { pause: id.clone(), expected: pause.digest.clone() });
    }
    let call = &state.calls[&pause.call];
    let decided = |status| Event::PauseDecided { pause: id.clone(), call: pause.call, by: by.clone(), decision: decision.clone(), status };
    let (status, mut events) = match decision {
        Decision::Settle(said) if pause.kind == PauseKind::InDoubt => (PauseStatus::Settled, settle(call, by, said)?),
        _ if pause.kind == PauseKind::InDoubt => {
            let message = format!("{id} asks what became of a call; settle it with `happened`, `run-again` or `give-up`");
            return Err(Refused::DoesNotFit(message));
        }
        Decision::Settle(_) => {
            return Err(Refused::DoesNotFit(format!("{id} asks for {}; only what became of a call in doubt is settled", asked(&pause.ask))));
        }
        Decision::Approve { .. } | Decision::Respond { .. } if pause.kind == PauseKind::PluginChanged => {
            bytes::answered(state, rules, pause, decision)?
        }
        Decision::Approve { .. } if pause.asks_approval() => (PauseStatus::Approved, Vec::new()),
        Decision::Approve { .. } => {
            let message = format!("{id} asks for {}; answer it with `respond`, or `deny` it", asked(&pause.ask));
            return Err(Refused::DoesNotFit(message));
        }
        Decision::Deny { note, then, .. } => (PauseStatus::Denied, deny(state, pause, by, note.as_deref(), *then)?),
        Decision::Respond { value, .. } => (PauseStatus::Responded, respond(pause, call, value)?),
        Decision::Edit { arguments, .. } => (PauseStatus::Edited, edit(state, rules, pause, by, arguments)?),
    };
    if let Some(outcome) = counted(pause, by, decision) {
        return Ok(outcome);
    }
    events.insert(0, decided(status));
    Ok(Outcome::Decided(events))
}

/// A vote that leaves the quorum open. A denial needs no quorum, and an edit opens a pause of its own.
fn counted(pause: &Pause, by: &Actor, decision: &Decision) -> Option<Outcome> {
    let quorum = pause.requirements.quorum.get() as usize;
    if quorum == 1 || matches!(decision, Decision::Deny { .. } | Decision::Edit { .. }) {
        return None;
    }
    if let Some(vote) = pause.vote_of(by).filter(|vote| vote.decision.agrees_with(decision)) {
        return Some(Outcome::Same(Box::new(vote.clone())));
    }
    let event = Event::VoteCounted { pause: pause.id.clone(), call: pause.call, by: by.clone(), decision: decision.clone() };
    (pause.votes_for(decision) + 1 < quorum).then(|| Outcome::Decided(vec![event]))
}

fn deny(state: &ChainState, pause: &Pause, by: &Actor, note: Option<&str>, then: Option<Then>) -> Result<Vec<Event>, Refused> {
    let rule = pause.requirements.on_deny;
    if (then, rule) == (Some(Then::Continue), Then::Stop) {
        let message = "the rules stop the chain on a denial of this call; `then` cannot be `continue`";
        return Err(Refused::DoesNotFit(message.to_owned()));
    }
    let message = match note {
        Some(note) => format!("a person denied this call: {note}"),
        None => "a person denied this call".to_owned(),
    };
    let mut events = vec![finished(pause.call, CallStatus::Denied, ToolResult::failure(kind::DENIED, message))];
    if then.unwrap_or(rule).max(rule) == Then::Stop {
        events.extend(stop::stop(state, by, StopEnd::Rejected, note.map(str::to_owned), Some(&pause.id)));
    }
    Ok(events)
}

/// An answer to the plugin's question, or, where approval was asked, a result in the tool's place.
fn respond(pause: &Pause, call: &Call, value: &Value) -> Result<Vec<Event>, Refused> {
    if value.to_string().len() > ANSWER_BYTES_MAX {
        return Err(Refused::DoesNotFit(format!("the answer is over {ANSWER_BYTES_MAX} bytes")));
    }
    let fits = match &pause.ask {
        Ask::Approval => {
            return Ok(vec![finished(pause.call, CallStatus::Answered, ToolResult::given(value))]);
        }
        Ask::Text => value.is_string().then_some(()).ok_or_else(|| "the answer must be a JSON string".to_owned()),
        Ask::Choice { options } => {
            let chosen = options.iter().any(|option| value.as_str() == Some(&option.value));
            let values = || options.iter().map(|option| format!("`{}`", option.value)).collect::<Vec<_>>().join(", ");
            chosen.then_some(()).ok_or_else(|| format!("the answer must be one of {}", values()))
        }
        Ask::Outcome => Err("it is settled, not answered".to_owned()),
        Ask::Form { schema } | Ask::Other { schema, .. } => {
            Schema::compile(schema).map_err(|error| error.to_string()).and_then(|schema| schema.check(value))
        }
    };
    fits.map_err(|message| Refused::DoesNotFit(format!("the answer does not fit: {message}")))?;
    Ok(vec![readied(call, &pause.call_digest)])
}

fn edit(state: &ChainState, rules: &Rules<'_>, pause: &Pause, by: &Actor, arguments: &Value) -> Result<Vec<Event>, Refused> {
    let refused = |message: String| Err(Refused::DoesNotFit(message));
    let call = &state.calls[&pause.call];
    if pause.kind == PauseKind::Capability {
        return refused(format!("{} is about one use of a grant, not about the arguments; approve, deny or respond", pause.id));
    }
    if !pause.asks_approval() {
        return refused(format!("{} asks for {}; its arguments cannot be edited here", pause.id, asked(&pause.ask)));
    }
    if call.uses.effectful() {
        return refused("an attempt of this call already had an effect; its arguments cannot be edited".to_owned());
    }
    if call.lost {
        return refused("an attempt of this call may have had an effect, unrecorded; its arguments cannot be edited".to_owned());
    }
    // A value built in code has not been through the strict reading; the text form is.
    let arguments = match crate::call::arguments::read(&arguments.to_string()) {
        Ok(read) => Arc::new(read.value),
        Err(error) => return refused(error.to_string()),
    };
    let Some(tool) = state.tool(&call.tool) else {
        return refused(format!("there is no tool `{}` any more", call.tool));
    };
    if let Err(message) = rules.schemas.check(tool, &arguments) {
        return refused(format!("the arguments do not fit `{}`: {message}", tool.name));
    }
    let judged = state.judge(rules, tool, call, &arguments);
    if judged.judgement.verdict == Verdict::Deny {
        return refused(format!("the rules deny these arguments ({})", judged.judgement.because.join("; ")));
    }
    let sufficient = judged.judgement.requirements.admit_alone(by, &state.started_by);
    let edited = |approved| Event::CallEdited { call: call.key, by: by.clone(), arguments: arguments.clone(), approved };
    if sufficient {
        return Ok(vec![edited(Some(judged.digest.clone())), readied(call, &judged.digest)]);
    }
    Ok(vec![edited(None), Event::pause_opened(asked_of_others(state, rules, call, tool, &arguments, &judged, by))])
}

fn asked_of_others(
    state: &ChainState,
    rules: &Rules<'_>,
    call: &Call,
    tool: &ToolSpec,
    arguments: &Arc<Value>,
    judged: &super::judged::Judged,
    by: &Actor,
) -> Pause {
    let difference = format!("{by} changed the arguments, and the rules for them want other or more people to approve");
    gate(state, rules, call, tool, arguments, judged, Some(difference))
}

fn readied(call: &Call, digest: &Digest) -> Event {
    Event::CallsReadied { calls: vec![Readied { call: call.key, digest: digest.clone() }] }
}

fn asked(ask: &Ask) -> &'static str {
    match ask {
        Ask::Approval => "an approval",
        Ask::Choice { .. } => "a choice",
        Ask::Text => "a text",
        Ask::Form { .. } => "a form",
        Ask::Other { .. } => "an answer",
        Ask::Outcome => "what became of a call",
    }
}
