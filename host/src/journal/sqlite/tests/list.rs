//! Lists and ids by their start.

use super::sample::{Chain, Home, approved, clock, finished, key, opened, pause, turn};
use crate::call::CallStatus;
use crate::chain::{ChainId, ChainStatus};
use crate::journal::{Journal, JournalError, SqliteJournal};
use crate::pause::PauseId;

#[tokio::test]
async fn s24_pending_is_what_is_open_oldest_first_until_it_is_decided() {
    let home = Home::new();
    let journal = home.open();
    let mut chain = Chain::started(&journal, "ch_1").await;
    chain.write(&journal, vec![turn(1, 2), opened("pa_b", key(1, 0)), opened("pa_a", key(1, 1))]).await.unwrap();

    let pending = journal.pending().await.unwrap();
    assert_eq!(pending.iter().map(|row| row.pause.id.0.as_str()).collect::<Vec<_>>(), ["pa_a", "pa_b"]);
    assert_eq!(pending[1].pause, pause("pa_b", key(1, 0)));
    assert_eq!((&pending[1].chain, pending[1].chain_status, &*pending[1].title), (&chain.id, ChainStatus::Paused, "ch_1"));

    chain.write(&journal, vec![approved("pa_a", key(1, 1), "os:bob@host")]).await.unwrap();
    let pending = journal.pending().await.unwrap();
    assert_eq!(pending.iter().map(|row| row.pause.id.0.as_str()).collect::<Vec<_>>(), ["pa_b"]);
    assert_eq!(journal.chains(1).await.unwrap()[0].open_pauses, 1);
}

#[tokio::test]
async fn h36_pending_pauses_outlive_the_process() {
    let home = Home::new();
    let mut chain = Chain::started(&home.open(), "ch_1").await;
    chain.write(&home.open(), vec![turn(1, 1), opened("pa_1", key(1, 0))]).await.unwrap();
    let journal = home.open();
    assert_eq!(journal.find_pause("pa_1").await.unwrap(), (chain.id.clone(), PauseId("pa_1".into())));
    chain.write(&journal, vec![approved("pa_1", key(1, 0), "os:bob@host")]).await.unwrap();
    assert_eq!(home.open().pending().await.unwrap(), []);
    // Still found, so that a later decision can be told who decided.
    assert!(home.open().find_pause("pa_1").await.is_ok());
}

#[tokio::test]
async fn s12_what_a_sibling_did_beside_a_pause_is_in_the_journal() {
    let home = Home::new();
    let mut chain = Chain::started(&home.open(), "ch_1").await;
    let events = vec![turn(1, 2), finished(key(1, 1), CallStatus::Succeeded), opened("pa_1", key(1, 0))];
    chain.write(&home.open(), events).await.unwrap();
    let row = &home.open().chains(1).await.unwrap()[0];
    assert_eq!((row.status, row.calls, row.open_pauses), (ChainStatus::Paused, 2, 1));
    assert_eq!(home.open().events(&chain.id, 0).await.unwrap().len(), 4);
}

#[tokio::test]
async fn chains_are_listed_newest_first_up_to_the_limit() {
    let home = Home::new();
    let journal = home.open();
    assert_eq!(journal.newest_chain().await.unwrap(), None);
    for id in ["ch_2", "ch_1", "ch_3"] {
        Chain::started(&journal, id).await;
    }
    let ids = |rows: Vec<crate::journal::ChainRow>| rows.into_iter().map(|row| row.id.0).collect::<Vec<_>>();
    assert_eq!(ids(journal.chains(2).await.unwrap()), ["ch_3", "ch_2"]);
    assert_eq!(ids(journal.chains(9).await.unwrap()), ["ch_3", "ch_2", "ch_1"]);
    assert_eq!(journal.newest_chain().await.unwrap(), Some(ChainId("ch_3".into())));
}

#[tokio::test]
async fn an_id_may_be_shortened_as_long_as_it_is_one() {
    let home = Home::new();
    let journal = home.open();
    for id in ["ch_01ab", "ch_01abc", "ch_02"] {
        Chain::started(&journal, id).await;
    }
    let check = async |prefix: &str, expected: Result<&str, &str>| {
        let found = journal.find_chain(prefix).await.map(|id| id.0).map_err(|error| error.to_string());
        assert_eq!(found.as_deref().map_err(String::as_str), expected, "{prefix}");
    };
    check("ch_02", Ok("ch_02")).await;
    check("ch_01abc", Ok("ch_01abc")).await;
    check("ch_01ab", Ok("ch_01ab")).await;
    check("ch_01a", Err("`ch_01a` is the start of 2 chain ids; give more of it")).await;
    check("ch_", Err("`ch_` is the start of 3 chain ids; give more of it")).await;
    check("ch_3", Err("no chain has an id that starts with `ch_3`")).await;
    for strange in ["", "02", "ch_0_", "ch_%", "ch_*", "CH_02", "pa_1"] {
        check(strange, Err(&format!("no chain has an id that starts with `{strange}`"))).await;
    }
}

#[tokio::test]
async fn reading_where_there_is_no_journal_lists_nothing_and_creates_nothing() {
    let home = Home::new();
    let journal = SqliteJournal::open_existing(&home.path(), clock()).unwrap();
    let id = ChainId("ch_1".into());
    assert_eq!(journal.pending().await.unwrap(), []);
    assert_eq!(journal.chains(10).await.unwrap(), []);
    assert_eq!(journal.newest_chain().await.unwrap(), None);
    assert_eq!(journal.head(&id).await.unwrap(), 0);
    assert_eq!(journal.events(&id, 0).await.unwrap(), []);
    assert!(matches!(journal.find_chain("ch_1").await, Err(JournalError::Unknown { .. })));
    assert!(matches!(journal.find_pause("pa_1").await, Err(JournalError::Unknown { .. })));
    assert!(!home.path().parent().unwrap().exists());

    Chain::started(&journal, "ch_1").await;
    assert_eq!(journal.chains(10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn reading_does_not_start_the_writer() {
    let home = Home::new();
    Chain::started(&home.open(), "ch_1").await;
    let journal = SqliteJournal::open_existing(&home.path(), clock()).unwrap();
    assert_eq!(journal.chains(10).await.unwrap().len(), 1);
    assert!(!journal.writer.initialized());
}

/// At 100 000 rows a scan of the table would take the time of a process start.
#[test]
fn lists_and_ids_are_read_through_an_index() {
    let home = Home::new();
    drop(home.open());
    let sql = home.sql();
    for query in [
        "SELECT id FROM chain WHERE head > 0 ORDER BY started_at DESC, id DESC LIMIT 10",
        "SELECT pause.open FROM pause JOIN chain ON chain.id = pause.chain WHERE pause.status = 'open' ORDER BY pause.opened_at, pause.id",
        "SELECT min(id), count(*) FROM pause WHERE id >= 'pa_1' AND id < 'pa_2'",
        "SELECT kind FROM event WHERE chain = 'ch_1' AND seq > 1 ORDER BY seq",
    ] {
        let mut statement = sql.prepare(&format!("EXPLAIN QUERY PLAN {query}")).unwrap();
        let plan: Vec<String> = statement.query_map([], |row| row.get(3)).unwrap().map(Result::unwrap).collect();
        let is_indexed = |step: &String| !step.contains("TEMP B-TREE") && (step.contains("INDEX") || step.contains("PRIMARY KEY"));
        assert!(plan.iter().all(is_indexed), "{query}: {plan:?}");
    }
}
