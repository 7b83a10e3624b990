//! What SQLite and the file system say, in words that an operator can act on.

use std::path::Path;

use rusqlite::{Error, ErrorCode};

use crate::journal::JournalError;

pub fn sqlite(path: &Path, error: &Error) -> JournalError {
    if is_busy(error) {
        return JournalError::Busy { path: path.display().to_string() };
    }
    let words = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => return away(path, told("the disk is full; nothing of this write was kept", error)),
        Some(ErrorCode::SystemIoFailure) => return away(path, told("reading or writing the disk failed; nothing of this write was kept", error)),
        Some(ErrorCode::OutOfMemory | ErrorCode::OperationInterrupted | ErrorCode::OperationAborted) => return away(path, error),
        Some(ErrorCode::ReadOnly) => "is read-only",
        Some(ErrorCode::CannotOpen) => "cannot be opened; its file and folder must be readable and writable",
        Some(ErrorCode::PermissionDenied) => "permission denied",
        Some(ErrorCode::NotADatabase) => "is not a journal: the file is no database",
        // A row that does not read as what was written there has no code of SQLite's.
        Some(ErrorCode::DatabaseCorrupt) | None => "is damaged",
        Some(_) => return unusable(path, error),
    };
    unusable(path, told(words, error))
}

fn told(words: &str, error: &Error) -> String {
    format!("{words} ({error})")
}

pub fn io(path: &Path, error: &std::io::Error) -> JournalError {
    io_told(path, error, error)
}

/// The same in other words.
pub fn io_told(path: &Path, error: &std::io::Error, message: impl std::fmt::Display) -> JournalError {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::OutOfMemory | ErrorKind::Interrupted | ErrorKind::ResourceBusy => {
            away(path, message)
        }
        _ => unusable(path, message),
    }
}

/// SQLite goes on writing to a file that has no name any more; nobody would find it again.
pub fn gone(path: &Path) -> JournalError {
    away(path, "was taken away or replaced while it was in use; nothing of this write was kept; put it back and go on with `resume`")
}

pub fn away(path: &Path, message: impl std::fmt::Display) -> JournalError {
    JournalError::Away { path: path.display().to_string(), message: message.to_string() }
}

pub fn unusable(path: &Path, message: impl std::fmt::Display) -> JournalError {
    JournalError::Unusable { path: path.display().to_string(), message: message.to_string() }
}

pub fn is_busy(error: &Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// A fault of what was written, not of the store: the rest of a transaction need not suffer for it.
pub fn is_of_one_write(error: &Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::ConstraintViolation | ErrorCode::TooBig))
}
