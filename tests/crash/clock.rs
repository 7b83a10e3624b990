//! A wall clock that is off, or jumps: a library that stands before the C library in one process.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;

const SOURCE: &str = include_str!("clock.c");

/// Puts the wall clock of the process that `command` starts wrong, as `shifts` says.
pub fn shift(command: &mut Command, shifts: &str) {
    command.env("LD_PRELOAD", library()).env("SHIFTS", shifts);
}

fn library() -> &'static Path {
    static LIBRARY: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, library) = LIBRARY.get_or_init(|| {
        let folder = TempDir::new().unwrap();
        let (source, library) = (folder.path().join("clock.c"), folder.path().join("clock.so"));
        std::fs::write(&source, SOURCE).unwrap();
        let made = Command::new("cc").args(["-O1", "-shared", "-fPIC", "-o"]).args([&library, &source]).arg("-ldl").status();
        assert!(made.expect("a C compiler, `cc`, which linking needs too").success());
        (folder, library)
    });
    library
}
