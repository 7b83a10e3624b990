//! Operations that change a folder: each end is walked to and held for writing, then changed by handle and name.

use rustix::fs::{AtFlags, FileType, Mode, Timestamps, linkat, mkdirat, renameat, statat, symlinkat, unlinkat, utimensat};

use super::node::Node;
use super::walk::{Entry, Last};
use super::{Code, Lines, Need, code, rules};

impl Lines {
    pub(super) fn create_folder(&self, node: &Node, path: &str) -> Result<(), Code> {
        let (_, entry) = self.enter(node, path, Last::Entry, Need::Write)?;
        self.counted(true, || mkdirat(&entry.folder, &entry.name, Mode::from_raw_mode(0o777)).map_err(code))
    }

    pub(super) fn remove_folder(&self, node: &Node, path: &str) -> Result<(), Code> {
        let (mount, entry) = self.enter(node, path, Last::Entry, Need::Write)?;
        self.may_move(mount, &entry)?;
        self.counted(true, || unlinkat(&entry.folder, &entry.name, AtFlags::REMOVEDIR).map_err(code))
    }

    pub(super) fn remove_file(&self, node: &Node, path: &str) -> Result<(), Code> {
        let (_, entry) = self.enter(node, path, Last::Entry, Need::Write)?;
        let found = entry.stat().map_err(code)?;
        if entry.must_be_folder || FileType::from_raw_mode(found.st_mode) == FileType::Directory {
            return Err(Code::IsDirectory);
        }
        self.counted(true, || unlinkat(&entry.folder, &entry.name, AtFlags::empty()).map_err(code))
    }

    pub(super) fn rename(&self, from: (&Node, &str), to: (&Node, &str)) -> Result<(), Code> {
        let (from_mount, old) = self.enter(from.0, from.1, Last::Entry, Need::Write)?;
        let (to_mount, new) = self.enter(to.0, to.1, Last::Entry, Need::Write)?;
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
        self.counted(true, || renameat(&old.folder, &old.name, &new.folder, &new.name).map_err(code))
    }

    pub(super) fn link(&self, from: (&Node, &str), to: (&Node, &str)) -> Result<(), Code> {
        let (_, old) = self.enter(from.0, from.1, Last::Entry, Need::Write)?;
        let (to_mount, new) = self.enter(to.0, to.1, Last::Entry, Need::Write)?;
        let found = old.stat().map_err(code)?;
        if FileType::from_raw_mode(found.st_mode) == FileType::Symlink {
            self.may_link(to_mount, &new)?;
        }
        if new.must_be_folder {
            return Err(Code::NoEntry);
        }
        self.counted(true, || linkat(&old.folder, &old.name, &new.folder, &new.name, AtFlags::empty()).map_err(code))
    }

    /// A symlink stays inside its mount, and there is none at all where it could lead around a line.
    pub(super) fn symlink(&self, node: &Node, target: &str, path: &str) -> Result<(), Code> {
        let (mount, entry) = self.enter(node, path, Last::Entry, Need::Write)?;
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
        self.counted(true, || symlinkat(target, &entry.folder, &entry.name).map_err(code))
    }

    pub(super) fn set_times(&self, node: &Node, path: &str, last: Last, times: &Timestamps) -> Result<(), Code> {
        let (_, entry) = self.enter(node, path, last, Need::Write)?;
        entry.stat().map_err(code)?;
        self.counted(true, || utimensat(&entry.folder, &entry.name, times, AtFlags::SYMLINK_NOFOLLOW).map_err(code))
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
        if rules::links_refused(&self.lines, &self.mounts().mounts[mount].path) {
            let attempted = format!("fs symlink {}", entry.path);
            let allow_with = "# no symlinks are made where a line holds for one entry only or shuts one".to_owned();
            self.ledger.refuse(crate::capability::Refusal { attempted, allow_with });
            return Err(Code::Access);
        }
        Ok(())
    }
}
