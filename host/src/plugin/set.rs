//! The plugins that are loaded at a moment, each with the one it replaced: what was judged for bytes runs on those bytes.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::load::{Loaded, Plugin};
use crate::digest::Digest;
use crate::plugin::LoadFailure;

#[derive(Clone, Default)]
pub struct Set {
    plugins: BTreeMap<String, Arc<Plugin>>,
    /// Of `plugins`.
    digests: Arc<BTreeMap<String, Digest>>,
    /// One per name: a call that was judged just before its plugin was replaced.
    replaced: BTreeMap<String, Arc<Plugin>>,
    failures: Vec<LoadFailure>,
}

impl Set {
    pub fn of(loaded: Loaded) -> Self {
        let digests = loaded.plugins.iter().map(|plugin| (plugin.name.clone(), plugin.digest.clone())).collect();
        let plugins = loaded.plugins.into_iter().map(|plugin| (plugin.name.clone(), Arc::new(plugin))).collect();
        Self { plugins, digests: Arc::new(digests), replaced: BTreeMap::new(), failures: loaded.failures }
    }

    pub fn plugins(&self) -> impl Iterator<Item = &Arc<Plugin>> {
        self.plugins.values()
    }

    pub fn digests(&self) -> Arc<BTreeMap<String, Digest>> {
        Arc::clone(&self.digests)
    }

    pub fn failures(&self) -> &[LoadFailure] {
        &self.failures
    }

    pub fn get(&self, name: &str) -> Option<&Arc<Plugin>> {
        self.plugins.get(name)
    }

    /// The plugin with these bytes, be they replaced meanwhile; without them the one that is loaded.
    pub fn with(&self, name: &str, digest: Option<&Digest>) -> Option<&Arc<Plugin>> {
        let both = [self.plugins.get(name), self.replaced.get(name)];
        both.into_iter().flatten().find(|plugin| digest.is_none_or(|digest| *digest == plugin.digest))
    }

    /// In the place of the one of its name; calls of that one go on.
    pub fn put(&mut self, plugin: Plugin, bad_tools: Vec<LoadFailure>) {
        self.forget_failures(&plugin.name);
        self.failures.extend(bad_tools);
        let name = plugin.name.clone();
        Arc::make_mut(&mut self.digests).insert(name.clone(), plugin.digest.clone());
        if let Some(before) = self.plugins.insert(name.clone(), Arc::new(plugin)) {
            self.replaced.insert(name, before);
        }
    }

    pub fn fail(&mut self, failure: LoadFailure) {
        self.forget_failures(&failure.name);
        self.failures.push(failure);
    }

    /// Returns whether there was something.
    pub fn take_away(&mut self, name: &str) -> bool {
        let failed = self.forget_failures(name);
        let Some(before) = self.plugins.remove(name) else { return failed };
        Arc::make_mut(&mut self.digests).remove(name);
        self.replaced.insert(name.to_owned(), before);
        true
    }

    /// Of the file and of single tools in it.
    fn forget_failures(&mut self, name: &str) -> bool {
        let before = self.failures.len();
        let of_tool = format!("{name}__");
        self.failures.retain(|failure| failure.name != name && !failure.name.starts_with(&of_tool));
        self.failures.len() < before
    }
}
