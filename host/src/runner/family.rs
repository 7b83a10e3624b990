//! A chain and the chains that its calls start, driven by one process: in turn, each under a hold of its own, so that a
//! worker may as well take any of them. Appends that one chain's events bring about in another are `beside`.

use futures_util::future::{BoxFuture, FutureExt};
use tokio_util::sync::CancellationToken;

use super::drive::{LOOK, drive};
use super::open::OpenChain;
use super::{Host, HostError, Report, Rest};
use crate::call::{CallStatus, ToolResult, kind};
use crate::chain::{Actor, ChainId};
use crate::event::Event;
use crate::journal::JournalError;
use crate::state::ChainState;
use crate::state::admit::finished;

/// Until the chain rests and no chain below it can go on.
pub fn drive_family(chain: OpenChain, interrupt: CancellationToken) -> BoxFuture<'static, Result<Report, HostError>> {
    async move {
        let host = chain.host.clone();
        let mut report = drive(chain, interrupt.clone()).await?;
        loop {
            let children: Vec<_> = report.state.children().cloned().collect();
            if children.is_empty() || !matches!(report.rest, Rest::Waiting | Rest::Paused | Rest::Blocked(_)) {
                return Ok(report);
            }
            report.below.clear();
            for child in children {
                // Nobody runs it any more where it is `None`: the interrupt came first.
                let rested = match taken(&host, &child, &interrupt).await? {
                    Some(child) => Some(drive_family(child, interrupt.clone()).await?),
                    None => None,
                };
                match rested {
                    None => report.rest = Rest::Interrupted,
                    Some(Report { rest: rest @ (Rest::Interrupted | Rest::ModelAway(_)), .. }) => report.rest = rest,
                    Some(child) => {
                        report.below.push(child.state);
                        report.below.extend(child.below);
                        continue;
                    }
                }
                return Ok(report);
            }
            report.below.retain(|state| !state.status.is_terminal());
            // The end of a child is a result of its parent's.
            if host.journal.head(&report.state.id).await? == report.state.seq {
                return Ok(report);
            }
            let Some(parent) = taken(&host, &report.state.id, &interrupt).await? else {
                report.rest = Rest::Interrupted;
                return Ok(report);
            };
            report = drive(parent, interrupt.clone()).await?;
        }
    }
    .boxed()
}

/// As soon as whoever else runs it lets go of it, which is within the limits of what it does; `None` after an interrupt.
async fn taken(host: &Host, chain: &ChainId, interrupt: &CancellationToken) -> Result<Option<OpenChain>, HostError> {
    loop {
        match OpenChain::take(host, chain).await {
            Err(HostError::Journal(JournalError::Held { .. })) => {}
            taken => return taken.map(Some),
        }
        tokio::select! {
            () = interrupt.cancelled() => return Ok(None),
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}

/// Cancels the chains that a chain waits for and that is to stop. Returns those that are not there.
pub fn stop<'a>(host: &'a Host, state: &'a ChainState) -> BoxFuture<'a, Result<Vec<ChainId>, HostError>> {
    async move {
        let by = state.stop.as_ref().map_or_else(|| state.started_by.clone(), |stop| stop.by.clone());
        let mut missing = Vec::new();
        for child in state.children() {
            if host.journal.head(child).await? == 0 {
                missing.push(child.clone());
                continue;
            }
            match cancelled(host, child, &by, format!("chain {}, which started it, was stopped", state.id)).await {
                // It ended meanwhile.
                Ok(_) | Err(HostError::Ended { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(missing)
    }
    .boxed()
}

async fn cancelled(host: &Host, child: &ChainId, by: &Actor, note: String) -> Result<ChainState, HostError> {
    host.cancel(child, by, Some(note)).await
}

/// The results of calls whose chains somebody took out of the journal.
pub fn gone(state: &ChainState, missing: &[ChainId]) -> Vec<Event> {
    let lost = state.calls_in(CallStatus::Waiting).filter(|call| call.child.as_ref().is_some_and(|child| missing.contains(child)));
    lost.map(|call| finished(call.key, CallStatus::Cancelled, ToolResult::failure(kind::CANCELLED, "its chain is in the journal no more"))).collect()
}
