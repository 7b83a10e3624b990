//! The conversation as the model sees it: every call has one result, in the order asked.

use serde_json::Value;

use super::{Call, ChainState};
use crate::chain::message::{Message, Part, Role};
use crate::event::Entry;

impl ChainState {
    /// Messages of this chain alone, oldest first; calls still open have no result in it.
    pub fn entries(&self) -> Vec<Entry> {
        let mut entries: Vec<_> = self.messages.iter().cloned().map(Entry::plain).collect();
        entries.extend(self.entries_of_turns(0));
        entries
    }

    /// The same from the turn at index `first` on: finished turns do not change, so a reader may keep them.
    pub fn entries_of_turns(&self, first: usize) -> Vec<Entry> {
        let mut entries = Vec::new();
        for turn in &self.turns[first..] {
            let calls: Vec<_> = turn.calls.iter().filter_map(|key| self.calls.get(key)).collect();
            let mut parts = turn.parts.clone();
            parts.extend(calls.iter().map(|call| Part::tool_call(&call.tool, call.asked_arguments(), &call.id)));
            entries.push(Entry { message: Message::new(Role::Assistant, parts), verbatim: turn.verbatim.clone() });
            let results: Vec<_> = calls.iter().filter_map(|call| call.result_part()).collect();
            if !results.is_empty() {
                entries.push(Entry::plain(Message::new(Role::Tool, results)));
            }
            entries.extend(turn.added.iter().cloned().map(Entry::plain));
        }
        entries
    }
}

impl Entry {
    pub fn plain(message: Message) -> Self {
        Self { message, verbatim: None }
    }
}

impl Call {
    /// What the model asked, whatever a person made of it; text that is no JSON stands under `_raw`.
    fn asked_arguments(&self) -> Value {
        if self.edited_by.is_none()
            && let Some(arguments) = &self.arguments
        {
            return Value::clone(arguments);
        }
        match crate::call::arguments::read(&self.text) {
            Ok(read) => read.value,
            Err(_) => serde_json::json!({"_raw": self.text}),
        }
    }

    fn result_part(&self) -> Option<Part> {
        let result = self.result.as_ref()?;
        let output = match (&self.edited_by, &self.arguments) {
            (Some(_), Some(arguments)) => {
                format!("[a person changed the arguments of this call to {arguments}]\n{}", result.for_model())
            }
            _ => result.for_model(),
        };
        let output = match self.whose_word() {
            Some(word) => format!("{word}\n{output}"),
            None => output,
        };
        Some(Part::tool_result(&self.tool, output, &self.id, result.exception()))
    }
}
