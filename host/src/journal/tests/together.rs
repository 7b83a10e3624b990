//! Appends to several chains: all of them or none.

use super::on_both_stores;
use super::sample::{Chain, said, turn};
use crate::event::Stamped;
use crate::journal::{Append, Journal, JournalError};
use crate::state::ChainState;

/// An append as its writer would make it.
fn prepared(chain: &Chain, text: &str) -> (Vec<Stamped>, ChainState) {
    let events = chain.stamp(vec![said(text)]);
    let mut state = chain.state.clone();
    events.iter().for_each(|event| state.apply(event));
    (events, state)
}

async fn together(journal: &dyn Journal, chains: &[&Chain]) -> Result<(), JournalError> {
    let prepared: Vec<_> = chains.iter().map(|chain| prepared(chain, "together")).collect();
    let appends = chains.iter().zip(&prepared).map(|(chain, (events, state))| Append {
        chain: &chain.id,
        after: chain.state.seq,
        epoch: chain.epoch,
        events,
        state,
    });
    journal.append_together(appends.collect()).await
}

on_both_stores! {
    async fn both_are_written_or_neither_is_and_the_one_that_moved_is_named(home) {
        let (ours, theirs) = (home.open(), home.open());
        let (mut one, two) = (Chain::started(&*ours, "ch_1").await, Chain::started(&*ours, "ch_2").await);
        let new = Chain { state: ChainState::new(crate::chain::ChainId("ch_3".into())), id: crate::chain::ChainId("ch_3".into()), epoch: None };
        together(&*ours, &[&two, &new]).await.unwrap();
        assert_eq!((ours.head(&two.id).await.unwrap(), theirs.head(&new.id).await.unwrap()), (2, 1));

        // The second of them stands elsewhere by now: the first is left as it was, and can be written after it.
        for late in [[&one, &two], [&two, &one]] {
            let refused = together(&*ours, &late).await;
            assert!(matches!(&refused, Err(JournalError::Moved { chain, head: 2 }) if *chain == two.id), "{refused:?}");
            assert_eq!(theirs.head(&one.id).await.unwrap(), 1);
        }
        let fenced = Chain { epoch: Some(7), ..one.clone() };
        let unmoved = Chain { state: ChainState::fold(two.id.clone(), &ours.events(&two.id, 0).await.unwrap()), ..two.clone() };
        let refused = together(&*ours, &[&unmoved, &fenced]).await;
        assert!(matches!(&refused, Err(JournalError::Fenced { chain }) if *chain == one.id), "{refused:?}");
        assert_eq!(ours.head(&two.id).await.unwrap(), 2);

        one.write(&*ours, vec![turn(1, 1)]).await.unwrap();
        together(&*theirs, &[&one, &unmoved]).await.unwrap();
        assert_eq!(ours.events(&one.id, 0).await.unwrap().len(), 3);
        assert_eq!(ours.differences().await.unwrap(), Vec::<String>::new());
    }

    /// A parent's worker, and its children's ends in other processes: each write is one that nobody else's took away.
    async fn of_many_that_write_to_the_same_pair_each_wins_once(home) {
        let setup = home.open();
        let shared = Chain::started(&*setup, "ch_0").await;
        let mut racing = Vec::new();
        for number in 1..=12 {
            let own = Chain::started(&*setup, &format!("ch_{number}")).await;
            let (journal, mut shared) = (home.open(), shared.clone());
            racing.push(tokio::spawn(async move {
                loop {
                    match together(&*journal, &[&own, &shared]).await {
                        Ok(()) => return,
                        Err(JournalError::Moved { chain, .. }) => assert_eq!(chain, shared.id),
                        Err(error) => panic!("{error}"),
                    }
                    shared.state = ChainState::fold(shared.id.clone(), &journal.events(&shared.id, 0).await.unwrap());
                }
            }));
        }
        for racer in racing {
            racer.await.unwrap();
        }
        assert_eq!(setup.head(&shared.id).await.unwrap(), 13);
        assert_eq!(setup.differences().await.unwrap(), Vec::<String>::new());
    }
}
