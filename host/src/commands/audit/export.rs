//! `audit export [CHAIN…]`

use clap::Args;

use crate::chain::ChainId;
use crate::commands::failure::Failure;
use crate::commands::setup::{Flags, Setup};
use crate::commands::{exit, runtime};
use crate::journal::Journal;
use crate::journal::export::{ExportError, Line, export};
use crate::report;

/// Print records with their hashes as NDJSON; `audit verify --file` verifies them without the journal
#[derive(Args)]
pub struct Export {
    /// These chains only; the start of an id is enough
    #[arg(value_name = "CHAIN")]
    chains: Vec<String>,
}

impl Export {
    pub fn run(&self, flags: &Flags) -> Result<u8, Failure> {
        let journal = Setup::read(flags)?.journal_to_read()?;
        runtime::small(async {
            // All are found before one is printed.
            let mut named = Vec::new();
            for prefix in &self.chains {
                named.push(journal.find_chain(prefix).await?);
            }
            for chain in &named {
                print(&*journal, chain).await?;
            }
            if named.is_empty() {
                print_all(&*journal).await?;
            }
            Ok(exit::COMPLETED)
        })
    }
}

async fn print_all(journal: &dyn Journal) -> Result<(), Failure> {
    let mut last: Option<ChainId> = None;
    loop {
        let page = journal.heads(last.as_ref()).await?;
        for head in &page {
            print(journal, &head.chain).await?;
        }
        match page.into_iter().next_back() {
            Some(head) => last = Some(head.chain),
            None => return Ok(()),
        }
    }
}

async fn print(journal: &dyn Journal, chain: &ChainId) -> Result<(), Failure> {
    let mut line = |line: &Line| {
        report::json_line(line);
        Ok(())
    };
    match export(journal, chain, &mut line).await {
        Ok(_) => Ok(()),
        Err(ExportError::Journal(error)) => Err(error.into()),
        Err(error) => Err(Failure::of(exit::FAILED, &error)),
    }
}
