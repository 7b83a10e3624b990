//! Records as NDJSON, with their hashes: what can be verified without the database it came from.
//!
//! A stored format. Each chain's records stand together, oldest first, and a line of their own says where it ends:
//! `{"chain":…,"seq":…,"at":…,"kind":…,"payload":…,"epoch":…,"prev_hash":…,"hash":…}` and `{"chain":…,"end":{"id":…,
//! "seq":…,"hash":…}}`. The payload is the text that was hashed, as a string: no reader can change it by reading it.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::JournalError;
use super::audit::Walk;
use super::record::{Record, Stored};
use super::records::{Head, Records};
use crate::chain::{ChainId, Epoch, Seq};

/// Bytes of one line of an export: more than any event that is written.
pub const LINE_BYTES_MAX: usize = 256 << 20;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Line {
    Event(Event),
    End(End),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    chain: ChainId,
    seq: Seq,
    at: String,
    kind: String,
    payload: String,
    epoch: Epoch,
    prev_hash: String,
    hash: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    chain: ChainId,
    end: Head,
}

impl Line {
    fn event(chain: &ChainId, stored: Stored) -> Self {
        let Record { seq, at, kind, payload, epoch } = stored.record;
        let (prev_hash, hash) = (hex::encode(stored.prev_hash), hex::encode(stored.hash));
        Self::Event(Event { chain: chain.clone(), seq, at, kind, payload, epoch, prev_hash, hash })
    }
}

impl Event {
    fn stored(self) -> Stored {
        let bytes = |text: &str| hex::decode(text).unwrap_or_default();
        let (prev_hash, hash) = (bytes(&self.prev_hash), bytes(&self.hash));
        Stored { record: Record { seq: self.seq, at: self.at, kind: self.kind, payload: self.payload, epoch: self.epoch }, prev_hash, hash }
    }
}

/// Why an export could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Written(#[from] std::io::Error),
}

/// Gives the lines of one chain to `write`, as they stand. Returns where the chain ends.
pub async fn export(journal: &dyn Records, chain: &ChainId, write: &mut dyn FnMut(&Line) -> std::io::Result<()>) -> Result<Head, ExportError> {
    let mut end = Head { chain: chain.clone(), seq: 0, hash: Default::default() };
    loop {
        let page = journal.records(chain, end.seq).await?;
        if page.is_empty() {
            break;
        }
        for stored in page {
            (end.seq, end.hash) = (stored.record.seq, stored.hash.as_slice().try_into().unwrap_or_default());
            write(&Line::event(chain, stored))?;
        }
    }
    write(&Line::End(End { chain: chain.clone(), end: end.clone() }))?;
    Ok(end)
}

/// Reads an export line by line; one chain in hand at a time.
pub struct Reader<F> {
    /// Where a kept head says a chain was.
    kept: F,
    walk: Option<Walk>,
    ended: HashSet<ChainId>,
}

/// What a line was, where it ended or broke something.
pub enum Read {
    Chain(Walk),
    /// The chain of the line before stops without a line that says so.
    Torn(Walk),
    /// No line of an export, or one where it does not belong.
    Stray(String),
}

impl<F: FnMut(&ChainId) -> Option<Head>> Reader<F> {
    pub fn new(kept: F) -> Self {
        Self { kept, walk: None, ended: HashSet::new() }
    }

    pub fn line(&mut self, text: &str) -> Vec<Read> {
        match serde_json::from_str(text) {
            Ok(Line::Event(event)) => self.event(event),
            Ok(Line::End(end)) => self.end(&end),
            Err(_) => vec![Read::Stray("it is no line of an export".to_owned())],
        }
    }

    fn event(&mut self, event: Event) -> Vec<Read> {
        let mut read = Vec::new();
        if self.walk.as_ref().is_some_and(|walk| walk.chain != event.chain) {
            read.extend(self.over());
        }
        if self.walk.is_none() && self.ended.contains(&event.chain) {
            read.push(Read::Stray(format!("chain {} had ended before", event.chain)));
            return read;
        }
        let kept = &mut self.kept;
        let walk = self.walk.get_or_insert_with(|| Walk::new(event.chain.clone(), kept(&event.chain)));
        walk.take(&event.stored());
        read
    }

    fn end(&mut self, line: &End) -> Vec<Read> {
        match self.walk.take_if(|walk| walk.chain == line.chain && line.end.chain == line.chain) {
            Some(mut walk) => {
                walk.end(Some((line.end.seq, line.end.hash)));
                self.ended.insert(walk.chain.clone());
                vec![Read::Chain(walk)]
            }
            None => vec![Read::Stray(format!("chain {} ends that had not begun", line.chain))],
        }
    }

    /// The lines are over, or another chain begins.
    pub fn over(&mut self) -> Option<Read> {
        let mut walk = self.walk.take()?;
        walk.end(None);
        self.ended.insert(walk.chain.clone());
        Some(Read::Torn(walk))
    }
}
