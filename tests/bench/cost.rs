//! `cargo bench`: what a call, a durable chain, a pause and a start cost, each beside what it cannot be cheaper than.
//!
//! Both sides of a ratio are measured in the same run, in turns, and compared by their medians: on a busy machine the
//! figures move, the ratios hardly. `cargo bench -- call chain` measures only those parts; `--strict` fails where an
//! aim is missed. Never a test.
#![expect(clippy::print_stdout, reason = "the table is what this program is for")]

#[path = "cost/bare.rs"]
mod bare;
#[path = "cost/call.rs"]
mod call;
#[path = "cost/chain.rs"]
mod chain;
#[path = "cost/door.rs"]
mod door;
#[path = "cost/journey.rs"]
mod journey;
#[path = "cost/languages.rs"]
mod languages;
#[path = "cost/measure.rs"]
mod measure;
#[path = "cost/pause.rs"]
mod pause;
#[path = "cost/process.rs"]
mod process;
#[path = "cost/rows.rs"]
mod rows;
#[path = "cost/start.rs"]
mod start;
#[path = "cost/table.rs"]
mod table;
#[path = "cost/world.rs"]
mod world;

use std::process::ExitCode;

use table::Table;
use world::World;

/// As the program has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Part = fn(&World, &mut Table) -> anyhow::Result<()>;

const PARTS: [(&str, Part); 7] = [
    ("call", call::measure),
    ("door", door::measure),
    ("chain", chain::measure),
    ("pause", pause::measure),
    ("process", process::measure),
    ("start", start::measure),
    ("languages", languages::measure),
];

fn main() -> anyhow::Result<ExitCode> {
    let (flags, parts): (Vec<_>, Vec<_>) = std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let has = |flag: &str| flags.iter().any(|given| given == flag);
    // Cargo says it to a benchmark; `cargo test --all-targets` does not.
    if !has("--bench") {
        println!("a benchmark: `cargo bench` runs it");
        return Ok(ExitCode::SUCCESS);
    }
    let world = World::open()?;
    let mut table = Table::default();
    for (_, measure) in PARTS.iter().filter(|(name, _)| parts.is_empty() || parts.iter().any(|part| part == name)) {
        measure(&world, &mut table)?;
    }
    println!("\n{table}");
    Ok(if has("--strict") && !table.all_met() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
