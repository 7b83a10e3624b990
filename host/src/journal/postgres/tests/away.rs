//! A server that goes away, or an answer that does: tried again, told clearly, and never done twice.

use super::proxy::{Proxy, Way};
use crate::journal::postgres::address::Address;
use crate::journal::tests::sample::{Chain, Home, Tested as _, clock, key, opened, said, turn};
use crate::journal::tests::server::{self, Server};
use crate::journal::{Journal, JournalError, PostgresJournal};

fn address() -> Address {
    let Home::Postgres(address) = Home::postgres() else { unreachable!("it was asked for") };
    *address
}

fn open(address: &Address) -> PostgresJournal {
    PostgresJournal::new(address.clone(), clock()).unwrap()
}

#[tokio::test]
async fn an_append_whose_answer_is_lost_is_written_once_and_told_as_written() {
    let (proxy, through) = Proxy::before(&address());
    let journal = open(&through);
    let mut chain = Chain::started(&journal, "ch_1").await;
    // What it takes to prepare is behind it, and the append is the next that is answered.
    chain.write(&journal, vec![said("a"), turn(1, 1)]).await.unwrap();
    chain.write(&journal, vec![said("b")]).await.unwrap();
    for way in [Way::LosesAnswer, Way::LosesRequest] {
        let head = chain.state.seq;
        proxy.set(way);
        assert_eq!(chain.write(&journal, vec![said("c"), said("d")]).await.unwrap(), head + 2);
        assert!(proxy.is_open(), "the append met the cut");
        assert_eq!(journal.events(&chain.id, head).await.unwrap().len(), 2);
    }
    // A promise is on another connection, or sets this one to wait for the disk first: cut wherever it comes.
    for cuts in 0..4 {
        proxy.set(Way::LosesAnswer);
        chain.write(&journal, vec![turn(cuts + 2, 1), opened(&format!("pa_{cuts}"), key(cuts + 2, 0))]).await.unwrap();
    }
    assert_eq!(journal.differences().await.unwrap(), Vec::<String>::new());
}

/// Of two deciders the one whose answer was lost must not take the other's event for its own.
#[tokio::test]
async fn an_append_that_was_lost_and_overtaken_is_told_that_the_chain_moved() {
    let direct = address();
    let (proxy, through) = Proxy::before(&direct);
    let (ours, theirs) = (open(&through), open(&direct));
    let mut chain = Chain::started(&ours, "ch_1").await;
    let mut late = chain.clone();
    late.write(&ours, vec![said("warm")]).await.unwrap();
    chain.state = late.state.clone();
    proxy.set(Way::LosesRequest);
    // The first wait before another try is long enough for a write on the same machine, and if not, the test says so.
    let (lost, won) = tokio::join!(late.write(&ours, vec![said("ours")]), chain.write(&theirs, vec![said("theirs")]));
    match (lost, won) {
        (Err(JournalError::Moved { head: 3, .. }), Ok(3)) | (Ok(3), Err(JournalError::Moved { head: 3, .. })) => {}
        both => panic!("{both:?}"),
    }
    assert_eq!(theirs.head(&chain.id).await.unwrap(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_restarts_is_waited_for_and_one_that_stays_away_is_told() {
    let server = Server::start("-c fsync=off");
    let address = Address::parse(&server.database(), None).unwrap();
    let journal = open(&address);
    let mut chain = Chain::started(&journal, "ch_1").await;
    // A promise, and all that came before it with it, is on the server's disk.
    chain.write(&journal, vec![turn(1, 1), opened("pa_1", key(1, 0))]).await.unwrap();
    server.halt("immediate");
    let restart = async { tokio::task::block_in_place(|| server.go_on()) };
    let (written, ()) = tokio::join!(chain.write(&journal, vec![said("on")]), restart);
    assert_eq!(written.unwrap(), 4);

    server.halt("fast");
    let error = chain.write(&journal, vec![said("x")]).await.unwrap_err();
    assert!(matches!(error, JournalError::Away { .. }), "{error:?}");
    let socket = server.folder().display().to_string();
    let told = format!("journal `postgres://pausegate@/t0?host={socket}`: cannot be reached (No such file or directory (os error 2))");
    assert_eq!(error.to_string(), told);
    server.go_on();
    assert_eq!(chain.write(&journal, vec![said("x")]).await.unwrap(), 5);
    assert_eq!(journal.differences().await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn what_no_try_can_mend_is_told_at_once_with_what_to_do() {
    let check = async |url: &str, expected: &str| {
        let error = open(&Address::parse(url, None).unwrap()).ready().await.unwrap_err();
        assert!(matches!(&error, JournalError::Unusable { message, .. } if message == expected), "{error:?}");
    };
    let shared = server::shared();
    let none = r#"database "nowhere" does not exist; make it with `createdb`, or name another database"#;
    check(&shared.url("nowhere"), none).await;
    let stranger = shared.url("postgres").replace("pausegate@", "stranger:s3cret@");
    check(&stranger, r#"role "stranger" does not exist; mend user and password in the URL, or set PGPASSWORD"#).await;
}

#[tokio::test]
async fn a_wrong_password_is_told_without_it() {
    let server = Server::start("-c fsync=off");
    let url = server.database();
    let (client, connection) = Address::parse(&url, None).unwrap().config.connect(tokio_postgres::NoTls).await.unwrap();
    let driving = tokio::spawn(connection);
    client.batch_execute("CREATE ROLE guest LOGIN PASSWORD 'right'; GRANT CREATE ON DATABASE t0 TO guest").await.unwrap();
    let rules = server.folder().join("data/pg_hba.conf");
    std::fs::write(rules, "local all pausegate trust\nlocal all guest scram-sha-256\n").unwrap();
    driving.abort();
    server.halt("fast");
    server.go_on();

    let guest = |password: &str| Address::parse(&url.replace("pausegate@", &format!("guest{password}@")), None).unwrap();
    let told = async |password: &str| format!("{:?}", open(&guest(password)).ready().await.unwrap_err());
    let wrong = told(":wr0ng").await;
    assert!(wrong.contains("password authentication failed for user \\\"guest\\\"; mend user and password in the URL, or set PGPASSWORD"), "{wrong}");
    assert!(!wrong.contains("wr0ng"), "{wrong}");
    let missing = told("").await;
    assert!(missing.contains("the server asks for a password; put it into PGPASSWORD or into the URL"), "{missing}");
    open(&guest(":right")).ready().await.unwrap();
}
