//! What it costs to judge one host call, beside making it: a request, a write, and a look at whether the grants changed.

use anyhow::{Context, ensure};
use pausegate::capability::{Access, HeldFs, HeldHttp};
use pausegate::clock::Clock;
use pausegate::config::Places;
use pausegate::config::watched::{Source, WatchedGrants};
use pausegate::plugin::judging;
use pausegate::runner::InForce;

use crate::measure::{middle, spent};
use crate::table::{Table, short};
use crate::world::World;

const ROUNDS: usize = 15;
const TIMES: u32 = 2000;
/// Of the section; the last one allows it.
const LINES: usize = 10;

pub fn measure(_: &World, table: &mut Table) -> anyhow::Result<()> {
    let line = |number: usize| HeldHttp {
        url: format!("https://api{number}.example.com/v1/**"),
        methods: vec!["GET".to_owned(), "POST".to_owned()],
        private: false,
        secret: None,
    };
    let requests = judging::requests(&(1..=LINES).map(line).collect::<Vec<_>>());
    let uri = format!("https://API{LINES}.example.com:443/v1/pay?n=1").parse().context("a URL")?;
    row(table, "judging one request", || requests("POST", &uri))?;
    let line = |number: usize| HeldFs {
        mount: format!("/m{number}"),
        host: format!("/srv/m{number}").into(),
        access: Access::Write,
        only: None,
        quota: None,
    };
    let files = judging::files(&(1..=LINES).map(line).collect::<Vec<_>>());
    row(table, "judging one write of a file", || files("/m10/out/report.txt"))?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("grants.toml");
    std::fs::write(&file, "version = 1\n")?;
    // As if it had been written long ago.
    let clock = Clock::fixed("2999-01-01T00:00:00Z".parse()?);
    let source = Source { named: Some(file), places: Places::default(), host: String::new() };
    let watched = WatchedGrants::open(source, clock, Box::new(|_| {}))?;
    row(table, "seeing that the grants did not change", || watched.latest().rules.is_empty())
}

fn row(table: &mut Table, what: &str, judge: impl Fn() -> bool) -> anyhow::Result<()> {
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let (spent, allowed) = spent(|| (0..TIMES).all(|_| std::hint::black_box(judge())));
        ensure!(allowed, "{what}: it is allowed");
        rounds.push(spent.wall / TIMES);
    }
    let each = middle(rounds.into_iter());
    table.aim(format!("{what}, {LINES} lines"), short(each), each.as_secs_f64() * 1e6, 5.0, "µs");
    Ok(())
}
