//! Whole processes: their start to end, processor time and peak memory.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use crate::measure::{Spent, middle};
use crate::pause::asking;
use crate::table::{Table, figures, millis};
use crate::world::{World, journal, resume, scratch, start};

const SPAWNS: usize = 60;
const PEAKS: usize = 10;
const MIB: f64 = 1024.0 * 1024.0;

pub fn measure(world: &World, table: &mut Table) -> anyhow::Result<()> {
    let home = scratch()?;
    let state = home.path().join(".local/state/pausegate");
    let host = world.host(journal(&state)?, asking());
    world.runtime.block_on(async { resume(&host, &start(&host).await?).await })?;
    drop(host);
    for (argument, aim) in [("--version", 20.0), ("pending", 30.0)] {
        let spent = spawned(|| program(home.path(), argument), SPAWNS)?;
        let peak = (0..PEAKS).map(|_| peak_bytes(program(home.path(), argument))).collect::<anyhow::Result<Vec<_>>>()?;
        let peak = peak.into_iter().max().unwrap_or_default() as f64 / MIB;
        table.aim(format!("`pausegate {argument}`, whole process"), figures(spent), millis(spent.wall), aim, "ms");
        table.aim("  peak memory", format!("{peak:.1} MiB"), peak, 20.0, "MiB");
    }
    Ok(())
}

/// The program in a home of its own, saying nothing.
pub fn program(home: &Path, argument: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pausegate"));
    command.arg(argument).env_clear().env("HOME", home).current_dir(home);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Median wall time of `count` processes, and their mean processor time: the kernel counts that in steps of 10 ms.
pub fn spawned(command: impl Fn() -> Command, count: usize) -> anyhow::Result<Spent> {
    let cpu = children_cpu()?;
    let mut walls = Vec::new();
    for _ in 0..count {
        let began = Instant::now();
        let status = command().status()?;
        walls.push(began.elapsed());
        ensure!(status.success(), "{:?} ended with {status}", command());
    }
    let cpu = (children_cpu()? - cpu) / u32::try_from(count).expect("few");
    Ok(Spent { cpu, wall: middle(walls.into_iter()) })
}

/// Of all children that ended.
pub fn children_cpu() -> anyhow::Result<Duration> {
    const TICK: Duration = Duration::from_millis(10);
    let stat = fs::read_to_string("/proc/self/stat")?;
    // Behind the name, which may hold anything: fields from 3 on; 16 and 17 are the children's.
    let fields: Vec<_> = stat.rsplit_once(')').context("a name")?.1.split_whitespace().collect();
    let ticks: u32 = fields[13].parse::<u32>()? + fields[14].parse::<u32>()?;
    Ok(TICK * ticks)
}

/// The high-water mark, looked at until the process ends. What `wait4` tells would include this process's own, whose
/// memory the child shares until it runs its program.
fn peak_bytes(mut command: Command) -> anyhow::Result<u64> {
    let mut child = command.spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait()?.is_none() {
        let mark = fs::read_to_string(&status).ok().and_then(|text| high_water(&text));
        peak = peak.max(mark.unwrap_or_default());
    }
    Ok(peak)
}

fn high_water(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}
