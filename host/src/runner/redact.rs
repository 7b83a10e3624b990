//! Values of secrets taken out of what is about to be written down: prompts, messages, a model's reply, decisions.
//!
//! A model that writes a value into a call's arguments has its call go out with the secret's name in the value's place:
//! the journal, the people who look at a pause and the plugin see that, and nothing else.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Host, Prompt};
use crate::call::AskedCall;
use crate::chain::message::{Message, Part};
use crate::event::Verbatim;
use crate::model::Reply;
use crate::pause::Decision;
use crate::plugin::{Redactor, SystemSecrets};

impl Host {
    pub(super) fn redactor(&self) -> Redactor {
        Redactor::of(&self.grants.latest(), Arc::new(SystemSecrets))
    }
}

pub fn prompt(redactor: &Redactor, mut prompt: Prompt) -> Prompt {
    prompt.settings.system = prompt.settings.system.map(|text| redactor.text(text));
    prompt.messages = prompt.messages.into_iter().map(|one| message(redactor, one)).collect();
    prompt.call = prompt.call.map(|asked| call(redactor, asked));
    prompt
}

pub fn reply(redactor: &Redactor, reply: Reply) -> Reply {
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
