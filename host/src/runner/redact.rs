//! Values of secrets taken out of what is about to be written down: prompts, messages, a model's reply, decisions.
//!
//! A model that writes a value into a call's arguments has its call go out with the secret's name in the value's place:
//! the journal, the people who look at a pause and the plugin see that, and nothing else.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Host, Prompt};
use crate::call::AskedCall;
use crate::capability::Grants;
use crate::chain::message::{Message, Part};
use crate::event::Verbatim;
use crate::model::Reply;
use crate::pause::{Decision, Settle, Settled};
use crate::plugin::{Redactor, SystemSecrets};

impl Host {
    pub(super) fn redactor(&self) -> Redactor {
        redactor(&self.grants.latest())
    }
}

fn redactor(grants: &Grants) -> Redactor {
    Redactor::of(grants, Arc::new(SystemSecrets))
}

/// For as long as a chain is driven: secrets of the grants it was taken up under, and of those in force by now. A value
/// that is no longer granted may stand in the conversation all the same.
pub struct Replies {
    at_start: Redactor,
    known: Arc<Grants>,
    by_now: Option<Redactor>,
}

impl Replies {
    pub fn of(host: &Host) -> Self {
        let known = host.grants.latest();
        Self { at_start: redactor(&known), known, by_now: None }
    }

    pub fn redacted(&mut self, host: &Host, said: Reply) -> Reply {
        let latest = host.grants.latest();
        if !Arc::ptr_eq(&self.known, &latest) {
            self.by_now = Some(redactor(&latest));
            self.known = latest;
        }
        let said = reply(&self.at_start, said);
        match &self.by_now {
            Some(by_now) => reply(by_now, said),
            None => said,
        }
    }
}

pub fn prompt(redactor: &Redactor, mut prompt: Prompt) -> Prompt {
    prompt.settings.system = prompt.settings.system.map(|text| redactor.text(text));
    prompt.messages = prompt.messages.into_iter().map(|one| message(redactor, one)).collect();
    prompt.call = prompt.call.map(|asked| call(redactor, asked));
    prompt
}

fn reply(redactor: &Redactor, reply: Reply) -> Reply {
    Reply {
        text: redactor.text(reply.text),
        reasoning: redactor.text(reply.reasoning),
        calls: reply.calls.into_iter().map(|asked| call(redactor, asked)).collect(),
        verbatim: reply.verbatim.map(|verbatim| Verbatim { message: redactor.json(verbatim.message), ..verbatim }),
        usage: reply.usage,
    }
}

pub fn decision(redactor: &Redactor, decision: &Decision) -> Decision {
    let text = |note: Option<String>| note.map(|note| redactor.text(note));
    match decision.clone() {
        Decision::Approve { note, digest } => Decision::Approve { note: text(note), digest },
        Decision::Deny { note, then, digest } => Decision::Deny { note: text(note), then, digest },
        Decision::Edit { arguments, note, digest } => Decision::Edit { arguments: redactor.json(arguments), note: text(note), digest },
        Decision::Respond { value, note, digest } => Decision::Respond { value: redactor.json(value), note: text(note), digest },
        Decision::Settle(Settle { outcome, note, digest }) => {
            let outcome = match outcome {
                Settled::Happened(result) => Settled::Happened(redactor.json(result)),
                Settled::RunAgain | Settled::GiveUp => outcome,
            };
            Decision::Settle(Settle { outcome, note: text(note), digest })
        }
    }
}

fn message(redactor: &Redactor, message: Message) -> Message {
    let part = |part: Part| Part(object(redactor, part.0));
    Message { role: message.role, parts: message.parts.into_iter().map(part).collect(), extra: object(redactor, message.extra) }
}

fn object(redactor: &Redactor, map: Map<String, Value>) -> Map<String, Value> {
    match redactor.json(Value::Object(map)) {
        Value::Object(map) => map,
        _ => unreachable!("an object stays one"),
    }
}

fn call(redactor: &Redactor, asked: AskedCall) -> AskedCall {
    AskedCall { id: asked.id.map(|id| redactor.text(id)), name: redactor.text(asked.name), arguments: redactor.text(asked.arguments) }
}
