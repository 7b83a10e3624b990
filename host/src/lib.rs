//! Pausegate: a chain of language model and sandboxed tools that pauses for people and goes on in any process.

pub mod call;
pub mod capability;
pub mod chain;
pub mod clock;
pub mod commands;
pub mod config;
mod counted;
pub mod digest;
pub mod event;
mod file;
pub mod journal;
pub mod model;
pub mod notice;
pub mod notify;
pub mod pause;
pub mod plugin;
pub mod project;
pub mod report;
pub mod runner;
pub mod server;
pub mod state;

/// The fuzzers' targets, which run as ordinary tests too.
#[cfg(test)]
#[path = "../../fuzz/src"]
mod fuzz {
    pub mod targets;
}

/// Its example in Rust runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
