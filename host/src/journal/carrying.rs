//! Which chains are needed by others: one that carries another on reads its history from there.

use std::collections::{HashMap, HashSet};

use crate::chain::ChainId;

/// Of all chains at one moment.
pub struct Carrying {
    parents: HashMap<ChainId, ChainId>,
    children: HashMap<ChainId, HashSet<ChainId>>,
}

impl Carrying {
    /// Of each chain that carries another on, with that other.
    pub fn of(pairs: Vec<(ChainId, ChainId)>) -> Self {
        let mut children: HashMap<ChainId, HashSet<ChainId>> = HashMap::new();
        for (chain, parent) in &pairs {
            children.entry(parent.clone()).or_default().insert(chain.clone());
        }
        Self { parents: pairs.into_iter().collect(), children }
    }

    pub fn is_needed(&self, chain: &ChainId) -> bool {
        self.children.get(chain).is_some_and(|children| !children.is_empty())
    }

    /// It needs nobody any more.
    pub fn remove(&mut self, chain: &ChainId) {
        if let Some(children) = self.parents.get(chain).and_then(|parent| self.children.get_mut(parent)) {
            children.remove(chain);
        }
    }
}
