//! Chains driven on twins of journal, plugins and model: the promises of DESIGN §3 and §4, without a database or wasm;
//! `stores` and `work` are on real databases.

mod allowed;
mod carried;
mod children;
mod crashes;
mod decisions;
mod doubt;
mod expiry;
mod families;
mod fork;
mod held_back;
mod kept;
mod life;
mod memory;
mod narrowing;
mod operators;
mod people;
mod properties;
mod replay;
mod retold;
mod secrets;
mod siblings;
mod steered;
mod stopped;
mod stores;
pub mod twins;
mod work;
