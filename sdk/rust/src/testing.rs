//! Calls for unit tests: no sandbox, no host.

use std::ops::Deref;

use serde::Serialize;

use crate::bindings::pausegate::plugin::types;
use crate::call::Call;
use crate::question::Question;
use crate::stop::Stop;

/// A call made by a test. Where `&Call` is wanted, `&TestCall` does; see [`Call::test`].
pub struct TestCall(Call);

impl Call {
    /// A first attempt without approval, answers or state, and with no arguments.
    pub fn test(tool: &str) -> TestCall {
        TestCall(Self::new(types::Call {
            id: "tc_test".into(),
            tool: tool.into(),
            arguments: "{}".into(),
            attempt: 1,
            idempotency_key: "key_test".into(),
            time_left_ms: 30_000,
            approved: false,
            answers: Vec::new(),
            state: None,
            meta: Vec::new(),
        }))
    }
}

impl TestCall {
    /// A person approved the call.
    #[must_use]
    pub fn approved(self) -> Self {
        self.with(|given| given.approved = true)
    }

    /// JSON arguments, for [`attempt`](crate::attempt); a function called directly takes its own.
    #[must_use]
    pub fn arguments(self, arguments: impl Serialize) -> Self {
        let arguments = json(&arguments);
        self.with(|given| given.arguments = arguments)
    }

    /// `question` was answered under `key`.
    #[must_use]
    pub fn answer<A>(self, key: &str, question: &Question<A>, value: impl Serialize) -> Self {
        let (asked, context) = (question.ask.clone(), question.context.as_ref().map(ToString::to_string));
        self.answered(key, asked, context, &json(&value))
    }

    /// The next attempt, after a person answered the question of `stop`, with the state that was saved.
    ///
    /// # Panics
    /// When `stop` is a failure.
    #[must_use]
    pub fn answering(self, stop: &Stop, value: impl Serialize) -> Self {
        let pause = stop.pause().unwrap_or_else(|| panic!("not a question: {stop:?}"));
        self.answered(&pause.key, pause.ask.clone(), pause.context.clone(), &json(&value)).with(|given| {
            given.attempt += 1;
            given.state.clone_from(&pause.state);
        })
    }

    /// What the last pause saved.
    #[must_use]
    pub fn saved(self, state: impl Serialize) -> Self {
        let state = json(&state).into_bytes();
        self.with(|given| given.state = Some(state))
    }

    /// The call itself, for [`attempt`](crate::attempt).
    pub fn into_call(self) -> Call {
        self.0
    }

    fn answered(self, key: &str, asked: types::Ask, context: Option<String>, value: &str) -> Self {
        let (key, value) = (key.into(), value.into());
        self.with(|given| given.answers.push(types::Answer { key, asked, value, note: None, context, meta: vec![] }))
    }

    /// Always a new `Call`: a test may reuse one that raised a question.
    fn with(self, change: impl FnOnce(&mut types::Call)) -> Self {
        let mut given = self.0.given;
        change(&mut given);
        Self(Call::new(given))
    }
}

impl Deref for TestCall {
    type Target = Call;

    fn deref(&self) -> &Call {
        &self.0
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("a test's value is JSON")
}
