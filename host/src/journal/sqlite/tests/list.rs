//! Reading creates nothing, starts no writer and scans no table.

use super::sample::{Chain, Home, clock};
use crate::chain::ChainId;
use crate::journal::{Journal, JournalError, SqliteJournal};

#[tokio::test]
async fn reading_where_there_is_no_journal_lists_nothing_and_creates_nothing() {
    let home = Home::new();
    let journal = SqliteJournal::open_existing(&home.path(), clock()).unwrap();
    let id = ChainId("ch_1".into());
    assert_eq!(journal.pending(100).await.unwrap(), []);
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
        "SELECT id, place FROM chain INDEXED BY chain_runnable WHERE status = 'runnable' AND head > 0 ORDER BY id",
        "SELECT min(id), count(*) FROM pause WHERE id >= 'pa_1' AND id < 'pa_2'",
        "SELECT kind FROM event WHERE chain = 'ch_1' AND seq > 1 ORDER BY seq",
    ] {
        let mut statement = sql.prepare(&format!("EXPLAIN QUERY PLAN {query}")).unwrap();
        let plan: Vec<String> = statement.query_map([], |row| row.get(3)).unwrap().map(Result::unwrap).collect();
        let is_indexed = |step: &String| !step.contains("TEMP B-TREE") && (step.contains("INDEX") || step.contains("PRIMARY KEY"));
        assert!(plan.iter().all(is_indexed), "{query}: {plan:?}");
    }
}
