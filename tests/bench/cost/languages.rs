//! What a plugin costs in each language: the conformance plugin, by the file that each language's build made, and the way
//! from `new` to a first call. The table for `docs/authors/README.md` is left in `target/languages.md`.

use std::fs;
use std::path::Path;

use anyhow::ensure;
use pausegate::call::ToolResult;
use pausegate::plugin::{Ended, PluginConfig, Plugins, WasmPlugins};

use crate::call::attempt;
use crate::journey;
use crate::measure::{Spent, median, spent};
use crate::table::{Table, figures, short};
use crate::world::{World, scratch};

const ROUNDS: usize = 15;
const CALLS: usize = 100;

/// By the name of the file, and the docs' own.
const LANGUAGES: [(&str, &str); 6] = [
    ("c", "C"),
    ("rust", "Rust"),
    ("typescript", "TypeScript"),
    ("go", "Go"),
    ("starlingmonkey", "TypeScript on StarlingMonkey"),
    ("python", "Python"),
];

const HEAD: &str = "\
| language | bytes | compiled and loaded, once | loaded from the cache | first call | a call after that | from `new` to the first `call` |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
";

pub fn measure(world: &World, table: &mut Table) -> anyhow::Result<()> {
    let mut page = HEAD.to_owned();
    for (language, title) in LANGUAGES {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../target/conformance/{language}.wasm"));
        if file.is_file() {
            let cost = of_language(world, language, &file)?;
            let journey = journey::measure(language);
            cost.note(language, &journey, table);
            page += &cost.row(title, journey.ok());
        } else {
            table.note(language, format!("`target/conformance/{language}.wasm` is missing: a script in tools/ builds it"));
        }
    }
    fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/languages.md"), page)?;
    Ok(())
}

struct Cost {
    bytes: u64,
    compiled: Spent,
    kept: Spent,
    first: Spent,
    warm: Spent,
}

impl Cost {
    fn note(&self, language: &str, journey: &anyhow::Result<Spent>, table: &mut Table) {
        table.note(format!("{language}, {:.1} MB: compiled and loaded", self.bytes as f64 / 1e6), figures(self.compiled));
        table.note("  loaded from the cache", figures(self.kept));
        table.note("  first call", figures(self.first));
        table.note("  a call after that", figures(self.warm));
        let journey = journey.as_ref().map_or_else(|error| format!("{error:#}"), |spent| figures(*spent));
        table.note("  from `new` to the first `call`", journey);
    }

    /// Processor time, which a busy machine changes least.
    fn row(&self, title: &str, journey: Option<Spent>) -> String {
        let seconds = |spent: Spent| format!("{:.1} s", spent.cpu.as_secs_f64());
        format!(
            "| {title} | {:.1} MB | {} | {} | {} | {} | {} |\n",
            self.bytes as f64 / 1e6,
            seconds(self.compiled),
            short(self.kept.cpu),
            short(self.first.cpu),
            short(self.warm.cpu),
            journey.map_or_else(|| "–".to_owned(), seconds),
        )
    }
}

fn of_language(world: &World, language: &str, file: &Path) -> anyhow::Result<Cost> {
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
    let (compiled, _) = load()?;
    let rounds: Vec<_> = (0..ROUNDS).map(|_| load()).collect::<anyhow::Result<_>>()?;
    let kept = median(&rounds.iter().map(|(spent, _)| *spent).collect::<Vec<_>>());
    let first = median(&rounds.iter().map(|(_, plugins)| calls(world, plugins, 1)).collect::<anyhow::Result<Vec<_>>>()?);
    let warm = calls(world, &rounds[0].1, CALLS)?.per(CALLS);
    Ok(Cost { bytes, compiled, kept, first, warm })
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
