//! Asks a plugin what became of an attempt whose end nobody recorded: its optional export, run as a `read-only` attempt.

use std::pin::pin;

use super::attempt::{Bench, Prepared, prepare, watched, with_store};
use super::bindings::reconciling::{ReconcilingPre, Verdict};
use super::lift;
use super::state::State;
use crate::call::schema::Schema;
use crate::call::{Effects, Failure, Finding, Recording, ToolResult};
use crate::plugin::Attempt;

pub type Pre = ReconcilingPre<State>;

/// Whatever goes wrong is a finding too, and changes nothing.
pub async fn run(bench: &Bench, pre: &Pre, turns: &tokio::sync::Semaphore, output_schema: Option<&Schema>, attempt: Attempt) -> Finding {
    let prepared = prepare(bench, Attempt { effects: Effects::ReadOnly, recorded: Recording::default(), ..attempt });
    let Prepared { state, call, watch, ledger, console, vault, limits } = prepared;
    let work = pin!(async {
        let _turn = turns.acquire().await;
        let ask = async |store: &mut wasmtime::Store<State>| {
            let plugin = pre.instantiate_async(&mut *store).await?;
            plugin.pausegate_plugin_reconcile().call_reconcile(store, &call).await
        };
        with_store(bench, state, &limits, ask).await
    });
    let told = watched(&watch, &ledger, work).await;
    console.finish();
    let finding = match told {
        Ok(Verdict::Happened(Ok(success))) => lift::success(success, output_schema, limits.output_bytes, &vault).map(Finding::Happened),
        Ok(Verdict::Happened(Err(failed))) => Ok(Finding::Happened(ToolResult::Failure(lift::failure(failed, &vault)))),
        Ok(Verdict::NotHappened) => Ok(Finding::NotHappened),
        Ok(Verdict::Unknown) => Ok(Finding::Unknown),
        Err(failure) => Err(failure),
    };
    finding.unwrap_or_else(|failure| Finding::Failed(Failure { message: vault.text(failure.message), ..failure }))
}
