//! `pausegate trust`: the digest of a plugin's bytes, or a standing approval, into the grants file.
//!
//! The operator runs it; no tool, prompt, page or protocol reaches it. Only the digest's own characters are replaced,
//! so comments, order and line ends stay; the file changes whole or not at all.

use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::document::{Document, Section};
use super::grants::{is_plugin_name, version};
use super::{ConfigError, read_file};
use crate::digest::Digest;

mod always;

pub use always::{Placed, STANDING_DAYS, Standing, always};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Write,
    /// All checks, and the file stays as it is.
    DryRun,
}

/// What `trust` did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trusted {
    /// The file that was written, links followed.
    pub file: PathBuf,
    /// As it stood there: a digest, `any`, or something unreadable.
    pub old: Option<String>,
    pub new: Digest,
    /// The file did not exist before.
    pub created: bool,
}

impl Trusted {
    pub fn changed(&self) -> bool {
        self.old.as_deref() != Some(&*self.new.to_string())
    }
}

/// Pins the plugin's section to these bytes, adding the section or the file where there is none.
pub fn trust(grants_file: &Path, plugin: &str, digest: &Digest, mode: Mode) -> Result<Trusted, ConfigError> {
    if !is_plugin_name(plugin) {
        return Err(ConfigError::setting(plugin, "is no plugin name"));
    }
    let before = read_file(grants_file)?;
    let (old, text) = pinned(grants_file, before.as_deref().unwrap_or(NEW_FILE), plugin, digest)?;
    let mut trusted = Trusted { file: grants_file.to_owned(), old, new: digest.clone(), created: before.is_none() };
    if trusted.changed() && mode == Mode::Write {
        trusted.file = put(grants_file, before.as_deref(), &text)?;
    }
    Ok(trusted)
}

/// What a missing file stands for.
const NEW_FILE: &[u8] = b"version = 1\n";

/// The file with `text` in it, links followed, made where there was none.
fn put(file: &Path, before: Option<&[u8]>, text: &str) -> Result<PathBuf, ConfigError> {
    let unwritable = |source| ConfigError::Unwritable { file: file.to_owned(), source };
    let file = match before {
        Some(_) => file.canonicalize().map_err(unwritable)?,
        None => {
            let folder = file.parent().unwrap_or(Path::new("."));
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(unwritable)?;
            file.to_owned()
        }
    };
    replace(&file, before, text).map_err(unwritable)?;
    Ok(file)
}

/// The old digest, and the file's text with the new one.
fn pinned(file: &Path, bytes: &[u8], plugin: &str, digest: &Digest) -> Result<(Option<String>, String), ConfigError> {
    let document = Document::new(file, bytes)?;
    let table = document.parse()?;
    let root = document.root(&table);
    version(&root)?;
    let line_end = if document.text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut text = document.text.to_owned();
    let mut old = None;
    match section_of(&root, plugin)? {
        Some(section) => match section.get("digest") {
            Some(item) => {
                old = Some(item.text()?.to_owned());
                text.replace_range(item.span(), &format!("\"{digest}\""));
            }
            None => text.insert_str(after_header(&section, document.text, plugin)?, &format!("digest = \"{digest}\"{line_end}")),
        },
        None => {
            let gap = if text.ends_with('\n') || text.is_empty() { line_end.to_owned() } else { line_end.repeat(2) };
            text.push_str(&format!("{gap}[plugins.{plugin}]{line_end}digest = \"{digest}\"{line_end}"));
        }
    }
    verify(file, &text, plugin, digest)?;
    Ok((old, text))
}

fn section_of<'d>(root: &Section<'d>, plugin: &str) -> Result<Option<Section<'d>>, ConfigError> {
    let Some(plugins) = root.get("plugins") else { return Ok(None) };
    plugins.section()?.get(plugin).map(|item| item.section()).transpose()
}

/// The start of the line below `[plugins.NAME]`.
fn after_header(section: &Section<'_>, text: &str, plugin: &str) -> Result<usize, ConfigError> {
    let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
    let header = starts.filter(|start| *start < text.len()).nth(section.line() - 1).unwrap_or(0);
    let line = text[header..].split_inclusive('\n').next().unwrap_or("");
    let compact: String = line.split('#').next().unwrap_or("").chars().filter(|character| !character.is_whitespace()).collect();
    match compact == format!("[plugins.{plugin}]") && line.ends_with('\n') {
        true => Ok(header + line.len()),
        false => Err(section
            .error(format!("`plugins.{plugin}` lacks `digest`, and there is no line `[plugins.{plugin}]` to put it under"))
            .with_hint(format!("write `[plugins.{plugin}]` above its lines"))),
    }
}

/// The changed text says what was meant, or nothing is written.
fn verify(file: &Path, text: &str, plugin: &str, digest: &Digest) -> Result<(), ConfigError> {
    let document = Document::new(file, text.as_bytes())?;
    let table = document.parse()?;
    let section = section_of(&document.root(&table), plugin)?;
    let written = section.and_then(|section| section.get("digest")).map(|item| item.text().map(str::to_owned)).transpose()?;
    match written == Some(digest.to_string()) {
        true => Ok(()),
        false => Err(document
            .error(0, format!("the digest of `{plugin}` cannot be placed"))
            .with_hint(format!("write it by hand: `digest = \"{digest}\"`"))),
    }
}

/// A file beside it takes its place, so that no reader sees half of one and no link is followed on the way.
fn replace(file: &Path, before: Option<&[u8]>, text: &str) -> io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut new = tempfile::Builder::new().prefix(".grants-").suffix(".toml").permissions(PermissionsExt::from_mode(0o600)).tempfile_in(folder)?;
    new.write_all(text.as_bytes())?;
    if before.is_some() {
        new.as_file().set_permissions(std::fs::metadata(file)?.permissions())?;
    }
    new.as_file().sync_all()?;
    match before {
        Some(before) if crate::file::read(file, super::file::FILE_BYTES_MAX)? != before => {
            return Err(io::Error::other("it changed meanwhile; run `pausegate trust` again"));
        }
        Some(_) => new.persist(file)?,
        None => new.persist_noclobber(file).map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => io::Error::other("it was made meanwhile; run `pausegate trust` again"),
            _ => error.error,
        })?,
    };
    std::fs::File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn digests() -> (Digest, Digest) {
        (Digest::of_bytes(b"old"), Digest::of_bytes(b"new"))
    }

    /// The file's text after `files` was trusted.
    fn trusted(text: &str) -> Result<(Trusted, String), ConfigError> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("grants.toml");
        std::fs::write(&file, text).unwrap();
        let trusted = trust(&file, "files", &digests().1, Mode::Write);
        let after = std::fs::read_to_string(&file).unwrap();
        assert!(trusted.is_ok() || after == text);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "something was left behind");
        Ok((trusted?, after))
    }

    #[test]
    fn only_the_digest_changes() {
        let (old, new) = digests();
        for text in [
            format!(
                "# mine\r\nversion = 1\r\n\r\n[plugins.files] # the tool\r\n  digest   =   \"{old}\"  # pinned\r\nenv = {{ A = 'é' }}\r\n[plugins.b]\r\ndigest = \"any\"\r\n"
            ),
            format!("version = 1\nplugins.files.digest = '{old}'\nplugins.b.digest = \"any\""),
            format!("version = 1\nplugins = {{ files = {{ digest = \"{old}\" }} }}"),
            format!("version = 1\n[[plugins.files.fs]]\nmount = \"/a\"\n[plugins.files]\ndigest = \"{old}\""),
        ] {
            let (trusted, after) = trusted(&text).unwrap();
            assert_eq!(after, text.replace(&format!("'{old}'"), &format!("\"{new}\"")).replace(&old.to_string(), &new.to_string()));
            assert_eq!((trusted.old.clone(), trusted.changed(), trusted.created), (Some(old.to_string()), true, false));
        }
        let any = trusted("version = 1\n[plugins.files]\ndigest = \"any\"\n").unwrap();
        assert_eq!((any.0.old.as_deref(), any.1), (Some("any"), format!("version = 1\n[plugins.files]\ndigest = \"{new}\"\n")));
        let same = trusted(&format!("version = 1\n[plugins.files]\ndigest = \"{new}\"\n")).unwrap();
        assert!(!same.0.changed());
    }

    #[test]
    fn a_missing_digest_or_section_is_added() {
        let new = digests().1;
        for (before, after) in [
            ("version = 1", format!("version = 1\n\n[plugins.files]\ndigest = \"{new}\"\n")),
            ("version = 1\r\n", format!("version = 1\r\n\r\n[plugins.files]\r\ndigest = \"{new}\"\r\n")),
            ("version = 1\n[ plugins.files ] # x\nenv = {}\n", format!("version = 1\n[ plugins.files ] # x\ndigest = \"{new}\"\nenv = {{}}\n")),
            ("version = 1\n[[rules]]\ntool = \"*\"\n", format!("version = 1\n[[rules]]\ntool = \"*\"\n\n[plugins.files]\ndigest = \"{new}\"\n")),
        ] {
            assert_eq!(trusted(before).unwrap().1, after);
        }
    }

    #[test]
    fn what_cannot_be_placed_or_read_is_left_alone() {
        for text in [
            "version = 1\n[[plugins.files.fs]]\nmount = \"/a\"\n",
            "version = 1\nplugins = {}\n",
            "version = 2\n",
            "",
            "version = 1\n[plugins\n",
            "version = 1\n[plugins.files]\ndigest = 3\n",
            "version = 1\n[[plugins]]\n",
        ] {
            assert!(trusted(text).is_err(), "{text}");
        }
        assert!(trust(Path::new("/nowhere/grants.toml"), "../x", &digests().1, Mode::Write).is_err());
    }

    #[test]
    fn a_new_file_is_private_and_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a/b/grants.toml");
        let done = trust(&file, "files", &digests().1, Mode::Write).unwrap();
        assert_eq!((done.created, done.old.clone()), (true, None));
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::metadata(file.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
        let grants = crate::config::grants::load(Some(&file), &crate::config::Places::default(), "h").unwrap();
        assert!(grants.plugins["files"].digest.matches(&digests().1) && !grants.plugins["files"].digest.matches(&digests().0));
    }

    #[test]
    fn a_linked_file_stays_linked_and_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("dotfiles.toml"), folder.path().join("grants.toml"));
        std::fs::write(&file, "version = 1\n").unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).unwrap();
        symlink(&file, &link).unwrap();
        trust(&link, "files", &digests().1, Mode::Write).unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(std::fs::read_to_string(&file).unwrap().contains("[plugins.files]"));
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        let dangling = folder.path().join("dangling.toml");
        symlink(folder.path().join("none.toml"), &dangling).unwrap();
        assert!(trust(&dangling, "files", &digests().1, Mode::Write).is_err(), "a link to nothing is not followed");
    }
}
