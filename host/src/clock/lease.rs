//! Until when something is ours: moved on by whoever renews it, asked wherever it matters.
//!
//! Counted by a clock that nobody sets and that goes on while the machine or the process sleeps: whoever wakes up late
//! finds the lease over before it does anything under it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// Shared by those who renew it, ask it and wait for its end.
#[derive(Clone, Debug)]
pub struct Lease(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Milliseconds since the machine started.
    until: AtomicU64,
    taken: AtomicBool,
    ended: CancellationToken,
}

impl Lease {
    /// `until` is counted as [`since_boot`] is.
    pub fn until(until: Duration) -> Self {
        Self(Arc::new(Inner { until: AtomicU64::new(millis(until)), taken: AtomicBool::new(false), ended: CancellationToken::new() }))
    }

    /// An end that was told stands.
    pub fn renew(&self, until: Duration) {
        if !self.0.ended.is_cancelled() {
            self.0.until.store(millis(until), Ordering::Release);
        }
    }

    /// Whether nothing may be done under it any more. Who was told so once is told so from then on: what was refused since the
    /// lease was over must not become a result under one that was renewed a moment later.
    pub fn is_over(&self) -> bool {
        if !self.0.ended.is_cancelled() && millis(since_boot()) >= self.0.until.load(Ordering::Acquire) {
            self.0.ended.cancel();
        }
        self.0.ended.is_cancelled()
    }

    /// Tells all who wait; `taken` where somebody else has it now.
    pub fn end(&self, taken: bool) {
        self.0.taken.store(taken, Ordering::Release);
        self.0.ended.cancel();
    }

    pub fn was_taken(&self) -> bool {
        self.0.taken.load(Ordering::Acquire)
    }

    /// Cancelled when the end is told.
    pub fn ended(&self) -> &CancellationToken {
        &self.0.ended
    }
}

/// Since the machine started, its sleep included.
pub fn since_boot() -> Duration {
    #[cfg(target_os = "linux")]
    const CLOCK: rustix::time::ClockId = rustix::time::ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    const CLOCK: rustix::time::ClockId = rustix::time::ClockId::Monotonic;
    let now = rustix::time::clock_gettime(CLOCK);
    Duration::new(u64::try_from(now.tv_sec).unwrap_or_default(), u32::try_from(now.tv_nsec).unwrap_or_default())
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_goes_on_when_it_is_renewed_before_anybody_saw_it_over() {
        let lease = Lease::until(since_boot());
        lease.renew(since_boot() + Duration::from_secs(60));
        assert!(!lease.is_over() && !lease.ended().is_cancelled());
    }

    #[test]
    fn h40_a_lease_that_was_seen_over_is_never_again_what_it_was() {
        let lease = Lease::until(since_boot());
        assert!(lease.is_over() && lease.ended().is_cancelled());
        lease.renew(since_boot() + Duration::from_secs(60));
        assert!(lease.is_over() && !lease.was_taken());
    }

    #[test]
    fn an_end_that_was_told_stands() {
        let lease = Lease::until(since_boot() + Duration::from_secs(60));
        assert!(!lease.is_over());
        lease.clone().end(true);
        lease.renew(since_boot() + Duration::from_secs(60));
        assert!(lease.is_over() && lease.was_taken());
    }
}
