//! What is measured on: the tests' probe, loaded once, and hosts over fresh journals on a real disk.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, ensure};
use pausegate::chain::message::{Message, Role};
use pausegate::chain::{Actor, ChainId, Settings};
use pausegate::clock::Clock;
use pausegate::journal::SqliteJournal;
use pausegate::model::Model;
use pausegate::model::script::{Script, Turn};
use pausegate::plugin::{PluginConfig, Plugins, WasmPlugins};
use pausegate::runner::{Host, Prompt, Report, Resume, Silent, Unchanging};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// Bytes of `{"text":"…"}`.
const ARGUMENT_BYTES: usize = 100;

pub struct World {
    pub runtime: Runtime,
    pub plugins: Arc<WasmPlugins>,
    pub probe: PathBuf,
}

impl World {
    pub fn open() -> anyhow::Result<Self> {
        let probe = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/guests/probe.wasm");
        ensure!(probe.is_file(), "`target/guests/probe.wasm` is missing: run `tools/build-plugins.sh` first");
        // As the program has it.
        let workers = std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 4);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build()?;
        let plugins = runtime.block_on(load(&probe))?;
        Ok(Self { runtime, plugins: Arc::new(plugins), probe })
    }

    /// A host on `journal` whose model says `turns`.
    pub fn host(&self, journal: SqliteJournal, turns: Vec<Turn>) -> Host {
        let model: Arc<dyn Model> = Arc::new(Script::of("script", turns));
        Host {
            journal: Arc::new(journal),
            plugins: self.plugins.clone(),
            grants: Arc::<Unchanging>::default(),
            models: Arc::new(move |_| Ok(model.clone())),
            clock: Clock::system(),
            schemas: Arc::default(),
            recent: Arc::default(),
            observer: Arc::new(Silent),
        }
    }
}

/// The kept compiled code is shared with later runs.
async fn load(probe: &Path) -> anyhow::Result<WasmPlugins> {
    let dir = scratch()?;
    std::fs::copy(probe, dir.path().join("probe.wasm"))?;
    let plugins = WasmPlugins::load(PluginConfig::new(dir.path(), Some(kept("cache")))).await?;
    ensure!(plugins.failures().is_empty(), "the probe does not load: {:?}", plugins.failures());
    Ok(plugins)
}

/// On the disk that builds are on: a `/tmp` in memory would make syncing free.
pub fn scratch() -> anyhow::Result<TempDir> {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).context("a folder for journals")
}

/// A folder that stays from run to run.
pub fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("cost").join(name)
}

pub fn journal(folder: &Path) -> anyhow::Result<SqliteJournal> {
    Ok(SqliteJournal::open(&folder.join("journal.db"), Clock::system())?)
}

/// Arguments of 100 bytes.
pub fn arguments() -> Value {
    let bare = json!({"text": ""}).to_string().len();
    json!({"text": "x".repeat(ARGUMENT_BYTES - bare)})
}

pub fn somebody() -> Actor {
    Actor("os:bench@here".to_owned())
}

pub async fn start(host: &Host) -> anyhow::Result<ChainId> {
    let settings = Settings { model: Some("script".to_owned()), max_turns: 10_000, ..Settings::default() };
    let messages = vec![Message::text(Role::User, "go")];
    Ok(host.start(Prompt { by: somebody(), settings, messages, continues: None, call: None }).await?)
}

pub async fn resume(host: &Host, chain: &ChainId) -> anyhow::Result<Report> {
    Ok(host.resume(chain, &somebody(), Resume::default(), CancellationToken::new()).await?)
}
