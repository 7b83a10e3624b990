//! Every way into and around a folder.

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::time::{Duration, SystemTime};

use anyhow::Context;
use pausegate_sdk::{Failure, Kind, Result, tool};
use schemars::JsonSchema;
use serde::Deserialize;

/// What `fs` can try.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Op {
    /// The file's text.
    Read,
    /// Writes `text`, creating or truncating.
    Write,
    /// Creates an empty file, or opens it without truncating.
    Create,
    /// Creates an empty file, where none is.
    CreateNew,
    /// Makes a file empty that is there.
    Truncate,
    /// Adds `text` to a file that is there.
    Append,
    /// Opens for reading and writing, and does neither.
    OpenRw,
    /// Opens for reading with a slash added.
    OpenTrailing,
    /// The file's size set to 1.
    SetLen,
    Mkdir,
    Rmdir,
    /// Removes a folder with all that is in it.
    RmdirAll,
    Unlink,
    /// To `to`.
    Rename,
    /// A copy at `to`.
    Copy,
    /// A hard link at `to`.
    Link,
    /// A symlink at `to` that holds `path`.
    Symlink,
    ReadLink,
    Canonicalize,
    /// Names, sorted, one per line.
    List,
    /// Kind and size.
    Stat,
    /// The same, of a symlink itself.
    Lstat,
    /// Modified one second after the epoch.
    SetTimes,
}

/// Tries one operation; the result is `ok`, `ok: …` or `error: KIND`.
// The function cannot be named `fs` too: its tool is a type, and std's module is one.
#[tool(name = "fs")]
pub(crate) fn fs_op(op: Op, path: String, to: Option<String>, text: Option<String>) -> Result<String> {
    attempt(op, &path, to, text)
}

/// One operation of `fs_all`.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct One {
    pub(crate) op: Op,
    pub(crate) path: String,
    pub(crate) to: Option<String>,
}

/// Tries operations one after the other; a line for each.
#[tool]
pub(crate) fn fs_all(ops: Vec<One>) -> Result<String> {
    let said = ops.into_iter().map(|one| attempt(one.op, &one.path, one.to, None)).collect::<Result<Vec<_>>>()?;
    Ok(said.join("\n"))
}

/// The same as `fs`, declared read-only.
#[tool(effects = "read-only")]
pub(crate) fn fs_as_reader(op: Op, path: String, to: Option<String>, text: Option<String>) -> Result<String> {
    attempt(op, &path, to, text)
}

/// Adds a line to a file and then waits: an effect without a result, if it is stopped.
#[tool]
pub(crate) fn append_then_sleep(path: String, line: String, ms: u64) -> Result<String> {
    let mut file = OpenOptions::new().append(true).create(true).open(&path).with_context(|| format!("open `{path}`"))?;
    writeln!(file, "{line}").with_context(|| format!("append to `{path}`"))?;
    std::thread::sleep(Duration::from_millis(ms));
    Ok(format!("appended to {path}"))
}

pub(crate) fn attempt(op: Op, path: &str, to: Option<String>, text: Option<String>) -> Result<String> {
    let needs_to = matches!(op, Op::Rename | Op::Copy | Op::Link | Op::Symlink);
    if needs_to && to.is_none() {
        return Err(Failure::new(Kind::InvalidInput, "`to` is missing").into());
    }
    let said = run(op, path, &to.unwrap_or_default(), text.as_deref().unwrap_or("probe\n"));
    Ok(match said {
        Ok(said) if said.is_empty() => "ok".into(),
        Ok(said) => format!("ok: {said}"),
        Err(error) => format!("error: {:?}", error.kind()),
    })
}

fn run(op: Op, path: &str, to: &str, text: &str) -> std::io::Result<String> {
    let nothing = |()| String::new();
    match op {
        Op::Read => fs::read_to_string(path),
        Op::Write => fs::write(path, text).map(nothing),
        Op::Create => OpenOptions::new().write(true).create(true).truncate(false).open(path).map(drop).map(nothing),
        Op::CreateNew => File::create_new(path).map(drop).map(nothing),
        Op::Truncate => OpenOptions::new().write(true).truncate(true).open(path).map(drop).map(nothing),
        Op::Append => OpenOptions::new().append(true).open(path)?.write_all(text.as_bytes()).map(nothing),
        Op::OpenRw => OpenOptions::new().read(true).write(true).open(path).map(drop).map(nothing),
        Op::OpenTrailing => {
            let mut read = String::new();
            File::open(format!("{path}/"))?.read_to_string(&mut read).map(|_| read)
        }
        Op::SetLen => OpenOptions::new().write(true).open(path)?.set_len(1).map(nothing),
        Op::Mkdir => fs::create_dir(path).map(nothing),
        Op::Rmdir => fs::remove_dir(path).map(nothing),
        Op::RmdirAll => fs::remove_dir_all(path).map(nothing),
        Op::Unlink => fs::remove_file(path).map(nothing),
        Op::Rename => fs::rename(path, to).map(nothing),
        Op::Copy => fs::copy(path, to).map(|_| String::new()),
        Op::Link => fs::hard_link(path, to).map(nothing),
        #[expect(deprecated, reason = "the one stable way in std that is the same on every target")]
        Op::Symlink => fs::soft_link(path, to).map(nothing),
        Op::ReadLink => fs::read_link(path).map(|target| target.to_string_lossy().into_owned()),
        Op::Canonicalize => fs::canonicalize(path).map(|target| target.to_string_lossy().into_owned()),
        Op::List => list(path),
        Op::Stat => fs::metadata(path).map(|found| describe(&found)),
        Op::Lstat => fs::symlink_metadata(path).map(|found| describe(&found)),
        Op::SetTimes => {
            let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
            File::open(path)?.set_modified(modified).map(nothing)
        }
    }
}

fn list(path: &str) -> std::io::Result<String> {
    let name = |entry: std::io::Result<fs::DirEntry>| Ok(entry?.file_name().to_string_lossy().into_owned());
    let mut names = fs::read_dir(path)?.map(name).collect::<std::io::Result<Vec<_>>>()?;
    names.sort();
    Ok(names.join("\n"))
}

fn describe(found: &fs::Metadata) -> String {
    let kind = match found.file_type() {
        kind if kind.is_dir() => "folder",
        kind if kind.is_symlink() => "symlink",
        _ => "file",
    };
    format!("{kind} {}", found.len())
}
