//! Lists and ids by their start.

use super::on_both_stores;
use super::sample::{Chain, approved, finished, key, opened, pause, turn};
use crate::call::CallStatus;
use crate::chain::{ChainId, ChainStatus};
use crate::journal::JournalError;
use crate::pause::PauseId;

on_both_stores! {
    async fn s24_pending_is_what_is_open_oldest_first_until_it_is_decided(home) {
        let journal = home.open();
        let mut chain = Chain::started(&*journal, "ch_1").await;
        chain.write(&*journal, vec![turn(1, 2), opened("pa_b", key(1, 0)), opened("pa_a", key(1, 1))]).await.unwrap();

        let pending = journal.pending(100).await.unwrap();
        assert_eq!(pending.iter().map(|row| row.pause.id.0.as_str()).collect::<Vec<_>>(), ["pa_a", "pa_b"]);
        assert_eq!(pending[1].pause, pause("pa_b", key(1, 0)));
        assert_eq!((&pending[1].chain, pending[1].chain_status, &*pending[1].title), (&chain.id, ChainStatus::Paused, "ch_1"));

        chain.write(&*journal, vec![approved("pa_a", key(1, 1), "os:bob@host")]).await.unwrap();
        let pending = journal.pending(100).await.unwrap();
        assert_eq!(pending.iter().map(|row| row.pause.id.0.as_str()).collect::<Vec<_>>(), ["pa_b"]);
        assert_eq!(journal.chains(1).await.unwrap()[0].open_pauses, 1);
    }

    async fn h36_pending_pauses_outlive_the_process(home) {
        let mut chain = Chain::started(&*home.open(), "ch_1").await;
        chain.write(&*home.open(), vec![turn(1, 1), opened("pa_1", key(1, 0))]).await.unwrap();
        let journal = home.open();
        assert_eq!(journal.find_pause("pa_1").await.unwrap(), (chain.id.clone(), PauseId("pa_1".into())));
        chain.write(&*journal, vec![approved("pa_1", key(1, 0), "os:bob@host")]).await.unwrap();
        assert_eq!(home.open().pending(100).await.unwrap(), []);
        // Still found, so that a later decision can be told who decided.
        assert!(home.open().find_pause("pa_1").await.is_ok());
    }

    async fn s12_what_a_sibling_did_beside_a_pause_is_in_the_journal(home) {
        let mut chain = Chain::started(&*home.open(), "ch_1").await;
        let events = vec![turn(1, 2), finished(key(1, 1), CallStatus::Succeeded), opened("pa_1", key(1, 0))];
        chain.write(&*home.open(), events).await.unwrap();
        let row = &home.open().chains(1).await.unwrap()[0];
        assert_eq!((row.status, row.calls, row.open_pauses), (ChainStatus::Paused, 2, 1));
        assert_eq!(home.open().events(&chain.id, 0).await.unwrap().len(), 4);
    }

    async fn chains_are_listed_newest_first_up_to_the_limit(home) {
        let journal = home.open();
        assert_eq!(journal.newest_chain().await.unwrap(), None);
        for id in ["ch_2", "ch_1", "ch_3"] {
            Chain::started(&*journal, id).await;
        }
        let ids = |rows: Vec<crate::journal::ChainRow>| rows.into_iter().map(|row| row.id.0).collect::<Vec<_>>();
        assert_eq!(ids(journal.chains(2).await.unwrap()), ["ch_3", "ch_2"]);
        assert_eq!(ids(journal.chains(9).await.unwrap()), ["ch_3", "ch_2", "ch_1"]);
        assert_eq!(journal.newest_chain().await.unwrap(), Some(ChainId("ch_3".into())));
    }

    async fn of_ids_that_begin_alike_the_last_ones_are_named_with_what_they_are(home) {
        let journal = home.open();
        let named = async |prefix: &str| match prefix.starts_with("pa_") {
            true => journal.find_pause(prefix).await.map(|_| ()),
            false => journal.find_chain(prefix).await.map(|_| ()),
        };
        let candidates = async |prefix: &str| match named(prefix).await {
            Err(JournalError::Ambiguous { candidates, count, .. }) => {
                (count, candidates.into_iter().map(|one| format!("{}: {}", one.id, one.is)).collect::<Vec<_>>())
            }
            other => panic!("{other:?}"),
        };
        for number in 1..=7 {
            Chain::started(&*journal, &format!("ch_0{number}")).await;
        }
        let last = ["ch_07", "ch_06", "ch_05", "ch_04", "ch_03"].map(|id| format!("{id}: runnable, {id}"));
        assert_eq!(candidates("ch_0").await, (7, last.to_vec()));
        let mut chain = Chain::started(&*journal, "ch_1").await;
        let events = vec![turn(1, 2), opened("pa_1", key(1, 0)), opened("pa_2", key(1, 1)), approved("pa_2", key(1, 1), "os:bob@host")];
        chain.write(&*journal, events).await.unwrap();
        let both = ["pa_1: open, ch_1 ch_1", "pa_2: approved, ch_1 ch_1"].map(str::to_owned);
        assert_eq!(candidates("pa_").await, (2, both.to_vec()), "what waits goes before what does not");
    }

    async fn an_id_may_be_shortened_as_long_as_it_is_one(home) {
        let journal = home.open();
        for id in ["ch_01ab", "ch_01abc", "ch_02"] {
            Chain::started(&*journal, id).await;
        }
        let check = async |prefix: &str, expected: Result<&str, &str>| {
            let found = journal.find_chain(prefix).await.map(|id| id.0).map_err(|error| error.to_string());
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{prefix}");
        };
        check("ch_02", Ok("ch_02")).await;
        check("ch_01abc", Ok("ch_01abc")).await;
        check("ch_01ab", Ok("ch_01ab")).await;
        check("ch_01a", Err("`ch_01a` is the start of 2 chain ids; give more of it")).await;
        check("ch_", Err("`ch_` is the start of 3 chain ids; give more of it")).await;
        check("ch_3", Err("no chain has an id that starts with `ch_3`")).await;
        for strange in ["", "02", "ch_0_", "ch_%", "ch_*", "CH_02", "pa_1"] {
            check(strange, Err(&format!("no chain has an id that starts with `{strange}`"))).await;
        }
    }
}
