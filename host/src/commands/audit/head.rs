//! `audit head`

use clap::Args;

use crate::commands::failure::Failure;
use crate::commands::setup::{Flags, Setup};
use crate::commands::{exit, runtime};
use crate::journal::audit::Heads;
use crate::report;

/// Print where each chain ends, to be kept out of reach of those who can write the journal
#[derive(Args)]
pub struct Head {
    /// Print an object, as `audit verify --head` reads it
    #[arg(long)]
    json: bool,
}

impl Head {
    pub fn run(&self, flags: &Flags) -> Result<u8, Failure> {
        let journal = Setup::read(flags)?.journal_to_read()?;
        let heads = runtime::small(async { Ok(Heads::of(&*journal).await?) })?;
        if self.json {
            report::json(&heads);
        } else {
            heads.chains.iter().for_each(|head| report::data(&format!("{} {} {}", head.chain, head.seq, hex::encode(head.hash))));
            report::data(&format!("all {}", heads.digest));
        }
        Ok(exit::COMPLETED)
    }
}
