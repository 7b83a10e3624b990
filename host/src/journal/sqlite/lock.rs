//! The lock that says a live process holds a chain: a file lock, which the operating system frees with the process.
//!
//! The file is removed by whoever lets go of it. So a lock counts only while its file still stands at its path:
//! otherwise two processes could each hold one, the first on the file that was removed.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A look by [`is_held`] holds the file for a moment; what is locked for longer than these tries is really held.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(4);
/// Files seen removed under the lock; each means that a holder let go just then.
const REMOVED_MAX: u32 = 16;

/// Locked until dropped.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    file: File,
}

impl Lock {
    /// `None` where another open file holds it, in this process or in another.
    pub fn take(path: &Path) -> io::Result<Option<Self>> {
        if let Some(folder) = path.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        for _ in 0..REMOVED_MAX {
            let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
            if !locks(&file)? {
                return Ok(None);
            }
            if stands_at(&file, path)? {
                return Ok(Some(Self { path: path.to_owned(), file }));
            }
        }
        Ok(None)
    }
}

impl Drop for Lock {
    /// Removed before it is let go: while it is locked nobody else can believe in it.
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        let _ = self.file.unlock();
    }
}

/// Whether a live process holds the lock at `path`. Shared, so that two who look do not see each other.
pub fn is_held(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

fn locks(file: &File) -> io::Result<bool> {
    for tried in 1..=TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) if tried < TRIES => std::thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => break,
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(false)
}

fn stands_at(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    match fs::metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (ours.dev(), ours.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
