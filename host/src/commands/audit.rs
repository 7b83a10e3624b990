//! `audit`: is the journal what was written, where does it end, and its records for other programs.

use clap::{Args, Subcommand};

use super::failure::Failure;
use super::setup::Flags;

mod export;
mod head;
mod verify;

/// Verify the journal's hashes, print where its chains end, export its records
#[derive(Args)]
#[command(after_help = "Examples:
  pausegate audit verify
  pausegate audit head --json > /mnt/elsewhere/head.json
  pausegate audit verify --head /mnt/elsewhere/head.json
  pausegate audit export ch_01k… > chain.ndjson && pausegate audit verify --file chain.ndjson")]
pub struct Audit {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Verify(verify::Verify),
    Head(head::Head),
    Export(export::Export),
}

impl Audit {
    pub fn run(&self, flags: &Flags) -> Result<u8, Failure> {
        match &self.what {
            What::Verify(command) => command.run(flags),
            What::Head(command) => command.run(flags),
            What::Export(command) => command.run(flags),
        }
    }
}
