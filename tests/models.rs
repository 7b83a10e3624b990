//! Models as the runner has them: real HTTP against stand-ins for the providers.

mod aimock;
mod chain;
mod trouble;
mod wire;
