//! `work`: carries chains on as they can go on, until it is told to end.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio_util::sync::CancellationToken;

use super::failure::Failure;
use super::rest::MOMENT;
use super::setup::{Flags, Setup};
use super::{exit, identity, interrupt, runtime};
use crate::chain::ChainId;
use crate::journal::JournalError;
use crate::report;
use crate::report::work::Lines;
use crate::runner::{HostError, Overseer, Report, Work};

/// Between two looks into the journal: on one machine nobody tells, between many a hint comes sooner.
pub const LOOK_FILE: Duration = Duration::from_millis(500);
pub const LOOK_SERVER: Duration = Duration::from_secs(5);
/// Chains side by side; most of their time is their model's.
pub const WORKERS: usize = 4;
pub const WORKERS_MAX: u64 = 256;

/// Carry on every chain that can go on, and wait for more
#[derive(Args)]
#[command(after_help = "Examples:
  pausegate work
  pausegate work --once              # until nothing can go on, for cron
  pausegate work --workers 16 --json --journal 'postgres://pausegate@db.example/pausegate?sslmode=verify-full'

SIGTERM or Ctrl-C lets chains go in order; once more exits at once.")]
pub struct Worker {
    /// Chains carried on side by side
    #[arg(long, value_name = "N", default_value_t = WORKERS as u64, value_parser = clap::value_parser!(u64).range(1..=WORKERS_MAX))]
    workers: u64,
    /// End when nothing can go on
    #[arg(long)]
    once: bool,
    /// Carry on chains of this place too; this machine's name always is one
    #[arg(long = "place", value_name = "LABEL")]
    places: Vec<String>,
    /// Print events as NDJSON
    #[arg(long)]
    json: bool,
}

impl Worker {
    pub fn run(&self, flags: &Flags) -> Result<u8, Failure> {
        let setup = Setup::read(flags)?;
        runtime::full(async {
            let interrupt = interrupt::on_signal()?;
            let lines = Arc::new(Lines::new(self.json));
            // What runs until nothing is left is done with what was there when it began.
            let (host, _following) = match self.once {
                true => (setup.host(lines.clone(), None).await?, None),
                false => setup.following_host(lines.clone()).await.map(|(host, following)| (host, Some(following)))?,
            };
            let look = if setup.settings.postgres.is_some() { LOOK_SERVER } else { LOOK_FILE };
            let places = self.places.iter().cloned().chain([identity::host()]).collect();
            let work = Work { workers: usize::try_from(self.workers).unwrap_or(WORKERS), once: self.once, places, look };
            let delivery = setup.delivery(host.journal.clone());
            let (ended, delivering) = (CancellationToken::new(), delivery.clone());
            let delivered = tokio::spawn({
                let ended = ended.clone();
                async move { delivering.deliver(ended).await }
            });
            let worked = host.work(&work, &Watching(lines), interrupt.clone()).await;
            ended.cancel();
            delivered.await.ok();
            // What came due at the end: with `--once`, perhaps all of it.
            delivery.deliver_due(MOMENT).await;
            worked?;
            // To end in order when told to is all that a worker is asked for; `--once` was asked for more.
            Ok(if self.once && interrupt.is_cancelled() { exit::INTERRUPTED } else { exit::COMPLETED })
        })
    }
}

pub struct Watching(pub Arc<Lines>);

impl Overseer for Watching {
    fn rested(&self, chain: &ChainId, ended: &Result<Report, HostError>) {
        self.0.rested(chain, ended);
    }

    fn unreachable(&self, error: &JournalError) {
        report::note(&format!("{}; looking again", report::escape::line(&error.to_string())));
    }
}
