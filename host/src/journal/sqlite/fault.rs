//! What SQLite and the file system say, in words that an operator can act on.

use std::path::Path;

use rusqlite::{Error, ErrorCode};

use crate::journal::JournalError;

pub fn sqlite(path: &Path, error: &Error) -> JournalError {
    if is_busy(error) {
        return JournalError::Busy { path: path.display().to_string() };
    }
    let words = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => "the disk is full; nothing of this write was kept",
        Some(ErrorCode::ReadOnly) => "is read-only",
        Some(ErrorCode::CannotOpen) => "cannot be opened; its file and folder must be readable and writable",
        Some(ErrorCode::PermissionDenied) => "permission denied",
        Some(ErrorCode::NotADatabase) => "is not a journal: the file is no database",
        Some(ErrorCode::DatabaseCorrupt) => "is damaged",
        Some(ErrorCode::SystemIoFailure) => "reading or writing the disk failed; nothing of this write was kept",
        _ => return away(path, error),
    };
    away(path, format!("{words} ({error})"))
}

pub fn io(path: &Path, error: &std::io::Error) -> JournalError {
    away(path, error)
}

pub fn away(path: &Path, message: impl std::fmt::Display) -> JournalError {
    JournalError::Away { path: path.display().to_string(), message: message.to_string() }
}

pub fn is_busy(error: &Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// A fault of what was written, not of the store: the rest of a transaction need not suffer for it.
pub fn is_of_one_write(error: &Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::ConstraintViolation | ErrorCode::TooBig))
}
