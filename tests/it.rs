//! All tests from outside the library, in one binary: each is a module, so that the host is linked once.

mod e2e;
mod models;
mod tidy;
