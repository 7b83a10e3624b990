//! What the operator saw when bytes were trusted, kept so that the next bytes can be compared with it.
//!
//! `<journal>.trusted/<digest>.json`, for this user alone. Nothing is granted by it: a missing or damaged file costs the
//! difference, and the digests are compared all the same.

use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::plugin::Catalogue;

/// Bytes of one file: the largest catalogue that a plugin can have, with room.
const FILE_BYTES_MAX: u64 = 32 << 20;
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Kept {
    version: u32,
    #[serde(flatten)]
    catalogue: Catalogue,
}

/// Whole or not at all: a reader sees the old file or the new one.
pub fn remember(folder: &Path, digest: &Digest, catalogue: &Catalogue) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let kept = Kept { version: VERSION, catalogue: catalogue.clone() };
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&serde_json::to_vec(&kept)?)?;
    file.persist(folder.join(name(digest)))?;
    Ok(())
}

/// `None` where these bytes were trusted elsewhere, or by a program that kept nothing.
pub fn recall(folder: &Path, digest: &Digest) -> Option<Catalogue> {
    let mut bytes = Vec::new();
    File::open(folder.join(name(digest))).ok()?.take(FILE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let kept: Kept = serde_json::from_slice(&bytes).ok()?;
    (kept.version == VERSION).then_some(kept.catalogue)
}

fn name(digest: &Digest) -> String {
    format!("{}.json", digest.hex())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::plugin::Want;

    #[test]
    fn what_was_trusted_is_read_back_and_private() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("state/journal.db.trusted");
        let (digest, other) = (Digest::of_bytes(b"a"), Digest::of_bytes(b"b"));
        let want = Want { capability: "fs".into(), scope: "{}".into(), why: "because".into() };
        let catalogue = Catalogue { tools: Vec::new(), wants: vec![want] };
        assert_eq!(recall(&folder, &digest), None);
        remember(&folder, &digest, &catalogue).unwrap();
        assert_eq!((recall(&folder, &digest), recall(&folder, &other)), (Some(catalogue.clone()), None));
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let file = folder.join(name(&digest));
        assert_eq!((mode(&folder), mode(&file)), (0o700, 0o600));
        for text in ["", "{", r#"{"version":2,"tools":[],"wants":[]}"#] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(recall(&folder, &digest), None, "{text}");
        }
    }

    /// A stored format: this file must stay readable.
    #[test]
    fn the_first_version_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let digest = Digest::of_bytes(b"a");
        let text = format!(
            r#"{{"version":1,"tools":[{{"name":"p__t","plugin":"p","tool":"t","description":"Does.","input_schema":{{"type":"object"}},"effects":"once","plugin_digest":"{digest}"}}],"wants":[{{"capability":"fs","scope":"{{}}","why":"w"}}]}}"#
        );
        std::fs::write(folder.path().join(name(&digest)), text).unwrap();
        let catalogue = recall(folder.path(), &digest).unwrap();
        assert_eq!((catalogue.tools[0].tool.as_str(), catalogue.wants[0].why.as_str()), ("t", "w"));
    }
}
