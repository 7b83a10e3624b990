//! Values of plugins came with version 2.

use super::sample::{Chain, Home, clock};
use crate::capability::keyvalue::{Bucket, Change, KeyValues, Quota, Scope};
use crate::chain::ChainId;
use crate::journal::{Journal, SqliteJournal};

fn bucket(plugin: &str, chain: &str, scope: Scope) -> Bucket {
    Bucket::new(plugin, &ChainId(chain.into()), scope)
}

fn set(pairs: &[(&str, &str)]) -> Change {
    Change::Set(pairs.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect())
}

async fn keys(journal: &SqliteJournal, bucket: &Bucket) -> Vec<String> {
    journal.list(bucket, None, 100).await.unwrap().keys
}

#[tokio::test]
async fn a_journal_of_version_1_is_read_and_keeps_values_from_then_on() {
    let home = Home::new();
    let journal = home.open();
    let chain = Chain::started(&journal, "ch_old").await;
    drop(journal);
    home.sql()
        .execute_batch(
            "DROP TABLE outbox; DROP TABLE plugin; DROP TABLE plugin_need; DROP TABLE keyvalue; DROP INDEX chain_runnable;
             ALTER TABLE chain DROP COLUMN place; PRAGMA user_version = 1;",
        )
        .unwrap();
    let journal = SqliteJournal::open_existing(&home.path(), clock()).unwrap();
    assert_eq!(journal.events(&chain.id, 0).await.unwrap().len(), 1);
    let bucket = bucket("a", "ch_old", Scope::Chain);
    journal.change(&bucket, set(&[("k", "v")]), Quota::default()).await.unwrap();
    assert_eq!(keys(&journal, &bucket).await, ["k"]);
}
