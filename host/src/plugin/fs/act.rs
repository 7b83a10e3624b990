//! What a guest is about to do, and the uses that a person approved one by one.

use std::sync::atomic::{AtomicBool, Ordering};

use super::Need;
use crate::capability::frozen::{FsOperation, FsUse};

#[derive(Clone, Debug)]
pub struct Act {
    pub operation: FsOperation,
    /// What a person is asked instead: who opens an entry looks at it first, and means to read or list it.
    pub meant: Option<FsOperation>,
    /// The entry at which a rename or a link begins, where this is about its other end.
    pub from: Option<String>,
    /// Where it ends, or what a symlink points to.
    pub to: Option<String>,
}

impl Act {
    pub fn new(operation: FsOperation) -> Self {
        Self { operation, meant: None, from: None, to: None }
    }

    pub fn need(&self) -> Need {
        Need::of(self.operation)
    }

    /// The whole of it, where `path` is the entry that was reached.
    pub fn frozen(&self, path: &str) -> FsUse {
        let operation = self.meant.unwrap_or(self.operation);
        match &self.from {
            Some(from) => FsUse { operation, path: from.clone(), to: Some(path.to_owned()) },
            None => FsUse { operation, path: path.to_owned(), to: self.to.clone() },
        }
    }
}

/// A use that a person approved, and whether it was made.
#[derive(Debug)]
pub struct Approved {
    frozen: FsUse,
    spent: AtomicBool,
}

impl Approved {
    pub fn new(frozen: FsUse) -> Self {
        Self { frozen, spent: AtomicBool::new(false) }
    }

    /// The act on this entry is the approved one, or only looks at what the approved one is about or at the way there.
    pub fn admits(&self, act: &Act, path: &str) -> bool {
        match act.operation {
            FsOperation::Look => self.frozen.ends().any(|end| super::covers(path, end)) || self.lists(path),
            _ => !self.spent.load(Ordering::Relaxed) && self.frozen == act.frozen(path),
        }
    }

    /// Who may list a folder may look at what is in it: libraries ask for each entry's metadata.
    fn lists(&self, path: &str) -> bool {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        self.frozen.operation == FsOperation::List && folder == self.frozen.path.trim_end_matches('/')
    }

    /// Once. Reading changes nothing, so an approved look, read or listing may be repeated within the attempt.
    pub fn spend(&self, frozen: &FsUse) {
        if self.frozen == *frozen && self.frozen.operation.access() == crate::capability::Access::Write {
            self.spent.store(true, Ordering::Relaxed);
        }
    }
}
