//! What a person can be asked, and the type of what comes back.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::bindings::pausegate::plugin::types::Question as OtherAsk;
use crate::schema;

pub use crate::bindings::pausegate::plugin::types::{Ask, Choice};

/// A question whose answer is an `A`. Ask it with [`Call::ask`](crate::Call::ask).
///
/// ```
/// use pausegate_sdk::{Call, Question, Result};
///
/// fn paint(call: &Call) -> Result<String> {
///     let colour = call.ask("colour", Question::choice("Which colour?", ["red", "green"]))?;
///     Ok(format!("painted {colour}"))
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Question<A> {
    pub(crate) ask: Ask,
    pub(crate) reason: String,
    pub(crate) context: Option<Value>,
    pub(crate) read: fn(Value) -> serde_json::Result<A>,
}

/// The constructors. `reason` is what the person reads.
impl Question<()> {
    /// Yes or no. The answer is `true`: a no ends the call. For "may this call go ahead" use
    /// [`Call::ask_approval`](crate::Call::ask_approval), which knows when the call was approved as a whole.
    pub fn approval(reason: impl Into<String>) -> Question<bool> {
        Question::of(Ask::Approval, reason)
    }

    /// One of `choices`; the answer is its value. `"red"` or `("red", "a warm red")`.
    pub fn choice<C: Into<Choice>>(reason: impl Into<String>, choices: impl IntoIterator<Item = C>) -> Question<String> {
        Question::of(Ask::Choice(choices.into_iter().map(Into::into).collect()), reason)
    }

    /// Free text.
    pub fn text(reason: impl Into<String>) -> Question<String> {
        Question::of(Ask::Text, reason)
    }

    /// A form with the fields of `T`.
    pub fn form<T: DeserializeOwned + JsonSchema>(reason: impl Into<String>) -> Question<T> {
        Question::of(Ask::Form(schema::of::<T>().to_string()), reason)
    }

    /// A question of another, namespaced kind; `schema` is the JSON Schema of its answer.
    pub fn other(reason: impl Into<String>, kind: impl Into<String>, schema: Value) -> Question<Value> {
        Question::of(Ask::Other(OtherAsk { kind: kind.into(), schema: schema.to_string() }), reason)
    }
}

impl<A: DeserializeOwned> Question<A> {
    fn of(ask: Ask, reason: impl Into<String>) -> Self {
        Self { ask, reason: reason.into(), context: None, read: serde_json::from_value }
    }
}

impl<A> Question<A> {
    /// Shows `context` beside the reason: a diff, a list of files, a price.
    #[must_use]
    pub fn context(mut self, context: impl Into<Value>) -> Self {
        self.context = Some(context.into());
        self
    }
}

/// A reason alone asks for a yes.
impl From<&str> for Question<bool> {
    fn from(reason: &str) -> Self {
        Question::approval(reason)
    }
}

impl From<String> for Question<bool> {
    fn from(reason: String) -> Self {
        Question::approval(reason)
    }
}

impl From<&str> for Choice {
    fn from(value: &str) -> Self {
        Self { value: value.into(), label: None }
    }
}

impl From<String> for Choice {
    fn from(value: String) -> Self {
        Self { value, label: None }
    }
}

impl<V: Into<String>, L: Into<String>> From<(V, L)> for Choice {
    fn from((value, label): (V, L)) -> Self {
        Self { value: value.into(), label: Some(label.into()) }
    }
}

/// Whether an answer to `asked` is an answer to `asking`: the same kind and the same choices or schema. Schemas are
/// compared as values, since the host may have written them anew.
pub(crate) fn same(asked: &Ask, asking: &Ask) -> bool {
    match (asked, asking) {
        (Ask::Form(a), Ask::Form(b)) => same_json(a, b),
        (Ask::Other(a), Ask::Other(b)) => a.kind == b.kind && same_json(&a.schema, &b.schema),
        (a, b) => a == b,
    }
}

fn same_json(a: &str, b: &str) -> bool {
    a == b || matches!((serde_json::from_str::<Value>(a), serde_json::from_str::<Value>(b)), (Ok(a), Ok(b)) if a == b)
}
