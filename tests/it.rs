//! The one integration-test binary: what the house promises from outside.

mod models;
mod tidy;
