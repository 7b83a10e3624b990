//! What a plugin costs in each language: the conformance plugin, by the file that each language's build made.

use std::fs;
use std::path::Path;

use anyhow::ensure;
use pausegate::call::ToolResult;
use pausegate::plugin::{Ended, PluginConfig, Plugins, WasmPlugins};

use crate::call::attempt;
use crate::measure::{Spent, median, spent};
use crate::table::{Table, figures};
use crate::world::{World, scratch};

const ROUNDS: usize = 15;
const CALLS: usize = 100;

pub fn measure(world: &World, table: &mut Table) -> anyhow::Result<()> {
    for language in ["c", "rust", "typescript", "go", "python"] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../target/conformance/{language}.wasm"));
        if file.is_file() {
            of_language(world, language, &file, table)?;
        } else {
            table.note(language, format!("`target/conformance/{language}.wasm` is missing: a script in tools/ builds it"));
        }
    }
    Ok(())
}

fn of_language(world: &World, language: &str, file: &Path, table: &mut Table) -> anyhow::Result<()> {
    let dir = scratch()?;
    let cache = dir.path().join("cache");
    let plugins = dir.path().join("plugins");
    fs::create_dir(&plugins)?;
    let bytes = fs::copy(file, plugins.join("conform.wasm"))?;
    let load = || -> anyhow::Result<(Spent, WasmPlugins)> {
        let (spent, loaded) = spent(|| world.runtime.block_on(WasmPlugins::load(PluginConfig::new(&plugins, Some(cache.clone())))));
        let loaded = loaded?;
        ensure!(loaded.failures().is_empty(), "{language}: {:?}", loaded.failures());
        Ok((spent, loaded))
    };
    let (cold, _) = load()?;
    let rounds: Vec<_> = (0..ROUNDS).map(|_| load()).collect::<anyhow::Result<_>>()?;
    let kept = median(&rounds.iter().map(|(spent, _)| *spent).collect::<Vec<_>>());
    let first = median(&rounds.iter().map(|(_, plugins)| calls(world, plugins, 1)).collect::<anyhow::Result<Vec<_>>>()?);
    let warm = calls(world, &rounds[0].1, CALLS)?.per(CALLS);
    table.note(format!("{language}, {:.1} MB: compiled and loaded", bytes as f64 / 1e6), figures(cold));
    table.note("  loaded from the cache", figures(kept));
    table.note("  first call", figures(first));
    table.note("  a call after that", figures(warm));
    Ok(())
}

fn calls(world: &World, plugins: &WasmPlugins, count: usize) -> anyhow::Result<Spent> {
    let attempt = attempt(plugins);
    let (spent, ended) = spent(|| {
        world.runtime.block_on(async {
            for _ in 0..count {
                let outcome = plugins.call(attempt.clone()).await;
                ensure!(matches!(outcome.ended, Ended::Result(ToolResult::Success { .. })), "{outcome:?}");
            }
            Ok(())
        })
    });
    ended.map(|()| spent)
}
