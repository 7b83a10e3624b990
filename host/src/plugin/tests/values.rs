//! Values and settings: what is held works, in the one bucket that the host chose, and everything else is refused.

use super::*;
use crate::capability::keyvalue::{HeldKv, Quota, Scope};
use crate::capability::{Access, Refusal};

fn line(scope: Scope, access: Access) -> HeldKv {
    HeldKv { scope, access, quota: Quota::default() }
}

/// Calls `kv` in one chain with one line.
struct Try {
    chain: &'static str,
    lines: Vec<HeldKv>,
    tool: &'static str,
    last: Option<AttemptOutcome>,
}

impl Try {
    fn new(chain: &'static str, lines: Vec<HeldKv>) -> Self {
        Self { chain, lines, tool: "kv", last: None }
    }

    async fn op(&mut self, op: &str, key: &str, value: &str, number: usize) -> String {
        let mut attempt = attempt(self.tool, json!({"op": op, "key": key, "value": value, "number": number}));
        attempt.held.kv = self.lines.clone();
        attempt.chain = ChainId(self.chain.into());
        let outcome = probe().call(attempt).await;
        let said = text(&outcome).to_owned();
        self.last = Some(outcome);
        said
    }

    fn writes(&self) -> u64 {
        self.last.as_ref().unwrap().uses.kv_writes
    }

    fn refusals(&self) -> &[Refusal] {
        &self.last.as_ref().unwrap().refusals
    }
}

#[tokio::test]
async fn a_write_line_keeps_reads_counts_and_pages() {
    let mut kv = Try::new("ch_all", vec![line(Scope::Chain, Access::Write)]);
    for (op, key, value, number, said, writes) in [
        ("get", "a", "", 0, "ok: nothing", 0),
        ("set", "a", "one", 0, "ok: set", 1),
        ("get", "a", "", 0, "ok: one", 0),
        ("set", "a", "two", 0, "ok: set", 1),
        ("get", "a", "", 0, "ok: two", 0),
        ("exists", "a", "", 0, "ok: true", 0),
        ("exists", "b", "", 0, "ok: false", 0),
        ("increment", "n", "", 3, "ok: 3", 1),
        ("increment", "n", "", 4, "ok: 7", 1),
        ("get", "n", "", 0, "ok: 7", 0),
        ("increment", "a", "", 1, "error: the value is no whole number in decimal", 0),
        ("list", "", "", 0, "ok: a,n None", 0),
        ("delete", "a", "", 0, "ok: deleted", 1),
        ("delete", "a", "", 0, "ok: deleted", 1),
        ("set_many", "m", "x", 3, "ok: set", 1),
        ("get_many", "m", "", 4, "ok: x,x,x,-", 0),
        ("delete_many", "m", "", 2, "ok: deleted", 1),
        ("list", "", "", 0, "ok: n,m2 None", 0),
    ] {
        assert_eq!(kv.op(op, key, value, number).await, said, "{op} {key}");
        assert_eq!(kv.writes(), writes, "{op} {key}");
    }
    kv.op("set_many", "p", "x", 100).await;
    let first = kv.op("list", "", "", 0).await;
    let cursor = first.rsplit_once("Some(").unwrap().1.trim_end_matches(')').parse().unwrap();
    assert_eq!(first.matches(',').count(), 99);
    assert_eq!(kv.op("list", "", "", cursor).await, "ok: p98,p99 None");
    assert_eq!(kv.op("list", "", "", 1 << 53).await, "ok:  None", "a forged cursor finds nothing");
}

#[tokio::test]
async fn values_of_another_chain_are_not_there_and_shared_ones_are() {
    let (chain, plugin) = (|| vec![line(Scope::Chain, Access::Write)], || vec![line(Scope::Plugin, Access::Write)]);
    let (mut one, mut two) = (Try::new("ch_one", chain()), Try::new("ch_two", chain()));
    one.op("set", "k", "mine", 0).await;
    assert_eq!(two.op("get", "k", "", 0).await, "ok: nothing");
    assert_eq!(two.op("list", "", "", 0).await, "ok:  None");
    let (mut one, mut two) = (Try::new("ch_one", plugin()), Try::new("ch_two", plugin()));
    assert_eq!(one.op("get", "k", "", 0).await, "ok: nothing", "what all chains share is another bucket");
    one.op("set", "k", "ours", 0).await;
    assert_eq!(two.op("get", "k", "", 0).await, "ok: ours");
}

#[tokio::test]
async fn without_a_line_no_bucket_opens_and_a_read_line_only_reads() {
    let mut none = Try::new("ch_none", vec![]);
    assert_eq!(none.op("get", "a", "", 0).await, "error: access denied");
    let allow_with = "[plugins.probe.kv]\nscope = \"chain\"\naccess = \"read\"".to_owned();
    assert_eq!(none.refusals(), [Refusal { attempted: "kv read".into(), allow_with }]);
    let mut reader = Try::new("ch_reader", vec![line(Scope::Chain, Access::Read)]);
    assert_eq!(reader.op("get", "a", "", 0).await, "ok: nothing");
    for op in ["set", "delete", "increment", "set_many", "delete_many"] {
        assert_eq!(reader.op(op, "a", "x", 1).await, "error: access denied", "{op}");
        assert_eq!((reader.writes(), reader.refusals()[0].attempted.as_str()), (0, "kv write"), "{op}");
    }
}

#[tokio::test]
async fn d03_a_read_only_tool_reads_values_only() {
    let mut writer = Try::new("ch_read_only", vec![line(Scope::Chain, Access::Write)]);
    writer.op("set", "a", "kept", 0).await;
    let mut reader = Try { tool: "kv_as_reader", ..Try::new("ch_read_only", vec![line(Scope::Chain, Access::Write)]) };
    assert_eq!(reader.op("get", "a", "", 0).await, "ok: kept");
    for op in ["set", "delete", "increment"] {
        assert_eq!(reader.op(op, "a", "x", 1).await, "error: access denied", "{op}");
    }
    assert_eq!((reader.op("get", "a", "", 0).await, reader.writes()), ("ok: kept".into(), 0));
}

#[tokio::test]
async fn only_the_default_bucket_has_a_name() {
    let mut kv = Try::new("ch_names", vec![line(Scope::Chain, Access::Write)]);
    for (name, said) in [("", "ok: open"), ("default", "ok: open"), ("Default", "error: no such store"), ("ch_one", "error: no such store")] {
        assert_eq!(kv.op("open", name, "", 0).await, said, "{name}");
    }
}

/// limit: kv.quota, kv.keys, plugin/keyvalue::KEY_BYTES_MAX, plugin/keyvalue::VALUE_BYTES_MAX, plugin/keyvalue::KEYS_AT_ONCE_MAX
#[tokio::test]
async fn keys_values_batches_and_quotas_are_limited() {
    let mut kv = Try::new("ch_limits", vec![line(Scope::Chain, Access::Write)]);
    for (op, fits, over) in
        [("long_key", 1024, "a key of 1025 bytes, 1 to 1024 fit"), ("set_bytes", 256 << 10, "a value of 262145 bytes, at most 262144 fit")]
    {
        assert_eq!(kv.op(op, "v", "", fits).await, "ok: set");
        assert_eq!(kv.op(op, "v", "", fits + 1).await, format!("error: {over}"));
        assert_eq!(kv.writes(), 0);
    }
    assert_eq!(kv.op("set", "", "x", 0).await, "error: a key of 0 bytes, 1 to 1024 fit");
    assert_eq!(kv.op("set_many", "b", "x", 100).await, "ok: set");
    for op in ["get_many", "set_many", "delete_many"] {
        assert_eq!(kv.op(op, "b", "x", 101).await, "error: a batch holds at most 100 keys");
    }
    let quota = Quota { bytes: 10, keys: 2 };
    let mut kv = Try::new("ch_quota", vec![HeldKv { quota, ..line(Scope::Chain, Access::Write) }]);
    assert_eq!(kv.op("set", "a", "12345678", 0).await, "ok: set");
    assert_eq!(kv.op("set", "b", "", 0).await, "ok: set");
    assert_eq!(kv.op("set", "b", "x", 0).await, "error: over the quota: 11 bytes of keys and values, the limit is 10");
    assert_eq!(kv.writes(), 0, "what was refused did not happen");
    assert_eq!(kv.op("set", "c", "", 0).await, "error: over the quota: 3 keys, the limit is 2");
    assert_eq!(kv.op("set_many", "d", "", 2).await, "error: over the quota: 4 keys, the limit is 2");
    assert_eq!(kv.op("list", "", "", 0).await, "ok: a,b None", "of a batch over the quota nothing stays");
    assert_eq!(kv.op("delete", "a", "", 0).await, "ok: deleted");
    assert_eq!(kv.op("set", "c", "1234567", 0).await, "ok: set");
}

#[tokio::test]
async fn buckets_that_are_hoarded_are_limited() {
    let mut kv = Try::new("ch_hoard", vec![line(Scope::Chain, Access::Read)]);
    assert_eq!(kv.op("hoard", "", "", 1000).await, "ok: 1000");
    let mut hoarding = attempt("kv", json!({"op": "hoard", "number": 5000}));
    hoarding.held.kv = kv.lines.clone();
    assert_eq!(failure(&probe().call(hoarding).await).kind, "trapped");
}

#[tokio::test]
async fn a_plugin_reads_the_settings_it_was_given_and_no_others() {
    let mut attempt = attempt("settings", json!({}));
    assert_eq!(structured(&probe().call(attempt.clone()).await), &json!({}));
    attempt.held.config = BTreeMap::from([("units".to_owned(), "metric".to_owned()), ("lang".to_owned(), "de".to_owned())]);
    assert_eq!(structured(&probe().call(attempt.clone()).await), &json!({"lang": "de", "units": "metric"}));
    attempt.arguments = json!({"key": "units"}).to_string();
    assert_eq!(structured(&probe().call(attempt.clone()).await), &json!({"units": "metric"}));
    attempt.arguments = json!({"key": "HOME"}).to_string();
    assert_eq!(structured(&probe().call(attempt).await), &json!({}));
}
