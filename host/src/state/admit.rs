//! What becomes of the calls that a model asks for: unknown, malformed, denied, asked about, or ready.

use std::sync::Arc;

use serde_json::Value;

use super::judged::{Judged, JudgedCalls};
use super::{Answered, Call, ChainState, Rules, child};
use crate::call::{AskedCall, CallKey, CallStatus, ToolResult, ToolSpec, arguments, kind};
use crate::capability::judge::CallFacts;
use crate::capability::{FrozenUse, Opening, Uses, Verdict};
use crate::counted::counted;
use crate::digest::Digest;
use crate::event::{Event, Readied, Requested};
use crate::pause::{Ask, Pause, PauseId, PauseKind, PauseStatus};

/// Events for calls of `state` that wait to be admitted, in the order asked.
pub fn admit(state: &ChainState, rules: &Rules<'_>, calls: &[CallKey]) -> Vec<Event> {
    admit_all(state, rules, calls.iter().filter_map(|key| state.call(*key))).0
}

/// A turn and what becomes of its calls: one transaction. The calls need not be in `state` for that: a copy of it at
/// every turn would make a chain's cost grow with its square.
pub fn with_admission(state: &ChainState, rules: &Rules<'_>, received: Event) -> (Vec<Event>, JudgedCalls) {
    let calls: Vec<Call> = match &received {
        Event::TurnReceived { calls, .. } => calls.iter().map(|asked| Call::requested(asked, rules.now)).collect(),
        _ => Vec::new(),
    };
    let mut events = vec![received];
    let (admitted, judged) = admit_all(state, rules, &calls);
    events.extend(admitted);
    (events, judged)
}

fn admit_all<'a>(state: &ChainState, rules: &Rules<'_>, calls: impl IntoIterator<Item = &'a Call>) -> (Vec<Event>, JudgedCalls) {
    let mut readied = Vec::new();
    let mut events = Vec::new();
    let mut ready = JudgedCalls::new();
    for call in calls {
        match admit_one(state, rules, call) {
            Admission::Ready(judged) => {
                readied.push(Readied { call: call.key, digest: judged.digest.clone() });
                ready.insert(call.key, judged);
            }
            Admission::Event(event) => events.push(event),
        }
    }
    if !readied.is_empty() {
        events.push(Event::CallsReadied { calls: readied });
    }
    (events, ready)
}

enum Admission {
    Ready(Judged),
    Event(Event),
}

fn admit_one(state: &ChainState, rules: &Rules<'_>, call: &Call) -> Admission {
    let failed = |kind: &str, message: String| Admission::Event(finished(call.key, CallStatus::Failed, ToolResult::failure(kind, message)));
    let limit = state.settings.calls_per_turn;
    if call.key.ordinal >= limit {
        return failed(kind::TOO_LARGE, format!("a turn may ask for {}; this one was not run", counted(limit, "tool call", "tool calls")));
    }
    let invalid = |kind: &str, message: String| {
        if repeats(state, call) >= state.settings.repeats {
            let message =
                format!("the same invalid call was made {}; change it or stop asking. {message}", counted(state.settings.repeats, "time", "times"));
            return failed(kind::REPEATED_CALL, message);
        }
        failed(kind, message)
    };
    let Some(tool) = state.tool(&call.tool) else {
        return invalid(kind::NOT_FOUND, format!("there is no tool `{}`", call.tool));
    };
    let Some(value) = &call.arguments else {
        let message = arguments::read(&call.text).err().map_or("its arguments were not kept".to_owned(), |error| error.to_string());
        return invalid(kind::INVALID_INPUT, message);
    };
    if let Err(message) = rules.schemas.check(tool, value) {
        return invalid(kind::INVALID_INPUT, message);
    }
    if let Some((kind, message)) = child::refusal(state, rules, tool, value, 0) {
        return failed(kind, message);
    }
    let judged = state.judge(rules, tool, call, value);
    match judged.judgement.verdict {
        Verdict::Deny => Admission::Event(denied(call, &judged)),
        Verdict::Ask => Admission::Event(Event::pause_opened(gate(state, rules, call, tool, value, &judged, None))),
        Verdict::Allow => Admission::Ready(judged),
    }
}

/// This call and the identical ones straight before it that were invalid as well.
fn repeats(state: &ChainState, call: &Call) -> u32 {
    let same = |other: &&Arc<Call>| {
        let kinds = [kind::NOT_FOUND, kind::INVALID_INPUT, kind::REPEATED_CALL];
        let invalid = other.result.as_deref().and_then(ToolResult::as_failure).is_some_and(|failure| kinds.contains(&failure.kind.as_str()));
        other.tool == call.tool && other.text == call.text && other.attempts == 0 && invalid
    };
    // A sibling that is not there yet has no result either.
    let sibling = call.key.ordinal.checked_sub(1).map(|ordinal| CallKey { ordinal, ..call.key });
    if sibling.is_some_and(|sibling| !state.calls.contains_key(&sibling)) {
        return 1;
    }
    let before = state.calls.range(..call.key).rev().map(|(_, other)| other).take_while(same).count();
    u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1)
}

/// A `denied` result that names the line.
pub fn denied(call: &Call, judged: &Judged) -> Event {
    let because = judged.judgement.because.join("; ");
    let message = format!("the operator's rules deny this call ({because})");
    finished(call.key, CallStatus::Denied, ToolResult::failure(kind::DENIED, message))
}

pub fn finished(call: CallKey, status: CallStatus, result: ToolResult) -> Event {
    Event::CallFinished { call, status, result: Arc::new(result), word_of: None, uses: Uses::default(), refusals: Vec::new() }
}

/// A pause made by a rule, before any plugin code.
pub fn gate(
    state: &ChainState,
    rules: &Rules<'_>,
    call: &Call,
    tool: &ToolSpec,
    arguments: &Arc<Value>,
    judged: &Judged,
    difference: Option<String>,
) -> Pause {
    let reason = match &difference {
        Some(_) => format!("what was approved for `{}` has changed", tool.name),
        None => format!("a rule asks a person before `{}` runs", tool.name),
    };
    let asked = Asked { kind: PauseKind::Gate, key: String::new(), reason, ask: Ask::Approval, context: None, saved: None, difference };
    pause(state, rules, call, tool, arguments, judged, asked)
}

/// What a new pause asks; the rest of it is the call's.
#[derive(Clone)]
pub struct Asked {
    pub kind: PauseKind,
    pub key: String,
    pub reason: String,
    pub ask: Ask,
    pub context: Option<Value>,
    /// Base64.
    pub saved: Option<String>,
    pub difference: Option<String>,
}

impl Asked {
    /// What an earlier pause asked, and what changed since.
    pub fn anew(pause: &Pause, difference: String) -> Self {
        Self {
            kind: pause.kind,
            key: pause.key.clone(),
            reason: pause.reason.clone(),
            ask: pause.ask.clone(),
            context: pause.context.clone(),
            saved: pause.state.clone(),
            difference: Some(difference),
        }
    }

    /// The use that a `capability` pause is about.
    pub fn frozen(&self) -> Option<FrozenUse> {
        let context = self.context.clone().filter(|_| self.kind == PauseKind::Capability);
        context.and_then(|context| serde_json::from_value(context).ok())
    }
}

/// A use that was held back: approving it opens just that.
pub fn held_back(frozen: &FrozenUse) -> Asked {
    Asked {
        kind: PauseKind::Capability,
        key: String::new(),
        reason: format!("the plugin reached for what only an approval opens: {frozen}"),
        ask: Ask::Approval,
        context: Some(serde_json::to_value(frozen).expect("words serialize")),
        saved: None,
        difference: None,
    }
}

/// Freezes a pause: what is asked, by whom it may be decided, what approving opens, and the digest of it all.
pub fn pause(state: &ChainState, rules: &Rules<'_>, call: &Call, tool: &ToolSpec, arguments: &Arc<Value>, judged: &Judged, asked: Asked) -> Pause {
    let judgement = &judged.judgement;
    let approval = asked.ask == Ask::Approval;
    let frozen = asked.frozen();
    let (opens, shut) = match (&frozen, approval) {
        (Some(frozen), _) => (vec![Opening::Use(frozen.clone())], Vec::new()),
        (None, true) => (judgement.opens.clone(), judgement.shut.clone()),
        (None, false) => Default::default(),
    };
    // The rules say nothing of a use that was held back: the lines that wait for an approval do.
    let because = match &frozen {
        Some(frozen) => rules.grants.waiting_for(CallFacts::of(tool, arguments, rules.today()), frozen),
        None => judgement.because.clone(),
    };
    let mut pause = Pause {
        id: PauseId((rules.id)("pa_")),
        call: call.key,
        path: state.path(),
        call_id: call.id.clone(),
        kind: asked.kind,
        tool: tool.name.clone(),
        plugin: tool.plugin.clone(),
        effects: judgement.effects,
        arguments: Arc::clone(arguments),
        key: asked.key,
        reason: asked.reason,
        ask: asked.ask,
        context: asked.context,
        state: asked.saved,
        opens,
        holds: judgement.held.in_words(),
        shut,
        because,
        requirements: judgement.requirements.clone(),
        uses: call.uses,
        difference: asked.difference,
        call_digest: judged.digest.clone(),
        digest: judged.digest.clone(),
        opened_at: rules.now,
        status: PauseStatus::Open,
        votes: Vec::new(),
        decided: None,
    };
    pause.digest = pause_digest(state, &pause, &call.answers);
    pause
}

/// The digest of what a pause shows, and of what its call's earlier pauses were answered.
pub fn pause_digest(state: &ChainState, pause: &Pause, answers: &[Answered]) -> Digest {
    let answers: Vec<_> = answers.iter().map(|answer| serde_json::json!([answer.key, answer.value])).collect();
    crate::digest::pause_digest(&serde_json::json!({
        "chain": state.id,
        "call_digest": pause.call_digest,
        "kind": pause.kind,
        "key": pause.key,
        "ask": pause.ask,
        "reason": pause.reason,
        "context": pause.context,
        "state": pause.state.as_ref().map(|saved| Digest::of_bytes(saved.as_bytes())),
        "answers": answers,
    }))
}

/// Gives each asked call its key, a usable id, and its arguments as far as they can be read.
pub fn request(turn: u32, asked: &[AskedCall], fresh: &dyn Fn(&str) -> String) -> Vec<Requested> {
    let mut seen = std::collections::HashSet::new();
    let mut requested = Vec::with_capacity(asked.len());
    for (ordinal, call) in asked.iter().enumerate() {
        let usable = call.id.as_ref().filter(|id| !id.is_empty() && seen.insert((*id).clone()));
        let id = usable.cloned().unwrap_or_else(|| fresh("tc_"));
        requested.push(Requested {
            call: CallKey { turn, ordinal: u32::try_from(ordinal).expect("a response is limited in size") },
            provider_id: call.id.clone().filter(|given| *given != id),
            id,
            tool: call.name.clone(),
            text: call.arguments.clone(),
            arguments: arguments::read(&call.arguments).ok().map(|read| Arc::new(read.value)),
        });
    }
    requested
}
