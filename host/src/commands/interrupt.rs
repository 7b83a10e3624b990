//! Ctrl-C and a request to terminate: the first lets go in order, the second exits at once.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::exit;
use super::failure::Failure;
use crate::report;

/// Cancelled by the first SIGINT or SIGTERM.
pub fn on_signal() -> Result<CancellationToken, Failure> {
    let unheard = |error| Failure::new(exit::INTERNAL, "cannot listen for signals").because(error);
    let mut interrupt = signal(SignalKind::interrupt()).map_err(unheard)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(unheard)?;
    let token = CancellationToken::new();
    let cancelled = token.clone();
    tokio::spawn(async move {
        tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
        cancelled.cancel();
        report::note("interrupted");
        tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
        std::process::exit(exit::INTERRUPTED.into());
    });
    Ok(token)
}
