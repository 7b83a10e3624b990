//! Telling after a crash whether a call took effect.

use crate::bindings::pausegate::plugin::types;
use crate::call::Call;
use crate::content::{IntoSuccess, Success};
use crate::failure::Failure;
use crate::log;
use crate::reconcile_bindings::exports::pausegate::plugin::reconcile::{Guest, Verdict as Told};
use crate::stop::Result;

/// What became of an earlier attempt, as far as the plugin can find out by looking.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It took effect; this was, or would have been, its result.
    Happened(std::result::Result<Success, Failure>),
    /// It took no effect, now or later: the call may be made again.
    NotHappened,
    /// It cannot be told: a person is asked.
    Unknown,
}

impl Verdict {
    /// It took effect and returned `result`: what the tool itself would return.
    ///
    /// # Errors
    /// When a value cannot be written as JSON.
    pub fn happened(result: impl IntoSuccess) -> Result<Self> {
        Ok(Self::Happened(Ok(result.into_success()?)))
    }
}

/// A plugin that can tell; [`export!`](crate::export) implements it with the function after `reconcile:`.
pub trait Reconcile {
    /// Looks, for instance by the call's idempotency key, and changes nothing: it runs as a `read-only` attempt.
    ///
    /// # Errors
    /// When it could not look, which is `Unknown` with a warning for the operator.
    fn reconcile(call: &Call) -> Result<Verdict>;
}

impl<P: Reconcile> Guest for P {
    fn reconcile(call: types::Call) -> Told {
        match P::reconcile(&Call::new(call)) {
            Ok(Verdict::Happened(result)) => Told::Happened(result.map_err(Into::into)),
            Ok(Verdict::NotHappened) => Told::NotHappened,
            Ok(Verdict::Unknown) => Told::Unknown,
            Err(stop) => {
                log::warn!("it could not be found out what became of the call: {stop:?}");
                Told::Unknown
            }
        }
    }
}
