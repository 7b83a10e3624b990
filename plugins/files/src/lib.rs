//! Files in the folders that the operator mounted. Deleting asks first.

use std::fs;

use anyhow::Context;
use pausegate_sdk::{Call, Failure, Kind, Result, Want, tool};

/// The most bytes that `read` hands to a model; more than fits in a context window.
const READ_BYTES_MAX: u64 = 256 * 1024;

/// Lists what is in a folder, one name per line. Folders end with a slash.
#[tool(effects = "read-only")]
fn list(
    /// The folder, such as `/build`.
    path: String,
) -> anyhow::Result<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(&path).with_context(|| format!("list `{path}`"))? {
        let entry = entry.with_context(|| format!("list `{path}`"))?;
        let slash = if entry.file_type()?.is_dir() { "/" } else { "" };
        names.push(format!("{}{slash}", entry.file_name().to_string_lossy()));
    }
    names.sort();
    Ok(names.join("\n"))
}

/// Reads a text file.
#[tool(effects = "read-only")]
fn read(
    /// The file, such as `/build/notes.txt`.
    path: String,
) -> anyhow::Result<String> {
    let bytes = fs::metadata(&path).with_context(|| format!("read `{path}`"))?.len();
    if bytes > READ_BYTES_MAX {
        let message = format!("`{path}` is {bytes} bytes, at most {READ_BYTES_MAX} are read");
        return Err(Failure::new(Kind::TooLarge, message).into());
    }
    let bytes = fs::read(&path).with_context(|| format!("read `{path}`"))?;
    String::from_utf8(bytes).map_err(|_| Failure::new(Kind::InvalidInput, format!("`{path}` is not text")).into())
}

/// Writes a text file, in place of what was there.
#[tool(effects = "idempotent")]
fn write(
    /// The file, such as `/build/notes.txt`.
    path: String,
    /// Its whole new text.
    content: String,
) -> anyhow::Result<String> {
    fs::write(&path, &content).with_context(|| format!("write `{path}`"))?;
    Ok(format!("wrote {} bytes to {path}", content.len()))
}

/// Deletes a file for good. A person is asked first.
#[tool(effects = "once")]
fn delete(
    call: &Call,
    /// The file, such as `/build/a.tmp`.
    path: String,
) -> Result<String> {
    call.ask_approval(format!("Delete {path}"))?;
    fs::remove_file(&path).with_context(|| format!("delete `{path}`"))?;
    Ok(format!("deleted {path}"))
}

pausegate_sdk::export! {
    tools: [list, read, write, delete],
    wants: [Want::fs("/build", "write", "lists, reads, writes and deletes files there")],
}

#[cfg(test)]
mod tests;
