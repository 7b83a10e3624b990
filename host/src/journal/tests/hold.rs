//! One process holds a chain, and an epoch tells its writes from those of whoever held it before.

use super::on_both_stores;
use super::sample::{Chain, said};
use crate::chain::{ChainId, ChainStatus};
use crate::journal::JournalError;

on_both_stores! {
    async fn a_chain_is_held_once_and_the_second_is_told_by_whom(home) {
        let (one, two) = (home.open(), home.open());
        let chain = Chain::started(&*one, "ch_1").await;
        let hold = one.take(&chain.id).await.unwrap();
        assert_eq!(hold.epoch, 1);

        for journal in [&one, &two] {
            let Err(JournalError::Held { holder, .. }) = journal.take(&chain.id).await else { panic!("held twice") };
            let (pid, since) = (std::process::id(), "since 2026-01-02T03:04:05Z");
            assert!(holder.starts_with(&format!("pid {pid} on ")) && holder.ends_with(since), "{holder}");
            let row = &journal.chains(1).await.unwrap()[0];
            assert_eq!((row.status, row.held_by.as_ref()), (ChainStatus::Running, Some(&holder)));
        }
        hold.let_go().await;
        let row = &two.chains(1).await.unwrap()[0];
        assert_eq!((row.status, row.held_by.as_ref()), (ChainStatus::Runnable, None));
        assert_eq!(two.take(&chain.id).await.unwrap().epoch, 2);
    }

    async fn a_worker_that_lost_its_chain_changes_nothing(home) {
        let journal = home.open();
        let mut chain = Chain::started(&*journal, "ch_1").await;
        let mut stale = chain.clone();
        let lost = journal.take(&chain.id).await.unwrap();
        stale.epoch = Some(lost.epoch);
        lost.let_go().await;
        let hold = journal.take(&chain.id).await.unwrap();
        chain.epoch = Some(hold.epoch);

        let error = stale.write(&*journal, vec![said("late")]).await.unwrap_err();
        assert_eq!(error.to_string(), "chain ch_1 was taken by another process");
        chain.write(&*journal, vec![said("mine")]).await.unwrap();
        assert!(matches!(stale.write(&*journal, vec![said("later")]).await, Err(JournalError::Fenced { .. })));
        assert_eq!(journal.head(&chain.id).await.unwrap(), 2);
    }

    async fn d10_a_decider_writes_while_a_worker_holds_the_chain(home) {
        let journal = home.open();
        let mut chain = Chain::started(&*journal, "ch_1").await;
        let mut worker = chain.clone();
        let hold = journal.take(&chain.id).await.unwrap();
        worker.epoch = Some(hold.epoch);
        chain.write(&*home.open(), vec![said("decided")]).await.unwrap();
        assert!(matches!(worker.write(&*journal, vec![said("x")]).await, Err(JournalError::Moved { head: 2, .. })));
        worker.state = chain.state;
        worker.write(&*journal, vec![said("x")]).await.unwrap();
    }

    async fn a_chain_can_be_taken_before_its_first_event_and_is_not_listed_until_then(home) {
        let journal = home.open();
        let id = ChainId("ch_1".into());
        journal.take(&id).await.unwrap().let_go().await;
        let hold = journal.take(&id).await.unwrap();
        assert_eq!(journal.chains(10).await.unwrap(), []);
        assert!(matches!(journal.find_chain("ch_1").await, Err(JournalError::Unknown { .. })));
        let mut chain = Chain::new("ch_1");
        chain.epoch = Some(hold.epoch);
        chain.write(&*journal, vec![super::sample::started("x")]).await.unwrap();
        assert_eq!(journal.find_chain("ch_1").await.unwrap(), id);
    }

    async fn of_many_that_take_and_let_go_never_two_hold(home) {
        let journal = home.open();
        let chain = Chain::started(&*journal, "ch_1").await;
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
                        hold.let_go().await;
                        taken += 1;
                    }
                }
                taken
            })
        };
        let taken: Vec<u32> = futures_util::future::join_all((0..8).map(|_| rival())).await.into_iter().map(Result::unwrap).collect();
        assert!(taken.iter().sum::<u32>() > 0);
    }
}
