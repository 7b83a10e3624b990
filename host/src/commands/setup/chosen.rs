//! The plugins that a command sees: those the settings choose, or none at all.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::call::{Finding, ToolResult, ToolSpec, kind};
use crate::capability::Uses;
use crate::digest::Digest;
use crate::plugin::{Attempt, AttemptOutcome, Ended, LoadFailure, Plugins};

/// `only_plugins` of the settings: the others are as if they were not there.
pub struct Chosen<P> {
    inner: P,
    names: Vec<String>,
}

impl<P: Plugins> Chosen<P> {
    pub fn new(inner: P, names: Vec<String>) -> Self {
        Self { inner, names }
    }

    fn has(&self, plugin: &str) -> bool {
        self.names.iter().any(|name| name == plugin)
    }
}

impl<P: Plugins> Plugins for Chosen<P> {
    fn catalog(&self) -> Vec<ToolSpec> {
        self.inner.catalog().into_iter().filter(|tool| self.has(&tool.plugin)).collect()
    }

    fn loaded(&self) -> Arc<BTreeMap<String, Digest>> {
        let loaded = self.inner.loaded();
        let had = loaded.iter().filter(|(name, _)| self.has(name));
        Arc::new(had.map(|(name, digest)| (name.clone(), digest.clone())).collect())
    }

    fn failures(&self) -> Vec<LoadFailure> {
        let plugin = |failure: &LoadFailure| failure.name.split("__").next().unwrap_or_default().to_owned();
        self.inner.failures().into_iter().filter(|failure| self.has(&plugin(failure))).collect()
    }

    fn call(&self, attempt: Attempt) -> BoxFuture<'_, AttemptOutcome> {
        if self.has(&attempt.plugin) { self.inner.call(attempt) } else { Nothing.call(attempt) }
    }

    fn bytes<'a>(&'a self, plugin: &'a str, digest: &'a Digest) -> BoxFuture<'a, Option<Vec<u8>>> {
        if self.has(plugin) { self.inner.bytes(plugin, digest) } else { Nothing.bytes(plugin, digest) }
    }

    fn load_kept<'a>(&'a self, plugin: &'a str, digest: &'a Digest, bytes: Vec<u8>) -> BoxFuture<'a, Result<(), String>> {
        if self.has(plugin) { self.inner.load_kept(plugin, digest, bytes) } else { Nothing.load_kept(plugin, digest, bytes) }
    }

    fn reconcile(&self, attempt: Attempt) -> BoxFuture<'_, Option<Finding>> {
        if self.has(&attempt.plugin) { self.inner.reconcile(attempt) } else { Nothing.reconcile(attempt) }
    }
}

/// For deciding, which runs no plugin code.
pub struct Nothing;

impl Plugins for Nothing {
    fn catalog(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    fn loaded(&self) -> Arc<BTreeMap<String, Digest>> {
        Arc::default()
    }

    fn failures(&self) -> Vec<LoadFailure> {
        Vec::new()
    }

    fn call(&self, attempt: Attempt) -> BoxFuture<'_, AttemptOutcome> {
        let result = ToolResult::failure(kind::NOT_LOADED, format!("plugin `{}` is not loaded", attempt.plugin));
        Box::pin(std::future::ready(AttemptOutcome {
            ended: Ended::Result(result),
            uses: Uses::default(),
            refusals: Vec::new(),
            recorded: Default::default(),
        }))
    }
}
