//! The real binary, killed with SIGKILL on either side of every journal write and around every effect, then at random; and
//! stopped there until others have what it held; on both stores.
//!
//! Witnesses stand outside: a server that counts what it is asked, and real files. After each death the chain is carried
//! on by other processes, and people who look at the witnesses decide what is asked, until the chain ends.
//!
//! `PAUSEGATE_CRASH_KILLS=2000` makes the random parts longer, `PAUSEGATE_CRASH_SEED=7` others.

mod clock;
mod fleet;
mod kill;
mod process;
mod seen;
mod server;
mod store;
mod tally;
mod trial;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use fleet::{Fleet, WORKERS_MAX};
use kill::{Fate, Kill, Plan, Random, Side};
use store::{Place, Store};
use tally::Tally;
use trial::{PROCESSES_MAX, Trial};

/// Random kills of one part without the variable: with the systematic ones some hundreds, for the time that CI has.
const KILLS: u64 = 15;
const SEED: u64 = 1;
/// Appends and requests of one process; a process that makes more has gone astray.
const POINTS_MAX: u64 = 40;
/// Of the chain, when nothing dies: `run`, `approve`, `resume`.
const PROCESSES: usize = 3;

#[test]
fn w60_w62_h31_h32_s07_s20_no_death_at_any_write_or_effect_repeats_or_loses_anything() {
    let tally = systematic(Store::Sqlite, &[true, false], Fate::Dies);
    // Two processes write much, and requests go out of both.
    assert!(tally.kills > 60, "{tally:?}");
}

#[test]
fn w60_w62_s07_the_same_in_postgresql() {
    let tally = systematic(Store::Postgres, &[false], Fate::Dies);
    assert!(tally.kills > 30, "{tally:?}");
}

/// Each sleeps past its lease, at whichever write or effect it stopped, and wakes when others have ended its chain.
#[test]
fn h40_no_process_that_slept_past_its_lease_changes_anything() {
    let tally = systematic(Store::Postgres, &[false], Fate::Freezes);
    assert!(tally.freezes > 30 && tally.overtaken > 25, "{tally:?}");
}

fn systematic(store: Store, words: &[bool], fate: fn(Kill) -> Fate) -> Tally {
    let plans = every_process(words);
    let tally = Mutex::new(Tally::default());
    side_by_side(threads(), plans.len(), |at| {
        let (process, side, believed) = plans[at];
        for kind in [Kill::append, Kill::request] {
            at_every_point(|count| {
                let mut plans = vec![Plan::default(); process];
                plans.push(Plan { fate: fate(kind(side, count)), sleeps: PROCESSES_MAX as u64, ..Plan::default() });
                let outcome = Trial::run(store, plans, believed);
                let struck = outcome.kills() > 0 || !outcome.froze.is_empty();
                tally.lock().unwrap().add(outcome);
                struck
            });
        }
    });
    let tally = tally.into_inner().unwrap();
    tally.tell(&format!("systematic, {store:?}"));
    tally
}

fn every_process(words: &[bool]) -> Vec<(usize, Side, bool)> {
    let sides = || [Side::Before, Side::After].into_iter().flat_map(|side| words.iter().map(move |believed| (side, *believed)));
    (0..PROCESSES).flat_map(|process| sides().map(move |(side, believed)| (process, side, believed))).collect()
}

/// Until a process ends before it comes to the point.
fn at_every_point(mut strikes: impl FnMut(u64) -> bool) {
    for count in 1..=POINTS_MAX {
        if !strikes(count) {
            return;
        }
    }
    panic!("a process has {POINTS_MAX} points and more");
}

#[test]
fn w62_s07_random_deaths_repeat_and_lose_nothing() {
    random("SQLite", |random| Trial::run(Store::Sqlite, random.plans(), random.below(2) == 0));
}

#[test]
fn w62_s07_random_deaths_repeat_and_lose_nothing_in_postgresql() {
    random("PostgreSQL", |random| Trial::run(Store::Postgres, random.plans(), random.below(2) == 0));
}

/// Up to twelve workers on one journal, people who race, and clocks that are off by hours.
#[test]
fn s06_h29_many_workers_and_people_at_once_repeat_and_lose_nothing() {
    let tally = random("workers, PostgreSQL", |random| Fleet::run(Store::Postgres, 1 + random.below(WORKERS_MAX), random.another()));
    assert!(tally.beaten > 0, "nobody raced: {tally:?}");
}

#[test]
fn s06_many_workers_and_people_at_one_file_repeat_and_lose_nothing() {
    random("workers, SQLite", |random| Fleet::run(Store::Sqlite, 1 + random.below(WORKERS_MAX), random.another()));
}

fn random(part: &str, trial: impl Fn(&mut Random) -> tally::Outcome + Sync) -> Tally {
    let wanted = variable("PAUSEGATE_CRASH_KILLS").map_or(KILLS, |kills| kills / 4);
    let seed = variable("PAUSEGATE_CRASH_SEED").unwrap_or(SEED);
    let (tally, trials) = (Mutex::new(Tally::default()), AtomicU64::new(0));
    side_by_side(threads(), threads(), |_| {
        while tally.lock().unwrap().kills < wanted {
            let outcome = trial(&mut Random::new(seed, trials.fetch_add(1, Ordering::Relaxed)));
            tally.lock().unwrap().add(outcome);
        }
    });
    let tally = tally.into_inner().unwrap();
    tally.tell(&format!("random, {part}, seed {seed}"));
    tally
}

/// Without it the trials with wrong clocks would prove nothing.
#[test]
fn a_wrong_clock_is_wrong() {
    let place = Place::new(Store::Sqlite);
    place.env.script(serde_json::json!([{"text": "Done."}]));
    let plan = Plan { clock: Some("-86400"), ..Plan::default() };
    let ended = process::Process::start(&place.env, &["run", "go", "--model", "script:turns.json"], plan).ended();
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    let written = place.look(async |journal| journal.chains(1).await.unwrap()[0].started_at).unwrap();
    let off = pausegate::clock::Clock::system().now().duration_since(written).as_hours();
    assert_eq!(off, 24);
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap_or_else(|error| panic!("{name}: {error}")))
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(4)
}

/// Does `work` for 0 to `count`, on some threads.
fn side_by_side(threads: usize, count: usize, work: impl Fn(usize) + Sync) {
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads {
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
