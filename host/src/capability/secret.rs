//! A secret that a grant line puts into requests: its name, where it is kept and where it goes, never its value.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Bytes of a value: a shorter one can be guessed, and would be found in innocent text.
pub const BYTES_MIN: usize = 12;
/// Bytes of a value: servers take no longer headers, and every spelling of it is held in memory.
pub const BYTES_MAX: usize = 4 << 10;
/// Bytes of a name: it stands in place of the value wherever that is taken out.
pub const NAME_BYTES_MAX: usize = 64;

/// Under which entries of the keyring stand.
pub const KEYRING_SERVICE: &str = "pausegate";

/// One secret of one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secret {
    pub name: String,
    pub source: Source,
    pub slot: Slot,
    /// What is sent; `{}` in it stands for the value.
    pub format: String,
}

/// Where the host keeps the value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// The host's environment variable of the secret's name.
    Env,
    /// Absolute path; one line of text.
    File(PathBuf),
    /// The entry of the secret's name for the service `pausegate` in the keyring of whoever runs the host.
    Keyring,
}

/// Where in a request it goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Slot {
    /// Lower case.
    Header(String),
    Query(String),
}

impl Secret {
    pub fn formatted(&self, value: &str) -> String {
        self.format.replacen("{}", value, 1)
    }

    /// For the operator: where the value is looked for.
    pub fn place(&self) -> String {
        match &self.source {
            Source::Env => format!("environment variable `{}`", self.name),
            Source::File(path) => format!("file `{}`", path.display()),
            Source::Keyring => format!("keyring entry `{}` of service `{KEYRING_SERVICE}`", self.name),
        }
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "secret {} in {}", self.name, self.slot)
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(name) => write!(f, "header {name}"),
            Self::Query(name) => write!(f, "query {name}"),
        }
    }
}
