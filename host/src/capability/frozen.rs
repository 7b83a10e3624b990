//! A use of an approved-only grant that no approval covered: held back at the host call and frozen, so that a person
//! decides on exactly that use.

use serde::{Deserialize, Serialize};

use super::{Access, Held, HeldFs, guest_path, is_safe, pattern::UrlPattern};
use crate::digest::Digest;

/// Bytes of a request's body that waits for a person: it is kept whole until it is hashed.
pub const FROZEN_BODY_BYTES_MAX: usize = 256 << 10;
/// Bytes of such a body that are shown.
pub const PREVIEW_BYTES_MAX: usize = 2 << 10;
/// Bytes of a path or URL that is frozen; a longer one is refused.
pub const FROZEN_NAME_BYTES_MAX: usize = 4 << 10;

/// All that approving a `capability` pause opens, once: another attempt must make the same use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "door", rename_all = "lowercase")]
pub enum FrozenUse {
    Fs(FsUse),
    Http(HttpUse),
    Kv(KvUse),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FsUse {
    pub operation: FsOperation,
    /// Guest path, absolute and in normal form.
    pub path: String,
    /// The other end of a rename or a hard link, what a symlink points to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FsOperation {
    /// Metadata: whether it exists, its size and times.
    Look,
    Read,
    List,
    /// Create, change or empty a file.
    Write,
    CreateFolder,
    RemoveFile,
    RemoveFolder,
    Rename,
    Link,
    Symlink,
    SetTimes,
}

impl FsOperation {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Look => "look at",
            Self::Read => "read",
            Self::List => "list",
            Self::Write => "write",
            Self::CreateFolder => "create folder",
            Self::RemoveFile => "delete file",
            Self::RemoveFolder => "delete folder",
            Self::Rename => "rename",
            Self::Link => "hard-link",
            Self::Symlink => "symlink",
            Self::SetTimes => "set times of",
        }
    }

    pub fn access(self) -> Access {
        match self {
            Self::Look | Self::Read | Self::List => Access::Read,
            _ => Access::Write,
        }
    }
}

/// A request as the guest wrote it, before anything of the host's is added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpUse {
    pub method: String,
    /// In normal form, with its query.
    pub url: String,
    /// The guest's own, names in lower case, sorted.
    pub headers: Vec<(String, String)>,
    pub body_digest: Digest,
    pub body_bytes: u64,
    /// The body's first bytes as text; what is no text is shown as U+FFFD.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub preview: String,
}

/// One use of a plugin's values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KvUse {
    pub operation: KvOperation,
    pub keys: Vec<String>,
    /// Of the values to set, one after the other with their lengths.
    pub digest: Digest,
    pub bytes: u64,
    /// The first value's first bytes as text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub preview: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KvOperation {
    Get,
    List,
    Set,
    Delete,
    Increment,
}

impl KvOperation {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list the keys",
            Self::Set => "set",
            Self::Delete => "delete",
            Self::Increment => "increment",
        }
    }

    pub fn access(self) -> Access {
        match self {
            Self::Get | Self::List => Access::Read,
            Self::Set | Self::Delete | Self::Increment => Access::Write,
        }
    }
}

impl FrozenUse {
    /// Whether making it can change anything outside.
    pub fn is_effectful(&self) -> bool {
        match self {
            Self::Fs(fs) => fs.operation.access() == Access::Write,
            Self::Http(http) => !is_safe(&http.method),
            Self::Kv(kv) => kv.operation.access() == Access::Write,
        }
    }

    /// Whether lines in force allow it, so that nobody needs to be asked.
    pub fn is_held(&self, held: &Held) -> bool {
        match self {
            Self::Fs(fs) => fs.ends().all(|path| covered(&held.fs, path, fs.operation)),
            Self::Kv(kv) => held.kv.iter().any(|line| line.access >= kv.operation.access()),
            Self::Http(http) => held.http.iter().any(|line| {
                let url = http.url.parse().ok();
                line.methods.contains(&http.method) && url.is_some_and(|url| UrlPattern::parse(&line.url).is_ok_and(|line| line.matches(&url)))
            }),
        }
    }
}

impl FsUse {
    /// The entries that it touches.
    pub fn ends(&self) -> impl Iterator<Item = &str> {
        let to = self.to.as_deref().filter(|_| matches!(self.operation, FsOperation::Rename | FsOperation::Link));
        std::iter::once(self.path.as_str()).chain(to)
    }
}

/// Some line covers the path for this operation, and no `none` line does. Names in a folder are below it, so that a line
/// for exactly one entry lists nothing.
pub fn covered(lines: &[HeldFs], path: &str, operation: FsOperation) -> bool {
    let access = operation.access();
    let covers = |line: &HeldFs| match &line.only {
        Some(only) => only == path && operation != FsOperation::List,
        None => guest_path::covers(&line.mount, path),
    };
    !covered_by_none(lines, path) && lines.iter().any(|line| line.access >= access && line.access != Access::None && covers(line))
}

pub fn covered_by_none(lines: &[HeldFs], path: &str) -> bool {
    lines.iter().any(|line| line.access == Access::None && guest_path::covers(line.only.as_deref().unwrap_or(&line.mount), path))
}

impl std::fmt::Display for FrozenUse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fs(FsUse { operation, path, to: None }) => write!(f, "fs {} {path}", operation.as_str()),
            Self::Fs(FsUse { operation, path, to: Some(to) }) => write!(f, "fs {} {path} to {to}", operation.as_str()),
            Self::Kv(kv) => {
                write!(f, "kv {}{}{}", kv.operation.as_str(), if kv.keys.is_empty() { "" } else { " " }, kv.keys.join(", "))?;
                if kv.bytes > 0 { write!(f, ", {} bytes ({}): {}", kv.bytes, kv.digest, kv.preview) } else { Ok(()) }
            }
            Self::Http(http) => write!(f, "http {} {} with a body of {} bytes ({})", http.method, http.url, http.body_bytes, http.body_digest),
        }
    }
}
