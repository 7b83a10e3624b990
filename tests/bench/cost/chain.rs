//! A durable chain, per call, beside the sum of a call in the sandbox and a program that only writes the same rows.

use anyhow::ensure;
use pausegate::call::CallStatus;
use pausegate::chain::ChainId;
use pausegate::model::script::Turn;
use pausegate::runner::Rest;
use pausegate::state::ChainState;

use crate::call;
use crate::measure::{Spent, median, median_of, spent};
use crate::rows::{self, Transaction};
use crate::table::{Table, figures, micros, short};
use crate::world::{World, arguments, journal, resume, scratch, start};

const ROUNDS: usize = 9;
/// What `llm` takes for a call at ten a turn while it saves nothing.
const LLM_MICROS: f64 = 110.0;

/// One chain, its calls in the sandbox and its rows, all of one round.
struct Round {
    chain: Spent,
    call: Spent,
    rows: Spent,
    transactions: usize,
    payload: Vec<u64>,
    file: u64,
}

pub fn measure(world: &World, table: &mut Table) -> anyhow::Result<()> {
    let shapes = [(95, 10), (950, 1)];
    let mut measured = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for ((turns, per_turn), rounds) in shapes.iter().zip(&mut measured) {
            rounds.push(round(world, *turns, *per_turn)?);
        }
    }
    for ((turns, per_turn), rounds) in shapes.iter().zip(&measured) {
        tell(table, turns * per_turn, *per_turn, rounds);
    }
    grows(table, &measured[0][0].payload, measured[0][0].file);
    Ok(())
}

fn round(world: &World, turns: usize, per_turn: usize) -> anyhow::Result<Round> {
    let calls = turns * per_turn;
    let (ours, theirs) = (scratch()?, scratch()?);
    let turn = || Turn::calls((0..per_turn).map(|_| ("probe__echo", arguments())));
    let script = (0..turns).map(|_| turn()).chain([Turn::text("done")]).collect();
    let host = world.host(journal(ours.path())?, script);
    // Opens the connection that writes; the bare program's is open before it is measured too.
    drop(world.runtime.block_on(host.journal.take(&ChainId("ch_first".to_owned())))?);
    let (chain, ended) = spent(|| {
        world.runtime.block_on(async {
            let id = start(&host).await?;
            resume(&host, &id).await
        })
    });
    let report = ended?;
    ensure!(matches!(report.rest, Rest::Completed), "{:?}", report.rest);
    ensure!(report.state.calls.values().filter(|call| call.status == CallStatus::Succeeded).count() == calls, "a call did not succeed");
    let events = world.runtime.block_on(host.journal.events(&report.state.id, 0))?;
    drop(host);

    let transactions = rows::of(&report.state.id, &events);
    ensure!(transactions.last().is_some_and(|last| last.leads_to(&report.state)), "the rows are not those of the chain");
    let rows = rows::write(theirs.path(), &transactions)?;
    Ok(Round {
        chain: chain.per(calls),
        call: call::per_call(world)?,
        rows: rows.per(calls),
        payload: payload(&report.state, &transactions),
        transactions: transactions.len(),
        file: std::fs::metadata(ours.path().join("journal.db"))?.len(),
    })
}

fn tell(table: &mut Table, calls: usize, per_turn: usize, rounds: &[Round]) {
    let of = |part: fn(&Round) -> Spent| median(&rounds.iter().map(part).collect::<Vec<_>>());
    let chain = of(|round| round.chain);
    let ratio = median_of(rounds, |round| round.chain.cpu.div_duration_f64(round.call.cpu + round.rows.cpu));
    let transactions = median_of(rounds, |round| round.transactions as f64) / calls as f64;
    let (call, rows) = (of(|round| round.call), of(|round| round.rows));
    let beside = format!("call {} + bare rows {} cpu, {} wall", short(call.cpu), short(rows.cpu), short(call.wall + rows.wall));
    table.ratio(format!("a durable call, {per_turn} a turn, {calls} calls"), figures(chain), beside, ratio, 1.5);
    table.note("  transactions per call", format!("{transactions:.2}"));
    if per_turn == 10 {
        table.aim("  beside `llm`, which saves nothing", short(chain.cpu), micros(chain.cpu), LLM_MICROS, "µs");
    }
}

/// Payload bytes of the events of each tenth of the turns.
fn payload(state: &ChainState, transactions: &[Transaction]) -> Vec<u64> {
    let mut tenths = vec![0; 10];
    for transaction in transactions {
        let turn = transaction.chain.turns.saturating_sub(1) as usize;
        tenths[(turn * 10 / state.turns.len()).min(9)] += transaction.payload_bytes();
    }
    tenths
}

fn grows(table: &mut Table, tenths: &[u64], file: u64) {
    // The first tenth holds the catalogue as well, the last one the answer.
    let (early, late) = (tenths[1] as f64, tenths[8] as f64);
    let figures = format!("{:.0} B early, {:.0} B late, file {} B", early / 95.0, late / 95.0, file / 950);
    table.aim("journal bytes per call over 950 calls", figures, late / early, 1.05, "×");
}
