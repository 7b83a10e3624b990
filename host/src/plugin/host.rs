//! All plugins of a directory, loaded and callable.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use futures_util::future::BoxFuture;
use rustls::RootCertStore;
use tokio::sync::Semaphore;

use super::attempt::{self, Bench, Target};
use super::cache::Cache;
use super::engine::{self, Ticker};
use super::load::{COMPILE_TIME, Entry, LIST_TOOLS, LoadProgress, LoadStage, Loaded, Loader, OnProgress, Plugin, blocking, read_again};
use super::net::{Net, Resolve, SystemResolver};
use super::reconcile;
use super::set::Set;
use super::state;
use super::vault::{ReadSecret, SystemSecrets};
use crate::call::{Finding, ToolResult, ToolSpec, kind};
use crate::capability::keyvalue::KeyValues;
use crate::capability::{Limits, Uses};
use crate::digest::Digest;
use crate::plugin::{Attempt, AttemptOutcome, Catalogue, Ended, LoadFailure, Plugins};

/// Where plugins are and how many run at once.
#[derive(Clone)]
pub struct PluginConfig {
    pub dir: PathBuf,
    /// Where compiled code is kept; `None` compiles at every start.
    pub cache: Option<PathBuf>,
    /// Instances alive at the same time.
    pub instances: u32,
    /// Calls of one plugin at the same time; more wait, within their own time limit.
    pub calls_per_plugin: usize,
    /// The largest memory limit that a call can have.
    pub memory_bytes_max: u64,
    /// Wall time of compiling one file.
    pub compile_time: Duration,
    /// Limits of asking one file for its tools.
    pub list_limits: Limits,
    pub progress: Option<OnProgress>,
    /// Names to addresses; tests have one of their own.
    pub resolver: Arc<dyn Resolve>,
    /// Who signs servers' certificates, in place of whom the operating system trusts; tests have their own.
    pub tls_roots: Option<Arc<RootCertStore>>,
    /// Keeps plugins' values; where there is none, they have none.
    pub values: Option<Arc<dyn KeyValues>>,
    /// Values of secrets; tests have their own.
    pub secrets: Arc<dyn ReadSecret>,
    /// Names of plugins that need not know the contract: their functions are tools.
    pub adapt: BTreeSet<String>,
}

impl PluginConfig {
    pub fn new(dir: impl Into<PathBuf>, cache: Option<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            cache,
            instances: 256,
            calls_per_plugin: 64,
            memory_bytes_max: 256 << 20,
            compile_time: COMPILE_TIME,
            list_limits: LIST_TOOLS,
            progress: None,
            resolver: Arc::new(SystemResolver),
            tls_roots: None,
            values: None,
            secrets: Arc::new(SystemSecrets),
            adapt: BTreeSet::new(),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum PluginsError {
    #[error("cannot read the plugin directory `{}`", .dir.display())]
    Directory { dir: PathBuf, source: std::io::Error },
    #[error("cannot start the WebAssembly engine: {0}")]
    Engine(String),
}

/// The plugins of a directory on wasmtime.
pub struct WasmPlugins {
    pub(super) loader: Arc<Loader>,
    pub(super) dir: PathBuf,
    /// Replaced as a whole, by whoever follows the directory.
    set: RwLock<Arc<Set>>,
    /// Of chains that go on with what they were judged on; the newest last.
    kept: Mutex<VecDeque<Arc<Plugin>>>,
}

/// Kept plugins that are ready to be called at the same time; beyond it the one taken up longest ago is loaded again.
pub const KEPT_LOADED: usize = 32;

impl WasmPlugins {
    /// Loads every plugin that can be loaded; what cannot stands in `failures`.
    pub async fn load(config: PluginConfig) -> Result<Self, PluginsError> {
        let dir = config.dir.clone();
        let loader = loader(config)?;
        let loaded = Arc::clone(&loader).load(&dir).await;
        let loaded = loaded.map_err(|source| PluginsError::Directory { dir: dir.clone(), source })?;
        Ok(Self::of(loader, dir, loaded))
    }

    /// The plugin in one file alone, for `check`; the directory is not looked at.
    pub async fn load_file(config: PluginConfig, file: &Path) -> Result<Self, PluginsError> {
        let dir = config.dir.clone();
        let loader = loader(config)?;
        let loaded = Arc::clone(&loader).load_one(file).await;
        Ok(Self::of(loader, dir, loaded))
    }

    fn of(loader: Arc<Loader>, dir: PathBuf, loaded: Loaded) -> Self {
        Self { loader, dir, set: RwLock::new(Arc::new(Set::of(loaded))), kept: Mutex::default() }
    }

    /// Those that are loaded now.
    pub(super) fn set(&self) -> Arc<Set> {
        Arc::clone(&self.set.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn put(&self, set: Set) {
        *self.set.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(set);
    }

    /// What a plugin offers and would like to be granted, for `trust`.
    pub fn catalogue_of(&self, plugin: &str) -> Option<Catalogue> {
        let set = self.set();
        let plugin = set.get(plugin)?;
        Some(Catalogue { tools: plugin.tools.iter().map(|tool| tool.spec.clone()).collect(), wants: plugin.wants.clone() })
    }

    /// The plugin with the bytes that the attempt was judged for, and the place of the tool.
    fn find(&self, attempt: &Attempt) -> Option<(Arc<Plugin>, usize)> {
        let loaded = self.set().with(&attempt.plugin, attempt.digest.as_ref()).cloned();
        let plugin = loaded.or_else(|| self.kept_plugin(&attempt.plugin, attempt.digest.as_ref()?))?;
        let place = plugin.tools.iter().position(|known| known.spec.tool == attempt.tool)?;
        Some((plugin, place))
    }

    fn kept_plugin(&self, name: &str, digest: &Digest) -> Option<Arc<Plugin>> {
        let kept = self.kept.lock().expect("no panic under this lock");
        kept.iter().find(|plugin| plugin.name == name && plugin.digest == *digest).cloned()
    }
}

fn loader(config: PluginConfig) -> Result<Arc<Loader>, PluginsError> {
    let engine = engine::build(config.instances, config.memory_bytes_max).map_err(|error| PluginsError::Engine(format!("{error:#}")))?;
    let ticker = Ticker::start(&engine).map_err(|error| PluginsError::Engine(error.to_string()))?;
    let linker = state::linker(&engine).map_err(|error| PluginsError::Engine(format!("{error:#}")))?;
    let (cache, unused) = Cache::open(config.cache.as_deref(), &engine);
    if let (Some(progress), Some(reason)) = (&config.progress, unused) {
        progress(LoadProgress { plugin: String::new(), stage: LoadStage::Failed(reason) });
    }
    let bench = Bench {
        engine,
        ticker,
        slots: Semaphore::new(config.instances as usize),
        net: Arc::new(Net::new(config.resolver, config.tls_roots)),
        values: config.values,
        secrets: config.secrets,
    };
    Ok(Arc::new(Loader {
        bench: Arc::new(bench),
        linker,
        adapt: config.adapt,
        cache,
        turns_per_plugin: config.calls_per_plugin,
        compile_time: config.compile_time,
        list_limits: config.list_limits,
        progress: config.progress,
    }))
}

impl Plugins for WasmPlugins {
    fn catalog(&self) -> Vec<ToolSpec> {
        self.set().plugins().flat_map(|plugin| plugin.tools.iter().map(|tool| tool.spec.clone())).collect()
    }

    fn loaded(&self) -> Arc<BTreeMap<String, Digest>> {
        self.set().digests()
    }

    fn failures(&self) -> Vec<LoadFailure> {
        self.set().failures().to_vec()
    }

    fn call(&self, attempt: Attempt) -> BoxFuture<'_, AttemptOutcome> {
        Box::pin(async move {
            match self.find(&attempt) {
                Some((plugin, place)) => {
                    let output_schema = plugin.tools[place].output_schema.as_ref();
                    let target = Target { entry: &plugin.entry, turns: &plugin.turns, output_schema };
                    attempt::run(&self.loader.bench, target, attempt).await
                }
                None => not_loaded(&attempt),
            }
        })
    }

    fn bytes<'a>(&'a self, plugin: &'a str, digest: &'a Digest) -> BoxFuture<'a, Option<Vec<u8>>> {
        Box::pin(async move {
            let file = self.set().with(plugin, Some(digest))?.file.clone()?;
            let bytes = blocking(move || read_again(&file).map_err(|error| error.to_string())).await.ok()?;
            (Digest::of_bytes(&bytes) == *digest).then_some(bytes)
        })
    }

    fn load_kept<'a>(&'a self, plugin: &'a str, digest: &'a Digest, bytes: Vec<u8>) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            if self.kept_plugin(plugin, digest).is_some() {
                return Ok(());
            }
            let loaded = Arc::new(self.loader.load_bytes(plugin, bytes).await?);
            let mut kept = self.kept.lock().expect("no panic under this lock");
            kept.push_back(loaded);
            while kept.len() > KEPT_LOADED {
                kept.pop_front();
            }
            Ok(())
        })
    }

    fn reconcile(&self, attempt: Attempt) -> BoxFuture<'_, Option<Finding>> {
        Box::pin(async move {
            let (plugin, place) = self.find(&attempt)?;
            let Entry::Contract { reconcile: Some(pre), .. } = &plugin.entry else { return None };
            Some(reconcile::run(&self.loader.bench, pre, &plugin.turns, plugin.tools[place].output_schema.as_ref(), attempt).await)
        })
    }
}

fn not_loaded(attempt: &Attempt) -> AttemptOutcome {
    let message = format!("no loaded plugin `{}` offers a tool `{}`", attempt.plugin, attempt.tool);
    AttemptOutcome {
        ended: Ended::Result(ToolResult::failure(kind::NOT_LOADED, message)),
        uses: Uses::default(),
        refusals: Vec::new(),
        recorded: Default::default(),
    }
}
