//! Lines for the operator. The model never sees them; the host drops what is over its limit.
//!
//! ```
//! use pausegate_sdk::log;
//!
//! log::info!("read {} bytes", 12);
//! ```

pub use crate::bindings::pausegate::plugin::log::Level;
pub use crate::{__debug as debug, __error as error, __info as info, __trace as trace, __warn as warn};

/// Writes one line. Outside the sandbox, as in unit tests, it goes to standard error.
#[cfg_attr(not(target_family = "wasm"), expect(clippy::print_stderr, reason = "a unit test's only place for it"))]
pub fn write(level: Level, message: &str) {
    #[cfg(target_family = "wasm")]
    crate::bindings::pausegate::plugin::log::write(level, message);
    #[cfg(not(target_family = "wasm"))]
    eprintln!("{level:?}: {message}");
}

/// Says that `done` of `total` is done, in a unit of your choice. Outside the sandbox it goes to standard error.
#[cfg_attr(not(target_family = "wasm"), expect(clippy::print_stderr, reason = "a unit test's only place for it"))]
pub fn progress(done: f64, total: impl Into<Option<f64>>, message: &str) {
    let total = total.into();
    #[cfg(target_family = "wasm")]
    crate::bindings::pausegate::plugin::progress::report(done, total, message);
    #[cfg(not(target_family = "wasm"))]
    eprintln!("Progress: {done} of {total:?}: {message}");
}

// Written out: a macro made by a macro cannot be named by its path.

#[doc(hidden)]
#[macro_export]
macro_rules! __trace {
    ($($message:tt)*) => { $crate::log::write($crate::log::Level::Trace, &::std::format!($($message)*)) };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __debug {
    ($($message:tt)*) => { $crate::log::write($crate::log::Level::Debug, &::std::format!($($message)*)) };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __info {
    ($($message:tt)*) => { $crate::log::write($crate::log::Level::Info, &::std::format!($($message)*)) };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __warn {
    ($($message:tt)*) => { $crate::log::write($crate::log::Level::Warn, &::std::format!($($message)*)) };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __error {
    ($($message:tt)*) => { $crate::log::write($crate::log::Level::Error, &::std::format!($($message)*)) };
}
