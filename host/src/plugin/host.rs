//! All plugins of a directory, loaded and callable.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;

use super::attempt::{self, Bench, Target};
use super::cache::Cache;
use super::catalog::{Tool, Want};
use super::engine::{self, Ticker};
use super::load::{COMPILE_TIME, LIST_TOOLS, LoadProgress, LoadStage, Loader, OnProgress, Plugin};
use super::net::{Net, Resolve, SystemResolver};
use super::state;
use crate::call::{ToolResult, ToolSpec, kind};
use crate::capability::keyvalue::KeyValues;
use crate::capability::{Limits, Uses};
use crate::digest::Digest;
use crate::plugin::{Attempt, AttemptOutcome, Ended, LoadFailure, Plugins};

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
    /// Keeps plugins' values; where there is none, they have none.
    pub values: Option<Arc<dyn KeyValues>>,
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
            values: None,
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
    bench: Arc<Bench>,
    plugins: BTreeMap<String, Plugin>,
    failures: Vec<LoadFailure>,
}

impl WasmPlugins {
    /// Loads every plugin that can be loaded; what cannot stands in `failures`.
    pub async fn load(config: PluginConfig) -> Result<Self, PluginsError> {
        let engine = engine::build(config.instances, config.memory_bytes_max).map_err(|error| PluginsError::Engine(format!("{error:#}")))?;
        let ticker = Ticker::start(&engine).map_err(|error| PluginsError::Engine(error.to_string()))?;
        let linker = state::linker(&engine).map_err(|error| PluginsError::Engine(format!("{error:#}")))?;
        let (cache, unused) = Cache::open(config.cache.as_deref(), &engine);
        if let (Some(progress), Some(reason)) = (&config.progress, unused) {
            progress(LoadProgress { plugin: String::new(), stage: LoadStage::Failed(reason) });
        }
        let bench = Arc::new(Bench {
            engine,
            ticker,
            slots: Semaphore::new(config.instances as usize),
            net: Arc::new(Net::new(config.resolver)),
            values: config.values,
        });
        let loader = Loader {
            bench: Arc::clone(&bench),
            linker,
            cache,
            turns_per_plugin: config.calls_per_plugin,
            compile_time: config.compile_time,
            list_limits: config.list_limits,
            progress: config.progress,
        };
        let loaded = Arc::new(loader).load(&config.dir).await;
        let loaded = loaded.map_err(|source| PluginsError::Directory { dir: config.dir, source })?;
        let plugins = loaded.plugins.into_iter().map(|plugin| (plugin.name.clone(), plugin)).collect();
        Ok(Self { bench, plugins, failures: loaded.failures })
    }

    /// What each plugin would like to be granted, for `trust`.
    pub fn wants(&self) -> BTreeMap<String, Vec<Want>> {
        self.plugins.iter().map(|(name, plugin)| (name.clone(), plugin.wants.clone())).collect()
    }

    fn find(&self, plugin: &str, tool: &str) -> Option<(&Plugin, &Tool)> {
        let plugin = self.plugins.get(plugin)?;
        Some((plugin, plugin.tools.iter().find(|known| known.spec.tool == tool)?))
    }
}

impl Plugins for WasmPlugins {
    fn catalog(&self) -> Vec<ToolSpec> {
        self.plugins.values().flat_map(|plugin| plugin.tools.iter().map(|tool| tool.spec.clone())).collect()
    }

    fn loaded(&self) -> BTreeMap<String, Digest> {
        self.plugins.iter().map(|(name, plugin)| (name.clone(), plugin.digest.clone())).collect()
    }

    fn failures(&self) -> Vec<LoadFailure> {
        self.failures.clone()
    }

    fn call(&self, attempt: Attempt) -> BoxFuture<'_, AttemptOutcome> {
        Box::pin(async move {
            match self.find(&attempt.plugin, &attempt.tool) {
                Some((plugin, tool)) => {
                    let target = Target { pre: &plugin.pre, turns: &plugin.turns, output_schema: tool.output_schema.as_ref() };
                    attempt::run(&self.bench, target, attempt).await
                }
                None => not_loaded(&attempt),
            }
        })
    }
}

fn not_loaded(attempt: &Attempt) -> AttemptOutcome {
    let message = format!("no loaded plugin `{}` offers a tool `{}`", attempt.plugin, attempt.tool);
    AttemptOutcome { ended: Ended::Result(ToolResult::failure(kind::NOT_LOADED, message)), uses: Uses::default(), refusals: Vec::new() }
}
