//! A hold is a lock that dies with its process.

use super::sample::{Chain, Home, wait_for};
use crate::chain::ChainId;
use crate::journal::sqlite::SqliteJournal;
use crate::journal::{Journal, JournalError};

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

async fn hold_until_killed(journal: &SqliteJournal) {
    let _hold = journal.take(&ChainId("ch_1".into())).await.unwrap();
    println!("held");
    // Until killed, or until the test that started it is gone.
    let _ = std::io::stdin().read_line(&mut String::new());
}
