//! Compiled code and catalogues on disk, by digest of the plugin's bytes and by the engine that compiled them.
//!
//! `<dir>/<engine>/<digest>.cwasm` is native code: only files that this process's user alone can write are loaded, and
//! a length and checksum beside it (`.json`) catch a cut or damaged one. `<digest>.tools.json` is what `list-tools`
//! said. A file that does not fit is dropped and made again; a cache that cannot be written is not an error.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::digest::Digest;

const READ_CHUNK: usize = 1 << 20;

#[derive(Clone, Debug)]
pub struct Cache {
    /// `None` compiles anew each time.
    dir: Option<PathBuf>,
}

/// What a `.cwasm` must be.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Seal {
    bytes: u64,
    crc32: u32,
}

impl Cache {
    /// The cache below `dir`; why it is not used stands beside it.
    pub fn open(dir: Option<&Path>, engine: &Engine) -> (Self, Option<String>) {
        let Some(dir) = dir else { return (Self { dir: None }, None) };
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        let own = dir.join(format!("{:016x}", hasher.finish()));
        match private_dir(dir).and_then(|()| private_dir(&own)) {
            Ok(()) => (Self { dir: Some(own) }, None),
            Err(reason) => (Self { dir: None }, Some(reason)),
        }
    }

    pub fn load_code(&self, engine: &Engine, digest: &Digest) -> Option<Component> {
        let path = self.path(digest, "cwasm")?;
        let seal: Seal = self.read_json(digest, "json")?;
        if seal_of(&path).ok()? != seal {
            self.forget(digest);
            return None;
        }
        #[expect(unsafe_code, reason = "compiling anew at every start takes seconds")]
        // SAFETY: the file stands in a directory that only this user can write, was written by `store_code` from what
        // this engine compiled (the directory is named by its compatibility hash), and is whole (length and checksum).
        let loaded = unsafe { Component::deserialize_file(engine, &path) };
        loaded.inspect_err(|_| self.forget(digest)).ok()
    }

    /// Loads what `code` holds, from disk where that works: mapped pages are shared between processes.
    pub fn store_code(&self, engine: &Engine, digest: &Digest, code: &[u8]) -> wasmtime::Result<Component> {
        if let Some(path) = self.path(digest, "cwasm") {
            let seal = Seal { bytes: code.len() as u64, crc32: crc32fast::hash(code) };
            let stored = replace(&path, code).and_then(|()| self.write_json(digest, "json", &seal));
            if stored.is_ok()
                && let Some(component) = self.load_code(engine, digest)
            {
                return Ok(component);
            }
        }
        #[expect(unsafe_code, reason = "wasmtime has no other way from compiled code to a component")]
        // SAFETY: `code` was compiled by this engine in this process.
        unsafe {
            Component::deserialize(engine, code)
        }
    }

    pub fn load_catalog<T: DeserializeOwned>(&self, digest: &Digest) -> Option<T> {
        self.read_json(digest, "tools.json")
    }

    pub fn store_catalog(&self, digest: &Digest, catalog: &impl Serialize) {
        // A cache that cannot be written costs time at the next start, nothing else.
        let _ = self.write_json(digest, "tools.json", catalog);
    }

    fn forget(&self, digest: &Digest) {
        for ending in ["json", "cwasm"] {
            if let Some(path) = self.path(digest, ending) {
                let _ = fs::remove_file(path);
            }
        }
    }

    fn path(&self, digest: &Digest, ending: &str) -> Option<PathBuf> {
        Some(self.dir.as_ref()?.join(format!("{}.{ending}", digest.hex())))
    }

    fn read_json<T: DeserializeOwned>(&self, digest: &Digest, ending: &str) -> Option<T> {
        serde_json::from_slice(&fs::read(self.path(digest, ending)?).ok()?).ok()
    }

    fn write_json(&self, digest: &Digest, ending: &str, value: &impl Serialize) -> std::io::Result<()> {
        match self.path(digest, ending) {
            Some(path) => replace(&path, &serde_json::to_vec(value)?),
            None => Ok(()),
        }
    }
}

/// Makes `dir` for this user alone, or says why it cannot be trusted with native code.
fn private_dir(dir: &Path) -> Result<(), String> {
    let told = |what: String| format!("compiled code is not kept: `{}` {what}", dir.display());
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|error| told(format!("cannot be made: {error}")))?;
    let found = fs::metadata(dir).map_err(|error| told(format!("cannot be read: {error}")))?;
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(told("belongs to another user".to_owned()));
    }
    if found.mode() & 0o022 != 0 {
        return Err(told("can be written by others".to_owned()));
    }
    Ok(())
}

/// Writes beside `path` (0600) and renames: a reader sees the old file or the new one, whole.
fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(path.parent().expect("a file in a directory"))?;
    file.write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}

fn seal_of(path: &Path) -> std::io::Result<Seal> {
    let mut file = File::open(path)?;
    let mut hasher = crc32fast::Hasher::new();
    let mut chunk = vec![0; READ_CHUNK];
    let mut bytes = 0;
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(Seal { bytes, crc32: hasher.finalize() }),
            read => {
                hasher.update(&chunk[..read]);
                bytes += read as u64;
            }
        }
    }
}
