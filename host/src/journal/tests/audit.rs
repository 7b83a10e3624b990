//! What an audit reads is the same from every store.

use super::on_both_stores;
use super::sample::{Chain, finished, key, said, turn};
use crate::call::CallStatus;
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
}
