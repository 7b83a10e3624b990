//! `pausegate serve` from outside: the real binary, real sockets.

mod access;
mod chains;
mod changes;
mod clients;
mod decisions;
mod load;
mod serving;
mod slow;
mod tokens;

pub use serving::{Client, Serving};
