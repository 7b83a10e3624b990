//! Settings that the operator made for this plugin: `config = { units = "metric" }` in its section.
//!
//! ```
//! use pausegate_sdk::config;
//!
//! config::stub([("units", "metric")]);
//! assert_eq!(config::get("units").unwrap().as_deref(), Some("metric"));
//! assert_eq!(config::get("place").unwrap(), None);
//! ```

use std::collections::BTreeMap;

use crate::failure::Failure;

#[cfg(not(target_family = "wasm"))]
mod stub;
#[cfg(target_family = "wasm")]
mod wasi;

#[cfg(not(target_family = "wasm"))]
use stub as store;
#[cfg(target_family = "wasm")]
use wasi as store;

#[cfg(not(target_family = "wasm"))]
pub use stub::stub;

/// The setting of this name, if the operator made it.
///
/// # Errors
/// When the host cannot read its settings.
pub fn get(name: &str) -> Result<Option<String>, Failure> {
    store::get(name)
}

/// All settings.
///
/// # Errors
/// When the host cannot read its settings.
pub fn all() -> Result<BTreeMap<String, String>, Failure> {
    store::all()
}
