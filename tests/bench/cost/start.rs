//! The second start with a component of 20 MB, whose code was compiled before.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::ensure;
use pausegate::plugin::{LoadStage, PluginConfig, Plugins, WasmPlugins};

use crate::measure::{Spent, median, spent};
use crate::process::{program, spawned};
use crate::table::{Table, figures, millis};
use crate::world::{World, kept};

const ROUNDS: usize = 15;
/// As a Python plugin: an interpreter's code, and its library as data.
const CODE_BYTES: usize = 3 << 20;
const DATA_BYTES: usize = 17 << 20;

pub fn measure(world: &World, table: &mut Table) -> anyhow::Result<()> {
    // Where the program itself would look, so that it finds what this compiled. Kept: compiling takes long.
    let home = kept("large-home");
    let (plugins, cache) = (home.join(".local/share/pausegate/plugins"), home.join(".cache/pausegate"));
    fs::create_dir_all(&plugins)?;
    let file = plugins.join("large.wasm");
    let bytes = large(&fs::read(&world.probe)?);
    if fs::read(&file).ok().as_ref() != Some(&bytes) {
        fs::write(&file, &bytes)?;
    }
    load(world, &plugins, &cache)?;
    let rounds: Vec<_> = (0..ROUNDS).map(|_| load(world, &plugins, &cache)).collect::<anyhow::Result<_>>()?;
    let compiled: usize = rounds.iter().map(|(_, compiled)| compiled).sum();
    let spent = median(&rounds.iter().map(|(spent, _)| *spent).collect::<Vec<_>>());
    let what = format!("second load of a plugin of {} MB", bytes.len() >> 20);
    table.aim(what, format!("{}, compiled {compiled} times", figures(spent)), millis(spent.wall), 100.0, "ms");
    let tools = spawned(|| program(&home, "tools"), ROUNDS)?;
    table.aim("  `pausegate tools` with it, whole process", figures(tools), millis(tools.wall), 100.0, "ms");
    Ok(())
}

/// One load from disk, and how many files were compiled for it.
fn load(world: &World, plugins: &Path, cache: &Path) -> anyhow::Result<(Spent, usize)> {
    let compiled = Arc::new(AtomicUsize::new(0));
    let mut config = PluginConfig::new(plugins, Some(cache.to_owned()));
    let counter = compiled.clone();
    config.progress = Some(Arc::new(move |progress| {
        if progress.stage == LoadStage::Compiling {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }));
    let (spent, loaded) = spent(|| world.runtime.block_on(WasmPlugins::load(config)));
    let loaded = loaded?;
    ensure!(loaded.failures().is_empty() && !loaded.catalog().is_empty(), "{:?}", loaded.failures());
    Ok((spent, compiled.load(Ordering::Relaxed)))
}

/// The probe with a module inside that nothing instantiates: it is hashed, compiled, kept, checked and mapped all the same.
fn large(probe: &[u8]) -> Vec<u8> {
    let mut component = probe.to_vec();
    component.extend(section(1, &module()));
    component
}

fn module() -> Vec<u8> {
    let body = body();
    let functions = CODE_BYTES / body.len();
    let mut bytes = b"\0asm\x01\0\0\0".to_vec();
    // One type: i64 to i64.
    bytes.extend(section(1, &[1, 0x60, 1, 0x7e, 1, 0x7e]));
    bytes.extend(section(3, &[leb(functions), vec![0; functions]].concat()));
    bytes.extend(section(5, &[vec![1, 0], leb(DATA_BYTES.div_ceil(64 << 10))].concat()));
    bytes.extend(section(10, &[leb(functions), body.repeat(functions)].concat()));
    // One segment at 0, of bytes that do not repeat.
    let data = (0..DATA_BYTES).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    bytes.extend(section(11, &[vec![1, 0, 0x41, 0, 0x0b], leb(DATA_BYTES), data].concat()));
    bytes
}

/// A function that multiplies and adds a hundred times.
fn body() -> Vec<u8> {
    const STEP: [u8; 8] = [0x42, 0x2b, 0x7e, 0x20, 0, 0x7c, 0x42, 0x07];
    // No locals; the argument; each step: ×43 +argument ×7; the end.
    let code = [vec![0, 0x20, 0], [&STEP[..], &[0x7e]].concat().repeat(100), vec![0x0b]].concat();
    [leb(code.len()), code].concat()
}

fn section(id: u8, content: &[u8]) -> Vec<u8> {
    [vec![id], leb(content.len()), content.to_vec()].concat()
}

/// A length as WebAssembly writes it.
fn leb(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}
