//! What an attempt used and what it was refused, counted at the host call.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::capability::{Refusal, Uses, is_safe};

/// Refusals kept of one attempt; the first ones tell the most.
pub const REFUSALS_MAX: usize = 16;

#[derive(Debug, Default)]
pub struct Ledger {
    pub plugin: String,
    fs_writes: AtomicU64,
    http_requests: AtomicU64,
    http_effects: AtomicU64,
    refusals: Mutex<Vec<Refusal>>,
}

impl Ledger {
    pub fn new(plugin: &str) -> Self {
        Self { plugin: plugin.to_owned(), ..Self::default() }
    }

    pub fn fs_write(&self) {
        self.fs_writes.fetch_add(1, Ordering::Relaxed);
    }

    /// The write counted last did not happen.
    pub fn fs_write_failed(&self) {
        self.fs_writes.fetch_sub(1, Ordering::Relaxed);
    }

    pub fn http_request(&self, method: &str) {
        self.http_requests.fetch_add(1, Ordering::Relaxed);
        if !is_safe(method) {
            self.http_effects.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The same refusal is kept once.
    pub fn refuse(&self, refusal: Refusal) {
        let mut refusals = self.refusals.lock().expect("no panic under this lock");
        if refusals.len() < REFUSALS_MAX && !refusals.contains(&refusal) {
            refusals.push(refusal);
        }
    }

    pub fn uses(&self) -> Uses {
        Uses {
            fs_writes: self.fs_writes.load(Ordering::Relaxed),
            http_requests: self.http_requests.load(Ordering::Relaxed),
            http_effects: self.http_effects.load(Ordering::Relaxed),
        }
    }

    pub fn refusals(&self) -> Vec<Refusal> {
        self.refusals.lock().expect("no panic under this lock").clone()
    }
}
