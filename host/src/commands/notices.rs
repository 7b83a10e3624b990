//! `notices`: what nobody was told of yet: listed, tried again, given up.

use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::failure::Failure;
use super::setup::{Flags, Setup};
use super::{exit, rest, runtime};
use crate::counted::counted;
use crate::journal::Journal;
use crate::journal::outbox::{Queued, Which};
use crate::report::{self, age, escape, table};

/// Looked through for an id that is shortened.
const NOTICES_MAX: u32 = 100_000;

/// What was not delivered yet: list it, try it again, or give it up
#[derive(Args)]
#[command(after_help = "Examples:
  pausegate notices list
  pausegate notices retry                      # all that is parked
  pausegate notices retry no_4f0c…             # this one; the start of its id is enough
  pausegate notices discard --parked
  pausegate notices discard --channel old-ops  # a channel that is not set up any more")]
pub struct Notices {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// List what waits, is tried again, or is parked, the oldest first
    List {
        /// List at most this many
        #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
        /// Print an array of objects
        #[arg(long)]
        json: bool,
    },
    /// Try again, now, what failed: what is parked, or what is named
    Retry {
        /// Only these
        #[arg(value_name = "NOTICE")]
        notices: Vec<String>,
        /// Only what is for this channel
        #[arg(long, value_name = "NAME", conflicts_with = "notices")]
        channel: Option<String>,
    },
    /// Give up what is named: nobody will hear of it
    #[command(group = clap::ArgGroup::new("which").required(true))]
    Discard {
        /// These
        #[arg(value_name = "NOTICE", group = "which")]
        notices: Vec<String>,
        /// All that is for this channel, parked or not
        #[arg(long, value_name = "NAME", group = "which")]
        channel: Option<String>,
        /// All that is parked
        #[arg(long, group = "which")]
        parked: bool,
    },
}

impl Notices {
    pub fn run(&self, flags: &Flags) -> Result<u8, Failure> {
        let setup = Setup::read(flags)?;
        match &self.what {
            What::List { limit, json } => list(&setup, *limit, *json),
            What::Retry { notices, channel } => retry(&setup, notices, channel.as_ref()),
            What::Discard { notices, channel, .. } => discard(&setup, notices, channel.as_ref()),
        }?;
        Ok(exit::COMPLETED)
    }
}

fn list(setup: &Setup, limit: u32, json: bool) -> Result<(), Failure> {
    let journal = setup.journal_to_read()?;
    let (notices, now) = (runtime::small(async { Ok(journal.notices(limit).await?) })?, setup.clock.now());
    if notices.len() == limit as usize {
        report::note(&format!("{limit} are listed; there may be more: `--limit N`"));
    }
    if json {
        report::json(&notices.iter().map(as_json).collect::<Vec<_>>());
    } else if notices.is_empty() {
        report::note("everybody was told");
    } else {
        table::print(&["ID", "STATE", "CHANNEL", "WHAT", "CHAIN", "TRIES", "WHY"], notices.iter().map(|notice| row(notice, now)).collect());
    }
    Ok(())
}

fn retry(setup: &Setup, notices: &[String], channel: Option<&String>) -> Result<(), Failure> {
    let journal = setup.journal()?;
    let retried = runtime::small(async {
        let mut retried = 0;
        for which in meant(&*journal, notices, channel).await? {
            retried += journal.retry_notices(&which).await?;
        }
        setup.delivery(journal.clone()).deliver_due(rest::MOMENT).await;
        Ok(retried)
    })?;
    report::data(&format!("{} tried again", are(retried)));
    Ok(())
}

fn discard(setup: &Setup, notices: &[String], channel: Option<&String>) -> Result<(), Failure> {
    let journal = setup.journal()?;
    let discarded = runtime::small(async {
        let mut discarded = 0;
        for which in meant(&*journal, notices, channel).await? {
            discarded += journal.discard_notices(&which).await?;
        }
        Ok(discarded)
    })?;
    report::data(&format!("{} discarded: nobody hears of it", are(discarded)));
    Ok(())
}

fn are(count: u64) -> String {
    counted(count, "notice is", "notices are")
}

/// All of them are found before anything is done to one.
async fn meant(journal: &dyn Journal, notices: &[String], channel: Option<&String>) -> Result<Vec<Which>, Failure> {
    match (channel, notices) {
        (Some(name), _) => Ok(vec![Which::Channel(name.clone())]),
        (None, []) => Ok(vec![Which::Parked]),
        (None, notices) => {
            let queued = journal.notices(NOTICES_MAX).await?;
            notices.iter().map(|start| one(&queued, start)).collect()
        }
    }
}

fn one(queued: &[Queued], start: &str) -> Result<Which, Failure> {
    let mut fitting = queued.iter().filter(|notice| notice.id.starts_with(start));
    match (fitting.next(), fitting.next()) {
        (Some(notice), None) => Ok(Which::One(notice.id.clone())),
        (Some(_), Some(_)) => Err(Failure::new(exit::UNKNOWN, format!("more than one notice begins with `{start}`")).hint("give more of its id")),
        (None, _) => {
            Err(Failure::new(exit::UNKNOWN, format!("there is no notice `{start}`")).hint("`pausegate notices list` shows what was not delivered"))
        }
    }
}

fn state(notice: &Queued) -> &'static str {
    match (notice.parked, &notice.why) {
        (true, _) => "parked",
        (false, Some(_)) => "failing",
        (false, None) => "waiting",
    }
}

fn row(notice: &Queued, now: Timestamp) -> Vec<String> {
    let state = match notice.parked {
        true => format!("parked {} ago", age::age(notice.due, now)),
        false => state(notice).to_owned(),
    };
    let why = notice.why.as_deref().map(escape::line).unwrap_or_default();
    let [channel, what, chain] = [&notice.channel, &notice.what, &notice.chain].map(|text| escape::line(text));
    vec![notice.id.clone(), state, channel, what, chain, notice.tries.to_string(), why]
}

fn as_json(notice: &Queued) -> Value {
    json!({
        "id": notice.id,
        "state": state(notice),
        "channel": notice.channel,
        "what": notice.what,
        "chain": notice.chain,
        "tries": notice.tries,
        "due": notice.due,
        "why": notice.why,
    })
}
