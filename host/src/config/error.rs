//! A file or setting that cannot be followed, with its line and what to do about it.

use std::io;
use std::path::PathBuf;

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

    pub(super) fn setting(setting: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Setting { setting: setting.into(), reason: reason.into(), hint: None }
    }

    /// Says what to do about it.
    pub(super) fn with_hint(mut self, text: impl Into<String>) -> Self {
        if let Self::Line { hint, .. } | Self::Setting { hint, .. } = &mut self {
            *hint = Some(text.into());
        }
        self
    }
}
