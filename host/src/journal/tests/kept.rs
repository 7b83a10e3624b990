//! Plugins' bytes are there as long as some chain needs them, and few of them longer.

use super::on_both_stores;
use super::sample::Chain;
use crate::digest::Digest;
use crate::journal::kept::SPARE_MAX;

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
        assert!(journal.kept(&a).await.unwrap().is_some(), "nobody does any more, and the next one has them at once");
        assert_eq!(other.need(&one, vec![a.clone()]).await.unwrap(), []);
    }

    /// limit: journal/kept::SPARE_MAX
    async fn plugins_that_nobody_needs_stay_up_to_a_number(home) {
        let journal = home.open();
        let (chain, needed) = (Chain::started(&*journal, "ch_1").await.id, Digest::of_bytes(b"needed"));
        let other = Chain::started(&*journal, "ch_2").await.id;
        journal.need(&other, vec![needed.clone()]).await.unwrap();
        journal.keep(b"needed".to_vec()).await.unwrap();
        let plugins: Vec<_> = (0..=SPARE_MAX).map(|number| number.to_be_bytes().to_vec()).collect();
        let digests: Vec<_> = plugins.iter().map(|bytes| Digest::of_bytes(bytes)).collect();
        for (bytes, digest) in plugins.into_iter().zip(&digests) {
            journal.need(&chain, vec![digest.clone()]).await.unwrap();
            journal.keep(bytes).await.unwrap();
        }
        for digest in &digests {
            assert!(journal.kept(digest).await.unwrap().is_some());
        }
        journal.need(&chain, Vec::new()).await.unwrap();
        for digest in &digests {
            assert_eq!(journal.kept(digest).await.unwrap(), None, "one too many, and all of them go");
        }
        assert!(journal.kept(&needed).await.unwrap().is_some());
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
