//! Models as the runner has them: real HTTP against stand-ins for the providers.

// Helpers count as tests, too: clippy allows `unwrap` in them.
#![cfg(test)]

mod aimock;
mod chain;
mod recorder;
mod trouble;
mod verbatim;
mod wire;
