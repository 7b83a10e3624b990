//! Drives chains: asks the rules what is next, does it, and appends what happened.
//!
//! [`Host`] is the library's face. Everything that changes a chain goes through it: start, resume, decide, say, cancel.

use std::sync::Arc;

use crate::chain::{Blocked, ChainId, Seq};
use crate::clock::Clock;
use crate::counted::counted;
use crate::digest::Digest;
use crate::event::Stamped;
use crate::journal::{Journal, JournalError};
use crate::model::{Model, ModelError};
use crate::plugin::{Plugins, Watcher};
use crate::state::import::ImportError;
use crate::state::{ChainState, Rules, Schemas};

mod attempts;
mod beside;
mod carry;
mod change;
mod crash;
mod deciding;
mod drive;
mod family;
mod fork;
mod in_force;
mod kept;
mod open;
mod recent;
mod recover;
mod redact;
mod replaced;
mod still;
#[cfg(test)]
pub(crate) mod tests;
mod work;

pub use carry::{Prompt, Resume, TakenUp};
pub use change::{Decision, Said};
pub use fork::Forked;
pub use in_force::{InForce, Unchanging};
pub use recent::Recent;
pub use work::{Overseer, Work};

/// Opens a model by the name a chain was started with.
pub type OpenModel = dyn Fn(&str) -> Result<Arc<dyn Model>, ModelError> + Send + Sync;

/// Everything a chain needs from outside. Cheap to clone.
#[derive(Clone)]
pub struct Host {
    pub journal: Arc<dyn Journal>,
    pub plugins: Arc<dyn Plugins>,
    pub grants: Arc<dyn InForce>,
    pub models: Arc<OpenModel>,
    pub clock: Clock,
    pub schemas: Arc<Schemas>,
    pub recent: Arc<Recent>,
    pub observer: Arc<dyn Observer>,
}

impl Host {
    /// Rules as they are at this moment.
    fn with_rules<T>(&self, ask: impl FnOnce(&Rules<'_>) -> T) -> T {
        let fresh = |prefix: &str| self.clock.id(prefix);
        let grants = self.grants.latest();
        ask(&Rules { grants: &grants, now: self.clock.now(), id: &fresh, schemas: &self.schemas })
    }
}

/// Hears what a chain does while it runs; called between writes, must not block.
pub trait Observer: Watcher {
    /// An event that is in the journal now.
    fn event(&self, chain: &ChainState, event: &Stamped) {
        let _ = (chain, event);
    }

    /// Asked to stop, the runner waits for this many calls that may have had their effect.
    fn waiting(&self, chain: &ChainState, calls: usize) {
        let _ = (chain, calls);
    }

    /// The chain goes on with bytes of a plugin that were kept for it: others are loaded by now.
    fn kept(&self, chain: &ChainState, plugin: &str, digest: &Digest) {
        let _ = (chain, plugin, digest);
    }

    /// A piece of the model's text, as it streams.
    fn text(&self, chain: &ChainId, piece: &str) {
        let _ = (chain, piece);
    }
}

/// Nobody listens.
pub struct Silent;

impl Watcher for Silent {
    fn log(&self, _call_id: &str, _level: &'static str, _message: &str) {}
    fn progress(&self, _call_id: &str, _done: f64, _total: Option<f64>, _message: &str) {}
}

impl Observer for Silent {}

/// Where a chain stands when its runner lets go of it.
#[derive(Debug)]
pub enum Rest {
    Completed,
    /// Open pauses hold it; see `state.open_pauses()`.
    Paused,
    /// Child chains hold it; see `state.children()`.
    Waiting,
    Blocked(Blocked),
    Rejected,
    Cancelled,
    Failed,
    /// The model is away or its key is missing; the chain can be resumed.
    ModelAway(ModelError),
    /// Asked to stop by this process (Ctrl-C). The state says what it waits for.
    Interrupted,
}

#[derive(Debug)]
pub struct Report {
    pub state: ChainState,
    pub rest: Rest,
    /// Chains below it that it waits for, where they were driven along with it.
    pub below: Vec<ChainState>,
}

#[derive(Debug, thiserror::Error)]
pub enum HostError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Import(#[from] ImportError),
    #[error(transparent)]
    Refused(#[from] crate::state::decide::Refused),
    #[error("chain {chain} ended as {status}; it cannot go on")]
    Ended { chain: ChainId, status: crate::chain::ChainStatus },
    #[error("chain {chain} waits for {}", pauses.iter().map(|pause| pause.0.as_str()).collect::<Vec<_>>().join(", "))]
    Waiting { chain: ChainId, pauses: Vec<crate::pause::PauseId> },
    #[error("chain {chain} waits for chain {child}, which one of its calls started")]
    HasChild { chain: ChainId, child: ChainId },
    #[error("chain {chain} has calls without a result; resume it first")]
    Unfinished { chain: ChainId },
    #[error("chain {chain} has {}; there is no event {seq}", counted(head, "event", "events"))]
    NoEvent { chain: ChainId, seq: Seq, head: Seq },
    #[error("the new turn limit {given} is not above {} already made", counted(used, "model call", "model calls"))]
    TurnLimit { given: u32, used: u32 },
    #[error("{0}")]
    BadCall(String),
}
