//! `pausegate serve` from outside: the real binary, real sockets.

mod access;
mod chains;
mod changes;
mod clients;
mod decisions;
mod load;
mod serving;
mod tokens;

pub use serving::{Client, Serving};
