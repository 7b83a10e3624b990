//! Drives a chain until it rests, answers pauses on the spot where that was asked for, and says where it stands.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::answer::Answers;
use super::failure::Failure;
use super::{call, exit};
use crate::chain::{Actor, ChainId, ChainStatus};
use crate::report::live::Live;
use crate::report::{self, rest};
use crate::runner::{self, Host, HostError, Rest};
use crate::state::ChainState;

/// How long a command that has done its work stays to deliver what is due: whoever waits at a terminal does not wait for a
/// receiver, and what is not delivered is delivered by a worker, or the next command.
pub const MOMENT: std::time::Duration = std::time::Duration::from_secs(3);

pub struct Driver {
    pub host: Host,
    pub live: Arc<Live>,
    pub by: Actor,
    pub answers: Answers,
    pub interrupt: CancellationToken,
}

impl Driver {
    /// Resumes, and goes on as long as pauses are answered on the spot.
    pub async fn drive(&self, chain: &ChainId, fixes: runner::Resume) -> Result<u8, Failure> {
        let report = self.host.resume(chain, &self.by, fixes, self.interrupt.clone()).await;
        // A chain that was found ended before this process did anything is a refusal, not a rest.
        self.go_on(report?).await
    }

    /// The same for a chain that somebody has just driven to its rest.
    pub async fn go_on(&self, mut report: runner::Report) -> Result<u8, Failure> {
        while self.answers.answer_all(&self.host, &self.by, &report, &self.interrupt).await? {
            let chain = report.state.id;
            report = match self.host.resume(&chain, &self.by, runner::Resume::default(), self.interrupt.clone()).await {
                // A denial that stops has ended it.
                Err(HostError::Ended { status, .. }) => self.ended(chain, status).await?,
                carried_on => carried_on?,
            };
        }
        self.show(self.answers.or_interrupted(report, &self.interrupt))
    }

    async fn ended(&self, chain: ChainId, status: ChainStatus) -> Result<runner::Report, Failure> {
        let events = self.host.journal.events(&chain, 0).await?;
        let rest = match status {
            ChainStatus::Rejected => Rest::Rejected,
            ChainStatus::Cancelled => Rest::Cancelled,
            ChainStatus::Failed => Rest::Failed,
            _ => Rest::Completed,
        };
        Ok(runner::Report { state: ChainState::fold(chain, &events), rest, below: Vec::new() })
    }

    fn show(&self, report: runner::Report) -> Result<u8, Failure> {
        let now = self.host.clock.now();
        // A tool that a person called ends as `call` itself would have ended.
        let direct = call::is_direct(&report.state);
        if self.live.is_json() {
            report::json_line(&if direct { call::as_json(&report, now) } else { rest::as_json(&report, now) });
        } else {
            match report.rest {
                Rest::Completed if direct => call::show_result(&report.state, !self.live.told_result()),
                Rest::Completed => self.live.answer(&report.state.answer()),
                _ => report::end_line(),
            }
            rest::show(&report, now);
        }
        match report.rest {
            Rest::ModelAway(error) => Err(error.into()),
            _ if direct => Ok(call::code(&report)),
            rest => Ok(code(&rest)),
        }
    }
}

pub fn code(rest: &Rest) -> u8 {
    match rest {
        Rest::Completed => exit::COMPLETED,
        Rest::Failed | Rest::Cancelled => exit::FAILED,
        Rest::ModelAway(_) => exit::UNAVAILABLE,
        Rest::Paused | Rest::Waiting | Rest::Blocked(_) => exit::PAUSED,
        Rest::Rejected => exit::DENIED,
        Rest::Interrupted => exit::INTERRUPTED,
    }
}
