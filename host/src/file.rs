//! Files that somebody names to the program, read whole (settings, grants, scripts, histories) or line by line (exports).
//!
//! Promises: only a regular file is read (links are followed), opening never waits for another end, and no more than
//! the limit is kept at once. A pipe, a device or a folder is an error in words.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// What tells one state of a file from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    /// Seconds and nanoseconds since 1970.
    pub changed: (i64, i64),
}

impl Mark {
    /// `None` where there is no file to be looked at.
    pub fn of(path: &Path) -> Option<Self> {
        let found = std::fs::metadata(path).ok()?;
        Some(Self {
            device: found.dev(),
            inode: found.ino(),
            bytes: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }
}

/// The bytes of a file of at most `bytes_max`.
pub fn read(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("larger than {bytes_max} bytes")));
    }
    Ok(bytes)
}

/// The same as text.
pub fn read_text(path: &Path, bytes_max: u64) -> io::Result<String> {
    String::from_utf8(read(path, bytes_max)?).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// The lines of a file, one at a time.
pub struct Lines {
    file: BufReader<File>,
    bytes_max: u64,
}

/// Each line has at most `bytes_max`.
pub fn lines(path: &Path, bytes_max: u64) -> io::Result<Lines> {
    Ok(Lines { file: BufReader::new(open(path)?), bytes_max })
}

impl Iterator for Lines {
    type Item = io::Result<String>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut bytes = Vec::new();
        let read = self.file.by_ref().take(self.bytes_max.saturating_add(1)).read_until(b'\n', &mut bytes);
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        match read {
            Ok(0) => None,
            Ok(_) if bytes.len() as u64 > self.bytes_max => {
                Some(Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("a line is longer than {} bytes", self.bytes_max))))
            }
            Ok(_) => Some(String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))),
            Err(error) => Some(Err(error)),
        }
    }
}

/// Without `NONBLOCK` the opening of a pipe waits until somebody writes to it.
fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let found = file.metadata()?.file_type();
    match (found.is_file(), found.is_dir()) {
        (true, _) => Ok(file),
        (_, true) => Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder, not a file")),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_regular_file_within_the_limit_is_read() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        std::fs::write(at("file"), "1234").unwrap();
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
        let check = |path: &Path, bytes_max| read(path, bytes_max).map_err(|error| error.to_string());
        assert_eq!(check(&at("file"), 4), Ok(b"1234".to_vec()));
        assert_eq!(check(&at("link"), 4), Ok(b"1234".to_vec()));
        assert_eq!(check(&at("file"), 3), Err("larger than 3 bytes".into()));
        assert_eq!(check(&at("pipe"), 4), Err("it is no regular file".into()));
        assert_eq!(check(Path::new("/dev/zero"), 4), Err("it is no regular file".into()));
        assert_eq!(check(home.path(), 4), Err("it is a folder, not a file".into()));
        std::fs::write(at("file"), "12\n\n345\n6").unwrap();
        let line = |bytes_max| lines(&at("file"), bytes_max).unwrap().map(|line| line.map_err(|error| error.to_string())).take(4).collect::<Vec<_>>();
        assert_eq!(line(3), ["12", "", "345", "6"].map(|line| Ok(line.to_owned())));
        assert_eq!(line(2)[2], Err("a line is longer than 2 bytes".into()));
        assert_eq!(read(&at("missing"), 4).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
