//! A grants or settings file as bytes.

use std::io;
use std::path::Path;

use super::ConfigError;

/// Bytes of a grants or settings file; a larger one is a mistake.
pub(super) const FILE_BYTES_MAX: u64 = 1 << 20;

/// `None` where there is no such file.
pub(super) fn read_file(file: &Path) -> Result<Option<Vec<u8>>, ConfigError> {
    match crate::file::read(file, FILE_BYTES_MAX) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ConfigError::Unreadable { file: file.to_owned(), source }),
    }
}
