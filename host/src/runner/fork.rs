//! Beginning a chain anew from any point of another, which stays as it is.

use super::open::OpenChain;
use super::{Host, HostError};
use crate::call::{CallKey, CallStatus};
use crate::chain::{Actor, ChainId, Seq};
use crate::state::admit::admit;
use crate::state::{ChainState, Rules, fork};

/// A fork as it was written down; [`Host::resume`] carries it on.
#[derive(Debug)]
pub struct Forked {
    pub state: ChainState,
    /// Calls that may have had their effect before that point: not run again, their result says so.
    pub unknown: Vec<CallKey>,
}

impl Host {
    /// A chain that knows what `id` knew after event `seq`, or after its last one.
    pub async fn fork(&self, id: &ChainId, seq: Option<Seq>, by: &Actor) -> Result<Forked, HostError> {
        let mut events = self.journal.events(id, 0).await?;
        let head = events.last().map_or(0, |event| event.seq);
        let seq = seq.unwrap_or(head);
        if seq == 0 || seq > head {
            return Err(HostError::NoEvent { chain: id.clone(), seq, head });
        }
        events.retain(|event| event.seq <= seq);
        let state = ChainState::fold(id.clone(), &events);
        let mut chain = OpenChain::new(self, ChainId(self.clock.id("ch_")));
        let begun = |_: &ChainState, rules: &Rules<'_>| {
            let forked = fork::fork(&state, &events, by, rules.id);
            Ok((forked.events, forked.unknown))
        };
        let asked = |state: &ChainState, rules: &Rules<'_>, _: &mut Vec<CallKey>| {
            let open: Vec<_> = state.calls_in(CallStatus::Requested).map(|call| call.key).collect();
            (admit(state, rules, &open), ())
        };
        let (unknown, ()) = chain.transact_then(begun, asked).await?;
        Ok(Forked { state: chain.state, unknown })
    }
}
