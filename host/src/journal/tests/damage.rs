//! What something else than this program changed is told, at the event that shows it.

use super::on_both_stores;
use super::sample::{Chain, key, opened, said, turn};
use crate::journal::JournalError;

on_both_stores! {
    async fn a_journal_that_was_cut_changed_or_shuffled_is_damaged_at_the_event_that_shows_it(home) {
        for (damage, expected) in [
            ("DELETE FROM event WHERE seq = 1", "event 1 of chain ch_1 is missing"),
            ("DELETE FROM event WHERE seq = 2", "event 2 of chain ch_1 is missing"),
            ("DELETE FROM event WHERE seq = 4", "event 4 of chain ch_1 is missing"),
            ("DELETE FROM event", "event 1 of chain ch_1 is missing"),
            ("DELETE FROM event WHERE seq = 3; UPDATE event SET seq = 3 WHERE seq = 4", "event 3 of chain ch_1 is not what was written there"),
            ("UPDATE event SET seq = seq + 1 WHERE seq = 4", "event 4 of chain ch_1 is missing"),
            ("UPDATE event SET payload = replace(payload, '/a', '/b') WHERE seq = 2", "event 2 of chain ch_1 is not what was written there"),
            ("UPDATE event SET epoch = 9 WHERE seq = 3", "event 3 of chain ch_1 is not what was written there"),
            ("UPDATE event SET hash = prev_hash WHERE seq = 3", "event 3 of chain ch_1 is not what was written there"),
        ] {
            let journal = home.open();
            let mut chain = Chain::started(&*journal, "ch_1").await;
            chain.write(&*journal, vec![turn(1, 1), opened("pa_1", key(1, 0)), said("wait")]).await.unwrap();
            home.execute(damage).await;
            let error = journal.events(&chain.id, 0).await.unwrap_err();
            assert!(matches!(error, JournalError::Damaged { .. }), "{damage}: {error}");
            assert_eq!(error.to_string(), format!("the journal is damaged: {expected}"), "{damage}");
            // Who has read the first three is told as well where what comes next is not what was written.
            let next = journal.events(&chain.id, 3).await;
            home.execute("DELETE FROM event; DELETE FROM chain; DELETE FROM call; DELETE FROM pause").await;
            assert_eq!(next.is_err(), damage.contains("seq = 4") || damage.contains("hash") || damage == "DELETE FROM event", "{damage}: {next:?}");
        }
    }
}
