//! The tables: made once, left alone where they are newer, and never made by reading.

use crate::journal::postgres::address::Address;
use crate::journal::postgres::schema::{MIGRATIONS, VERSION};
use crate::journal::tests::sample::{Chain, Home, Tested as _, clock};
use crate::journal::{Journal, JournalError, PostgresJournal};

fn address() -> Address {
    let Home::Postgres(address) = Home::postgres() else { unreachable!("it was asked for") };
    *address
}

fn open(address: &Address) -> PostgresJournal {
    PostgresJournal::new(address.clone(), clock()).unwrap()
}

#[tokio::test]
async fn reading_where_there_are_no_tables_lists_nothing_and_makes_none() {
    let address = address();
    let journal = open(&address);
    let id = crate::chain::ChainId("ch_1".into());
    assert_eq!((journal.pending(9).await.unwrap(), journal.chains(9).await.unwrap()), (Vec::new(), Vec::new()));
    assert_eq!((journal.head(&id).await.unwrap(), journal.events(&id, 0).await.unwrap()), (0, Vec::new()));
    assert!(matches!(journal.find_chain("ch_1").await, Err(JournalError::Unknown { .. })));
    let mut session = journal.shared.pool.to_read().await.unwrap();
    assert!(session.is_none(), "there is nothing to read from");
    Chain::started(&journal, "ch_1").await;
    session = journal.shared.pool.to_read().await.unwrap();
    assert!(session.is_some());
    assert_eq!(open(&address).chains(9).await.unwrap().len(), 1);
}

#[tokio::test]
async fn many_may_make_the_tables_at_once() {
    let address = address();
    let opened = futures_util::future::join_all((0..8).map(|_| async { open(&address).ready().await })).await;
    assert!(opened.iter().all(Result::is_ok), "{opened:?}");
}

#[tokio::test]
async fn a_journal_of_a_newer_version_is_left_as_it_is() {
    let address = address();
    let home = Home::Postgres(Box::new(address.clone()));
    Chain::started(&open(&address), "ch_1").await;
    home.execute("UPDATE version SET number = 7").await;
    for outcome in [open(&address).ready().await, open(&address).chains(1).await.map(drop)] {
        assert!(matches!(outcome, Err(JournalError::Newer { found: 7, known: VERSION, .. })), "{outcome:?}");
    }
}

/// What this version writes, as the first release of it made it: a later one must read it and bring it up to date.
#[tokio::test]
async fn a_journal_of_version_1_is_read_and_written_on() {
    let address = address();
    let (client, connection) = address.config.connect(tokio_postgres::NoTls).await.unwrap();
    let driving = tokio::spawn(connection);
    client.batch_execute(include_str!("../../../../../tests/golden/postgres-v1.sql")).await.unwrap();
    driving.abort();
    let journal = open(&address);
    let id = crate::chain::ChainId("ch_golden".into());
    let events = journal.events(&id, 0).await.unwrap();
    assert_eq!((events.len(), journal.chains(1).await.unwrap()[0].title.as_str()), (1, "the first"));
    let mut chain = Chain::new("ch_golden");
    events.iter().for_each(|event| chain.state.apply(event));
    chain.write(&journal, vec![crate::journal::tests::sample::said("on")]).await.unwrap();
    assert_eq!(journal.differences().await.unwrap(), Vec::<String>::new());
}

/// A step that was released never changes: journals out there were made by it.
#[test]
fn the_steps_that_were_released_are_the_same() {
    let digests: Vec<_> = MIGRATIONS.iter().map(|step| crate::digest::Digest::of_bytes(step.as_bytes()).to_string()).collect();
    let released = [
        "sha256:16feab2681a6370ef351f33f20bdbcea7a87c9acd2b2fc0a7d5ccda217c94b36",
        "sha256:7db0bbedbe742bb9c92c938cb40b3f6acdb1fcdf0fc7535890143d24292cd242",
        "sha256:c6c2877edbfa03cb717097eb67fd84fc83922493e72681e39d1c30985516e5ef",
    ];
    assert_eq!(digests[..released.len()], released);
}

/// At 100 000 rows a scan of the table would take the time of a process start.
#[tokio::test]
async fn lists_claims_and_ids_are_read_through_an_index() {
    let journal = open(&address());
    Chain::started(&journal, "ch_1").await;
    let session = journal.shared.pool.to_write(true).await.unwrap();
    session.client.batch_execute("SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off").await.unwrap();
    for query in [
        "SELECT id FROM chain WHERE head > 0 ORDER BY started_at DESC, id DESC LIMIT 10",
        "SELECT id FROM chain WHERE status = 'runnable' ORDER BY id LIMIT 1",
        "SELECT pause.open FROM pause JOIN chain ON chain.id = pause.chain WHERE pause.status = 'open' ORDER BY pause.opened_at, pause.id LIMIT 9",
        "SELECT min(id), count(*) FROM pause WHERE id >= 'pa_1' AND id < 'pa_2'",
        "SELECT kind FROM event WHERE chain = 'ch_1' AND seq > 1 ORDER BY seq",
    ] {
        let rows = session.client.query_typed(&format!("EXPLAIN {query}"), &[]).await.unwrap();
        let plan: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        assert!(plan.iter().all(|step| !step.contains("Seq Scan") && !step.contains("Sort")), "{query}: {plan:#?}");
    }
}
