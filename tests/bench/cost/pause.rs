//! From a prompt to a durable pause, and from a decision to the end of the chain.

use anyhow::{Context, ensure};
use pausegate::model::script::Turn;
use pausegate::pause::Decision;
use pausegate::runner::{Host, Rest};
use serde_json::json;

use crate::measure::{Spent, median, spent};
use crate::table::{Table, figures, millis};
use crate::world::{World, journal, resume, scratch, somebody, start};

const ROUNDS: usize = 60;

pub fn measure(world: &World, table: &mut Table) -> anyhow::Result<()> {
    let folder = scratch()?;
    let host = world.host(journal(folder.path())?, asking());
    let mut rounds = Vec::new();
    for _ in 0..=ROUNDS {
        rounds.push(round(world, &host)?);
    }
    // The first one starts the writer.
    let (paused, completed): (Vec<Spent>, Vec<Spent>) = rounds.into_iter().skip(1).unzip();
    let (paused, completed) = (median(&paused), median(&completed));
    table.note("prompt to durable pause", figures(paused));
    table.note("decision to completed", figures(completed));
    table.aim(
        "  both",
        figures(Spent { cpu: paused.cpu + completed.cpu, wall: paused.wall + completed.wall }),
        millis(paused.wall + completed.wall),
        5.0,
        "ms",
    );
    Ok(())
}

/// A tool that asks for approval, and the answer.
pub fn asking() -> Vec<Turn> {
    vec![Turn::calls([("probe__swallow", json!({}))]), Turn::text("done")]
}

fn round(world: &World, host: &Host) -> anyhow::Result<(Spent, Spent)> {
    let (paused, report) = spent(|| {
        world.runtime.block_on(async {
            let chain = start(host).await?;
            resume(host, &chain).await
        })
    });
    let report = report?;
    let pause = report.state.open_pauses().next().with_context(|| format!("no pause: {:?}", report.rest))?.id.clone();
    let (completed, report) = spent(|| {
        world.runtime.block_on(async {
            let decision = Decision::Approve { note: None, digest: None };
            let decided = host.decide(&pause, &somebody(), &decision).await?;
            resume(host, &decided.chain).await
        })
    });
    let rest = report?.rest;
    ensure!(matches!(rest, Rest::Completed), "{rest:?}");
    Ok((paused, completed))
}
