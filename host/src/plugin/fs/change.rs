//! Operations that change a folder: each end is walked to and held for writing, then changed by handle and name.

use rustix::fs::{AtFlags, FileType, Mode, Timestamps, linkat, mkdirat, renameat, statat, symlinkat, unlinkat, utimensat};

use super::act::Act;
use super::node::Node;
use super::walk::{Entry, Last};
use super::{Code, Lines, Need, code, joined, rules};
use crate::capability::frozen::FsOperation;

impl Lines {
    pub(super) fn create_folder(&self, node: &Node, path: &str) -> Result<(), Code> {
        let act = Act::new(FsOperation::CreateFolder);
        let (_, entry) = self.enter(node, path, Last::Entry, &act)?;
        self.take_entry()?;
        self.changed(&act, &entry, || mkdirat(&entry.folder, &entry.name, Mode::from_raw_mode(0o777)).map_err(code))
    }

    pub(super) fn remove_folder(&self, node: &Node, path: &str) -> Result<(), Code> {
        let act = Act::new(FsOperation::RemoveFolder);
        let (mount, entry) = self.enter(node, path, Last::Entry, &act)?;
        self.may_move(mount, &entry)?;
        self.changed(&act, &entry, || unlinkat(&entry.folder, &entry.name, AtFlags::REMOVEDIR).map_err(code))
    }

    pub(super) fn remove_file(&self, node: &Node, path: &str) -> Result<(), Code> {
        let act = Act::new(FsOperation::RemoveFile);
        let (_, entry) = self.enter(node, path, Last::Entry, &act)?;
        let found = entry.stat().map_err(code)?;
        if entry.must_be_folder || FileType::from_raw_mode(found.st_mode) == FileType::Directory {
            return Err(Code::IsDirectory);
        }
        self.changed(&act, &entry, || unlinkat(&entry.folder, &entry.name, AtFlags::empty()).map_err(code))
    }

    pub(super) fn rename(&self, from: (&Node, &str), to: (&Node, &str)) -> Result<(), Code> {
        let (begins, ends) = self.both_ends(FsOperation::Rename, from, to)?;
        let (from_mount, old) = self.enter(from.0, from.1, Last::Entry, &begins)?;
        let (to_mount, new) = self.enter(to.0, to.1, Last::Entry, &ends)?;
        self.may_move(from_mount, &old)?;
        self.may_move(to_mount, &new)?;
        let found = old.stat().map_err(code)?;
        // A moved symlink would point from elsewhere: as good as making one there.
        if FileType::from_raw_mode(found.st_mode) == FileType::Symlink {
            self.may_link(to_mount, &new)?;
        }
        if new.must_be_folder && FileType::from_raw_mode(found.st_mode) != FileType::Directory {
            return Err(Code::NotDirectory);
        }
        self.changed(&ends, &new, || renameat(&old.folder, &old.name, &new.folder, &new.name).map_err(code))
    }

    pub(super) fn link(&self, from: (&Node, &str), to: (&Node, &str)) -> Result<(), Code> {
        let (begins, ends) = self.both_ends(FsOperation::Link, from, to)?;
        let (_, old) = self.enter(from.0, from.1, Last::Entry, &begins)?;
        let (to_mount, new) = self.enter(to.0, to.1, Last::Entry, &ends)?;
        let found = old.stat().map_err(code)?;
        if FileType::from_raw_mode(found.st_mode) == FileType::Symlink {
            self.may_link(to_mount, &new)?;
        }
        if new.must_be_folder {
            return Err(Code::NoEntry);
        }
        self.take_entry()?;
        self.changed(&ends, &new, || linkat(&old.folder, &old.name, &new.folder, &new.name, AtFlags::empty()).map_err(code))
    }

    /// A symlink stays inside its mount, and there is none at all where it could lead around a line.
    pub(super) fn symlink(&self, node: &Node, target: &str, path: &str) -> Result<(), Code> {
        let act = Act { to: Some(target.to_owned()), ..Act::new(FsOperation::Symlink) };
        let (mount, entry) = self.enter(node, path, Last::Entry, &act)?;
        self.may_link(mount, &entry)?;
        let mount = &self.mounts().mounts[mount].path;
        let folder = entry.path.rsplit_once('/').map_or("/", |(folder, _)| folder);
        let inside = |target: &str| !target.starts_with('/') && rules::joined(folder, target).is_some_and(|at| rules::covers(mount, &at));
        if !inside(target) {
            return Err(self.refuse_outside(Need::Write, &entry.path));
        }
        if entry.must_be_folder {
            return Err(Code::NoEntry);
        }
        self.take_entry()?;
        self.changed(&act, &entry, || symlinkat(target, &entry.folder, &entry.name).map_err(code))
    }

    pub(super) fn set_times(&self, node: &Node, path: &str, last: Last, times: &Timestamps) -> Result<(), Code> {
        let act = Act::new(FsOperation::SetTimes);
        let (_, entry) = self.enter(node, path, last, &act)?;
        entry.stat().map_err(code)?;
        self.changed(&act, &entry, || utimensat(&entry.folder, &entry.name, times, AtFlags::SYMLINK_NOFOLLOW).map_err(code))
    }

    /// One use with two ends, told from either of them.
    fn both_ends(&self, operation: FsOperation, from: (&Node, &str), to: (&Node, &str)) -> Result<(Act, Act), Code> {
        let written = |(node, path): (&Node, &str)| joined(node.path(), path).ok_or(Code::NotPermitted);
        let (begins, ends) = (Act::new(operation), Act::new(operation));
        Ok((Act { to: Some(written(to)?), ..begins }, Act { from: Some(written(from)?), ..ends }))
    }

    /// Counts the change before it is made; an approval of just this use is spent by it.
    fn changed(&self, act: &Act, entry: &Entry, change: impl FnOnce() -> Result<(), Code>) -> Result<(), Code> {
        self.spend(act, &entry.path);
        self.counted(true, change)
    }

    fn may_move(&self, mount: usize, entry: &Entry) -> Result<(), Code> {
        // A folder's own `.` has no name to move.
        if entry.name == "." {
            return Err(Code::Invalid);
        }
        if entry.must_be_folder {
            let found = statat(&entry.folder, &entry.name, AtFlags::SYMLINK_NOFOLLOW);
            if found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode) != FileType::Directory) {
                return Err(Code::NotDirectory);
            }
        }
        if self.moves_shut(mount, &entry.path) { Err(self.refuse(Need::Write, &entry.path)) } else { Ok(()) }
    }

    fn may_link(&self, mount: usize, entry: &Entry) -> Result<(), Code> {
        let place = self.place(mount);
        if self.given().any(|given| rules::links_refused(&given.lines, place)) {
            let attempted = format!("fs symlink {}", entry.path);
            let allow_with = "# no symlinks are made where a line holds for one entry only or shuts one".to_owned();
            self.held.ledger.refuse(crate::capability::Refusal { attempted, allow_with });
            return Err(Code::Access);
        }
        Ok(())
    }
}
