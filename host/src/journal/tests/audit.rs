//! What an audit reads is the same from every store.

use super::on_both_stores;
use super::sample::{Chain, finished, key, opened, said, started, turn};
use crate::call::CallStatus;
use crate::chain::ChainId;
use crate::event::Event;
use crate::journal::audit::{Heads, verify};

on_both_stores! {
    async fn an_audit_goes_through_all_chains_and_names_what_was_changed(home) {
        let journal = home.open();
        let mut chain = Chain::started(&*journal, "ch_1").await;
        chain.write(&*journal, vec![turn(1, 2), said("\u{0}")]).await.unwrap();
        chain.write(&*journal, vec![finished(key(1, 1), CallStatus::Failed)]).await.unwrap();
        for id in ["ch_2", "ch_3"] {
            Chain::started(&*journal, id).await;
        }
        let heads = Heads::of(&*journal).await.unwrap();
        assert_eq!(heads.chains.iter().map(|head| (head.chain.0.as_str(), head.seq)).collect::<Vec<_>>(), [("ch_1", 4), ("ch_2", 1), ("ch_3", 1)]);
        for head in &heads.chains {
            assert_eq!(journal.last(&head.chain).await.unwrap().as_ref(), Some(head));
            assert!(verify(&*journal, head, Some(head.clone())).await.unwrap().findings.is_empty());
        }
        assert_eq!(journal.records(&chain.id, 2).await.unwrap().len(), 2);

        home.execute("UPDATE event SET payload = replace(payload, '/a', '/b') WHERE chain = 'ch_1' AND seq = 2; DELETE FROM chain WHERE id = 'ch_2'").await;
        let found = Heads::of(&*journal).await.unwrap();
        assert_eq!(found, heads, "a chain without a row is found by its events");
        let walk = verify(&*journal, &heads.chains[0], None).await.unwrap();
        assert_eq!(walk.findings[0].to_string(), "event 2 is not what was written there");
    }

    async fn rows_are_written_anew_from_events_alone_and_whoever_holds_a_chain_holds_it_still(home) {
        let journal = home.open();
        let mut chain = Chain::started(&*journal, "ch_1").await;
        let hold = journal.take(&chain.id).await.unwrap();
        chain.epoch = Some(hold.epoch);
        chain.write(&*journal, vec![turn(1, 2), opened("pa_1", key(1, 0)), said("\u{0}")]).await.unwrap();
        let (chains, pending) = (journal.chains(9).await.unwrap(), journal.pending(9).await.unwrap());
        home.execute("DELETE FROM call; UPDATE pause SET status = 'approved'; UPDATE chain SET status = 'failed', calls = 0").await;
        assert_eq!(journal.differences().await.unwrap().len(), 1);
        assert_eq!(journal.rebuild().await.unwrap().chains, 1);
        assert_eq!(journal.differences().await.unwrap(), Vec::<String>::new());
        assert_eq!((journal.chains(9).await.unwrap(), journal.pending(9).await.unwrap()), (chains, pending));
        chain.write(&*journal, vec![said("on")]).await.unwrap();
    }

    async fn a_chain_that_ended_is_taken_out_unless_another_carries_it_on(home) {
        let journal = home.open();
        for id in ["ch_1", "ch_2"] {
            Chain::started(&*journal, id).await.write(&*journal, vec![Event::ChainCompleted]).await.unwrap();
        }
        let mut next = Chain::new("ch_3");
        let mut begun = started("go on");
        if let Event::ChainStarted { continues, .. } = &mut begun {
            *continues = Some(ChainId("ch_2".into()));
        }
        next.write(&*journal, vec![begun]).await.unwrap();
        let heads = Heads::of(&*journal).await.unwrap().chains;
        assert_eq!(journal.continued().await.unwrap(), [(next.id.clone(), ChainId("ch_2".into()))]);
        assert_eq!(journal.remove(heads).await.unwrap(), [ChainId("ch_1".into())]);
        assert_eq!(journal.chains(9).await.unwrap().len(), 2);
        assert!(journal.health().await.unwrap().unwrap().problems.is_empty());
    }
}
