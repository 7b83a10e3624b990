//! Plugins' bytes are there as long as some chain needs them, and no longer.

use super::on_both_stores;
use super::sample::Chain;
use crate::digest::Digest;

on_both_stores! {
    async fn bytes_are_kept_while_a_chain_needs_them(home) {
        let (journal, other) = (home.open(), home.open());
        let (one, two) = (Chain::started(&*journal, "ch_1").await.id, Chain::started(&*journal, "ch_2").await.id);
        let [a, b] = ["a", "b"].map(|bytes| Digest::of_bytes(bytes.as_bytes()));
        journal.keep(b"a".to_vec()).await.unwrap();
        assert_eq!(journal.kept(&a).await.unwrap(), None, "nobody needs them");

        assert_eq!(journal.need(&one, vec![a.clone(), b.clone()]).await.unwrap(), [a.clone(), b.clone()]);
        journal.keep(b"a".to_vec()).await.unwrap();
        assert_eq!(other.need(&two, vec![a.clone()]).await.unwrap(), [], "kept once, for both");
        assert_eq!(other.kept(&a).await.unwrap().as_deref(), Some(&b"a"[..]), "by whatever process");
        assert_eq!(other.kept(&b).await.unwrap(), None);
        other.keep(b"a".to_vec()).await.unwrap();

        assert_eq!(journal.need(&one, Vec::new()).await.unwrap(), []);
        assert!(journal.kept(&a).await.unwrap().is_some(), "the other chain needs them still");
        assert_eq!(journal.need(&two, vec![b.clone()]).await.unwrap(), [b]);
        assert_eq!(journal.kept(&a).await.unwrap(), None, "nobody does any more");
    }

    async fn a_plugin_of_many_megabytes_comes_back_as_it_was(home) {
        let journal = home.open();
        let chain = Chain::started(&*journal, "ch_1").await.id;
        let bytes: Vec<u8> = (0_u32..12 << 20).map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let digest = Digest::of_bytes(&bytes);
        journal.need(&chain, vec![digest.clone()]).await.unwrap();
        journal.keep(bytes.clone()).await.unwrap();
        assert!(journal.kept(&digest).await.unwrap() == Some(bytes));
    }
}
