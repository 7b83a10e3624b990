//! What one attempt may still write: taken before it is written, all of it or nothing.
//!
//! A call has its own limits. A line may have a quota beside: what its folder holds is counted once an attempt first opens
//! something in it for writing, and what the attempt writes is added; what it frees is seen by the next one.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{Code, Lines, Mount};
use crate::capability::{Access, Limits, Refusal};

/// Entries of a folder with a quota that are counted; one with more is full.
const COUNTED_MAX: usize = 100_000;

#[derive(Debug)]
pub struct Budget {
    bytes: AtomicU64,
    entries: AtomicU64,
    /// Bytes left of the quotas of mounts that were written to.
    quotas: Mutex<BTreeMap<usize, u64>>,
}

impl Budget {
    pub fn of(limits: &Limits) -> Self {
        Self { bytes: limits.written_bytes.into(), entries: limits.entries.into(), quotas: Mutex::default() }
    }
}

impl Lines {
    /// Room for these bytes of a file; a file made longer counts as written.
    pub(super) fn take_bytes(&self, mount: usize, bytes: u64) -> Result<(), Code> {
        self.take_quota(mount, bytes)?;
        self.take(&self.held.budget.bytes, bytes, "written", "bytes written to files")
    }

    /// Room for one more file, folder or link.
    pub(super) fn take_entry(&self) -> Result<(), Code> {
        self.take(&self.held.budget.entries, 1, "entries", "files, folders and links made")
    }

    fn take(&self, left: &AtomicU64, wanted: u64, key: &str, what: &str) -> Result<(), Code> {
        left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(wanted)).map(drop).map_err(|left| {
            let plugin = &self.held.ledger.plugin;
            self.full(format!("{wanted} more {what}, where the call has {left} left"), format!("# raise `{key}` in [plugins.{plugin}.limits]"))
        })
    }

    /// The smallest of the mount's lines. Counts what is there the first time, so it is asked where work may block first.
    pub(super) fn take_quota(&self, mount: usize, bytes: u64) -> Result<(), Code> {
        let found = &self.mounts().mounts[mount];
        let lines = self.given().flat_map(|given| &given.lines).filter(|line| line.mount == found.path && line.access == Access::Write);
        let Some(quota) = lines.filter_map(|line| line.quota).min() else { return Ok(()) };
        let mut quotas = self.held.budget.quotas.lock().expect("no panic under this lock");
        let left = quotas.entry(mount).or_insert_with(|| quota.saturating_sub(self.used(found)));
        match left.checked_sub(bytes) {
            Some(less) => *left = less,
            None => {
                let attempted = format!("{bytes} more bytes below {}, whose quota of {quota} has {left} left", found.path);
                return Err(self.full(attempted, format!("# raise `quota` of the line at mount {:?}, or make room there", found.path)));
            }
        }
        Ok(())
    }

    /// Of one file where the lines hold for that alone.
    fn used(&self, mount: &Mount) -> u64 {
        let lines = self.held.at_start.lines.iter().filter(|line| line.mount == mount.path && line.access == Access::Write);
        let names: Option<Vec<_>> = lines.map(|line| line.only.as_deref().and_then(|only| only.rsplit_once('/'))).collect();
        match names {
            Some(names) => names.iter().map(|(_, name)| size(&mount.host.join(name))).sum(),
            None => size(&mount.host),
        }
    }

    fn full(&self, attempted: String, allow_with: String) -> Code {
        self.held.ledger.refuse(Refusal { attempted: format!("fs write: {attempted}"), allow_with });
        Code::Quota
    }
}

/// Bytes of the files at and below a path; links are not followed, and what cannot be looked at counts nothing.
fn size(path: &Path) -> u64 {
    let (mut bytes, mut counted) = (0_u64, 0);
    let mut left = vec![path.to_owned()];
    while let Some(path) = left.pop() {
        counted += 1;
        if counted > COUNTED_MAX {
            return u64::MAX;
        }
        let Ok(found) = std::fs::symlink_metadata(&path) else { continue };
        if found.is_file() {
            bytes = bytes.saturating_add(found.len());
        } else if found.is_dir() {
            left.extend(std::fs::read_dir(&path).into_iter().flatten().flatten().take(COUNTED_MAX).map(|entry| entry.path()));
        }
    }
    bytes
}
