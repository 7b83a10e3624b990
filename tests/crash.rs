//! The real binary, killed with SIGKILL on either side of every journal write and around every effect, then at random.
//!
//! Witnesses stand outside: a server that counts what it is asked, and real files. After each death the chain is carried
//! on by other processes, and people who look at the witnesses decide what is asked, until the chain ends.
//!
//! `PAUSEGATE_CRASH_KILLS=2000` makes the random part longer, `PAUSEGATE_CRASH_SEED=7` another one.

mod kill;
mod seen;
mod server;
mod tally;
mod trial;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use kill::{Kill, Plan, Random, Side};
use tally::Tally;
use trial::Trial;

/// Random kills without the variable: with the systematic ones about a hundred, for the time that CI has.
const KILLS: u64 = 40;
const SEED: u64 = 1;
/// Appends and requests of one process; a process that makes more has gone astray.
const POINTS_MAX: u64 = 40;
/// Of the chain, when nothing dies: `run`, `approve`, `resume`.
const PROCESSES: usize = 3;

#[test]
fn w60_w62_h31_h32_s07_s20_no_death_at_any_write_or_effect_repeats_or_loses_anything() {
    let tally = Mutex::new(Tally::default());
    let sides = || [Side::Before, Side::After].into_iter().flat_map(|side| [(side, true), (side, false)]);
    let plans: Vec<_> = (0..PROCESSES).flat_map(|process| sides().map(move |(side, believed)| (process, side, believed))).collect();
    side_by_side(plans.len(), |at| {
        let (process, side, believed) = plans[at];
        for kind in [Kill::append, Kill::request] {
            // Until a process ends before it comes to the point.
            for count in 1..=POINTS_MAX {
                let mut plans = vec![Plan::default(); process];
                plans.push(Plan { kill: Some(kind(side, count)), rival: false });
                let trial = Trial::run(plans, believed);
                let killed = trial.kills() > 0;
                tally.lock().unwrap().add(&trial);
                if !killed {
                    break;
                }
                assert!(count < POINTS_MAX, "a process has {POINTS_MAX} points and more");
            }
        }
    });
    let tally = tally.into_inner().unwrap();
    tally.tell("systematic");
    // Two processes write much, and requests go out of both.
    assert!(tally.kills > 60, "{tally:?}");
}

#[test]
fn w62_s07_random_deaths_repeat_and_lose_nothing() {
    let wanted = variable("PAUSEGATE_CRASH_KILLS").unwrap_or(KILLS);
    let seed = variable("PAUSEGATE_CRASH_SEED").unwrap_or(SEED);
    let (tally, trials) = (Mutex::new(Tally::default()), AtomicU64::new(0));
    side_by_side(threads(), |_| {
        while tally.lock().unwrap().kills < wanted {
            let mut random = Random::new(seed, trials.fetch_add(1, Ordering::Relaxed));
            let trial = Trial::run(random.plans(), random.below(2) == 0);
            tally.lock().unwrap().add(&trial);
        }
    });
    tally.into_inner().unwrap().tell(&format!("random, seed {seed}"));
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap_or_else(|error| panic!("{name}: {error}")))
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(4)
}

/// Does `work` for 0 to `count`, on as many threads as there are processors.
fn side_by_side(count: usize, work: impl Fn(usize) + Sync) {
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads() {
            scope.spawn(|| {
                while let at = next.fetch_add(1, Ordering::Relaxed) as usize
                    && at < count
                {
                    work(at);
                }
            });
        }
    });
}
