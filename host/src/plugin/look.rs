//! A file looked at before it is a plugin: what it declares, and why it cannot be one.

use std::path::Path;

use super::contract::Declared;
use super::load::read_limited;
use crate::digest::Digest;

/// What stands in a file's bytes; nothing of it ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    pub bytes: u64,
    pub digest: Digest,
    /// `None` where it is no component.
    pub declared: Option<Declared>,
}

/// Reads the file as loading would; the error says why it could not.
pub fn look(file: &Path) -> Result<Look, String> {
    let bytes = read_limited(file)?;
    Ok(Look { bytes: bytes.len() as u64, digest: Digest::of_bytes(&bytes), declared: Declared::read(&bytes).ok() })
}
