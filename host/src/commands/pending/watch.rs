//! `pending --watch`: the same list as it changes, until it is interrupted or nobody reads it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;

use super::{as_json, as_table, in_order};
use crate::chain::ChainId;
use crate::clock::Clock;
use crate::commands::failure::Failure;
use crate::commands::{exit, interrupt};
use crate::digest::canonical;
use crate::journal::{Journal, JournalError, PendingRow};
use crate::pause::PauseId;
use crate::report;
use crate::report::{escape, pause};

/// Between two looks; a person sees no difference.
const LOOK: Duration = Duration::from_millis(500);

pub async fn watch(journal: &dyn Journal, limit: u32, json: bool) -> Result<u8, Failure> {
    let interrupt = interrupt::on_signal()?;
    let mut shown: Box<dyn Shown> = match report::can_draw() && !json {
        true => Box::new(Screen::default()),
        false => Box::new(Lines { json, open: BTreeMap::new() }),
    };
    loop {
        match journal.pending(limit).await {
            Ok(rows) => shown.show(&in_order(rows)),
            Err(error @ (JournalError::Busy { .. } | JournalError::Away { .. })) => {
                report::note(&format!("{}; looking again", escape::line(&error.to_string())));
            }
            Err(error) => return Err(error.into()),
        }
        if report::is_closed() {
            return Ok(exit::COMPLETED);
        }
        tokio::select! {
            () = interrupt.cancelled() => return Ok(exit::INTERRUPTED),
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}

trait Shown {
    fn show(&mut self, rows: &[PendingRow]);
}

/// Drawn anew when something in it is another.
#[derive(Default)]
struct Screen {
    drawn: Option<String>,
}

impl Shown for Screen {
    fn show(&mut self, rows: &[PendingRow]) {
        let table = if rows.is_empty() { "nothing waits".to_owned() } else { as_table(rows, Clock::system().now()) };
        let text = format!("{table}\n\ndecide one by one with `pausegate review`; Ctrl-C ends this");
        if self.drawn.as_ref() != Some(&text) {
            report::screen(&text);
            self.drawn = Some(text);
        }
    }
}

/// For a pipe, a file or a program.
struct Lines {
    json: bool,
    open: BTreeMap<PauseId, ChainId>,
}

impl Shown for Lines {
    fn show(&mut self, rows: &[PendingRow]) {
        let now = Clock::system().now();
        self.open.retain(|id, chain| {
            let still = rows.iter().any(|row| row.pause.id == *id);
            if !still && self.json {
                report::json_line(&json!({"event": "over", "id": id, "chain": chain}));
            } else if !still {
                report::data(&format!("over    {id}  {chain}"));
            }
            still
        });
        for row in rows {
            if self.open.insert(row.pause.id.clone(), row.chain.clone()).is_some() {
                continue;
            }
            if self.json {
                let mut value = as_json(row, now);
                value["event"] = json!("opened");
                report::json_line(&value);
            } else {
                let call = format!("{} {}", row.pause.tool, canonical(&row.pause.arguments));
                report::data(&format!("opened  {}  {}  {}  {}", row.pause.id, row.chain, pause::asks(&row.pause.ask), escape::line(&call)));
            }
        }
    }
}
