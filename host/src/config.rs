//! What the operator set: the grants file, settings, places on disk.
//!
//! Reads, checks and reports; nothing here prints. A slip in a file is an error with its line, never a default.

use std::io;
use std::path::{Path, PathBuf};

mod document;
pub mod grants;
pub mod places;
pub mod settings;
pub mod trust;
pub mod trusted;
mod units;
pub mod wanted;
pub mod warnings;
pub mod wassette;

pub use places::Places;
pub use settings::{Flags, Settings, Surroundings};

/// A setting or grants file that cannot be followed (exit 78).
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{}:{line}: {reason}", file.display())]
    Line { file: PathBuf, line: usize, reason: String, hint: Option<String> },
    #[error("{} cannot be read", file.display())]
    Unreadable { file: PathBuf, source: io::Error },
    #[error("{} cannot be written", file.display())]
    Unwritable { file: PathBuf, source: io::Error },
    /// A flag, a variable, or a place that the surroundings do not give.
    #[error("{setting}: {reason}")]
    Setting { setting: String, reason: String, hint: Option<String> },
}

impl ConfigError {
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Line { hint, .. } | Self::Setting { hint, .. } => hint.as_deref(),
            Self::Unreadable { source, file: _ } if source.kind() == io::ErrorKind::NotFound => Some("a file that is named must exist"),
            Self::Unreadable { .. } | Self::Unwritable { .. } => None,
        }
    }

    fn setting(setting: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Setting { setting: setting.into(), reason: reason.into(), hint: None }
    }

    /// Says what to do about it.
    fn with_hint(mut self, text: impl Into<String>) -> Self {
        if let Self::Line { hint, .. } | Self::Setting { hint, .. } = &mut self {
            *hint = Some(text.into());
        }
        self
    }
}

/// Bytes of a grants or settings file; a larger one is a mistake.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// `None` where there is no such file.
fn read_file(file: &Path) -> Result<Option<Vec<u8>>, ConfigError> {
    match crate::file::read(file, FILE_BYTES_MAX) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ConfigError::Unreadable { file: file.to_owned(), source }),
    }
}
