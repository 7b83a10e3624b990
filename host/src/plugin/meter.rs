//! Processor time of one attempt: what its task ran, not what it waited.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Written and read by the thread that polls the attempt.
#[derive(Debug, Default)]
pub struct Meter {
    /// Of earlier polls.
    spent: AtomicU64,
    /// The thread's clock when the current poll began.
    poll_began: AtomicU64,
}

impl Meter {
    /// Up to now; called while the attempt is being polled.
    pub fn used(&self) -> Duration {
        let current = thread_nanoseconds().saturating_sub(self.poll_began.load(Ordering::Relaxed));
        Duration::from_nanos(self.spent.load(Ordering::Relaxed) + current)
    }
}

/// Runs `work` with its processor time counted.
pub async fn metered<F: Future>(meter: &Meter, mut work: Pin<&mut F>) -> F::Output {
    std::future::poll_fn(|cx| poll_counted(meter, work.as_mut(), cx)).await
}

fn poll_counted<F: Future>(meter: &Meter, work: Pin<&mut F>, cx: &mut Context<'_>) -> Poll<F::Output> {
    let began = thread_nanoseconds();
    meter.poll_began.store(began, Ordering::Relaxed);
    let polled = work.poll(cx);
    if polled.is_pending() {
        meter.spent.fetch_add(thread_nanoseconds().saturating_sub(began), Ordering::Relaxed);
    }
    polled
}

fn thread_nanoseconds() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
