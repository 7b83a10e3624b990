//! Promises about servers and networks; what every store promises is in `journal/tests/`.

mod away;
mod lease;
pub(crate) mod proxy;
mod tables;
mod tls;
