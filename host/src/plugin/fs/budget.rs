//! What one attempt may still write: taken before it is written, all of it or nothing.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{Code, Lines};
use crate::capability::{Limits, Refusal};

#[derive(Debug)]
pub struct Budget {
    bytes: AtomicU64,
    entries: AtomicU64,
}

impl Budget {
    pub fn of(limits: &Limits) -> Self {
        Self { bytes: limits.written_bytes.into(), entries: limits.entries.into() }
    }
}

impl Lines {
    /// Room for these bytes of a file; a file made longer counts as written.
    pub(super) fn take_bytes(&self, bytes: u64) -> Result<(), Code> {
        self.take(&self.held.budget.bytes, bytes, "written", "bytes written to files")
    }

    /// Room for one more file, folder or link.
    pub(super) fn take_entry(&self) -> Result<(), Code> {
        self.take(&self.held.budget.entries, 1, "entries", "files, folders and links made")
    }

    fn take(&self, left: &AtomicU64, wanted: u64, key: &str, what: &str) -> Result<(), Code> {
        left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(wanted)).map(drop).map_err(|left| {
            let ledger = &self.held.ledger;
            let attempted = format!("fs write: {wanted} more {what}, where the call has {left} left");
            ledger.refuse(Refusal { attempted, allow_with: format!("# raise `{key}` in [plugins.{}.limits]", ledger.plugin) });
            Code::Quota
        })
    }
}
