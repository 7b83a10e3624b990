//! `chains`

use clap::Args;

use super::failure::Failure;
use super::setup::{Flags, Setup};
use super::{exit, runtime};
use crate::journal::ChainRow;
use crate::report;
use crate::report::{age, escape, table};

/// List chains, newest first
#[derive(Args)]
#[command(after_help = "Examples:\n  pausegate chains\n  pausegate chains --limit 5 --json")]
pub struct Chains {
    /// List at most this many
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Print an array of objects
    #[arg(long)]
    json: bool,
}

impl Chains {
    pub fn run(&self, flags: &Flags) -> Result<u8, Failure> {
        let setup = Setup::read(flags)?;
        let journal = setup.journal_to_read()?;
        let rows = runtime::small(async { Ok(journal.chains(self.limit).await?) })?;
        let now = setup.clock.now();
        if self.json {
            report::json(&rows);
        } else if rows.is_empty() {
            report::note("no chain was started yet; start one with `pausegate run PROMPT`");
        } else {
            let row = |row: &ChainRow| {
                let status = match row.detail.as_str() {
                    "" => row.status.to_string(),
                    detail => format!("{} ({})", row.status, escape::line(detail)),
                };
                vec![
                    row.id.to_string(),
                    age::age(row.updated_at, now),
                    status,
                    row.open_pauses.to_string(),
                    row.calls.to_string(),
                    escape::line(&row.title),
                ]
            };
            table::print(&["CHAIN", "AGE", "STATUS", "PAUSES", "CALLS", "TITLE"], rows.iter().map(row).collect());
        }
        Ok(exit::COMPLETED)
    }
}
