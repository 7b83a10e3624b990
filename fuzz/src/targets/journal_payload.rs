//! Events of a journal that somebody wrote to: each is read or named, and what was read folds in any order.

use std::collections::BTreeMap;

use crate::chain::ChainId;
use crate::event::Stamped;
use crate::journal::record::Record;
use crate::state::ChainState;
use crate::state::next::{Around, next};
use crate::state::recover::recover_certain;

pub const SEEDS: &[&[u8]] = &[include_bytes!("../../../tests/golden/journal-v1.jsonl")];

/// Lines of JSON, as the golden journal has them; `kind` and `payload` are stored in texts of their own.
pub fn target(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut events: Vec<Stamped> = Vec::new();
    for line in text.lines() {
        if let Ok(event) = serde_json::from_str::<Stamped>(line) {
            let record = Record::of(&event);
            assert_eq!(record.read(), Ok(event.clone()), "what is stored is what is read");
            events.push(event);
        }
        let (kind, payload) = line.split_once(' ').unwrap_or((line, "null"));
        let record = Record { seq: 1, at: "2026-01-02T03:04:05.000000000Z".into(), kind: kind.into(), payload: payload.into(), epoch: 1 };
        if let Err(why) = record.read() {
            assert!(!why.is_empty());
        }
    }
    let id = ChainId("ch_fuzz".into());
    let mut state = ChainState::new(id.clone());
    for event in &events {
        let before = state.clone();
        state.apply(event);
        let position = ChainState { seq: state.seq, ..before.clone() };
        assert!(!before.status.is_terminal() || state == position, "terminal states never change");
    }
    assert_eq!(state, ChainState::fold(id, &events));
    let (loaded, failures) = (BTreeMap::new(), BTreeMap::new());
    next(&state, &Around { loaded: &loaded, failures: &failures, running: &|_| false });
    recover_certain(&state);
}
