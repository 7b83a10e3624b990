//! Plugins: `.wasm` files in a directory, and one attempt of a call on a fresh instance.
//!
//! The only place that names wasmtime; no binding type leaves this folder. An attempt holds what its [`Held`] says,
//! checked at every host call, whatever was approved.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::call::{Effects, Finding, Recording, ToolResult, ToolSpec};
use crate::capability::{FrozenUse, Held, Limits, Refusal, Uses};
use crate::chain::ChainId;
use crate::clock::Lease;
use crate::digest::Digest;
use crate::pause::Ask;

mod adapt;
mod attempt;
mod bindings;
mod cache;
mod catalog;
mod chance;
mod config;
mod console;
mod contract;
pub mod difference;
mod engine;
mod follow;
mod fs;
mod host;
mod http;
mod keyvalue;
mod ledger;
mod lift;
mod limits;
mod load;
mod look;
mod meter;
mod names;
mod net;
mod reconcile;
mod recorder;
mod redact;
mod scrub;
mod set;
mod state;
#[cfg(test)]
pub(crate) mod tests;
mod text;
mod trap;
mod vault;

/// The fuzzers' target for what is lifted from a guest; it stands here for the bindings' sake.
#[cfg(test)]
#[path = "../../fuzz/src/targets"]
mod fuzz {
    pub mod lifted;
}

pub use catalog::Want;
pub use contract::{ACCEPTED, Declared, offered};
pub use difference::Catalogue;
pub use follow::{Change, Following, TellChange};
/// For the oracle of the grants and for the fuzzers' targets.
#[cfg(test)]
pub(crate) use fs::rules as file_rules;
#[cfg(test)]
pub use fuzz::lifted;
pub use host::{PluginConfig, PluginsError, WasmPlugins};
#[cfg(test)]
pub(crate) use http::{allows, form as request_form};
pub use load::{LoadProgress, LoadStage, OnProgress};
pub use look::{Look, look};
pub use names::is_plugin_name;
pub use net::{Resolve, SystemResolver, is_private};
pub use redact::Redactor;
pub use vault::{ReadSecret, SecretError, SystemSecrets, trouble};

/// What the doors decide of one use; the benchmark measures it.
#[doc(hidden)]
pub mod judging {
    pub use super::fs::judging as files;
    pub use super::http::judging as requests;
}

/// What the runner needs of plugins; tests have a twin of it.
pub trait Plugins: Send + Sync {
    /// All tools of all loaded plugins, by name.
    fn catalog(&self) -> Vec<ToolSpec>;
    /// Digest of the bytes loaded under each plugin name; looked at before each step of a chain.
    fn loaded(&self) -> Arc<BTreeMap<String, Digest>>;
    /// Files that are no plugin, and why.
    fn failures(&self) -> Vec<LoadFailure>;
    /// Runs one attempt to its end; never panics, never outlives `attempt.limits.time` by more than the grace.
    fn call(&self, attempt: Attempt) -> BoxFuture<'_, AttemptOutcome>;
    /// The bytes that are loaded under a name, if they are these and can still be read.
    fn bytes<'a>(&'a self, plugin: &'a str, digest: &'a Digest) -> BoxFuture<'a, Option<Vec<u8>>> {
        let _ = (plugin, digest);
        Box::pin(std::future::ready(None))
    }
    /// Makes bytes callable that were loaded under the name once, for attempts that name their digest; says why not.
    fn load_kept<'a>(&'a self, plugin: &'a str, digest: &'a Digest, bytes: Vec<u8>) -> BoxFuture<'a, Result<(), String>> {
        let _ = (plugin, digest, bytes);
        Box::pin(std::future::ready(Err("these plugins have no place for kept bytes".to_owned())))
    }
    /// Asks what became of an attempt whose end nobody recorded; `None` where the plugin has no way to tell.
    fn reconcile(&self, attempt: Attempt) -> BoxFuture<'_, Option<Finding>> {
        let _ = attempt;
        Box::pin(std::future::ready(None))
    }
}

impl<P: Plugins + ?Sized> Plugins for Arc<P> {
    fn catalog(&self) -> Vec<ToolSpec> {
        (**self).catalog()
    }

    fn loaded(&self) -> Arc<BTreeMap<String, Digest>> {
        (**self).loaded()
    }

    fn failures(&self) -> Vec<LoadFailure> {
        (**self).failures()
    }

    fn call(&self, attempt: Attempt) -> BoxFuture<'_, AttemptOutcome> {
        (**self).call(attempt)
    }

    fn bytes<'a>(&'a self, plugin: &'a str, digest: &'a Digest) -> BoxFuture<'a, Option<Vec<u8>>> {
        (**self).bytes(plugin, digest)
    }

    fn load_kept<'a>(&'a self, plugin: &'a str, digest: &'a Digest, bytes: Vec<u8>) -> BoxFuture<'a, Result<(), String>> {
        (**self).load_kept(plugin, digest, bytes)
    }

    fn reconcile(&self, attempt: Attempt) -> BoxFuture<'_, Option<Finding>> {
        (**self).reconcile(attempt)
    }
}

/// A file in the plugin directory that offers no tools, or one tool of it that cannot be offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadFailure {
    /// Plugin name (file stem), or `<plugin>__<tool>` where just one tool is disabled.
    pub name: String,
    pub reason: String,
}

/// One attempt of one call.
#[derive(Clone)]
pub struct Attempt {
    pub chain: ChainId,
    pub plugin: String,
    /// The bytes that it was judged for: those that are loaded, were loaded last, or were given to
    /// [`Plugins::load_kept`]; `None` runs whichever are loaded.
    pub digest: Option<Digest>,
    /// The plugin's own name of the tool.
    pub tool: String,
    pub call_id: String,
    /// Canonical bytes: checked, shown and hashed.
    pub arguments: String,
    /// From 1.
    pub attempt: u32,
    pub idempotency_key: String,
    pub approved: bool,
    /// Oldest first.
    pub answers: Vec<Answer>,
    pub state: Option<Vec<u8>>,
    /// What earlier attempts of the call got from outside.
    pub recorded: Recording,
    pub effects: Effects,
    pub held: Held,
    /// What of it the operator still gives; `None` where that cannot change meanwhile.
    pub still: Option<Arc<dyn StillHeld>>,
    pub limits: Limits,
    /// Ends the attempt with `cancelled`.
    pub cancel: CancellationToken,
    /// The same, but only while it has had no effect; it can have none from then on.
    pub let_go: CancellationToken,
    /// Under which alone it may have effects, checked at each; `None` where its hold lasts as long as the process.
    pub lease: Option<Lease>,
    pub watcher: Option<Arc<dyn Watcher>>,
}

/// What the operator's grants give a running attempt by now. They narrow what it holds and never widen it.
pub trait StillHeld: Send + Sync {
    /// `None` while they are those that it started under. Asked at each host call, so it must be cheap then.
    fn now(&self) -> Option<Arc<Held>>;
}

/// A person's answer to one of the plugin's own pauses of this call.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub key: String,
    pub asked: Ask,
    pub value: Value,
    pub note: Option<String>,
    pub context: Option<Value>,
}

/// Hears what a running attempt says; called from the attempt's task, must not block.
pub trait Watcher: Send + Sync {
    /// `level` is `trace` … `error`.
    fn log(&self, call_id: &str, level: &'static str, message: &str);
    fn progress(&self, call_id: &str, done: f64, total: Option<f64>, message: &str);
}

#[derive(Clone, Debug, PartialEq)]
pub struct AttemptOutcome {
    pub ended: Ended,
    /// Counted at the host call, whether or not the attempt succeeded.
    pub uses: Uses,
    /// Uses that were refused, first ones first, limited.
    pub refusals: Vec<Refusal>,
    /// What it got from outside beyond what it was given of earlier attempts, where it paused.
    pub recorded: Recording,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    Result(ToolResult),
    Pause(Asked),
    /// It reached for what only an approval opens, before it had any effect that is not recorded.
    HeldBack(FrozenUse),
    /// It asked for something else than the attempts before it did at that place; says what.
    Diverged(String),
}

/// A pause as the plugin returned it, lifted and checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    pub key: String,
    pub reason: String,
    pub context: Option<Value>,
    pub ask: Ask,
    pub state: Option<Vec<u8>>,
}
