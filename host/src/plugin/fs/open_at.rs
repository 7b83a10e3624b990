//! Opening an entry: what the flags ask for is what must be held.

use std::fs::File;
use std::sync::Arc;

use rustix::fs::{FileType, Mode, OFlags, fstat, openat};
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorFlags, OpenFlags, PathFlags};
use wasmtime_wasi::{FsPerms, OpenMode, filesystem};

use super::act::Act;
use super::node::{Node, OpenFile};
use super::walk::{Folder, Last};
use super::{Code, Lines, code, walk};
use crate::capability::Refusal;
use crate::capability::frozen::FsOperation;
use crate::plugin::ledger::Ending;

/// What a guest asks to open.
pub struct Ask {
    pub path: String,
    pub follow: PathFlags,
    pub open: OpenFlags,
    pub flags: DescriptorFlags,
}

impl Ask {
    fn changes(&self) -> bool {
        self.open.intersects(OpenFlags::CREATE | OpenFlags::TRUNCATE) || self.flags.contains(DescriptorFlags::WRITE)
    }

    fn act(&self) -> Act {
        match (self.changes(), self.open.contains(OpenFlags::DIRECTORY)) {
            (true, _) => Act::new(FsOperation::Write),
            (false, true) => Act { meant: Some(FsOperation::List), ..Act::new(FsOperation::Look) },
            (false, false) => Act { meant: Some(FsOperation::Read), ..Act::new(FsOperation::Look) },
        }
    }

    fn creates(&self) -> bool {
        self.open.intersects(OpenFlags::CREATE | OpenFlags::TRUNCATE)
    }

    fn last(&self) -> Last {
        // An exclusive create never follows a symlink.
        if self.follow.contains(PathFlags::SYMLINK_FOLLOW) && !self.open.contains(OpenFlags::EXCLUSIVE) { Last::Follow } else { Last::Entry }
    }
}

impl Lines {
    pub(super) fn open(&self, node: &Node, ask: &Ask) -> Result<Node, Code> {
        let sync = DescriptorFlags::FILE_INTEGRITY_SYNC | DescriptorFlags::DATA_INTEGRITY_SYNC | DescriptorFlags::REQUESTED_WRITE_SYNC;
        if ask.flags.intersects(sync) {
            return Err(Code::Unsupported);
        }
        if ask.open.contains(OpenFlags::DIRECTORY) && ask.creates() {
            return Err(Code::Invalid);
        }
        // A folder on the way to an exact entry may be opened to pass through, so a look is asked for first.
        let act = ask.act();
        let (mount, entry) = self.enter(node, &ask.path, ask.last(), &act)?;
        let read = Act::new(FsOperation::Read);
        let reading = ask.changes() || self.permits(mount, &read, &entry.path, entry.followed);
        let mut flags = OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if !reading {
            flags |= OFlags::PATH;
        } else if ask.changes() {
            flags |=
                if ask.flags.contains(DescriptorFlags::READ) || !ask.flags.contains(DescriptorFlags::WRITE) { OFlags::RDWR } else { OFlags::WRONLY };
        }
        if reading {
            // Opening a pipe must not wait for its other end.
            flags |= OFlags::NONBLOCK | OFlags::NOCTTY;
        }
        for (asked, flag) in [(OpenFlags::CREATE, OFlags::CREATE), (OpenFlags::EXCLUSIVE, OFlags::EXCL), (OpenFlags::TRUNCATE, OFlags::TRUNC)] {
            if ask.open.contains(asked) {
                flags |= flag;
            }
        }
        if ask.open.contains(OpenFlags::DIRECTORY) || (entry.must_be_folder && !ask.creates()) {
            flags |= OFlags::DIRECTORY;
        } else if entry.must_be_folder {
            return Err(Code::IsDirectory);
        }
        if ask.open.contains(OpenFlags::CREATE) && entry.stat().is_err() {
            self.take_entry()?;
        }
        self.spend(&act, &entry.path);
        let opened = self.counted(ask.creates(), || openat(&entry.folder, &entry.name, flags, Mode::from_raw_mode(0o666)).map_err(code))?;
        let opened = File::from(opened);
        let found = fstat(&opened).map_err(code)?;
        if self.is_shut(walk::identity(&found)) {
            return Err(self.refuse(act.need(), &entry.path));
        }
        match FileType::from_raw_mode(found.st_mode) {
            FileType::Directory => {
                let folder = Folder { handle: Arc::new(opened), path: entry.path, followed: entry.followed };
                Ok(Node::Folder { mount, folder })
            }
            FileType::RegularFile if reading => {
                if ask.changes() {
                    // Counted here, on a thread that may wait, and after what was cut off is gone.
                    self.take_quota(mount, 0)?;
                }
                let changeable = ask.changes() || self.permits_change(mount, &entry.path, entry.followed);
                Ok(file(opened, ask, changeable, Place { mount, path: entry.path, followed: entry.followed }))
            }
            FileType::RegularFile => Err(self.hold_back(&read, &entry.path, entry.followed)),
            _ => {
                let allow_with = "# nothing allows a pipe, a socket or a device; only files and folders are opened".to_owned();
                self.held.ledger.refuse(Refusal { attempted: format!("fs {} {}", act.need().access(), entry.path), allow_with });
                Err(Code::Access)
            }
        }
    }

    /// Counts an operation that changes something before it is made; one that failed changed nothing.
    pub(super) fn counted<T>(&self, changes: bool, operation: impl FnOnce() -> Result<T, Code>) -> Result<T, Code> {
        if !changes {
            return operation();
        }
        self.held.ledger.fs_write().map_err(|Ending| Code::Access)?;
        operation().inspect_err(|_| self.held.ledger.fs_write_failed())
    }
}

/// Where a file stands.
struct Place {
    mount: usize,
    path: String,
    followed: bool,
}

fn file(opened: File, ask: &Ask, changeable: bool, place: Place) -> Node {
    let writable = ask.changes() && (ask.flags.contains(DescriptorFlags::WRITE) || ask.creates());
    let readable = ask.flags.contains(DescriptorFlags::READ) || !ask.flags.contains(DescriptorFlags::WRITE);
    let perms = if writable { FsPerms::ReadWrite } else { FsPerms::ReadOnly };
    let mut mode = OpenMode::empty();
    mode.set(OpenMode::READ, readable);
    mode.set(OpenMode::WRITE, writable);
    let streams = filesystem::File::new(opened, perms, mode, false);
    let file = Arc::clone(&streams.file);
    let streams = filesystem::Descriptor::File(streams);
    let Place { mount, path, followed } = place;
    Node::File(OpenFile { file, streams, readable, writable, changeable, mount, path, followed })
}
