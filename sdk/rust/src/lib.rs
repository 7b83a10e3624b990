#![doc = include_str!("../README.md")]

#[doc(hidden)]
#[allow(clippy::all, clippy::pedantic, missing_docs, reason = "made by wit-bindgen, whose lints differ by version")]
pub mod bindings;

#[doc(hidden)]
#[allow(clippy::all, clippy::pedantic, missing_docs, reason = "made by wit-bindgen, whose lints differ by version")]
pub mod reconcile_bindings;

mod call;
pub mod config;
mod content;
mod export;
mod failure;
pub mod http;
pub mod kv;
pub mod log;
mod question;
mod reconcile;
mod schema;
mod stop;
mod testing;
mod tool;
mod want;

pub use call::{Call, STATE_BYTES_MAX};
pub use content::{Blob, Body, Content, IntoReturned, IntoSuccess, Json, Success};
pub use failure::{Effect, Failure, Kind};
pub use log::progress;
pub use pausegate_sdk_macros::tool;
pub use question::{Ask, Choice, Question};
pub use reconcile::{Reconcile, Verdict};
pub use stop::{Result, Stop};
pub use testing::TestCall;
pub use tool::{Catalog, Effects, Outcome, Pause, Plugin, Tool, ToolSpec, Want, attempt};

/// For the code that the macros write.
#[doc(hidden)]
pub mod __private {
    pub use crate::content::output_schema;
    pub use crate::tool::{arguments, catalog, input_schema, no_such_tool};
    pub use {schemars, serde};
}
