//! From a folder's handle to an entry, component by component: every step holds the folder it stands in, so that
//! nothing swapped meanwhile leads elsewhere than what was checked.

use std::collections::VecDeque;
use std::fs::File;
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, openat, readlinkat, statat};
use rustix::io::Errno;

/// Symlinks followed on one way.
const LINKS_MAX: usize = 40;
/// Components of one way, those of symlinks included.
const COMPONENTS_MAX: usize = 1024;

/// A file's identity on this host.
pub type Identity = (u64, u64);

/// Where a way starts: a folder and the guest's path of it.
#[derive(Clone)]
pub struct Folder {
    pub handle: Arc<File>,
    /// Absolute, in normal form, symlinks resolved.
    pub path: String,
    /// A symlink was followed on the way here.
    pub followed: bool,
}

/// Where a way ended: an entry of a folder, which may or may not exist.
pub struct Entry {
    pub folder: Arc<File>,
    /// `.` for the folder itself.
    pub name: String,
    pub path: String,
    pub followed: bool,
    /// It was written with a slash behind it.
    pub must_be_folder: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// A symlink at the end is the entry itself.
    Entry,
    /// A symlink at the end is followed.
    Follow,
}

#[derive(Debug)]
pub enum Lost {
    /// The way leads out of the folder it started from.
    Outside,
    /// It leads through a place that a `none` line shuts.
    Shut,
    Os(Errno),
}

impl From<Errno> for Lost {
    fn from(errno: Errno) -> Self {
        Self::Os(errno)
    }
}

/// Goes from `start` along `path`; no way may enter a place that `is_shut`.
pub fn walk(start: &Folder, path: &str, last: Last, is_shut: &dyn Fn(&File) -> Result<bool, Errno>) -> Result<Entry, Lost> {
    if path.is_empty() {
        return Err(Errno::NOENT.into());
    }
    if path.starts_with('/') {
        return Err(Lost::Outside);
    }
    let must_be_folder = path.ends_with('/') || matches!(path.rsplit('/').next(), Some("." | ".."));
    let mut left: VecDeque<String> = path.split('/').filter(|part| !matches!(*part, "" | ".")).map(str::to_owned).collect();
    let mut stack = vec![(Arc::clone(&start.handle), String::new())];
    let mut followed = start.followed;
    let (mut links, mut steps) = (0, 0);
    while let Some(part) = left.pop_front() {
        steps += 1;
        if steps > COMPONENTS_MAX {
            return Err(Errno::NAMETOOLONG.into());
        }
        if part == ".." {
            stack.pop();
            if stack.is_empty() {
                return Err(Lost::Outside);
            }
            continue;
        }
        let here = Arc::clone(&stack.last().expect("never empty here").0);
        let at_end = left.is_empty();
        if at_end && (last == Last::Entry || !is_symlink(&here, &part)) {
            return Ok(Entry { path: path_of(start, &stack, Some(&part)), folder: here, name: part, followed, must_be_folder });
        }
        match openat(&here, &part, OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()) {
            Ok(handle) => {
                let handle = File::from(handle);
                if is_shut(&handle)? {
                    return Err(Lost::Shut);
                }
                stack.push((Arc::new(handle), part));
            }
            Err(Errno::NOTDIR | Errno::LOOP) => {
                let target = readlinkat(&here, &part, Vec::new()).map_err(|errno| if errno == Errno::INVAL { Errno::NOTDIR } else { errno })?;
                let target = target.into_string().map_err(|_| Errno::ILSEQ)?;
                links += 1;
                if links > LINKS_MAX {
                    return Err(Errno::LOOP.into());
                }
                if target.starts_with('/') {
                    return Err(Lost::Outside);
                }
                followed = true;
                for part in target.split('/').rev().filter(|part| !matches!(*part, "" | ".")) {
                    left.push_front(part.to_owned());
                }
            }
            Err(errno) => return Err(errno.into()),
        }
    }
    let path = path_of(start, &stack, None);
    let (folder, _) = stack.pop().expect("never empty here");
    Ok(Entry { folder, name: ".".to_owned(), path, followed, must_be_folder: true })
}

impl Entry {
    /// Metadata of the entry itself.
    pub fn stat(&self) -> Result<Stat, Errno> {
        let stat = statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW)?;
        if self.must_be_folder && FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            return Err(Errno::NOTDIR);
        }
        Ok(stat)
    }
}

pub fn identity(stat: &Stat) -> Identity {
    (stat.st_dev, stat.st_ino)
}

fn is_symlink(folder: &File, name: &str) -> bool {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}

fn path_of(start: &Folder, stack: &[(Arc<File>, String)], name: Option<&str>) -> String {
    let mut path = start.path.trim_end_matches('/').to_owned();
    for part in stack.iter().skip(1).map(|(_, part)| part.as_str()).chain(name) {
        path.push('/');
        path.push_str(part);
    }
    if path.is_empty() { "/".to_owned() } else { path }
}
