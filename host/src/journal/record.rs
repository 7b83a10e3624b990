//! An event as a store keeps it, and the hash that chains it to the one before.
//!
//! A stored format. `hash = sha256(
//!     "pausegate-event/1"                               the domain, 17 bytes
//!     ‖ prev_hash                                       32 bytes; all zero for the first event
//!     ‖ seq ‖ epoch                                     8 bytes each, big-endian
//!     ‖ len(chain) ‖ chain ‖ len(at) ‖ at
//!     ‖ len(kind) ‖ kind ‖ len(payload) ‖ payload )`    lengths in bytes, 8 bytes each, big-endian
//!
//! Texts are hashed as the bytes that are stored, never as a re-serialized value: an event that this program cannot
//! read can still be verified, and a store must give back exactly the text it was given.

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use crate::chain::{ChainId, Epoch, Seq};
use crate::event::Stamped;

pub type Hash = [u8; 32];

/// What stands before the first event.
pub const NO_HASH: Hash = [0; 32];
/// For a usual event.
const ROOM: usize = 1 << 10;
const DOMAIN: &[u8; 17] = b"pausegate-event/1";

/// One event, serialized once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub seq: Seq,
    /// RFC 3339 in UTC with nine digits of a second: sorts as text, loses nothing.
    pub at: String,
    pub kind: String,
    /// JSON; `null` for a kind that has no payload.
    pub payload: String,
    pub epoch: Epoch,
}

/// A record with the hashes that stand beside it, right or wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    pub record: Record,
    pub prev_hash: Vec<u8>,
    pub hash: Vec<u8>,
}

impl Record {
    pub fn of(stamped: &Stamped) -> Self {
        Self::at(stamped, time_text(stamped.at))
    }

    /// Of one append, whose events share their moment.
    pub fn all(events: &[Stamped]) -> Vec<Self> {
        let same_moment = events.chunk_by(|a, b| a.at == b.at);
        let records = same_moment.flat_map(|events| {
            let at = time_text(events[0].at);
            events.iter().map(move |stamped| Self::at(stamped, at.clone()))
        });
        records.collect()
    }

    fn at(stamped: &Stamped, at: String) -> Self {
        let mut json = Vec::with_capacity(ROOM);
        serde_json::to_writer(&mut json, &stamped.event).expect("events serialize");
        let (kind, payload) = split(String::from_utf8(json).expect("JSON is text"));
        Self { seq: stamped.seq, at, kind, payload, epoch: stamped.epoch }
    }

    /// The event again; the error says what could not be read.
    pub fn read(&self) -> Result<Stamped, String> {
        let json = format!(r#"{{"kind":{},"payload":{}}}"#, serde_json::Value::from(self.kind.as_str()), self.payload);
        Ok(Stamped {
            seq: self.seq,
            at: self.at.parse().map_err(|error| format!("time `{}`: {error}", self.at))?,
            epoch: self.epoch,
            event: serde_json::from_str(&json).map_err(|error| self.unreadable(&error))?,
        })
    }

    /// For an unknown kind without the list of the known ones.
    fn unreadable(&self, error: &serde_json::Error) -> String {
        let error = error.to_string();
        format!("`{}`: {}", self.kind, error.split(", expected one of").next().unwrap_or(&error))
    }

    pub fn hash(&self, chain: &ChainId, prev: &Hash) -> Hash {
        let mut hasher = Sha256::new();
        hasher.update(DOMAIN);
        hasher.update(prev);
        hasher.update(self.seq.to_be_bytes());
        hasher.update(self.epoch.to_be_bytes());
        for text in [&chain.0, &self.at, &self.kind, &self.payload] {
            hasher.update((text.len() as u64).to_be_bytes());
            hasher.update(text.as_bytes());
        }
        hasher.finalize().into()
    }
}

pub fn time_text(at: Timestamp) -> String {
    format!("{at:.9}")
}

/// Kind and payload inside `{"kind":"K","payload":P}`. Cutting the text spares a second pass over a payload that may
/// be large; a kind is a variant's name and holds nothing that JSON escapes.
fn split(mut json: String) -> (String, String) {
    let rest = json.strip_prefix(r#"{"kind":""#).expect("an event is tagged with its kind first");
    let (kind, rest) = rest.split_once('"').expect("a kind ends");
    let kind = kind.to_owned();
    let Some(payload) = rest.strip_prefix(r#","payload":"#).and_then(|rest| rest.strip_suffix('}')) else {
        return (kind, "null".to_owned());
    };
    let begins = json.len() - 1 - payload.len();
    json.truncate(json.len() - 1);
    json.drain(..begins);
    (kind, json)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::event::Event;

    const GOLDEN: &str = include_str!("../../../tests/golden/journal-v1.jsonl");
    /// Of the last event of the sample; computed once by another program from the form above.
    const GOLDEN_HASH: &str = "8fa70c99c8ba647f182e6479d257eed8487bcd4d7c70049fbd8042b78241bfb4";

    fn golden() -> Vec<Stamped> {
        GOLDEN.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
    }

    #[test]
    fn events_of_version_1_stay_readable_and_are_written_the_same() {
        for (event, line) in golden().iter().zip(GOLDEN.lines()) {
            assert_eq!(serde_json::to_string(event).unwrap(), line);
        }
    }

    #[test]
    fn the_sample_holds_every_kind_of_event() {
        let unknown = serde_json::from_str::<Event>(r#"{"kind":"?"}"#).unwrap_err().to_string();
        let known: BTreeSet<_> = unknown.split('`').skip(3).step_by(2).map(str::to_owned).collect();
        let sampled: BTreeSet<_> = golden().iter().map(|event| Record::of(event).kind).collect();
        assert_eq!(sampled, known);
    }

    #[test]
    fn a_record_reads_back_as_its_event() {
        for event in golden() {
            assert_eq!(Record::of(&event).read(), Ok(event));
        }
        let all: Vec<_> = golden().iter().map(Record::of).collect();
        assert_eq!(Record::all(&golden()), all);
    }

    #[test]
    fn hashes_of_version_1_stay_the_same() {
        let chain = ChainId("ch_01jgfj1zzz0000000000000000".into());
        let hash = golden().iter().fold(NO_HASH, |prev, event| Record::of(event).hash(&chain, &prev));
        assert_eq!(hex::encode(hash), GOLDEN_HASH);
    }

    #[test]
    fn every_field_and_the_hash_before_enter_the_hash() {
        let chain = ChainId("ch_1".into());
        let record = Record { seq: 1, at: "t".into(), kind: "k".into(), payload: "p".into(), epoch: 1 };
        let moved = Record { at: "tk".into(), kind: String::new(), ..record.clone() };
        let hashes = [
            record.hash(&chain, &NO_HASH),
            record.hash(&chain, &[1; 32]),
            record.hash(&ChainId("ch_2".into()), &NO_HASH),
            Record { seq: 2, ..record.clone() }.hash(&chain, &NO_HASH),
            Record { at: "u".into(), ..record.clone() }.hash(&chain, &NO_HASH),
            Record { kind: "l".into(), ..record.clone() }.hash(&chain, &NO_HASH),
            Record { payload: "q".into(), ..record.clone() }.hash(&chain, &NO_HASH),
            Record { epoch: 2, ..record.clone() }.hash(&chain, &NO_HASH),
            moved.hash(&chain, &NO_HASH),
        ];
        assert_eq!(BTreeSet::from(hashes).len(), hashes.len());
    }

    #[test]
    fn times_sort_as_text() {
        let texts = ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.1Z", "2026-01-02T03:04:05.10000001Z", "2026-01-02T03:04:06Z"]
            .map(|text| time_text(text.parse().unwrap()));
        assert!(texts.is_sorted(), "{texts:?}");
    }
}
