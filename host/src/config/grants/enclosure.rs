//! What runs the host: no grant may contain, equal or lie inside it, by whatever path it is named.

use std::io;
use std::path::{Path, PathBuf};

use crate::config::places::{Places, ways};

pub(super) struct Enclosure {
    guarded: Vec<(&'static str, PathBuf)>,
}

impl Enclosure {
    pub fn around(places: &Places, grants_file: &Path, secrets: Vec<PathBuf>) -> Self {
        let mut guarded = places.guarded();
        guarded.push(("the grants file", grants_file.to_owned()));
        guarded.extend(secrets.into_iter().map(|path| ("a secret's file", path)));
        Self { guarded: guarded.iter().flat_map(|(what, path)| ways(path).into_iter().map(|way| (*what, way))).collect() }
    }

    /// What a resolved path would give away.
    pub fn reached_by(&self, path: &Path) -> Option<&'static str> {
        self.guarded.iter().find(|(_, guarded)| guarded.starts_with(path) || path.starts_with(guarded)).map(|(what, _)| *what)
    }
}

/// Without any symlink; of a path that is not there yet, the part that is.
pub(super) fn resolve(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Ok(path) => Ok(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if path.symlink_metadata().is_ok() {
                return Err(io::Error::other("it is a symlink to nothing"));
            }
            match (path.parent(), path.file_name()) {
                (Some(parent), Some(name)) => Ok(resolve(if parent.as_os_str().is_empty() { Path::new(".") } else { parent })?.join(name)),
                _ => Err(error),
            }
        }
        Err(error) => Err(error),
    }
}
