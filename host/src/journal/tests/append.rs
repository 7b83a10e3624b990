//! Optimistic appends: of two that build on the same event one wins.

use super::on_both_stores;
use super::sample::{Chain, approved, begun, finished, key, opened, said, turn};
use crate::call::CallStatus;
use crate::journal::JournalError;

on_both_stores! {
    async fn what_was_appended_is_read_back_by_another_journal(home) {
        let mut chain = Chain::started(&*home.open(), "ch_1").await;
        let written = chain.stamp(vec![turn(1, 2), said("„alles“\n\u{0}")]);
        chain.write(&*home.open(), written.iter().map(|stamped| stamped.event.clone()).collect()).await.unwrap();

        let journal = home.open();
        assert_eq!(journal.head(&chain.id).await.unwrap(), 3);
        assert_eq!(journal.events(&chain.id, 1).await.unwrap(), written);
        assert_eq!(journal.events(&chain.id, 3).await.unwrap(), []);
        let state = crate::state::ChainState::fold(chain.id.clone(), &journal.events(&chain.id, 0).await.unwrap());
        assert_eq!(state, chain.state);
    }

    async fn s06_of_64_deciders_at_once_one_wins_and_the_others_are_told_the_new_head(home) {
        let journals = [home.open(), home.open()];
        let mut chain = Chain::started(&*journals[0], "ch_1").await;
        let head = chain.write(&*journals[0], vec![turn(1, 1), opened("pa_1", key(1, 0))]).await.unwrap();

        let decide = |number: usize| {
            let (journal, mut chain) = (journals[number % 2].clone(), chain.clone());
            let by = format!("os:p{number}@host");
            tokio::spawn(async move { chain.write(&*journal, vec![approved("pa_1", key(1, 0), &by)]).await.map(|_| by) })
        };
        let outcomes = futures_util::future::join_all((0..64).map(decide)).await;
        let mut winners = Vec::new();
        for outcome in outcomes {
            match outcome.unwrap() {
                Ok(by) => winners.push(by),
                Err(JournalError::Moved { head: told, .. }) => assert_eq!(told, head + 1),
                Err(error) => panic!("{error}"),
            }
        }
        let events = journals[0].events(&chain.id, head).await.unwrap();
        let [event] = &events[..] else { panic!("{events:?}") };
        assert_eq!(winners.len(), 1);
        assert_eq!(event.event, approved("pa_1", key(1, 0), &winners[0]));
        assert_eq!(journals[0].differences().await.unwrap(), Vec::<String>::new());
    }

    /// A writer knows where it left a chain; that never makes it write over what others did since.
    async fn what_others_wrote_since_is_seen_by_a_writer_that_knows_the_chain(home) {
        let (ours, theirs) = (home.open(), home.open());
        let mut chain = Chain::started(&*ours, "ch_1").await;
        chain.write(&*ours, vec![turn(1, 2)]).await.unwrap();

        let mut late = chain.clone();
        chain.write(&*theirs, vec![begun(key(1, 0), 1)]).await.unwrap();
        let moved = late.write(&*ours, vec![said("late")]).await;
        assert!(matches!(moved, Err(JournalError::Moved { head: 3, .. })), "{moved:?}");
        chain.write(&*ours, vec![finished(key(1, 0), CallStatus::Succeeded)]).await.unwrap();

        let hold = theirs.take(&chain.id).await.unwrap();
        let mut fenced = Chain { epoch: Some(0), ..chain.clone() };
        let told = fenced.write(&*ours, vec![begun(key(1, 1), 1)]).await;
        assert!(matches!(told, Err(JournalError::Fenced { .. })), "{told:?}");
        chain.write(&*ours, vec![said("in time")]).await.unwrap();
        chain.epoch = Some(hold.epoch);
        chain.write(&*ours, vec![begun(key(1, 1), 1)]).await.unwrap();
        assert_eq!(theirs.differences().await.unwrap(), Vec::<String>::new());
    }

    async fn an_append_writes_all_of_its_events_or_none(home) {
        let journal = home.open();
        let mut chain = Chain::started(&*journal, "ch_1").await;
        let mut late = chain.clone();
        chain.write(&*journal, vec![turn(1, 1)]).await.unwrap();
        let error = late.write(&*journal, vec![said("a"), said("b"), said("c")]).await.unwrap_err();
        assert_eq!(error.to_string(), "chain ch_1 moved on to event 2");
        assert_eq!(journal.head(&chain.id).await.unwrap(), 2);
    }
}
