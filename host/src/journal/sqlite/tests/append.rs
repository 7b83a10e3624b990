//! Appends share transactions, and those that wait for nothing are written where they are made.

use std::sync::Arc;

use futures_util::FutureExt;

use super::sample::{Chain, Home, begun, finished, key, said, turn};
use crate::call::CallStatus;
use crate::chain::Seq;
use crate::event::Event;
use crate::journal::sqlite::{SqliteJournal, read};
use crate::journal::{Journal, JournalError};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_conflict_does_not_hurt_those_who_share_its_transaction() {
    let home = Home::new();
    let journal = Arc::new(home.open());
    // The database is locked until all are queued, so that they share transactions.
    let other = home.sql();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let write = |number: usize| {
        let journal = journal.clone();
        let mut chain = Chain::new(&format!("ch_{}", number / 2));
        tokio::spawn(async move { chain.write(&*journal, vec![super::sample::started("x"), turn(1, 3)]).await })
    };
    let tasks: Vec<_> = (0..40).map(write).collect();
    tokio::task::yield_now().await;
    other.execute_batch("COMMIT").unwrap();
    let outcomes: Vec<_> = futures_util::future::join_all(tasks).await.into_iter().map(Result::unwrap).collect();
    for pair in outcomes.chunks(2) {
        assert_eq!(pair.iter().filter(|outcome| matches!(outcome, Ok(2))).count(), 1, "{pair:?}");
        assert_eq!(pair.iter().filter(|outcome| matches!(outcome, Err(JournalError::Moved { head: 2, .. }))).count(), 1);
    }
    assert_eq!(journal.chains(100).await.unwrap().len(), 20);
    assert_eq!(journal.projection_differences().await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn what_was_queued_is_written_when_the_journal_is_dropped() {
    let home = Home::new();
    let journal = home.open();
    let chain = Chain::started(&journal, "ch_1").await;
    // While the database is locked, a promise that was polled once stands in the queue, and nobody waits for the answer.
    let other = home.sql();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(polled_once(&journal, &chain, Event::ChainCompleted).is_none());
    other.execute_batch("COMMIT").unwrap();
    drop(journal);
    assert_eq!(home.open().head(&chain.id).await.unwrap(), 2);
}

#[tokio::test]
async fn what_is_no_promise_is_written_at_once_where_nobody_else_writes() {
    let home = Home::new();
    let journal = home.open();
    let mut chain = Chain::started(&journal, "ch_1").await;
    assert!(matches!(polled_once(&journal, &chain, said("a")), Some(Ok(2))));
    assert!(matches!(polled_once(&journal, &chain, said("late")), Some(Err(JournalError::Moved { head: 2, .. }))));
    chain = Chain::started(&journal, "ch_2").await;
    let other = home.sql();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(polled_once(&journal, &chain, said("b")).is_none(), "it waits in the writer's thread, not here");
    other.execute_batch("ROLLBACK").unwrap();
    drop(journal);
    assert_eq!(home.open().head(&chain.id).await.unwrap(), 2);
}

/// Appends the second event of `chain`; `None` where that takes more than one look.
fn polled_once(journal: &SqliteJournal, chain: &Chain, event: Event) -> Option<Result<Seq, JournalError>> {
    chain.clone().write(journal, vec![event]).now_or_never()
}

#[tokio::test]
async fn what_a_killed_process_was_told_is_in_the_journal() {
    if let Some(journal) = Home::of_parent() {
        return append_until_killed(&journal).await;
    }
    let home = Home::new();
    let told = home.until_killed("append::what_a_killed_process_was_told_is_in_the_journal", |line| {
        line.strip_prefix("told ")?.parse().ok().filter(|seq| *seq >= 40)
    });
    let journal = home.open();
    let id = crate::chain::ChainId("ch_1".into());
    assert!(journal.head(&id).await.unwrap() >= told);
    assert_eq!(journal.projection_differences().await.unwrap(), Vec::<String>::new());
    // Each append held three events: never a part of one.
    assert_eq!(journal.head(&id).await.unwrap() % 3, 1);
}

async fn append_until_killed(journal: &SqliteJournal) {
    let mut chain = Chain::started(journal, "ch_1").await;
    for number in 1.. {
        let seq = chain.write(journal, vec![turn(number, 1), begun(key(number, 0), 1), said("x")]).await.unwrap();
        println!("told {seq}");
    }
}

#[tokio::test]
async fn each_event_carries_the_hash_of_the_one_before() {
    let home = Home::new();
    let journal = home.open();
    let mut chain = Chain::started(&journal, "ch_1").await;
    chain.write(&journal, vec![turn(1, 1), begun(key(1, 0), 1)]).await.unwrap();
    chain.write(&journal, vec![finished(key(1, 0), CallStatus::Succeeded)]).await.unwrap();

    let sql = home.sql();
    let mut statement = sql.prepare("SELECT prev_hash, hash FROM event ORDER BY seq").unwrap();
    let hashes: Vec<([u8; 32], [u8; 32])> = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect();
    let mut prev = crate::journal::record::NO_HASH;
    for (read, stored) in read::records(&sql, &chain.id).unwrap().iter().zip(hashes) {
        let hash = read.record.hash(&chain.id, &prev);
        assert_eq!(stored, (prev, hash));
        prev = hash;
    }
}

#[tokio::test]
async fn s15_storage_grows_with_what_happened() {
    const CALLS: u32 = 950;
    let home = Home::new();
    let journal = home.open();
    let mut chain = Chain::started(&journal, "ch_1").await;
    let mut sizes = Vec::new();
    for number in 1..=CALLS {
        chain.write(&journal, vec![turn(number, 1), begun(key(number, 0), 1)]).await.unwrap();
        chain.write(&journal, vec![finished(key(number, 0), CallStatus::Succeeded)]).await.unwrap();
        if number % (CALLS / 2) == 0 {
            sizes.push(pages(&home));
        }
    }
    assert_eq!(journal.head(&chain.id).await.unwrap(), Seq::from(CALLS * 3 + 1));
    let [half, whole] = sizes[..] else { panic!("{sizes:?}") };
    // Twice the calls take twice the pages, with a fifth to spare; a stored history would take four times as many.
    assert!(whole * 5 < half * 12, "{half} pages after half of the calls, {whole} after all");
}

fn pages(home: &Home) -> u32 {
    home.sql().pragma_query_value(None, "page_count", |row| row.get(0)).unwrap()
}
