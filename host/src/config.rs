//! What the operator set: the grants file, settings, places on disk.
//!
//! Reads, checks and reports; nothing here prints. A slip in a file is an error with its line, never a default.

mod adapted;
mod document;
mod error;
mod file;
pub mod grants;
pub mod notify;
pub mod places;
pub mod settings;
pub mod trust;
pub mod trusted;
mod units;
pub mod wanted;
pub mod warnings;
pub mod wassette;
pub mod watched;

pub use adapted::adapted;
pub use error::ConfigError;
use file::read_file;
pub use notify::Channel;
pub use places::Places;
pub use settings::{Flags, Settings, Surroundings};
