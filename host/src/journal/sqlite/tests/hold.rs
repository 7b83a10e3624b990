//! One process holds a chain: a lock that dies with it, and an epoch that every write is checked against.

use super::sample::{Chain, Home, said, wait_for};
use crate::chain::{ChainId, ChainStatus};
use crate::journal::sqlite::SqliteJournal;
use crate::journal::{Journal, JournalError};

#[tokio::test]
async fn a_chain_is_held_once_and_the_second_is_told_by_whom() {
    let home = Home::new();
    let (one, two) = (home.open(), home.open());
    let chain = Chain::started(&one, "ch_1").await;
    let hold = one.take(&chain.id).await.unwrap();
    assert_eq!(hold.epoch, 1);

    for journal in [&one, &two] {
        let Err(JournalError::Held { holder, .. }) = journal.take(&chain.id).await else { panic!("held twice") };
        let (pid, since) = (std::process::id(), "since 2026-01-02T03:04:05Z");
        assert!(holder.starts_with(&format!("pid {pid} on ")) && holder.ends_with(since), "{holder}");
        let row = &journal.chains(1).await.unwrap()[0];
        assert_eq!((row.status, row.held_by.as_ref()), (ChainStatus::Running, Some(&holder)));
    }
    drop(hold);
    let row = &two.chains(1).await.unwrap()[0];
    assert_eq!((row.status, row.held_by.as_ref()), (ChainStatus::Runnable, None));
    assert_eq!(two.take(&chain.id).await.unwrap().epoch, 2);
}

#[tokio::test]
async fn letting_go_leaves_nothing_behind() {
    let home = Home::new();
    let journal = home.open();
    let chain = Chain::started(&journal, "ch_1").await;
    drop(journal.take(&chain.id).await.unwrap());
    drop(journal);
    let holders: u32 = home.sql().query_row("SELECT count(holder) FROM chain", [], |row| row.get(0)).unwrap();
    let locks = std::fs::read_dir(home.path().with_file_name("journal.db.locks")).unwrap().count();
    assert_eq!((holders, locks), (0, 0));
}

#[tokio::test]
async fn a_worker_that_lost_its_chain_changes_nothing() {
    let home = Home::new();
    let journal = home.open();
    let mut chain = Chain::started(&journal, "ch_1").await;
    let mut stale = chain.clone();
    stale.epoch = Some(journal.take(&chain.id).await.unwrap().epoch);
    let hold = journal.take(&chain.id).await.unwrap();
    chain.epoch = Some(hold.epoch);

    let error = stale.write(&journal, vec![said("late")]).await.unwrap_err();
    assert_eq!(error.to_string(), "chain ch_1 was taken by another process");
    chain.write(&journal, vec![said("mine")]).await.unwrap();
    assert!(matches!(stale.write(&journal, vec![said("later")]).await, Err(JournalError::Fenced { .. })));
    assert_eq!(journal.head(&chain.id).await.unwrap(), 2);
}

#[tokio::test]
async fn d10_a_decider_writes_while_a_worker_holds_the_chain() {
    let home = Home::new();
    let journal = home.open();
    let mut chain = Chain::started(&journal, "ch_1").await;
    let mut worker = chain.clone();
    let hold = journal.take(&chain.id).await.unwrap();
    worker.epoch = Some(hold.epoch);
    chain.write(&home.open(), vec![said("decided")]).await.unwrap();
    assert!(matches!(worker.write(&journal, vec![said("x")]).await, Err(JournalError::Moved { head: 2, .. })));
    worker.state = chain.state;
    worker.write(&journal, vec![said("x")]).await.unwrap();
}

#[tokio::test]
async fn a_chain_can_be_taken_before_its_first_event_and_is_not_listed_until_then() {
    let home = Home::new();
    let journal = home.open();
    let id = ChainId("ch_1".into());
    drop(journal.take(&id).await.unwrap());
    let hold = journal.take(&id).await.unwrap();
    assert_eq!(journal.chains(10).await.unwrap(), []);
    assert!(matches!(journal.find_chain("ch_1").await, Err(JournalError::Unknown { .. })));
    let mut chain = Chain::new("ch_1");
    chain.epoch = Some(hold.epoch);
    chain.write(&journal, vec![super::sample::started("x")]).await.unwrap();
    assert_eq!(journal.find_chain("ch_1").await.unwrap(), id);
}

#[tokio::test]
async fn an_id_that_leaves_the_folder_of_locks_is_unknown() {
    let journal = Home::new().open();
    for id in ["", "../x", "a/b", "."] {
        let outcome = journal.take(&ChainId(id.into())).await.map(drop);
        assert!(matches!(outcome, Err(JournalError::Unknown { .. })), "{id}: {outcome:?}");
    }
}

#[tokio::test]
async fn a_killed_process_lets_go_of_its_chain() {
    if let Some(journal) = Home::of_parent() {
        return hold_until_killed(&journal).await;
    }
    let home = Home::new();
    let journal = home.open();
    let chain = Chain::started(&journal, "ch_1").await;
    let mut child = home.spawn("hold::a_killed_process_lets_go_of_its_chain");
    wait_for(&mut child, |line| line.ends_with("held").then_some(()));

    let Err(JournalError::Held { holder, .. }) = journal.take(&chain.id).await else { panic!("held twice") };
    assert!(holder.starts_with(&format!("pid {} on ", child.id())), "{holder}");
    assert_eq!(journal.chains(1).await.unwrap()[0].held_by, Some(holder));

    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(journal.chains(1).await.unwrap()[0].held_by, None);
    assert_eq!(journal.take(&chain.id).await.unwrap().epoch, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_that_take_and_let_go_never_two_hold() {
    let home = Home::new();
    let journal = std::sync::Arc::new(home.open());
    let chain = Chain::started(&journal, "ch_1").await;
    let holds = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let rival = || {
        let (journal, id, holds) = (journal.clone(), chain.id.clone(), holds.clone());
        tokio::spawn(async move {
            let mut taken = 0;
            for _ in 0..40 {
                if let Ok(hold) = journal.take(&id).await {
                    assert_eq!(holds.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0);
                    tokio::task::yield_now().await;
                    holds.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                    drop(hold);
                    taken += 1;
                }
            }
            taken
        })
    };
    let taken: Vec<u32> = futures_util::future::join_all((0..8).map(|_| rival())).await.into_iter().map(Result::unwrap).collect();
    assert!(taken.iter().sum::<u32>() > 0);
}

async fn hold_until_killed(journal: &SqliteJournal) {
    let _hold = journal.take(&ChainId("ch_1".into())).await.unwrap();
    println!("held");
    // Until killed, or until the test that started it is gone.
    let _ = std::io::stdin().read_line(&mut String::new());
}
