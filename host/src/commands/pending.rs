//! `pending`: what waits for a person, in all chains, once or as it changes.

use std::collections::HashMap;

use clap::Args;
use serde_json::{Value, json};

use super::failure::Failure;
use super::setup::{Flags, Setup};
use super::{exit, runtime};
use crate::journal::PendingRow;
use crate::report;
use crate::report::{age, escape, pause, table};

mod watch;

/// List the open pauses of all chains, oldest first
#[derive(Args)]
#[command(
    after_help = "Examples:\n  pausegate pending\n  pausegate pending pa_01k…      # one in full\n  pausegate pending --watch        # as it changes\n  pausegate pending --json | jq -r '.[].id'"
)]
pub struct Pending {
    /// Show this one in full; the start of its id is enough
    pause: Option<String>,
    /// List at most this many
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Go on showing what waits, as it changes: a table on a terminal, else a line for each that opens and is over
    #[arg(long, conflicts_with = "pause")]
    watch: bool,
    /// Print an array of objects; with `--watch` an object on each line
    #[arg(long)]
    json: bool,
}

impl Pending {
    pub fn run(&self, flags: &Flags) -> Result<u8, Failure> {
        let setup = Setup::read(flags)?;
        let journal = setup.journal_to_read()?;
        if self.watch {
            return runtime::small(watch::watch(&*journal, self.limit, self.json));
        }
        let rows = runtime::small(async {
            // One is looked for among all.
            let limit = if self.pause.is_some() { u32::MAX } else { self.limit };
            let mut rows = in_order(journal.pending(limit).await?);
            if let Some(prefix) = &self.pause {
                let (_, id) = journal.find_pause(prefix).await?;
                rows.retain(|row| row.pause.id == id);
                if rows.is_empty() {
                    return Err(
                        Failure::new(exit::CONFLICT, format!("{id} is not open any more")).hint("`pausegate inspect CHAIN` shows what was decided")
                    );
                }
            }
            Ok(rows)
        })?;
        if self.pause.is_none() && rows.len() == self.limit as usize {
            report::note(&format!("{} are listed; there may be more: `--limit N`", self.limit));
        }
        let now = setup.clock.now();
        if self.json {
            report::json(&rows.iter().map(|row| as_json(row, now)).collect::<Vec<_>>());
        } else if self.pause.is_some() {
            rows.iter().for_each(|row| report::data(&pause::full(&row.pause, &row.chain, now)));
        } else if rows.is_empty() {
            report::note("nothing waits");
        } else {
            list(&rows, now);
        }
        Ok(exit::COMPLETED)
    }
}

/// Oldest first; pauses of one turn stand together in the order the model asked, whichever of its calls was quicker.
pub(super) fn in_order(mut rows: Vec<PendingRow>) -> Vec<PendingRow> {
    let mut oldest = HashMap::new();
    for row in &rows {
        let first = oldest.entry(row.chain.clone()).or_insert(row.pause.opened_at);
        *first = row.pause.opened_at.min(*first);
    }
    rows.sort_by_key(|row| (oldest[&row.chain], row.chain.clone(), row.pause.call));
    rows
}

fn list(rows: &[PendingRow], now: jiff::Timestamp) {
    report::data(&as_table(rows, now));
    report::note("look at one with `pausegate pending PAUSE`, then `pausegate approve PAUSE` or `pausegate deny PAUSE`");
}

fn as_table(rows: &[PendingRow], now: jiff::Timestamp) -> String {
    let row = |row: &PendingRow| {
        let call = format!("{} {}", row.pause.tool, crate::digest::canonical(&row.pause.arguments));
        vec![
            row.pause.id.to_string(),
            aged(&row.pause, now),
            row.pause.kind.as_str().to_owned(),
            asks_for(&row.pause),
            escape::line(&call),
            crate::report::chain::path(&row.pause.path.iter().chain([&row.chain]).cloned().collect::<Vec<_>>()),
        ]
    };
    table::text(&["PAUSE", "AGE", "KIND", "ASKS FOR", "CALL", "CHAIN"], rows.iter().map(row).collect())
}

fn aged(asked: &crate::pause::Pause, now: jiff::Timestamp) -> String {
    let age = age::age(asked.opened_at, now);
    match asked.expires_at() {
        Some(at) if at <= now => format!("{age}, expired"),
        Some(at) => format!("{age}, expires {}", pause::expires(at, now)),
        None => age,
    }
}

fn asks_for(asked: &crate::pause::Pause) -> String {
    let asks = pause::asks(&asked.ask).trim_start_matches("asks ").trim_start_matches("for ").to_owned();
    match asked.requirements.quorum.get() {
        1 => asks,
        quorum => format!("{asks}, {} of {quorum}", asked.votes_most()),
    }
}

fn as_json(row: &PendingRow, now: jiff::Timestamp) -> Value {
    let mut value = pause::as_json(&row.pause, &row.chain, now);
    value["chain_status"] = json!(row.chain_status);
    value["started_by"] = json!(row.started_by);
    value["title"] = json!(row.title);
    value
}
