//! One attempt at a tool call: what the host gave, and the questions it leads to.

use std::cell::RefCell;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bindings::pausegate::plugin::types;
use crate::failure::{Failure, Kind};
use crate::question::{self, Question};
use crate::stop::{Result, Stop};

/// The most bytes that a pause may save (`wit/plugin.wit`, `pause.state`).
pub const STATE_BYTES_MAX: usize = 64 * 1024;

/// The call that a tool is working on: its first parameter, where it wants one.
///
/// Each attempt starts anew, so put questions before effects. After a person answered, the tool runs again and the
/// same question returns the answer:
///
/// ```
/// use pausegate_sdk::{Call, Question, Result};
///
/// fn order(call: &Call, pizza: String) -> Result<String> {
///     let size = call.ask("size", Question::choice("Which size?", ["small", "large"]))?;
///     call.ask_approval(format!("Order a {size} {pizza}"))?;
///     Ok(format!("ordered a {size} {pizza}"))
/// }
///
/// let call = Call::test("order");
/// let stop = order(&call, "margherita".into()).unwrap_err();
/// assert_eq!(stop.pause().unwrap().reason, "Which size?");
/// let call = call.answering(&stop, "large").approved();
/// assert_eq!(order(&call, "margherita".into()).unwrap(), "ordered a large margherita");
/// ```
///
/// A question cannot get lost: once one is raised, the attempt ends with it, whatever the tool returns, and every
/// further question of the attempt returns the same [`Stop`].
pub struct Call {
    pub(crate) given: types::Call,
    /// The question that ends this attempt.
    raised: RefCell<Option<types::Pause>>,
    state: RefCell<Option<Vec<u8>>>,
}

impl Call {
    pub(crate) fn new(given: types::Call) -> Self {
        let state = RefCell::new(given.state.clone());
        Self { given, raised: RefCell::new(None), state }
    }

    /// Goes on if a person approved this call, by a rule of the operator or by answering this very question; else
    /// asks. `question` is the reason, or [`Question::approval`] with a context to show.
    ///
    /// # Errors
    /// The question.
    pub fn ask_approval(&self, question: impl Into<Question<bool>>) -> Result<()> {
        let question = question.into();
        // An answer to another question approved the call too, but a yes to one thing is none to another.
        let by_rule = self.given.approved && !self.given.answers.iter().any(|answer| answer.asked == types::Ask::Approval);
        if by_rule && self.raised.borrow().is_none() {
            return Ok(());
        }
        // The key holds the reason, so that a yes to one thing is none to another.
        let key = format!("approval-{:016x}", fnv1a(&question.reason));
        if self.ask(&key, question.clone())? { Ok(()) } else { Err(self.raise(&key, question)) }
    }

    /// Returns the newest answer under `key`, if it answers this question; else asks.
    ///
    /// # Errors
    /// The question itself, or a failure when the answer does not read as an `A`.
    pub fn ask<A>(&self, key: &str, question: Question<A>) -> Result<A> {
        if let Some(pause) = &*self.raised.borrow() {
            return Err(Stop::paused(pause.clone()));
        }
        match self.answer(key) {
            Some(answer) if question::same(&answer.asked, &question.ask) => {
                let unreadable = |error| Failure::new(Kind::InvalidInput, format!("the answer to `{key}` does not fit: {error}"));
                let value = serde_json::from_str(&answer.value).map_err(unreadable)?;
                (question.read)(value).map_err(|error| unreadable(error).into())
            }
            _ => Err(self.raise(key, question)),
        }
    }

    fn raise<A>(&self, key: &str, question: Question<A>) -> Stop {
        let pause = types::Pause {
            key: key.into(),
            reason: question.reason,
            context: question.context.map(|context| context.to_string()),
            ask: question.ask,
            state: self.state.borrow().clone(),
            meta: Vec::new(),
        };
        *self.raised.borrow_mut() = Some(pause.clone());
        Stop::paused(pause)
    }

    /// Keeps `state` for the attempt after the next question. What was saved stays until it is saved anew.
    ///
    /// # Errors
    /// `too-large` over [`STATE_BYTES_MAX`] as JSON.
    pub fn save<T: Serialize>(&self, state: &T) -> Result<()> {
        let bytes = serde_json::to_vec(state)?;
        if bytes.len() > STATE_BYTES_MAX {
            let message = format!("the state to save is {} bytes, at most {STATE_BYTES_MAX} are kept", bytes.len());
            return Err(Failure::new(Kind::TooLarge, message).into());
        }
        *self.state.borrow_mut() = Some(bytes);
        Ok(())
    }

    /// What was saved last, in this attempt or before the last question.
    ///
    /// # Errors
    /// When the saved state is no `T`.
    pub fn state<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        let state = self.state.borrow();
        Ok(state.as_deref().map(serde_json::from_slice).transpose()?)
    }

    /// How the attempt ends, given what the tool returned.
    pub(crate) fn end(self, returned: Result<types::Success>) -> types::Outcome {
        if let Some(pause) = self.raised.into_inner() {
            // Saved after the question was raised: still meant for the next attempt.
            return types::Outcome::Pause(types::Pause { state: self.state.into_inner(), ..pause });
        }
        returned.map_or_else(Stop::into_outcome, types::Outcome::Done)
    }

    /// The host's id of this call, the same over its attempts.
    pub fn id(&self) -> &str {
        &self.given.id
    }

    /// The tool's name.
    pub fn tool(&self) -> &str {
        &self.given.tool
    }

    /// The arguments as JSON text, exactly as they were checked and shown.
    pub fn arguments(&self) -> &str {
        &self.given.arguments
    }

    /// One of them, for what has no parameters of its own, such as the function after `reconcile:`.
    ///
    /// # Errors
    /// When it is not there, or is no `T`.
    pub fn argument<T: DeserializeOwned>(&self, name: &str) -> Result<T> {
        let mut all: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&self.given.arguments)?;
        let missing = || Failure::new(Kind::InvalidInput, format!("there is no argument `{name}`"));
        Ok(serde_json::from_value(all.remove(name).ok_or_else(missing)?)?)
    }

    /// 1 for the first attempt.
    pub fn attempt(&self) -> u32 {
        self.given.attempt
    }

    /// The same over attempts of unchanged arguments: hand it to services that refuse doubles by it.
    pub fn idempotency_key(&self) -> &str {
        &self.given.idempotency_key
    }

    /// How long this attempt may take, counted from its start.
    pub fn time_left(&self) -> Duration {
        Duration::from_millis(self.given.time_left_ms.into())
    }

    /// Whether a person approved exactly these arguments.
    pub fn approved(&self) -> bool {
        self.given.approved
    }

    /// The newest answer under `key`, with the person's note. [`Call::ask`] is how to use an answer.
    pub fn answer(&self, key: &str) -> Option<&types::Answer> {
        self.given.answers.iter().rev().find(|answer| answer.key == key)
    }
}

/// FNV-1a, 64 bits: tells reasons apart, and is the same in every build.
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
