//! `completions SHELL`

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::exit;
use super::failure::Failure;
use crate::report;

/// Print a completion script for a shell
#[derive(Args)]
#[command(
    after_help = "Examples:\n  pausegate completions bash > ~/.local/share/bash-completion/completions/pausegate\n  source <(pausegate completions zsh)"
)]
pub struct Completions {
    shell: Shell,
}

impl Completions {
    pub fn run(&self) -> Result<u8, Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut super::Cli::command(), "pausegate", &mut script);
        report::data(String::from_utf8_lossy(&script).trim_end());
        Ok(exit::COMPLETED)
    }
}
