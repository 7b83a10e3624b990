//! Whether the records of a chain are those that were written: every position and hash, and where it ended by a head
//! that was kept elsewhere.
//!
//! A hash chain shows an edit, a gap and a change of order by itself. It cannot show that its newest events were cut
//! off, or that somebody wrote all of it anew: only a head kept out of reach of those who can write the journal does.
//! An event of a kind that this program does not know is verified like any other.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::JournalError;
use super::record::{Hash, NO_HASH, Stored};
use super::records::{Head, Records};
use crate::chain::{ChainId, Seq};
use crate::digest::Digest;
use crate::event::Stamped;

/// What is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub chain: ChainId,
    pub seq: Seq,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The number is left out.
    Gap,
    /// The number is not the one that follows.
    Order,
    /// It builds on something else than the event before it.
    Link,
    /// It does not have the hash that stands beside it.
    Edit,
    /// The chain ends before its row, its export or the kept head says it does.
    Cut { head: Seq },
    /// The kept head has another hash for it.
    Head,
    /// The chain's row, or its export, has another hash for where it ends.
    End,
    /// The kept head names the chain, and it is not there.
    Gone,
    /// What lists are made of is not what the events say. Nothing is lost by it.
    Rows(String),
}

impl What {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Gap => "gap",
            Self::Order => "order",
            Self::Link => "link",
            Self::Edit => "edit",
            Self::Cut { .. } => "cut",
            Self::Head => "head",
            Self::End => "end",
            Self::Gone => "gone",
            Self::Rows(_) => "rows",
        }
    }

    /// As the reading of a chain says it.
    fn in_short(&self) -> &'static str {
        match self {
            Self::Gap | Self::Cut { .. } | Self::Gone => "is missing",
            _ => "is not what was written there",
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seq = self.seq;
        match &self.what {
            What::Gap => write!(f, "event {seq} is missing"),
            What::Order => write!(f, "event {seq} stands where another belongs"),
            What::Link => write!(f, "event {seq} does not build on the event before it: events were exchanged or taken out"),
            What::Edit => write!(f, "event {seq} is not what was written there"),
            What::Cut { head } if seq > *head => write!(f, "it ends after event {head}"),
            What::Cut { head } if seq == *head => write!(f, "event {seq}, its last, was cut off"),
            What::Cut { head } => write!(f, "events {seq} to {head} were cut off"),
            What::Head => write!(f, "event {seq} has another hash than in the kept head: the chain was written anew"),
            What::End => write!(f, "event {seq}, its last, has another hash than where the chain is said to end"),
            What::Gone => write!(f, "the kept head names it up to event {seq}, and it is not there"),
            What::Rows(difference) => write!(f, "what lists are made of differs from its events ({difference})"),
        }
    }
}

/// One chain, gone through record by record.
#[derive(Debug)]
pub struct Walk {
    pub chain: ChainId,
    /// The last record that was looked at.
    pub seq: Seq,
    hash: Hash,
    /// Where the kept head says the chain was.
    kept: Option<Head>,
    pub events: u64,
    /// Events that this program cannot read, and the first of them with the reason. Not a fault of the journal's.
    pub unreadable: u64,
    pub first_unreadable: Option<(Seq, String)>,
    pub findings: Vec<Finding>,
    /// After the first break nothing builds on anything: what follows is counted and no more.
    broken: bool,
}

impl Walk {
    pub fn new(chain: ChainId, kept: Option<Head>) -> Self {
        Self { chain, seq: 0, hash: NO_HASH, kept, events: 0, unreadable: 0, first_unreadable: None, findings: Vec::new(), broken: false }
    }

    pub fn take(&mut self, stored: &Stored) {
        self.events += 1;
        if let Err(why) = stored.record.read() {
            self.unreadable += 1;
            self.first_unreadable.get_or_insert((stored.record.seq, why));
        }
        if self.broken {
            self.seq = self.seq.max(stored.record.seq);
            return;
        }
        if let Some((seq, what)) = self.fault(stored) {
            self.broken = true;
            self.find(seq, what);
        }
        self.seq = stored.record.seq;
        self.hash = stored.hash.as_slice().try_into().unwrap_or_default();
        if self.kept.as_ref().is_some_and(|kept| kept.seq == self.seq && kept.hash != self.hash) && !self.broken {
            self.find(self.seq, What::Head);
        }
    }

    fn fault(&self, stored: &Stored) -> Option<(Seq, What)> {
        let expected = self.seq + 1;
        let itself = stored.prev_hash.as_slice().try_into().is_ok_and(|prev| stored.record.hash(&self.chain, &prev)[..] == stored.hash);
        match stored.record.seq {
            found if found > expected => Some((expected, What::Gap)),
            found if found < expected => Some((found, What::Order)),
            found if !itself => Some((found, What::Edit)),
            found if stored.prev_hash != self.hash => Some((found, What::Link)),
            _ => None,
        }
    }

    /// The chain is over; `head` is where the store or the export says it ends.
    pub fn end(&mut self, head: Option<(Seq, Hash)>) {
        let last = [head.map(|(seq, _)| seq), self.kept.as_ref().map(|kept| kept.seq)].into_iter().flatten().max().unwrap_or(0);
        if self.seq < last {
            let seq = self.seq + 1;
            self.find(seq, What::Cut { head: last });
        }
        if !self.broken && head.is_some_and(|(seq, hash)| seq == self.seq && hash != self.hash) {
            self.find(self.seq, What::End);
        }
    }

    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }

    fn find(&mut self, seq: Seq, what: What) {
        self.findings.push(Finding { chain: self.chain.clone(), seq, what });
    }
}

/// Goes through one chain of a journal. Events that come in meanwhile are taken along.
pub async fn verify(journal: &dyn Records, head: &Head, kept: Option<Head>) -> Result<Walk, JournalError> {
    let mut walk = Walk::new(head.chain.clone(), kept);
    loop {
        let page = journal.records(&head.chain, walk.seq).await?;
        if page.is_empty() {
            break;
        }
        page.iter().for_each(|stored| walk.take(stored));
    }
    walk.end(Some((head.seq, head.hash)));
    if walk.is_sound() {
        match journal.difference(&head.chain).await {
            Ok(Some(difference)) => walk.find(walk.seq, What::Rows(difference)),
            // What cannot be read or does not hold has been said above.
            Ok(None) | Err(JournalError::Unreadable { .. } | JournalError::Damaged { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(walk)
}

/// The events of a chain up to `seq`, each verified, whatever stands after them.
pub async fn events_until(journal: &dyn Records, chain: &ChainId, seq: Seq) -> Result<Vec<Stamped>, JournalError> {
    let mut walk = Walk::new(chain.clone(), None);
    let mut events = Vec::new();
    while walk.seq < seq {
        let page = journal.records(chain, walk.seq).await?;
        if page.is_empty() {
            return Err(JournalError::Damaged { chain: chain.clone(), seq: walk.seq + 1, what: "is missing" });
        }
        for stored in page.iter().take_while(|stored| stored.record.seq <= seq) {
            walk.take(stored);
            if let Some(finding) = walk.findings.first() {
                return Err(JournalError::Damaged { chain: chain.clone(), seq: finding.seq, what: finding.what.in_short() });
            }
            let read = stored.record.read();
            events.push(read.map_err(|message| JournalError::Unreadable { chain: chain.clone(), seq: stored.record.seq, message })?);
        }
        if page.iter().any(|stored| stored.record.seq > seq) && walk.seq < seq {
            return Err(JournalError::Damaged { chain: chain.clone(), seq: walk.seq + 1, what: "is missing" });
        }
    }
    Ok(events)
}

/// Where all chains of a journal end, to be kept elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Heads {
    /// Of this form.
    pub version: u32,
    /// Over all that follows: enough to keep where there is little room, to know the rest by.
    pub digest: Digest,
    pub chains: Vec<Head>,
}

/// Why a file of heads is of no use.
#[derive(Debug, thiserror::Error)]
pub enum HeadsError {
    #[error("it is no output of `audit head --json`: {0}")]
    Form(#[from] serde_json::Error),
    #[error("it is of version {0}; this program reads version {known}", known = Heads::VERSION)]
    Version(u32),
    #[error("it was changed: its digest is not that of its chains")]
    Digest,
}

impl Heads {
    pub const VERSION: u32 = 1;

    /// `chains` in the order of their ids.
    pub fn new(chains: Vec<Head>) -> Self {
        Self { version: Self::VERSION, digest: digest(&chains), chains }
    }

    pub async fn of(journal: &dyn Records) -> Result<Self, JournalError> {
        let mut chains: Vec<Head> = Vec::new();
        loop {
            let page = journal.heads(chains.last().map(|head| &head.chain)).await?;
            if page.is_empty() {
                return Ok(Self::new(chains));
            }
            chains.extend(page);
        }
    }

    pub fn read(text: &str) -> Result<Self, HeadsError> {
        let heads: Self = serde_json::from_str(text)?;
        match () {
            () if heads.version != Self::VERSION => Err(HeadsError::Version(heads.version)),
            () if heads.digest != digest(&heads.chains) => Err(HeadsError::Digest),
            () => Ok(heads),
        }
    }

    pub fn by_chain(self) -> BTreeMap<ChainId, Head> {
        self.chains.into_iter().map(|head| (head.chain.clone(), head)).collect()
    }
}

/// A stored form: `sha256("pausegate-heads/1" ‖ JCS([[id, seq, hash], …]))`, hashes as hex.
fn digest(chains: &[Head]) -> Digest {
    let rows = chains.iter().map(|head| serde_json::json!([head.chain, head.seq, hex::encode(head.hash)]));
    Digest::of_json("pausegate-heads/1", &rows.collect())
}
