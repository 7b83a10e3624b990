//! One attempt of one call: a fresh instance with what it holds, ended by its result, a limit or a cancel.

use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::Arc;

use futures_util::FutureExt;
use tokio::sync::Semaphore;
use wasmtime::{Engine, Store};

use super::bindings::{PluginKeyvaluePre, types};
use super::console::Console;
use super::engine::Ticker;
use super::keyvalue::Values;
use super::ledger::Ledger;
use super::limits::{self, Stop, Watch};
use super::load::{CHECK_TIME, Entry};
use super::meter::metered;
use super::net::Net;
use super::recorder::Recorder;
use super::state::State;
use super::text::cut;
use super::vault::{ReadSecret, Vault};
use super::{lift, trap};
use crate::call::schema::Schema;
use crate::call::{Effects, Failure, Recording, ToolResult, kind};
use crate::capability::keyvalue::KeyValues;
use crate::capability::{Access, Held, Limits, is_safe};
use crate::counted::counted;
use crate::pause::Ask;
use crate::plugin::{Answer, Attempt, AttemptOutcome, Ended};

/// What every attempt needs of the host.
pub struct Bench {
    pub engine: Engine,
    pub ticker: Ticker,
    /// One permit per instance slot.
    pub slots: Semaphore,
    pub net: Arc<Net>,
    pub values: Option<Arc<dyn KeyValues>>,
    pub secrets: Arc<dyn ReadSecret>,
}

/// What an attempt needs of its plugin.
pub struct Target<'a> {
    pub entry: &'a Entry,
    /// One permit per call of this plugin at the same time.
    pub turns: &'a Semaphore,
    pub output_schema: Option<&'a Schema>,
}

/// An attempt about to run.
pub struct Prepared {
    pub state: State,
    pub call: types::Call,
    pub watch: Watch,
    pub ledger: Arc<Ledger>,
    pub console: Arc<Console>,
    pub vault: Arc<Vault>,
    pub limits: Limits,
}

pub fn prepare(bench: &Bench, attempt: Attempt) -> Prepared {
    let held = narrowed(attempt.held, attempt.effects);
    let vault = Arc::new(Vault::new(&held, Arc::clone(&bench.secrets)));
    let recorder = Recorder::new(attempt.recorded, attempt.state.is_some());
    let ledger = Arc::new(Ledger::new(&attempt.plugin, Arc::clone(&vault), attempt.still).under(attempt.lease).recalling(recorder));
    let console = Arc::new(Console::new(attempt.call_id.clone(), attempt.watcher.clone(), Arc::clone(&vault)));
    let watch = Watch::start(&attempt.limits, attempt.cancel.clone(), attempt.let_go.clone());
    let values = Values::new(&held, &attempt.plugin, &attempt.chain, Arc::clone(&ledger), bench.values.clone());
    let state = State::new(held, &attempt.limits, watch.clone(), Arc::clone(&console), Arc::clone(&ledger), Arc::clone(&bench.net), values);
    let limits = attempt.limits;
    let call = record(CallParts {
        id: attempt.call_id,
        tool: attempt.tool,
        arguments: attempt.arguments,
        attempt: attempt.attempt,
        idempotency_key: attempt.idempotency_key,
        approved: attempt.approved,
        answers: attempt.answers,
        state: attempt.state,
        time_left_ms: u32::try_from(limits.time.as_millis()).unwrap_or(u32::MAX),
    });
    Prepared { state, call, watch, ledger, console, vault, limits }
}

pub async fn run(bench: &Bench, target: Target<'_>, attempt: Attempt) -> AttemptOutcome {
    let Prepared { state, call, watch, ledger, console, vault, limits } = prepare(bench, attempt);
    let output_bytes = limits.output_bytes;
    // Pinned where it stands: moved into what waits for it, it would be kept again at each level.
    let work = pin!(async {
        let _turn = target.turns.acquire().await;
        match target.entry {
            Entry::Contract { pre, .. } => {
                let tools = async |plugin: &Instance, store: &mut Store<State>| plugin.pausegate_plugin_tools().call_call_tool(store, &call).await;
                with_instance(bench, pre, state, &limits, tools).await
            }
            Entry::Adapted(adapted) => with_store(bench, state, &limits, async |store| adapted.call(store, &call).await).await,
        }
    });
    let ended = match watched(&watch, &ledger, work).await {
        Ok(types::Outcome::Pause(pause)) => paused(pause, Arc::clone(&vault)).await,
        Ok(types::Outcome::Done(done)) => lift::success(done, target.output_schema, output_bytes, &vault).map(Ended::Result),
        Ok(types::Outcome::Failed(failed)) => Err(lacking(lift::failure(failed, &vault), &vault)),
        Err(failure) if failure.kind == kind::TRAPPED => Err(lacking(failure, &vault)),
        Err(failure) => Err(failure),
    };
    let ended = ended.unwrap_or_else(|failure| Ended::Result(ToolResult::Failure(Failure { message: vault.text(failure.message), ..failure })));
    // Whatever the guest made of it, and however it ended meanwhile.
    let ended = ledger.held_back().map_or(ended, Ended::HeldBack);
    let ended = ledger.diverged().map_or(ended, Ended::Diverged);
    let (uses, recorded) = (ledger.uses(), left_for_the_next(&ended, &ledger));
    if matches!(ended, Ended::Pause(_)) && uses.fs_writes > 0 {
        let writes = uses.fs_writes;
        console.log(
            "warn",
            format!(
                "paused after {} to files, which the next attempt makes again: ask first, and change files afterwards",
                counted(writes, "change", "changes")
            ),
        );
    }
    console.finish();
    AttemptOutcome { ended, uses, refusals: ledger.refusals(), recorded }
}

/// Of an attempt that there will be no other after, nothing.
fn left_for_the_next(ended: &Ended, ledger: &Ledger) -> Recording {
    match ended {
        Ended::Pause(_) | Ended::HeldBack(_) => ledger.recorder.recorded(),
        Ended::Result(_) | Ended::Diverged(_) => Recording::default(),
    }
}

/// A tool that failed after a request of its own lacked a secret failed for that, whatever it made of it.
fn lacking(failure: Failure, vault: &Vault) -> Failure {
    let Some(name) = vault.lacking() else { return failure };
    let message = format!("the request needs the secret `{name}`, which this host cannot read; its operator can set it. {}", failure.message);
    Failure { kind: kind::AUTH_REQUIRED.to_owned(), message: cut(&message, lift::MESSAGE_BYTES_MAX).into_owned(), ..failure }
}

/// Off the async threads and in bounded time: a pause may bring a schema, which is hostile input.
async fn paused(pause: types::Pause, vault: Arc<Vault>) -> Result<Ended, Failure> {
    let lifting = tokio::task::spawn_blocking(move || lift::asked(pause, &vault).map(Ended::Pause));
    match tokio::time::timeout(CHECK_TIME, lifting).await {
        Ok(lifted) => lifted.unwrap_or_else(|_| Err(Failure::new(kind::INVALID_RESULT, "the pause could not be checked; this is a bug of the host"))),
        Err(_) => Err(Failure::new(kind::INVALID_RESULT, format!("checking the pause took longer than {CHECK_TIME:?}"))),
    }
}

/// What a plugin says it offers: run under limits, with nothing held.
pub async fn list_tools(bench: &Bench, pre: &PluginKeyvaluePre<State>, plugin: &str, limits: &Limits) -> Result<types::Catalog, Failure> {
    let vault = Arc::new(Vault::new(&Held::default(), Arc::clone(&bench.secrets)));
    let console = Arc::new(Console::new(String::new(), None, Arc::clone(&vault)));
    let watch = Watch::start(limits, Default::default(), Default::default());
    let ledger = Arc::new(Ledger::new(plugin, Arc::clone(&vault), None));
    let values = Values::none(Arc::clone(&ledger));
    let state = State::new(Held::default(), limits, watch.clone(), console, Arc::clone(&ledger), Arc::clone(&bench.net), values);
    let work = pin!(with_instance(bench, pre, state, limits, async |plugin, store| plugin.pausegate_plugin_tools().call_list_tools(store).await));
    watched(&watch, &ledger, work).await?.map_err(|failed| lift::failure(failed, &vault))
}

type Instance = super::bindings::PluginKeyvalue;

/// A fresh store and instance for `call`; both are gone when it ends, whatever its end.
async fn with_instance<R>(
    bench: &Bench,
    pre: &PluginKeyvaluePre<State>,
    state: State,
    limits: &Limits,
    call: impl AsyncFnOnce(&Instance, &mut Store<State>) -> wasmtime::Result<R>,
) -> Result<R, Failure> {
    let called = async |store: &mut Store<State>| {
        let plugin = pre.instantiate_async(&mut *store).await?;
        call(&plugin, store).await
    };
    with_store(bench, state, limits, called).await
}

pub async fn with_store<R>(
    bench: &Bench,
    state: State,
    limits: &Limits,
    call: impl AsyncFnOnce(&mut Store<State>) -> wasmtime::Result<R>,
) -> Result<R, Failure> {
    let _slot = bench.slots.acquire().await;
    let _running = bench.ticker.running();
    let mut store = Store::new(&bench.engine, state);
    limits::install(&mut store, limits);
    let called = call(&mut store).await;
    called.map_err(|error| trap::failure(&error, store.data()))
}

/// Ends `work` at a cancel or its deadline, also while it waits in a host call; a panic of ours ends this call only.
pub async fn watched<R>(watch: &Watch, ledger: &Ledger, work: Pin<&mut impl Future<Output = Result<R, Failure>>>) -> Result<R, Failure> {
    let work = AssertUnwindSafe(metered(&watch.meter, work)).catch_unwind();
    tokio::select! {
        biased;
        () = watch.cancel.cancelled() => Err(Stop::Cancelled.failure()),
        () = let_go(watch, ledger) => Err(Stop::Cancelled.failure()),
        // Before the guest goes on: it never learns that its use was held back.
        () = ledger.holding() => Err(Stop::Cancelled.failure()),
        ended = work => ended.unwrap_or_else(|_| Err(Failure::new(kind::TRAPPED, "the host failed while it ran the plugin; this is a bug of the host"))),
        () = tokio::time::sleep_until(watch.deadline.into()) => Err(Stop::OutOfTime(watch.time).failure()),
    }
}

/// Returns where it is asked for and there was no effect; there can be none afterwards.
async fn let_go(watch: &Watch, ledger: &Ledger) {
    watch.let_go.cancelled().await;
    if !ledger.close() {
        std::future::pending::<()>().await;
    }
}

/// A plugin is held to its word: `read-only` reads.
fn narrowed(mut held: Held, effects: Effects) -> Held {
    if effects == Effects::ReadOnly {
        for line in &mut held.fs {
            line.access = line.access.min(Access::Read);
        }
        for line in &mut held.kv {
            line.access = line.access.min(Access::Read);
        }
        for line in &mut held.http {
            line.methods.retain(|method| is_safe(method));
        }
    }
    held
}

struct CallParts {
    id: String,
    tool: String,
    arguments: String,
    attempt: u32,
    idempotency_key: String,
    approved: bool,
    answers: Vec<Answer>,
    state: Option<Vec<u8>>,
    time_left_ms: u32,
}

fn record(parts: CallParts) -> types::Call {
    types::Call {
        id: parts.id,
        tool: parts.tool,
        arguments: parts.arguments,
        attempt: parts.attempt,
        idempotency_key: parts.idempotency_key,
        time_left_ms: parts.time_left_ms,
        approved: parts.approved,
        answers: parts.answers.into_iter().map(answer).collect(),
        state: parts.state,
        meta: Vec::new(),
    }
}

fn answer(answer: Answer) -> types::Answer {
    types::Answer {
        key: answer.key,
        asked: ask(answer.asked),
        value: answer.value.to_string(),
        note: answer.note,
        context: answer.context.map(|context| context.to_string()),
        meta: Vec::new(),
    }
}

fn ask(ask: Ask) -> types::Ask {
    match ask {
        Ask::Approval => types::Ask::Approval,
        Ask::Text => types::Ask::Text,
        Ask::Choice { options } => {
            types::Ask::Choice(options.into_iter().map(|option| types::Choice { value: option.value, label: option.label }).collect())
        }
        // Only answers to a plugin's own questions come here, and no plugin asks what became of a call.
        Ask::Outcome => types::Ask::Text,
        Ask::Form { schema } => types::Ask::Form(schema.to_string()),
        Ask::Other { kind, schema } => types::Ask::Other(types::Question { kind, schema: schema.to_string() }),
    }
}
