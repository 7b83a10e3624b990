//! Projections are rebuilt from events alone.

use super::sample::{Chain, Home, begun, key, opened, said, turn};
use crate::journal::Journal;

#[tokio::test]
async fn projections_are_rebuilt_from_events_alone() {
    let home = Home::new();
    let journal = home.open();
    let mut chain = Chain::started(&journal, "ch_1").await;
    let hold = journal.take(&chain.id).await.unwrap();
    chain.epoch = Some(hold.epoch);
    chain.write(&journal, vec![turn(1, 2), opened("pa_1", key(1, 0)), begun(key(1, 1), 1)]).await.unwrap();
    let (chains, pending) = (journal.chains(9).await.unwrap(), journal.pending(100).await.unwrap());

    home.sql().execute_batch("DELETE FROM call; UPDATE pause SET status = 'approved'; UPDATE chain SET status = 'failed', calls = 0").unwrap();
    assert_eq!(journal.projection_differences().await.unwrap().len(), 1);
    assert_eq!(journal.rebuild_projections().await.unwrap().chains, 1);
    assert_eq!(journal.projection_differences().await.unwrap(), Vec::<String>::new());
    assert_eq!((journal.chains(9).await.unwrap(), journal.pending(100).await.unwrap()), (chains, pending));
    // Whoever held the chain holds it still.
    chain.write(&journal, vec![said("on")]).await.unwrap();

    home.sql().execute_batch("DELETE FROM call; DELETE FROM pause; DELETE FROM chain").unwrap();
    journal.rebuild_projections().await.unwrap();
    assert_eq!(journal.projection_differences().await.unwrap(), Vec::<String>::new());
    chain.write(&journal, vec![said("and on")]).await.unwrap();
}
