//! All tests from outside the library, in one binary: each is a module, so that the host is linked once.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "support/browser.rs"]
mod browser;
mod conformance;
mod crash;
mod e2e;
mod hostile;
mod models;
mod page;
#[path = "support/postgres.rs"]
mod postgres;
mod probes;
mod server;
#[path = "support/smtp.rs"]
mod smtp;
mod tidy;
