//! What became of all the trials together, for people to read.

use std::collections::BTreeMap;

use super::kill::{Kill, Side};
use super::trial::Trial;

#[derive(Debug, Default)]
pub struct Tally {
    pub chains: u64,
    pub kills: u64,
    by_kind: BTreeMap<&'static str, u64>,
    /// Requests of `idempotent` and `read-only` calls beyond the first, all under the same key.
    repeated: u64,
    /// Asked of a person: the tool, and whether its effect was there.
    doubts: BTreeMap<(String, bool), u64>,
    /// Settled by the plugin's word.
    believed: u64,
}

impl Tally {
    /// The trial has been checked: what must not be is not there.
    pub fn add(&mut self, trial: &Trial) {
        self.chains += 1;
        self.kills += trial.kills();
        for kill in &trial.died {
            *self.by_kind.entry(kind(*kill)).or_default() += 1;
        }
        for doubt in &trial.doubts {
            *self.doubts.entry(doubt.clone()).or_default() += 1;
        }
        let asked = trial.server.asked();
        self.repeated += asked.iter().enumerate().filter(|(at, one)| asked[..*at].iter().any(|earlier| earlier.key == one.key)).count() as u64;
        let calls = trial.seen.iter().flat_map(|seen| seen.state.calls.values());
        self.believed += calls.filter(|call| call.word_of.as_ref().is_some_and(|word| word.0.starts_with("plugin:"))).count() as u64;
    }

    #[expect(clippy::print_stderr, reason = "figures for people; tests show them with --nocapture")]
    pub fn tell(&self, part: &str) {
        eprintln!("crashes, {part}: {} kills survived in {} chains {:?}", self.kills, self.chains, self.by_kind);
        eprintln!("  `once` effects repeated 0, chains stuck 0; repeated under the same key: {}", self.repeated);
        for ((tool, happened), count) in &self.doubts {
            eprintln!("  in doubt: {tool} {count} times, its effect {}", if *happened { "was there" } else { "was not there" });
        }
        eprintln!("  settled by the plugin's word: {}", self.believed);
    }
}

fn kind(kill: Kill) -> &'static str {
    match kill {
        Kill::Append(Side::Before, _) => "before a write",
        Kill::Append(Side::After, _) => "after a write",
        Kill::Request(Side::Before, _) => "before an effect",
        Kill::Request(Side::After, _) => "after an effect",
        Kill::Time(_) => "at some time",
    }
}
