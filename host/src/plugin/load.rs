//! A directory of `.wasm` files becomes plugins: hashed, compiled once, asked for their tools, each on its own.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use wasmtime::Engine;
use wasmtime::component::{Component, Linker};

use super::adapt::{Adapted, Adapting};
use super::attempt::{self, Bench};
use super::bindings::PluginKeyvaluePre;
use super::cache::Cache;
use super::catalog::{Told, Tool, Want};
use super::state::State;
use super::{contract, names, reconcile};
use crate::capability::Limits;
use crate::digest::Digest;
use crate::plugin::LoadFailure;

/// Bytes of one plugin file; a Python component has 18 to 40 MB.
pub const FILE_BYTES_MAX: u64 = 64 << 20;
/// Files looked at in one directory.
pub const FILES_MAX: usize = 256;
/// Wall time of compiling one plugin. Past it the file is a failure; its thread ends when the compiler does.
pub const COMPILE_TIME: Duration = Duration::from_secs(120);
/// Wall time of checking one plugin's schemas.
pub const CHECK_TIME: Duration = Duration::from_secs(10);
/// Limits of `list-tools`.
pub const LIST_TOOLS: Limits = Limits {
    memory_bytes: 256 << 20,
    time: Duration::from_secs(10),
    cpu: Duration::from_secs(5),
    output_bytes: 1 << 20,
    written_bytes: 0,
    entries: 0,
};

/// The export that a plugin may have beside its tools.
const RECONCILE: &str = "pausegate:plugin/reconcile@0.1.0";

/// A plugin that can be called.
pub struct Plugin {
    pub name: String,
    pub digest: Digest,
    /// Whatever stands at its place by now; `None` of bytes that came from elsewhere.
    pub file: Option<Arc<File>>,
    pub entry: Entry,
    pub tools: Vec<Tool>,
    pub wants: Vec<Want>,
    pub turns: Semaphore,
}

/// How it is called.
pub enum Entry {
    Contract {
        pre: PluginKeyvaluePre<State>,
        /// Where it can tell what became of an attempt.
        reconcile: Option<reconcile::Pre>,
    },
    /// It does not know the contract.
    Adapted(Adapted),
}

/// Where loading one plugin stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadProgress {
    pub plugin: String,
    pub stage: LoadStage,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadStage {
    /// Compiles native code: seconds for a Python or JavaScript plugin, once per file.
    Compiling,
    /// Asks the plugin for its tools, once per file.
    Listing,
    Ready,
    /// Why it is no plugin; with an empty plugin name, why compiled code is not kept.
    Failed(String),
}

pub type OnProgress = Arc<dyn Fn(LoadProgress) + Send + Sync>;

/// What loading needs; shared by the files of a directory.
pub struct Loader {
    pub bench: Arc<Bench>,
    pub linker: Linker<State>,
    /// Plugins that need not know the contract.
    pub adapt: BTreeSet<String>,
    pub cache: Cache,
    pub turns_per_plugin: usize,
    pub compile_time: Duration,
    pub list_limits: Limits,
    pub progress: Option<OnProgress>,
}

#[derive(Default)]
pub struct Loaded {
    pub plugins: Vec<Plugin>,
    pub failures: Vec<LoadFailure>,
}

impl Loader {
    /// Every `.wasm` file of `dir`; a missing directory holds none.
    pub async fn load(self: Arc<Self>, dir: &Path) -> std::io::Result<Loaded> {
        Ok(self.load_all(plugin_files(dir)?).await)
    }

    /// One file, wherever it is and whatever it ends in.
    pub async fn load_one(self: Arc<Self>, file: &Path) -> Loaded {
        self.load_all(named(vec![file.to_owned()])).await
    }

    /// These files, each under its name.
    pub async fn load_files(self: Arc<Self>, files: Vec<(String, PathBuf)>) -> Loaded {
        self.load_all(Listed { files, failures: Vec::new() }).await
    }

    /// At most as many at once as there are processors.
    async fn load_all(self: Arc<Self>, listed: Listed) -> Loaded {
        let Listed { files, mut failures } = listed;
        let at_once = Arc::new(Semaphore::new(std::thread::available_parallelism().map_or(1, usize::from)));
        let mut running = JoinSet::new();
        for (name, path) in files {
            let (loader, at_once) = (Arc::clone(&self), Arc::clone(&at_once));
            running.spawn(async move {
                let _turn = at_once.acquire().await;
                let loaded = loader.load_file(&name, path).await;
                loader.tell(&name, loaded.as_ref().map_or_else(|reason| LoadStage::Failed(reason.clone()), |_| LoadStage::Ready));
                loaded.map_err(|reason| LoadFailure { name, reason })
            });
        }
        let mut loaded = Loaded::default();
        while let Some(joined) = running.join_next().await {
            match joined {
                Ok(Ok((plugin, bad_tools))) => {
                    loaded.plugins.push(plugin);
                    failures.extend(bad_tools);
                }
                Ok(Err(failure)) => failures.push(failure),
                Err(panic) => failures.push(LoadFailure { name: "?".to_owned(), reason: format!("loading failed, a bug of the host: {panic}") }),
            }
        }
        loaded.plugins.sort_by(|a, b| a.name.cmp(&b.name));
        failures.sort_by(|a, b| a.name.cmp(&b.name));
        loaded.failures = failures;
        loaded
    }

    async fn load_file(self: &Arc<Self>, name: &str, path: PathBuf) -> Result<(Plugin, Vec<LoadFailure>), String> {
        let loader = Arc::clone(self);
        let adapt = self.adapt.contains(name);
        let (found, file) = blocking(move || {
            let bytes = read_limited(&path)?;
            Ok((loader.find(bytes, adapt)?, File::open(&path).ok().map(Arc::new)))
        })
        .await?;
        let (plugin, bad_tools) = self.load_found(name, found).await?;
        Ok((Plugin { file, ..plugin }, bad_tools))
    }

    /// What was a plugin once, from wherever it was kept.
    pub async fn load_bytes(self: &Arc<Self>, name: &str, bytes: Vec<u8>) -> Result<Plugin, String> {
        let loader = Arc::clone(self);
        let adapt = self.adapt.contains(name);
        let found = blocking(move || loader.find(bytes, adapt)).await?;
        self.load_found(name, found).await.map(|(plugin, _)| plugin)
    }

    async fn load_found(self: &Arc<Self>, name: &str, found: Found) -> Result<(Plugin, Vec<LoadFailure>), String> {
        let Found { digest, bytes, compiled } = found;
        let component = match compiled {
            Some(component) => component,
            None => {
                self.tell(name, LoadStage::Compiling);
                let (loader, key, bytes) = (Arc::clone(self), digest.clone(), Arc::clone(&bytes));
                let compiled = blocking(move || loader.compile(&key, &bytes));
                tokio::time::timeout(self.compile_time, compiled)
                    .await
                    .map_err(|_| format!("compiling took longer than {:?}", self.compile_time))??
            }
        };
        let (entry, told, misfits) = self.entry(name, &digest, component, bytes).await?;
        let (wants, checked_name, checked_digest) = (told.wants.clone(), name.to_owned(), digest.clone());
        let checking = blocking(move || Ok(told.check(&checked_name, &checked_digest)));
        let (tools, mut bad_tools) =
            tokio::time::timeout(CHECK_TIME, checking).await.map_err(|_| format!("checking its schemas took longer than {CHECK_TIME:?}"))??;
        bad_tools.extend(misfits);
        let plugin = Plugin { name: name.to_owned(), digest, file: None, entry, tools, wants, turns: Semaphore::new(self.turns_per_plugin) };
        Ok((plugin, bad_tools))
    }

    /// How it is called, what it says it offers, and functions that cannot be offered.
    async fn entry(
        self: &Arc<Self>,
        name: &str,
        digest: &Digest,
        component: Component,
        bytes: Arc<Vec<u8>>,
    ) -> Result<(Entry, Told, Vec<LoadFailure>), String> {
        let misfit = |error: wasmtime::Error| format!("it does not fit this host: {error:#}");
        let linked = self.linker.instantiate_pre(&component).map_err(misfit)?;
        if self.adapt.contains(name) && contract::is_foreign(&bytes) {
            let (loader, plugin) = (Arc::clone(self), name.to_owned());
            let adapting = blocking(move || Ok(Adapting::new(&loader.bench.engine, &component, linked, &bytes)));
            let adapted =
                tokio::time::timeout(CHECK_TIME, adapting).await.map_err(|_| format!("reading its types took longer than {CHECK_TIME:?}"))??;
            let misfits = adapted.misfits.into_iter().map(|(tool, reason)| LoadFailure { name: format!("{plugin}__{tool}"), reason });
            return Ok((Entry::Adapted(adapted.adapted), adapted.told, misfits.collect()));
        }
        let reconcile = match component.get_export(None, RECONCILE) {
            Some(_) => Some(reconcile::Pre::new(linked.clone()).map_err(misfit)?),
            None => None,
        };
        // Code that is kept from when it was adapted is no plugin by itself.
        let pre =
            PluginKeyvaluePre::new(linked).map_err(|error| contract::check(&bytes).err().map_or_else(|| misfit(error), |why| why.to_string()))?;
        let told = self.told(name, digest, &pre).await?;
        Ok((Entry::Contract { pre, reconcile }, told, Vec::new()))
    }

    /// Hashes the whole file: the digest is what grants hang on, so it is never taken from anything else.
    fn find(&self, bytes: Vec<u8>, adapt: bool) -> Result<Found, String> {
        let bytes = Arc::new(bytes);
        let digest = Digest::of_bytes(&bytes);
        let compiled = self.cache.load_code(&self.bench.engine, &digest);
        if compiled.is_none() && !(adapt && contract::is_foreign(&bytes)) {
            contract::check(&bytes).map_err(|error| error.to_string())?;
        }
        Ok(Found { digest, bytes, compiled })
    }

    fn compile(&self, digest: &Digest, bytes: &[u8]) -> Result<Component, String> {
        let engine: &Engine = &self.bench.engine;
        let code = engine.precompile_component(bytes).map_err(|error| format!("it does not compile: {error:#}"))?;
        self.cache.store_code(engine, digest, &code).map_err(|error| format!("its compiled code does not load: {error:#}"))
    }

    async fn told(&self, name: &str, digest: &Digest, pre: &PluginKeyvaluePre<State>) -> Result<Told, String> {
        if let Some(told) = self.cache.load_catalog(digest) {
            return Ok(told);
        }
        self.tell(name, LoadStage::Listing);
        let listed = attempt::list_tools(&self.bench, pre, name, &self.list_limits).await;
        let told = Told::new(listed.map_err(|failure| format!("list-tools failed: {}: {}", failure.kind, failure.message))?);
        self.cache.store_catalog(digest, &told);
        Ok(told)
    }

    fn tell(&self, plugin: &str, stage: LoadStage) {
        if let Some(progress) = &self.progress {
            progress(LoadProgress { plugin: plugin.to_owned(), stage });
        }
    }
}

struct Found {
    digest: Digest,
    bytes: Arc<Vec<u8>>,
    /// From the cache.
    compiled: Option<Component>,
}

/// Names and paths of the `.wasm` files, sorted, and those whose name is none.
#[derive(Default)]
pub struct Listed {
    pub files: Vec<(String, PathBuf)>,
    pub failures: Vec<LoadFailure>,
}

pub fn plugin_files(dir: &Path) -> std::io::Result<Listed> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Listed::default()),
        entries => entries?,
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "wasm"));
    paths.sort();
    Ok(named(paths))
}

/// Each with its name, if that is one.
fn named(paths: Vec<PathBuf>) -> Listed {
    let (mut files, mut failures) = (Vec::new(), Vec::new());
    for path in paths {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let reason = match stem.as_str() {
            // Editors and copies in progress hide their files.
            hidden if hidden.starts_with('.') => continue,
            named if !names::is_plugin_name(named) => {
                "a plugin's file name holds lower-case letters and digits, joined by single `-` or `_`".to_owned()
            }
            _ if files.len() == FILES_MAX => format!("more than {FILES_MAX} plugins in the directory"),
            _ => {
                files.push((stem, path));
                continue;
            }
        };
        failures.push(LoadFailure { name: stem, reason });
    }
    Listed { files, failures }
}

pub fn read_limited(path: &Path) -> Result<Vec<u8>, String> {
    let told = |error: std::io::Error| format!("cannot be read: {error}");
    // Asked before it is opened: opening a pipe would wait for its writer.
    let found = fs::metadata(path).map_err(told)?;
    if !found.is_file() {
        return Err("not a file".to_owned());
    }
    let too_large = || format!("the file is larger than {FILE_BYTES_MAX} bytes");
    if found.len() > FILE_BYTES_MAX {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(found.len() as usize);
    File::open(path).and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)).map_err(told)?;
    if bytes.len() as u64 > FILE_BYTES_MAX { Err(too_large()) } else { Ok(bytes) }
}

/// Of a file that was loaded what stands in it now, whatever its name leads to.
pub fn read_again(file: &File) -> std::io::Result<Vec<u8>> {
    let bytes = file.metadata()?.len().min(FILE_BYTES_MAX);
    let mut read = vec![0; bytes as usize];
    file.read_exact_at(&mut read, 0)?;
    Ok(read)
}

pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, String> + Send + 'static) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|panic| Err(format!("loading failed, a bug of the host: {panic}")))
}
