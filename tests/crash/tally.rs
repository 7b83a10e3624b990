//! What became of all the trials together, for people to read.

use std::collections::BTreeMap;

use pausegate::state::ChainState;

use super::kill::Kill;
use super::server::Asked;

/// Asked of a person: the tool, whether its effect was there, and what had happened to the process before.
pub type Doubt = (String, bool, &'static str);

/// Of one trial.
#[derive(Debug, Default)]
pub struct Outcome {
    pub chains: u64,
    pub died: Vec<Kill>,
    pub froze: Vec<Kill>,
    /// Frozen ones whose chains were carried on by others before they woke.
    pub overtaken: u64,
    /// Processes whose wall clock was wrong.
    pub clocks: u64,
    pub doubts: Vec<Doubt>,
    /// Decisions that were told that another came first.
    pub beaten: u64,
    /// Requests of `idempotent` and `read-only` calls beyond the first, all under the same key.
    repeated: u64,
    /// Settled by the plugin's word.
    believed: u64,
}

impl Outcome {
    pub fn kills(&self) -> u64 {
        self.died.len() as u64
    }

    /// At the end of the trial.
    pub fn count(&mut self, asked: &[Asked], states: &[ChainState]) {
        self.chains = states.len() as u64;
        self.repeated = asked.iter().enumerate().filter(|(at, one)| asked[..*at].iter().any(|earlier| earlier.key == one.key)).count() as u64;
        let calls = states.iter().flat_map(|state| state.calls.values());
        self.believed = calls.filter(|call| call.word_of.as_ref().is_some_and(|word| word.0.starts_with("plugin:"))).count() as u64;
    }
}

#[derive(Debug, Default)]
pub struct Tally {
    pub trials: u64,
    pub chains: u64,
    pub kills: u64,
    pub freezes: u64,
    pub overtaken: u64,
    pub clocks: u64,
    pub beaten: u64,
    died: BTreeMap<&'static str, u64>,
    froze: BTreeMap<&'static str, u64>,
    repeated: u64,
    doubts: BTreeMap<Doubt, u64>,
    believed: u64,
}

impl Tally {
    /// The trial has been checked: what must not be is not there.
    pub fn add(&mut self, outcome: Outcome) {
        self.trials += 1;
        self.chains += outcome.chains;
        self.kills += outcome.kills();
        self.freezes += outcome.froze.len() as u64;
        self.overtaken += outcome.overtaken;
        self.clocks += outcome.clocks;
        self.beaten += outcome.beaten;
        self.repeated += outcome.repeated;
        self.believed += outcome.believed;
        outcome.died.iter().for_each(|kill| *self.died.entry(kill.name()).or_default() += 1);
        outcome.froze.iter().for_each(|kill| *self.froze.entry(kill.name()).or_default() += 1);
        outcome.doubts.into_iter().for_each(|doubt| *self.doubts.entry(doubt).or_default() += 1);
    }

    #[expect(clippy::print_stderr, reason = "figures for people; tests show them with --nocapture")]
    pub fn tell(&self, part: &str) {
        eprintln!("crashes, {part}: {} kills survived in {} chains of {} trials {:?}", self.kills, self.chains, self.trials, self.died);
        eprintln!("  frozen past their lease, or for a while: {} {:?}; overtaken: {}", self.freezes, self.froze, self.overtaken);
        eprintln!("  processes with a wrong wall clock: {}; decisions that came second: {}", self.clocks, self.beaten);
        eprintln!("  `once` effects repeated 0, chains stuck 0; repeated under the same key: {}", self.repeated);
        for ((tool, happened, why), count) in &self.doubts {
            eprintln!("  in doubt: {tool} {count} times, its effect {}, {why}", if *happened { "was there" } else { "was not there" });
        }
        eprintln!("  settled by the plugin's word: {}", self.believed);
    }
}
