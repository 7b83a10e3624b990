//! Claims: the oldest chain that can go on, held by nobody, at a place where it may.

use super::on_both_stores;
use super::sample::{Chain, approved, key, opened, started, turn};
use crate::chain::{ChainId, Settings};
use crate::event::Event;
use crate::journal::Wanted;

on_both_stores! {
    async fn the_oldest_chain_that_can_go_on_is_claimed_and_held(home) {
        let (journal, other) = (home.open(), home.open());
        assert!(journal.claim(&Wanted::default()).await.unwrap().is_none());
        let mut paused = Chain::started(&*journal, "ch_1").await;
        paused.write(&*journal, vec![turn(1, 1), opened("pa_1", key(1, 0))]).await.unwrap();
        let mut ended = Chain::started(&*journal, "ch_2").await;
        ended.write(&*journal, vec![Event::ChainCompleted]).await.unwrap();
        for id in ["ch_3", "ch_4"] {
            Chain::started(&*journal, id).await;
        }
        let (first, hold) = journal.claim(&Wanted::default()).await.unwrap().unwrap();
        assert_eq!((first.0.as_str(), hold.epoch), ("ch_3", 1));
        let (second, _hold) = other.claim(&Wanted::default()).await.unwrap().unwrap();
        assert_eq!(second.0, "ch_4");
        assert!(journal.claim(&Wanted::default()).await.unwrap().is_none(), "the rest is held, paused or at its end");

        paused.write(&*other, vec![approved("pa_1", key(1, 0), "os:bob@host")]).await.unwrap();
        let (decided, _third) = journal.claim(&Wanted::default()).await.unwrap().unwrap();
        assert_eq!(decided.0, "ch_1");
        hold.let_go().await;
        assert_eq!(other.claim(&Wanted::default()).await.unwrap().unwrap().0, first);
    }

    async fn a_chain_with_a_place_is_claimed_only_there_and_some_are_passed_over(home) {
        let journal = home.open();
        let mut chain = Chain::new("ch_1");
        let Event::ChainStarted { started_by, tools, messages, continues, forked, parent, .. } = started("x") else { unreachable!("it starts") };
        let settings = Settings { place: Some("attic".into()), ..Settings::default() };
        chain.write(&*journal, vec![Event::ChainStarted { started_by, settings, tools, messages, continues, forked, parent }]).await.unwrap();
        Chain::started(&*journal, "ch_2").await;
        let claimed = async |places: &[&str], but: &[&str]| {
            let places = places.iter().map(|place| (*place).to_owned()).collect();
            let wanted = Wanted { places, but: but.iter().map(|id| ChainId((*id).into())).collect() };
            match journal.claim(&wanted).await.unwrap() {
                Some((chain, hold)) => {
                    hold.let_go().await;
                    Some(chain.0)
                }
                None => None,
            }
        };
        assert_eq!(claimed(&[], &[]).await.as_deref(), Some("ch_2"));
        assert_eq!(claimed(&["cellar"], &["ch_2"]).await, None);
        assert_eq!(claimed(&["cellar", "attic"], &[]).await.as_deref(), Some("ch_1"));
        assert_eq!(journal.chains(9).await.unwrap().iter().filter_map(|row| row.place.clone()).collect::<Vec<_>>(), ["attic"]);
        // Whoever names it may take it anywhere.
        journal.take(&chain.id).await.unwrap().let_go().await;
    }
}
