//! Which chains can be taken out of a journal: those that ended long ago and that no chain which stays is built on.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;

use super::ChainRow;
use crate::chain::ChainId;

/// What becomes of the chains that ended before then.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Oldest first.
    pub go: Vec<ChainId>,
    /// Chains that stay since another that stays carries them on: its history is read from them.
    pub needed: Vec<ChainId>,
}

/// `continued` are chains with the chain that each carries on.
pub fn choose(rows: &[ChainRow], continued: &[(ChainId, ChainId)], before: Timestamp) -> Choice {
    let parents: HashMap<_, _> = continued.iter().map(|(chain, parent)| (chain, parent)).collect();
    let old = |row: &&ChainRow| row.status.is_terminal() && row.held_by.is_none() && row.updated_at < before;
    let (old, staying): (Vec<_>, Vec<_>) = rows.iter().partition(|row| old(row));
    let mut needed = HashSet::new();
    for row in staying {
        let mut chain = &row.id;
        // Whoever is needed already has had its ancestors noted; so a ring ends, too.
        while let Some(parent) = parents.get(chain).filter(|parent| needed.insert(**parent)) {
            chain = parent;
        }
    }
    let mut old: Vec<_> = old.into_iter().collect();
    old.sort_by(|a, b| (a.updated_at, &a.id).cmp(&(b.updated_at, &b.id)));
    let (needed, go): (Vec<_>, Vec<_>) = old.into_iter().map(|row| row.id.clone()).partition(|chain| needed.contains(chain));
    Choice { go, needed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::{Actor, ChainStatus};

    fn row(id: &str, status: ChainStatus, updated: i64) -> ChainRow {
        ChainRow {
            id: ChainId(id.into()),
            status,
            detail: String::new(),
            title: String::new(),
            model: None,
            turns: 0,
            calls: 0,
            open_pauses: 0,
            started_by: Actor(String::new()),
            started_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::from_second(updated).unwrap(),
            place: None,
            held_by: None,
        }
    }

    #[test]
    fn what_is_open_young_held_or_needed_stays() {
        use ChainStatus::*;
        let mut rows = vec![
            row("young", Completed, 10),
            row("paused", Paused, 1),
            row("blocked", Blocked, 1),
            row("runnable", Runnable, 1),
            row("b", Failed, 3),
            row("a", Completed, 9),
            row("c", Cancelled, 3),
            row("d", Rejected, 4),
            row("held", Completed, 1),
            row("grandparent", Completed, 1),
            row("parent", Completed, 2),
            row("child-of-a", Completed, 2),
        ];
        rows[8].held_by = Some("pid 1".into());
        let pair = |chain: &str, parent: &str| (ChainId(chain.into()), ChainId(parent.into()));
        let continued = [pair("paused", "parent"), pair("parent", "grandparent"), pair("child-of-a", "a"), pair("young", "young"), pair("d", "c")];
        let choice = choose(&rows, &continued, Timestamp::from_second(10).unwrap());
        let ids = |chains: &[ChainId]| chains.iter().map(|chain| chain.0.clone()).collect::<Vec<_>>();
        assert_eq!(ids(&choice.go), ["child-of-a", "b", "c", "d", "a"]);
        assert_eq!(ids(&choice.needed), ["grandparent", "parent"]);
    }
}
