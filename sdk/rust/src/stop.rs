//! How a tool ends early: with a failure, or with a question.

use std::fmt;

use crate::bindings::pausegate::plugin::types;
use crate::failure::Failure;

/// What a tool returns. `?` works on every error that `anyhow` takes, and on [`Call`](crate::Call)'s questions.
pub type Result<T, E = Stop> = std::result::Result<T, E>;

/// The tool ends here: it failed, or a person must answer first.
///
/// Every error becomes a `Stop`, but a `Stop` becomes no error: it implements neither `std::error::Error` nor
/// `Display`, so a handler for errors cannot take a question for one.
///
/// ```compile_fail,E0277
/// # use pausegate_sdk::Call;
/// fn helper(call: &Call) -> anyhow::Result<()> {
///     call.ask_approval("Delete it")?; // a `Stop` does not convert into an `anyhow::Error`
///     Ok(())
/// }
/// ```
#[must_use = "the tool is to end here: return it, or use `?`"]
pub struct Stop(Why);

enum Why {
    // Boxed: most results are fine, and a `Result` is as large as its error.
    Paused(Box<types::Pause>),
    Failed(Box<Failure>),
}

impl Stop {
    pub(crate) fn paused(pause: types::Pause) -> Self {
        Self(Why::Paused(Box::new(pause)))
    }

    /// The question a person is asked, if that is why the tool ends.
    pub fn pause(&self) -> Option<&types::Pause> {
        match &self.0 {
            Why::Paused(pause) => Some(pause),
            Why::Failed(_) => None,
        }
    }

    /// The failure, if that is why the tool ends.
    pub fn failure(&self) -> Option<&Failure> {
        match &self.0 {
            Why::Failed(failure) => Some(failure),
            Why::Paused(_) => None,
        }
    }

    pub(crate) fn into_outcome(self) -> types::Outcome {
        match self.0 {
            Why::Paused(pause) => types::Outcome::Pause(*pause),
            Why::Failed(failure) => types::Outcome::Failed((*failure).into()),
        }
    }
}

/// For tests' `unwrap`; not `Display`, which would invite `anyhow!("{stop}")`.
impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Why::Paused(pause) => f.debug_tuple("Stop").field(pause).finish(),
            Why::Failed(failure) => f.debug_tuple("Stop").field(failure).finish(),
        }
    }
}

impl<E: Into<anyhow::Error>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self(Why::Failed(Box::new(Failure::from(error.into()))))
    }
}
