//! Whole transcripts of the `pausegate` command: command line, standard output, standard error, exit code.

mod archive;
mod audit;
mod authors;
mod chains;
mod check;
mod children;
mod decisions;
pub mod doubt;
mod environment;
mod errors;
mod forks;
mod grants;
mod main_job;
mod meanwhile;
mod named_files;
mod names;
mod notify;
mod output;
mod policy;
mod processes;
mod questions;
mod retold;
mod review;
mod sandbox;
mod secrets;
mod signals;
mod steered;
mod trust;
mod ways_on;
mod work;

pub use environment::{FILES_GRANTS, Shown, TestEnvironment};
