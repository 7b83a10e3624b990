//! Values that last from call to call, in the one bucket that the operator granted: of this chain, or of all of them.
//!
//! What cannot be kept or read is a [`Failure`]: `denied` without a grant, else `failed` with the host's words, such as
//! what the quota is. In a unit test the values of each thread are its own, and there are none at first.
//!
//! ```
//! use pausegate_sdk::{Result, kv, tool};
//!
//! /// Counts visits.
//! #[tool(effects = "once")]
//! fn visit() -> Result<String> {
//!     let before: u32 = kv::get_text("visits")?.map_or(Ok(0), |text| text.parse())?;
//!     kv::set("visits", (before + 1).to_string())?;
//!     Ok(format!("visit {}", before + 1))
//! }
//!
//! # fn main() {
//! assert_eq!(visit().unwrap(), "visit 1");
//! assert_eq!(visit().unwrap(), "visit 2");
//! # }
//! ```

#[cfg(not(target_family = "wasm"))]
mod memory;
#[cfg(target_family = "wasm")]
mod wasi;

#[cfg(not(target_family = "wasm"))]
use memory as store;
#[cfg(target_family = "wasm")]
use wasi as store;

use crate::failure::{Failure, Kind};

/// How many keys [`keys`] hands out; of a bucket with more it fails.
pub const KEYS_MAX: usize = 10_000;

/// The value under `key`, if there is one.
///
/// # Errors
/// When no grant allows it, or it cannot be read just now.
pub fn get(key: &str) -> Result<Option<Vec<u8>>, Failure> {
    store::get(key)
}

/// The value under `key` as text.
///
/// # Errors
/// The same, and when it is no UTF-8.
pub fn get_text(key: &str) -> Result<Option<String>, Failure> {
    let text = |bytes| String::from_utf8(bytes).map_err(|_| Failure::new(Kind::Failed, format!("the value of `{key}` is no text")));
    get(key)?.map(text).transpose()
}

/// Keeps `value` under `key`, in the place of what was there.
///
/// # Errors
/// When no grant allows it, or it does not fit.
pub fn set(key: &str, value: impl AsRef<[u8]>) -> Result<(), Failure> {
    store::set(key, value.as_ref())
}

/// Takes `key` away, if it is there.
///
/// # Errors
/// When no grant allows it.
pub fn delete(key: &str) -> Result<(), Failure> {
    store::delete(key)
}

/// Whether there is a value under `key`.
///
/// # Errors
/// When no grant allows it.
pub fn exists(key: &str) -> Result<bool, Failure> {
    store::exists(key)
}

/// All keys, in order.
///
/// # Errors
/// When no grant allows it, or there are more than [`KEYS_MAX`].
pub fn keys() -> Result<Vec<String>, Failure> {
    let mut keys = Vec::new();
    let mut page = store::page(None)?;
    loop {
        keys.append(&mut page.0);
        if keys.len() > KEYS_MAX {
            return Err(Failure::new(Kind::TooLarge, format!("there are more than {KEYS_MAX} keys")));
        }
        let Some(cursor) = page.1 else { break };
        page = store::page(Some(cursor))?;
    }
    keys.sort();
    Ok(keys)
}
