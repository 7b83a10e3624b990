//! What a durable chain costs on each store: `cargo bench --bench store [-- steps|decide|claim|rest]`.
//!
//! One run on one machine, on a real disk, with tools that do nothing: figures are to be compared with each other. `rest`
//! writes 100,000 paused chains into both stores and takes minutes; it runs only where it is named.
#![expect(clippy::print_stdout, reason = "the lines are what this program is for")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::ensure;
use futures_util::future::{BoxFuture, FutureExt, join_all, try_join_all};
use pausegate::call::{Effects, ToolResult, ToolSpec};
use pausegate::capability::{Grants, Rule, Then, Uses, Verdict};
use pausegate::chain::message::{Message, Role};
use pausegate::chain::{Actor, ChainId, Settings};
use pausegate::clock::Clock;
use pausegate::digest::Digest;
use pausegate::journal::postgres::address::Address;
use pausegate::journal::{Journal, PostgresJournal, SqliteJournal, Wanted};
use pausegate::model::Model;
use pausegate::model::script::{Script, Turn};
use pausegate::pause::{Decision, PauseId};
use pausegate::plugin::{Attempt, AttemptOutcome, Ended, LoadFailure, Plugins};
use pausegate::runner::{Host, Prompt, Resume, Silent, Unchanging};
use tokio_util::sync::CancellationToken;

#[path = "../support/postgres.rs"]
mod server;

/// Calls of each chain whose steps are counted.
const STEPS: usize = 200;
const CLIENTS: usize = 32;
const DECISIONS: usize = 20;
const CLAIMS: usize = 50;
const AT_REST: usize = 100_000;

/// As the program has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> anyhow::Result<()> {
    // Cargo says it to a benchmark; `cargo test --all-targets` does not.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("a benchmark: `cargo bench` runs it");
        return Ok(());
    }
    let chosen: Vec<_> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let runs = |part: &str| chosen.iter().any(|name| name == part) || (chosen.is_empty() && part != "rest");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build()?;
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let server = server::Server::start_in(Path::new(env!("CARGO_TARGET_TMPDIR")), "");
    let stores = [Store::Sqlite(scratch.path().join("journal.db")), Store::Postgres(server.database())];
    for store in &stores {
        if runs("steps") {
            let mut one = None;
            for chains in [1, 4, 16] {
                let rate = runtime.block_on(steps(store, chains))?;
                let times = rate / *one.get_or_insert(rate);
                println!("{store:<10} steps    {rate:>8.0} durable calls a second, {chains} chains at once ({times:.1} times one)");
            }
        }
        if runs("decide") {
            let rate = runtime.block_on(decide(store))?;
            println!("{store:<10} decide   {rate:>8.0} decisions a second, {CLIENTS} clients");
        }
        if runs("claim") {
            let (hint, claim) = runtime.block_on(claim(store))?;
            println!("{store:<10} claim    {:>8.2} ms a claim{hint}", claim.as_secs_f64() * 1e3);
        }
        if runs("rest") {
            runtime.block_on(rest(store))?;
        }
    }
    Ok(())
}

enum Store {
    Sqlite(std::path::PathBuf),
    Postgres(String),
}

impl std::fmt::Display for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(if matches!(self, Self::Sqlite(_)) { "sqlite" } else { "postgres" })
    }
}

impl Store {
    fn open(&self) -> anyhow::Result<Arc<dyn Journal>> {
        Ok(match self {
            Self::Sqlite(path) => Arc::new(SqliteJournal::open(path, Clock::system())?),
            Self::Postgres(url) => {
                let address = Address::parse(url, None).map_err(|bad| anyhow::anyhow!(bad.reason))?;
                Arc::new(PostgresJournal::new(address, Clock::system())?)
            }
        })
    }

    fn host(&self, turns: Vec<Turn>, rules: Vec<Rule>) -> anyhow::Result<Host> {
        let model: Arc<dyn Model> = Arc::new(Script::of("script", turns));
        Ok(Host {
            journal: self.open()?,
            plugins: Arc::new(Idle),
            grants: Unchanging::of(Grants { rules, ..Grants::default() }),
            models: Arc::new(move |_| Ok(model.clone())),
            clock: Clock::system(),
            schemas: Arc::default(),
            recent: Arc::default(),
            observer: Arc::new(Silent),
        })
    }
}

/// One tool that does nothing.
struct Idle;

impl Plugins for Idle {
    fn catalog(&self) -> Vec<ToolSpec> {
        vec![ToolSpec {
            name: "t__ok".into(),
            plugin: "t".into(),
            tool: "ok".into(),
            title: None,
            description: "does nothing".into(),
            input_schema: serde_json::json!({"type": "object"}).into(),
            output_schema: None,
            effects: Effects::Once,
            plugin_digest: Digest::of_bytes(b"t"),
        }]
    }

    fn loaded(&self) -> Arc<BTreeMap<String, Digest>> {
        Arc::new(BTreeMap::from([("t".to_owned(), Digest::of_bytes(b"t"))]))
    }

    fn failures(&self) -> Vec<LoadFailure> {
        Vec::new()
    }

    fn call(&self, _attempt: Attempt) -> BoxFuture<'_, AttemptOutcome> {
        let ended = Ended::Result(ToolResult::text("done"));
        std::future::ready(AttemptOutcome { ended, uses: Uses::default(), refusals: Vec::new(), recorded: Default::default() }).boxed()
    }
}

fn turns(calls: usize) -> anyhow::Result<Vec<Turn>> {
    let call = serde_json::json!({"tool_calls": [{"id": "c", "name": "t__ok", "arguments": {"text": "x".repeat(80)}}]});
    let turns = std::iter::repeat_n(call, calls).chain([serde_json::json!({"text": "done"})]);
    Ok(turns.map(serde_json::from_value).collect::<Result<_, _>>()?)
}

fn asking() -> Vec<Rule> {
    vec![Rule {
        tool: "t__ok".into(),
        args: Vec::new(),
        effect: Verdict::Ask,
        except: Vec::new(),
        approvers: Vec::new(),
        quorum: std::num::NonZeroU32::MIN,
        exclude_requester: false,
        on_deny: Then::Continue,
        expires: None,
        escalation: None,
        remind: None,
        line: 1,
    }]
}

fn somebody() -> Actor {
    Actor("os:bench@here".into())
}

async fn start(host: &Host) -> anyhow::Result<ChainId> {
    let settings = Settings { model: Some("script".into()), max_turns: 10_000, ..Settings::default() };
    let messages = vec![Message::text(Role::User, "go")];
    Ok(host.start(Prompt { by: somebody(), settings, messages, continues: None, call: None }).await?)
}

async fn resume(host: &Host, chain: &ChainId) -> anyhow::Result<()> {
    host.resume(chain, &somebody(), Resume::default(), CancellationToken::new()).await?;
    Ok(())
}

/// A call is a turn, a start and a result.
async fn steps(store: &Store, chains: usize) -> anyhow::Result<f64> {
    let host = store.host(turns(STEPS)?, Vec::new())?;
    host.journal.ready().await?;
    let began = Instant::now();
    let driven = (0..chains).map(|_| {
        let host = host.clone();
        tokio::spawn(async move { resume(&host, &start(&host).await?).await })
    });
    for driven in join_all(driven).await {
        driven??;
    }
    Ok((chains * STEPS) as f64 / began.elapsed().as_secs_f64())
}

async fn decide(store: &Store) -> anyhow::Result<f64> {
    let host = store.host(turns(1)?, asking())?;
    let mut pauses = Vec::new();
    for _ in 0..CLIENTS * DECISIONS {
        pauses.push(paused(&host).await?);
    }
    let began = Instant::now();
    let clients = pauses.chunks(DECISIONS).map(|pauses| {
        let (host, pauses) = (host.clone(), pauses.to_vec());
        tokio::spawn(async move {
            for pause in pauses {
                host.decide(&pause, &somebody(), &Decision::Approve { note: None, digest: None }).await?;
            }
            anyhow::Ok(())
        })
    });
    for client in join_all(clients).await {
        client??;
    }
    Ok((CLIENTS * DECISIONS) as f64 / began.elapsed().as_secs_f64())
}

async fn paused(host: &Host) -> anyhow::Result<PauseId> {
    let chain = start(host).await?;
    let report = host.resume(&chain, &somebody(), Resume::default(), CancellationToken::new()).await?;
    let pause = report.state.open_pauses().next().map(|pause| pause.id.clone());
    pause.ok_or_else(|| anyhow::anyhow!("a rule asks"))
}

/// A claim, and from a decision in one process to the claim in another where hints are.
async fn claim(store: &Store) -> anyhow::Result<(String, Duration)> {
    let (host, worker) = (store.host(turns(1)?, asking())?, store.open()?);
    while let Some((_, hold)) = worker.claim(&Wanted::default()).await? {
        // What other parts left.
        std::mem::forget(hold);
    }
    let (mut claims, mut hints) = (Vec::new(), Vec::new());
    for _ in 0..CLAIMS {
        let pause = paused(&host).await?;
        let waits = matches!(store, Store::Postgres(_));
        if waits {
            // A hint from before is no answer to what comes.
            while tokio::time::timeout(Duration::from_millis(100), worker.woken()).await.is_ok() {}
        }
        let decided = Instant::now();
        host.decide(&pause, &somebody(), &Decision::Approve { note: None, digest: None }).await?;
        if waits {
            worker.woken().await;
        }
        let began = Instant::now();
        let claimed = worker.claim(&Wanted::default()).await?;
        claims.push(began.elapsed());
        hints.push(decided.elapsed());
        let Some((_, hold)) = claimed else { anyhow::bail!("a decided chain can be claimed") };
        std::mem::forget(hold);
    }
    claims.sort();
    hints.sort();
    let hint = format!(", {:.2} ms from the decision to it", hints[CLAIMS / 2].as_secs_f64() * 1e3);
    Ok((if matches!(store, Store::Postgres(_)) { hint } else { String::new() }, claims[CLAIMS / 2]))
}

async fn rest(store: &Store) -> anyhow::Result<()> {
    let host = store.host(turns(1)?, asking())?;
    host.journal.ready().await?;
    let began = Instant::now();
    let writers = (0..CLIENTS).map(|_| {
        let host = host.clone();
        async move {
            for _ in 0..AT_REST / CLIENTS {
                paused(&host).await?;
            }
            anyhow::Ok(())
        }
    });
    try_join_all(writers).await?;
    println!("{store:<10} rest     {:>8.1} s to write {AT_REST} paused chains", began.elapsed().as_secs_f64());
    let began = Instant::now();
    let journal = store.open()?;
    let pending = journal.pending(100).await?;
    println!("{store:<10} rest     {:>8.2} ms to open and list 100 of what waits", began.elapsed().as_secs_f64() * 1e3);
    ensure!(pending.len() == 100);
    let began = Instant::now();
    let all = journal.pending(u32::MAX).await?.len();
    println!("{store:<10} rest     {:>8.2} s to list all {all}", began.elapsed().as_secs_f64());
    let began = Instant::now();
    ensure!(journal.claim(&Wanted::default()).await?.is_none());
    println!("{store:<10} rest     {:>8.2} ms to find that none can go on", began.elapsed().as_secs_f64() * 1e3);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("?").trim();
    println!("{store:<10} rest     {peak:>8} at most in memory, all of them listed at once");
    Ok(())
}
