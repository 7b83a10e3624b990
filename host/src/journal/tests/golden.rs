//! Journals as earlier releases made and wrote them: `tests/golden/`. Whatever this release made of the tables since, it reads
//! all that is there and writes on.

use super::sample::{Chain, Home, Tested, approved, key};
use crate::capability::keyvalue::{Bucket, Scope};
use crate::chain::ChainId;
use crate::digest::Digest;

const SQLITE: &str = include_str!("../../../../tests/golden/sqlite-v5.sql");
const POSTGRES: &str = include_str!("../../../../tests/golden/postgres-v3.sql");

#[tokio::test]
async fn a_journal_of_version_5_in_sqlite_is_read_and_written_on() {
    let home = Home::sqlite();
    home.program(SQLITE).await;
    is_read_and_written_on(&*home.open()).await;
}

#[tokio::test]
async fn a_journal_of_version_3_in_postgresql_is_read_and_written_on() {
    let home = Home::postgres();
    home.program(POSTGRES).await;
    is_read_and_written_on(&*home.open()).await;
}

/// Both hold the same chain, with a pause, values of a plugin for the chain and for all, its bytes, and a notice that waits.
async fn is_read_and_written_on(journal: &dyn Tested) {
    let id = ChainId("ch_golden".into());
    let events = journal.events(&id, 0).await.unwrap();
    let mut chain = Chain::new(&id.0);
    events.iter().for_each(|event| chain.state.apply(event));
    assert_eq!((events.len(), journal.head(&id).await.unwrap()), (7, 7));
    let (rows, pending) = (journal.chains(9).await.unwrap(), journal.pending(9).await.unwrap());
    assert_eq!((rows.len(), rows[0].title.as_str(), rows[0].calls, rows[0].open_pauses), (1, "clean up /build — „alles“", 3, 1));
    assert_eq!(pending.iter().map(|row| row.pause.id.0.as_str()).collect::<Vec<_>>(), ["pa_01jgfj1zzz0000000000000002"]);
    assert_eq!(journal.differences().await.unwrap(), Vec::<String>::new());

    let value = async |scope, name: &str| journal.get(&Bucket::new("files", &id, scope), vec![name.to_owned()]).await.unwrap().remove(0);
    assert_eq!(value(Scope::Chain, "seen").await.as_deref(), Some(&b"a.tmp"[..]));
    assert_eq!(value(Scope::Plugin, "total").await.as_deref(), Some(&b"41"[..]));
    let bytes = b"\0asm as it was\n";
    assert_eq!(journal.kept(&Digest::of_bytes(bytes)).await.unwrap().as_deref(), Some(&bytes[..]));
    let notices = journal.notices(9).await.unwrap();
    assert_eq!(notices.iter().map(|notice| (notice.id.as_str(), notice.what.as_str())).collect::<Vec<_>>(), [("nt_golden", "pause.opened")]);

    let pause = &pending[0].pause;
    assert_eq!(pause.call, key(1, 1));
    chain.write(journal, vec![approved(&pause.id.0, pause.call, "os:bob@host")]).await.unwrap();
    assert_eq!((journal.pending(9).await.unwrap().len(), journal.head(&id).await.unwrap()), (0, 8));
    assert_eq!(journal.differences().await.unwrap(), Vec::<String>::new());
}
