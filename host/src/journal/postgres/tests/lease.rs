//! A hold is a lease: it is kept by whoever can, ends for whoever cannot, and nothing is written under an old one.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::proxy::{Proxy, Way};
use crate::capability::keyvalue::{Bucket, Change, KeyValues, KvError, Quota, Scope};
use crate::journal::postgres::address::Address;
use crate::journal::tests::sample::{Chain, Home, Tested as _, clock, key, opened, said, turn};
use crate::journal::{Hold, Journal, JournalError, PostgresJournal, Wanted};

/// A lease that a test can wait for.
fn address() -> Address {
    let Home::Postgres(mut address) = Home::postgres() else { unreachable!("it was asked for") };
    address.lease = Duration::from_secs(1);
    *address
}

fn open(address: &Address) -> PostgresJournal {
    PostgresJournal::new(address.clone(), clock()).unwrap()
}

/// As soon as it is free; within ten leases.
async fn taken(journal: &PostgresJournal, chain: &Chain) -> Hold {
    for _ in 0..500 {
        match journal.take(&chain.id).await {
            Ok(hold) => return hold,
            Err(JournalError::Held { .. }) => tokio::time::sleep(Duration::from_millis(20)).await,
            Err(error) => panic!("{error}"),
        }
    }
    panic!("a lease that nobody renews ends")
}

#[tokio::test]
async fn h40_a_holder_that_was_cut_off_learns_it_before_another_can_take_the_chain_and_changes_nothing_after() {
    let direct = address();
    let (proxy, through) = Proxy::before(&direct);
    let (frozen, other) = (open(&through), open(&direct));
    let mut chain = Chain::started(&frozen, "ch_1").await;
    let hold = frozen.take(&chain.id).await.unwrap();
    let lease = hold.lease.clone().unwrap();
    let mut stale = Chain { epoch: Some(hold.epoch), ..chain.clone() };
    stale.write(&frozen, vec![said("mine")]).await.unwrap();
    chain.state = stale.state.clone();
    assert!(!lease.is_over());

    proxy.set(Way::Silent);
    let next = taken(&other, &chain).await;
    assert!(lease.is_over(), "its end is known here before it is there");
    chain.epoch = Some(next.epoch);
    chain.write(&other, vec![said("mine now")]).await.unwrap();

    proxy.set(Way::Open);
    lease.ended().cancelled().await;
    assert!(lease.is_over());
    let error = stale.write(&frozen, vec![said("late")]).await.unwrap_err();
    assert!(matches!(error, JournalError::Fenced { .. }), "{error}");
    let bucket = Bucket::new("p", &chain.id, Scope::Chain);
    let kept = frozen.change(&bucket, Change::Set(vec![("k".into(), b"late".to_vec())]), Quota::default()).await;
    assert_eq!((kept, other.get(&bucket, vec!["k".into()]).await), (Err(KvError::Away), Ok(vec![None])));
    hold.let_go().await;
    assert!(!next.lease.as_ref().unwrap().is_over(), "letting go of an old hold takes nothing from the new one");
    assert!(matches!(frozen.take(&chain.id).await, Err(JournalError::Held { .. })));
    chain.write(&other, vec![said("still mine")]).await.unwrap();
    assert_eq!(other.differences().await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn a_hold_that_is_taken_away_is_told_at_the_next_renewal() {
    let journal = open(&address());
    let chain = Chain::started(&journal, "ch_1").await;
    let hold = journal.take(&chain.id).await.unwrap();
    // As an operator would, or a clock that jumped: the row says otherwise before the lease is over.
    let mut session = journal.shared.pool.to_write(true).await.unwrap();
    session.rows("UPDATE chain SET epoch = epoch + 1 WHERE id = 'ch_1'", &[]).await.unwrap();
    let lease = hold.lease.clone().unwrap();
    lease.ended().cancelled().await;
    assert!(lease.was_taken());
}

#[tokio::test]
async fn a_hold_is_kept_for_longer_than_its_lease_and_free_once_it_is_let_go() {
    let address = address();
    let (ours, theirs) = (open(&address), open(&address));
    let chain = Chain::started(&ours, "ch_1").await;
    let hold = ours.take(&chain.id).await.unwrap();
    tokio::time::sleep(address.lease * 2).await;
    assert!(!hold.lease.as_ref().unwrap().is_over());
    assert!(matches!(theirs.take(&chain.id).await, Err(JournalError::Held { .. })));
    hold.let_go().await;
    let hold = theirs.take(&chain.id).await.unwrap();
    drop(hold);
    taken(&ours, &chain).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h39_of_many_workers_on_many_hosts_each_chain_is_claimed_by_one() {
    let address = address();
    let hosts: Vec<_> = (0..3).map(|_| Arc::new(open(&address))).collect();
    for number in 0..20 {
        Chain::started(&*hosts[0], &format!("ch_{number:02}")).await;
    }
    let worker = |number: usize| {
        let host = hosts[number % 3].clone();
        tokio::spawn(async move {
            let mut claimed = Vec::new();
            while let Some((chain, hold)) = host.claim(&Wanted::default()).await.unwrap() {
                claimed.push((chain.0, hold));
            }
            claimed
        })
    };
    let claims = futures_util::future::join_all((0..8).map(worker)).await;
    let holds: Vec<_> = claims.into_iter().flat_map(Result::unwrap).collect();
    let chains: BTreeSet<_> = holds.iter().map(|(chain, _)| chain.clone()).collect();
    assert_eq!((holds.len(), chains.len()), (20, 20));
    assert!(holds.iter().all(|(_, hold)| hold.epoch == 1));
}

#[tokio::test]
async fn a_decision_wakes_a_worker_and_so_does_letting_go_of_what_can_go_on() {
    let address = address();
    let (worker, decider) = (open(&address), open(&address));
    let mut chain = Chain::started(&decider, "ch_1").await;
    let woken = async || tokio::time::timeout(Duration::from_secs(20), worker.woken()).await.expect("woken");
    // It listens from here on; what came before is told once.
    woken().await;
    chain.write(&decider, vec![turn(1, 1), opened("pa_1", key(1, 0))]).await.unwrap();
    chain.write(&decider, vec![crate::journal::tests::sample::approved("pa_1", key(1, 0), "os:bob@host")]).await.unwrap();
    woken().await;
    let hold = decider.take(&chain.id).await.unwrap();
    hold.let_go().await;
    woken().await;
}

#[tokio::test]
async fn h46_a_listener_that_dies_loudly_or_in_silence_is_made_anew() {
    let direct = address();
    let (proxy, through) = Proxy::before(&direct);
    let (worker, decider) = (open(&through), open(&direct));
    let mut chain = Chain::started(&decider, "ch_1").await;
    let woken = async || tokio::time::timeout(Duration::from_secs(40), worker.woken()).await.expect("woken");
    woken().await;
    let mut session = decider.shared.pool.to_write(true).await.unwrap();
    let killed =
        session.rows("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()", &[]);
    assert_eq!(killed.await.unwrap().len(), 1);
    // A new connection says so, since it cannot know what it missed.
    woken().await;

    proxy.silence_those_open();
    chain.write(&decider, vec![said("unheard")]).await.unwrap();
    // Found out by its own question.
    woken().await;
}
