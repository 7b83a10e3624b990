//! Ctrl-C and a request to terminate: the first lets go in order, the second exits at once.
//!
//! `timeout` and shells send one request to the process and to its group: what comes in the same moment is one.

use std::time::Duration;

use futures_util::future::FutureExt;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::exit;
use super::failure::Failure;
use crate::report;

/// Signals within it are one request.
const MOMENT: Duration = Duration::from_millis(300);

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
        tokio::time::sleep(MOMENT).await;
        let _ = (interrupt.recv().now_or_never(), terminate.recv().now_or_never());
        tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
        std::process::exit(exit::INTERRUPTED.into());
    });
    Ok(token)
}
