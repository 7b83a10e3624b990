//! Values of plugins: apart from each other, within their quota, and still there in the next process.

use super::on_both_stores;
use super::sample::{Chain, Tested, digest, said, started};
use crate::call::{Effects, ToolSpec};
use crate::capability::keyvalue::{Bucket, Change, KvError, Page, Quota, Scope};
use crate::chain::ChainId;
use crate::event::Event;

on_both_stores! {
    async fn values_last_and_every_bucket_sees_its_own(home) {
        let buckets = [
            bucket("a", "ch_1", Scope::Chain),
            bucket("a", "ch_2", Scope::Chain),
            bucket("a", "ch_1", Scope::Plugin),
            bucket("b", "ch_1", Scope::Chain),
            bucket("b", "ch_1", Scope::Plugin),
        ];
        let journal = home.open();
        for (n, bucket) in buckets.iter().enumerate() {
            journal.change(bucket, set(&[("k", &format!("value {n}"))]), Quota::default()).await.unwrap();
        }
        drop(journal);
        let journal = home.open();
        for (n, bucket) in buckets.iter().enumerate() {
            assert_eq!(journal.get(bucket, vec!["k".into()]).await.unwrap(), [Some(format!("value {n}").into_bytes())]);
        }
        journal.change(&buckets[0], Change::Delete(vec!["k".into()]), Quota::default()).await.unwrap();
        assert_eq!(keys(&*journal, &buckets[0]).await, Vec::<String>::new());
        assert_eq!(keys(&*journal, &buckets[2]).await, ["k"]);
        let other_chain = bucket("a", "ch_9", Scope::Plugin);
        assert_eq!(journal.get(&other_chain, vec!["k".into()]).await.unwrap(), [Some(b"value 2".to_vec())], "shared by all chains of the plugin");
    }

    async fn a_change_over_the_quota_leaves_nothing_behind(home) {
        let (journal, bucket, quota) = (home.open(), bucket("a", "ch_1", Scope::Chain), Quota { bytes: 10, keys: 2 });
        let change = |change| journal.change(&bucket, change, quota);
        change(set(&[("k", "12345678")])).await.unwrap();
        let over = change(set(&[("l", "1"), ("m", "2")])).await.unwrap_err();
        assert_eq!(over, KvError::OverQuota("3 keys, the limit is 2".into()));
        let over = change(set(&[("l", "é")])).await.unwrap_err();
        assert_eq!(over, KvError::OverQuota("12 bytes of keys and values, the limit is 10".into()), "bytes, not characters");
        assert_eq!(keys(&*journal, &bucket).await, ["k"]);
        change(Change::Increment { key: "n".into(), by: 9 }).await.unwrap_err();
        change(set(&[("k", "")])).await.unwrap();
        assert_eq!(change(Change::Increment { key: "n".into(), by: 9 }).await, Ok(9));
        assert_eq!(
            change(Change::Increment { key: "n".into(), by: u64::MAX }).await,
            Err(KvError::DoesNotFit("the number would not fit into 64 bits".into()))
        );
        let elsewhere = Bucket::new("a", &ChainId("ch_2".into()), Scope::Chain);
        journal.change(&elsewhere, set(&[("k", "123456789")]), quota).await.unwrap();
    }

    async fn counting_at_once_loses_no_count(home) {
        let (journal, bucket) = (home.open(), bucket("a", "ch_1", Scope::Plugin));
        let count = |_| {
            let (journal, bucket) = (journal.clone(), bucket.clone());
            tokio::spawn(async move { journal.change(&bucket, Change::Increment { key: "n".into(), by: 1 }, Quota::default()).await.unwrap() })
        };
        let tasks: Vec<_> = (0..50).map(count).collect();
        let mut numbers = Vec::new();
        for task in tasks {
            numbers.push(task.await.unwrap());
        }
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=50).collect::<Vec<_>>());
    }

    async fn pages_go_on_where_they_ended_whatever_was_deleted_meanwhile(home) {
        let (journal, bucket) = (home.open(), bucket("a", "ch_1", Scope::Chain));
        journal.change(&Bucket::new("b", &ChainId("ch_1".into()), Scope::Chain), set(&[("x", "")]), Quota::default()).await.unwrap();
        journal.change(&bucket, set(&[("a", ""), ("b", ""), ("c", ""), ("d", "")]), Quota::default()).await.unwrap();
        let first = journal.list(&bucket, None, 2).await.unwrap();
        assert_eq!(first, Page { keys: vec!["a".into(), "b".into()], next: Some(2) }, "numbers of its own, whatever others keep");
        journal.change(&bucket, Change::Delete(vec!["a".into(), "c".into()]), Quota::default()).await.unwrap();
        assert_eq!(journal.list(&bucket, first.next, 2).await.unwrap(), Page { keys: vec!["d".into()], next: None });
        assert_eq!(journal.list(&bucket, Some(u64::MAX), 2).await.unwrap(), Page::default());
    }

    async fn what_was_kept_for_a_chain_goes_when_it_ends_and_nothing_else(home) {
        let journal = home.open();
        let mut chain = Chain::new("ch_1");
        let tool = ToolSpec {
            name: "a__t".into(),
            plugin: "a".into(),
            tool: "t".into(),
            title: None,
            description: "Does it.".into(),
            input_schema: serde_json::json!({"type": "object"}).into(),
            output_schema: None,
            effects: Effects::Once,
            plugin_digest: digest(),
        };
        let mut begun = started("go");
        if let Event::ChainStarted { tools, .. } = &mut begun {
            tools.push(tool);
        }
        chain.write(&*journal, vec![begun]).await.unwrap();
        let buckets = [bucket("a", "ch_1", Scope::Chain), bucket("a", "ch_2", Scope::Chain), bucket("a", "ch_1", Scope::Plugin)];
        for bucket in &buckets {
            journal.change(bucket, set(&[("k", "v")]), Quota::default()).await.unwrap();
        }
        chain.write(&*journal, vec![said("more")]).await.unwrap();
        assert_eq!(keys(&*journal, &buckets[0]).await, ["k"], "while it runs, it keeps them");
        chain.write(&*journal, vec![Event::ChainCompleted]).await.unwrap();
        assert_eq!(keys(&*journal, &buckets[0]).await, Vec::<String>::new());
        assert_eq!((keys(&*journal, &buckets[1]).await, keys(&*journal, &buckets[2]).await), (vec!["k".to_owned()], vec!["k".to_owned()]));
    }
}

fn bucket(plugin: &str, chain: &str, scope: Scope) -> Bucket {
    Bucket::new(plugin, &ChainId(chain.into()), scope)
}

fn set(pairs: &[(&str, &str)]) -> Change {
    Change::Set(pairs.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect())
}

async fn keys(journal: &dyn Tested, bucket: &Bucket) -> Vec<String> {
    journal.list(bucket, None, 100).await.unwrap().keys
}
