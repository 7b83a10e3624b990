//! `replay CHAIN`

use std::fmt::Write;

use clap::Args;
use serde_json::json;

use super::failure::Failure;
use super::setup::{Flags, Setup};
use super::{exit, runtime};
use crate::counted::counted;
use crate::digest::canonical;
use crate::report::{self, escape};
use crate::state::replay::{Admission, Compared, replay};
use crate::state::{Rules, Schemas};

/// Put a recorded chain through today's grants and rules: what would be decided otherwise; nothing is run
#[derive(Args)]
#[command(after_help = "Examples:\n  pausegate replay ch_01k…\n  pausegate replay ch_01k --grants ./stricter.toml --json")]
pub struct Replay {
    /// The chain; the start of its id is enough
    chain: String,
    /// Print an object
    #[arg(long)]
    json: bool,
}

impl Replay {
    /// 1 where something differs.
    pub fn run(&self, flags: &Flags) -> Result<u8, Failure> {
        let setup = Setup::read(flags)?;
        let (journal, grants) = (setup.journal_to_read()?, setup.grants()?);
        let (id, events) = runtime::small(async {
            let id = journal.find_chain(&self.chain).await?;
            let events = journal.events(&id, 0).await?;
            Ok((id, events))
        })?;
        let clock = setup.clock.clone();
        let rules = Rules { grants: &grants, now: clock.now(), id: &|prefix| clock.id(prefix), schemas: &Schemas::default() };
        let replayed = replay(&id, &events, &rules);
        let same = replayed.is_same();
        if self.json {
            report::json(&json!({"id": id, "events": events.len(), "same": same, "calls": replayed.calls, "faults": replayed.faults}));
        } else {
            report::data(&format!(
                "chain {id}: {}, {} judged",
                counted(events.len(), "event", "events"),
                counted(replayed.calls.len(), "call", "calls")
            ));
            replayed.calls.iter().filter(|call| call.differs() || call.same_digest == Some(false)).for_each(|call| report::data(&told(call)));
            replayed.faults.iter().for_each(|fault| report::data(&escape::message(&format!("event {} does not follow: {}", fault.seq, fault.what))));
            report::data(if same { "the same would be decided today" } else { "it differs" });
        }
        Ok(if same { exit::COMPLETED } else { exit::FAILED })
    }
}

fn told(call: &Compared) -> String {
    let arguments = call.arguments.as_ref().map(canonical).unwrap_or_default();
    let mut text = format!("event {}: {} {}\n", call.seq, escape::line(&call.tool), escape::line(&arguments));
    match call.differs() {
        true => write!(text, "  then {}, now {}", in_words(&call.then), in_words(&call.now)),
        false => write!(text, "  {} then and now, under other grants or rules: what was approved then would be asked again", in_words(&call.now)),
    }
    .expect("strings take all");
    for line in &call.because {
        write!(text, "\n  {}", escape::line(line)).expect("strings take all");
    }
    text
}

fn in_words(admission: &Admission) -> String {
    match admission {
        Admission::Allowed => "allowed".to_owned(),
        Admission::Asked => "asked about".to_owned(),
        Admission::Denied => "denied".to_owned(),
        Admission::Failed { kind } => format!("failed ({})", escape::line(kind)),
    }
}
