//! The plugin directory while a process runs: a file that is new, replaced or gone is so for calls that start.
//!
//! A file counts once it has been the same for a while, so half of one that is being written is not loaded; calls that
//! run end on the code they started with. What does not load changes nothing where an older one is loaded: that one
//! stays, and it is told once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::host::WasmPlugins;
use super::load::{Listed, Loaded, plugin_files, read_limited};
use crate::clock::since_boot;
use crate::digest::Digest;
use crate::file::Mark;
use crate::plugin::LoadFailure;

/// A file that was the same for so long is not being written. Longer than a writer pauses between two pieces.
pub const SETTLING: Duration = Duration::from_millis(400);
/// Between two looks where nothing was heard: not every file system tells.
const LOOK: Duration = Duration::from_secs(2);

/// What became of a change in the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// New, or in the place of the one before; with its digest.
    Loaded(String, Digest),
    /// It does not load, and nothing of its name did.
    Failed(LoadFailure),
    /// It does not load; the one before stays.
    Kept(LoadFailure),
    Gone(String),
}

pub type TellChange = dyn Fn(Change) + Send + Sync;

/// Follows the directory while it lives.
pub struct Following {
    task: JoinHandle<()>,
    /// `None` where the system does not tell; it is looked at all the same.
    _watcher: Option<RecommendedWatcher>,
}

impl Drop for Following {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl WasmPlugins {
    /// For hosts that run long. Must be called inside the runtime that plugins are called in.
    pub fn follow(self: &Arc<Self>, tell: Box<TellChange>) -> Following {
        // One place: that something changed is all there is to know.
        let (sender, mut hints) = mpsc::channel(1);
        let watcher = watcher(&self.dir, sender);
        let mut follower = Follower { plugins: Arc::clone(self), tell, known: BTreeMap::new(), unsettled: BTreeMap::new() };
        let silent = watcher.is_none();
        let task = tokio::spawn(async move {
            loop {
                follower.look().await;
                let wait = if follower.unsettled.is_empty() { LOOK } else { SETTLING };
                if silent {
                    tokio::time::sleep(wait).await;
                } else {
                    let _hint = tokio::time::timeout(wait, hints.recv()).await;
                }
            }
        });
        Following { task, _watcher: watcher }
    }
}

fn watcher(dir: &Path, sender: mpsc::Sender<()>) -> Option<RecommendedWatcher> {
    let heard = move |event: notify::Result<notify::Event>| {
        // To read a file is no change, and looking is reading.
        if event.is_ok_and(|event| !event.kind.is_access()) {
            let _known_already = sender.try_send(());
        }
    };
    let mut watcher = notify::recommended_watcher(heard).ok()?;
    watcher.watch(dir, RecursiveMode::NonRecursive).ok()?;
    Some(watcher)
}

struct Follower {
    plugins: Arc<WasmPlugins>,
    tell: Box<TellChange>,
    /// What each file was when it was last dealt with.
    known: BTreeMap<String, Option<Mark>>,
    /// What it is by now, and since when.
    unsettled: BTreeMap<String, (Option<Mark>, Duration)>,
}

impl Follower {
    /// Deals with every file that changed and has settled.
    async fn look(&mut self) {
        let dir = self.plugins.dir.clone();
        let Ok(Ok(listed)) = tokio::task::spawn_blocking(move || plugin_files(&dir)).await else { return };
        let settled = self.settled(&listed);
        let (there, gone): (Vec<_>, Vec<_>) = settled.into_iter().partition(|(name, _)| listed.files.iter().any(|(found, _)| found == name));
        for (name, _) in gone {
            self.take_away(&name);
        }
        let files: Vec<(String, PathBuf)> = listed.files.into_iter().filter(|(name, _)| there.iter().any(|(settled, _)| settled == name)).collect();
        if files.is_empty() {
            return;
        }
        let changed = self.changed(files).await;
        let loaded = Arc::clone(&self.plugins.loader).load_files(changed).await;
        // Was any written to meanwhile? Then what was loaded may be of both, and its next state is dealt with.
        for (name, mark) in there {
            self.known.insert(name, mark);
        }
        self.apply(loaded);
    }

    /// Files whose bytes are others than those loaded: most of them are only seen for the first time.
    async fn changed(&self, files: Vec<(String, PathBuf)>) -> Vec<(String, PathBuf)> {
        let set = self.plugins.set();
        let others = tokio::task::spawn_blocking(move || {
            let is_loaded = |name: &str, path: &Path| {
                set.get(name).is_some_and(|plugin| read_limited(path).is_ok_and(|bytes| Digest::of_bytes(&bytes) == plugin.digest))
            };
            files.into_iter().filter(|(name, path)| !is_loaded(name, path)).collect()
        });
        others.await.unwrap_or_default()
    }

    fn settled(&mut self, listed: &Listed) -> Vec<(String, Option<Mark>)> {
        let now = since_boot();
        let mut marks: BTreeMap<String, Option<Mark>> = listed.files.iter().map(|(name, path)| (name.clone(), Mark::of(path))).collect();
        let set = self.plugins.set();
        let loaded = set.plugins().map(|plugin| plugin.name.clone());
        for name in loaded.chain(self.known.keys().cloned()) {
            marks.entry(name).or_insert(None);
        }
        let mut settled = Vec::new();
        for (name, mark) in marks {
            if self.known.get(&name) == Some(&mark) {
                self.unsettled.remove(&name);
                continue;
            }
            let (seen, since) = self.unsettled.entry(name.clone()).or_insert((mark, now));
            if *seen != mark {
                (*seen, *since) = (mark, now);
            } else if now.saturating_sub(*since) >= SETTLING {
                self.unsettled.remove(&name);
                settled.push((name, mark));
            }
        }
        settled
    }

    fn take_away(&mut self, name: &str) {
        self.known.remove(name);
        let mut set = (*self.plugins.set()).clone();
        if set.take_away(name) {
            self.plugins.put(set);
            (self.tell)(Change::Gone(name.to_owned()));
        }
    }

    fn apply(&self, loaded: Loaded) {
        let mut set = (*self.plugins.set()).clone();
        let mut changes = Vec::new();
        let (of_files, of_tools): (Vec<_>, Vec<_>) = loaded.failures.into_iter().partition(|failure| !failure.name.contains("__"));
        for plugin in loaded.plugins {
            let of_it = format!("{}__", plugin.name);
            let mut failures: Vec<_> = of_tools.iter().filter(|failure| failure.name.starts_with(&of_it)).cloned().collect();
            // It loads, and something of it as a whole is worth saying.
            failures.extend(of_files.iter().filter(|failure| failure.name == plugin.name).cloned());
            changes.push(Change::Loaded(plugin.name.clone(), plugin.digest.clone()));
            set.put(plugin, failures);
        }
        for failure in of_files {
            match set.get(&failure.name) {
                Some(_) if changes.iter().any(|change| matches!(change, Change::Loaded(name, _) if *name == failure.name)) => {}
                Some(_) => changes.push(Change::Kept(failure)),
                None if set.failures().contains(&failure) => {}
                None => {
                    set.fail(failure.clone());
                    changes.push(Change::Failed(failure));
                }
            }
        }
        // In force before anyone is told.
        self.plugins.put(set);
        changes.into_iter().for_each(&*self.tell);
    }
}
