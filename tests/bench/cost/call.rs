//! A tool call in a fresh sandbox beside the bare engine's store, instantiation and call.

use anyhow::{anyhow, ensure};
use pausegate::call::ToolResult;
use pausegate::capability::{Held, Limits};
use pausegate::digest::canonical;
use pausegate::plugin::{Attempt, Ended, Plugins, WasmPlugins};
use tokio_util::sync::CancellationToken;

use crate::bare::Bare;
use crate::measure::{Spent, median, median_of, spent};
use crate::table::{Table, figures};
use crate::world::{World, arguments};

const ROUNDS: usize = 15;
const CALLS: usize = 400;

pub fn measure(world: &World, table: &mut Table) -> anyhow::Result<()> {
    let told = |error: wasmtime::Error| anyhow!("the bare engine: {error:#}");
    let bare = Bare::compile(&world.probe).map_err(told)?;
    let text = canonical(&arguments());
    world.runtime.block_on(calls(&world.plugins, CALLS))?;
    world.runtime.block_on(bare.calls(&text, CALLS)).map_err(told)?;
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let ours = per_call(world)?;
        let (theirs, ended) = spent(|| world.runtime.block_on(bare.calls(&text, CALLS)));
        ended.map_err(told)?;
        rounds.push((ours, theirs.per(CALLS)));
    }
    let (ours, theirs): (Vec<Spent>, Vec<Spent>) = rounds.iter().copied().unzip();
    let ratio = median_of(&rounds, |(ours, theirs)| ours.cpu.div_duration_f64(theirs.cpu));
    table.ratio(
        format!("a call in a fresh sandbox, {} B", text.len()),
        figures(median(&ours)),
        format!("bare engine {}", figures(median(&theirs))),
        ratio,
        1.5,
    );
    Ok(())
}

/// One round of calls, per call.
pub fn per_call(world: &World) -> anyhow::Result<Spent> {
    let (spent, ended) = spent(|| world.runtime.block_on(calls(&world.plugins, CALLS)));
    ended.map(|()| spent.per(CALLS))
}

async fn calls(plugins: &WasmPlugins, count: usize) -> anyhow::Result<()> {
    let attempt = attempt(plugins);
    for _ in 0..count {
        let outcome = plugins.call(attempt.clone()).await;
        ensure!(matches!(outcome.ended, Ended::Result(ToolResult::Success { .. })), "{outcome:?}");
    }
    Ok(())
}

pub fn attempt(plugins: &WasmPlugins) -> Attempt {
    let spec = plugins.catalog().into_iter().find(|spec| spec.tool == "echo").expect("the probe has it");
    Attempt {
        chain: pausegate::chain::ChainId("ch_1".into()),
        plugin: spec.plugin,
        digest: None,
        tool: spec.tool,
        call_id: "tc_01jgfj1zzz0000000000000000".to_owned(),
        arguments: canonical(&arguments()),
        attempt: 1,
        idempotency_key: "0".repeat(64),
        approved: false,
        answers: Vec::new(),
        state: None,
        recorded: Default::default(),
        effects: spec.effects,
        held: Held::default(),
        limits: Limits::default(),
        cancel: CancellationToken::new(),
        still: None,
        let_go: CancellationToken::new(),
        lease: None,
        watcher: None,
    }
}
