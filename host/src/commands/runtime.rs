//! The async runtime, started only by commands that need one.

use std::future::Future;

use super::exit;
use super::failure::Failure;

/// For commands that read the journal or decide: one thread, nothing to warm up.
pub fn small<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    run(tokio::runtime::Builder::new_current_thread(), work)
}

/// For commands that run plugins or ask models. Guests run on blocking-friendly workers; a few carry many chains.
pub fn full<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    const WORKERS_MAX: usize = 4;
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(std::thread::available_parallelism().map_or(2, usize::from).clamp(2, WORKERS_MAX));
    run(builder, work)
}

fn run<T>(mut builder: tokio::runtime::Builder, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = builder.enable_all().build();
    let runtime = runtime.map_err(|error| Failure::new(exit::INTERNAL, "cannot start the async runtime").because(error))?;
    let done = runtime.block_on(work);
    // A thread that waits for a terminal, or a compiler past its time, holds nobody up.
    runtime.shutdown_background();
    done
}
