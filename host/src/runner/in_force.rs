//! The grants that a process judges by: those it was started with, or those that stand in the operator's file by now.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::capability::Grants;

/// Always grants that were read whole: what cannot be followed never comes into force.
pub trait InForce: Send + Sync {
    /// To judge calls by. A file that is being written is waited for, for a bounded time: half of one may lack a rule.
    fn settled(&self) -> BoxFuture<'_, Arc<Grants>>;
    /// To hold a running attempt to, which they can only narrow; the same `Arc` until they change. Asked at every host
    /// call, so it is cheap and blocks for no more than a look at the file.
    fn latest(&self) -> Arc<Grants>;
}

/// The same for as long as the process runs.
#[derive(Default)]
pub struct Unchanging(Arc<Grants>);

impl Unchanging {
    pub fn of(grants: impl Into<Arc<Grants>>) -> Arc<Self> {
        Arc::new(Self(grants.into()))
    }
}

impl InForce for Unchanging {
    fn settled(&self) -> BoxFuture<'_, Arc<Grants>> {
        Box::pin(std::future::ready(self.latest()))
    }

    fn latest(&self) -> Arc<Grants> {
        Arc::clone(&self.0)
    }
}
