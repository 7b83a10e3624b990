//! A person's word on a call in doubt.

use super::Call;
use super::decide::{ANSWER_BYTES_MAX, Refused};
use super::recover::{said, unknown_outcome};
use crate::call::{CallStatus, ToolResult};
use crate::chain::Actor;
use crate::event::Event;
use crate::pause::{Settle, Settled};

pub fn settle(call: &Call, by: &Actor, settle: &Settle) -> Result<Vec<Event>, Refused> {
    let event = match &settle.outcome {
        Settled::Happened(result) if result.to_string().len() > ANSWER_BYTES_MAX => {
            return Err(Refused::DoesNotFit(format!("the result is over {ANSWER_BYTES_MAX} bytes")));
        }
        Settled::Happened(result) => said(call, CallStatus::Succeeded, ToolResult::given(result), Some(by.clone())),
        // The same arguments, so the same idempotency key; what was approved stays approved.
        Settled::RunAgain => Event::CallRecovered { call: call.key, why: "a person said to make it again".to_owned(), uses: None },
        Settled::GiveUp => unknown_outcome(call.key, settle.note.as_deref()),
    };
    Ok(vec![event])
}
