//! Live changes: heard whoever made them, missed by nobody who comes back.

use serde_json::json;

use super::Serving;
use crate::e2e::TestEnvironment;

#[test]
fn a_pause_that_opens_and_one_that_another_process_decides_are_heard() {
    for env in [TestEnvironment::new(), TestEnvironment::on_postgres()] {
        env.script_of_the_main_job();
        let server = Serving::new(&env);
        let alice = server.client("alice", "run,read");
        let mut changes = alice.listen(None);
        assert_eq!(changes.first, "hello");
        let chain = alice.start("clean up");
        let mut opened: Vec<_> = changes.by_ref().filter(|(name, _)| name == "pause_opened").take(2).map(|(_, data)| data).collect();
        opened.sort_by_key(|data| data["id"].to_string());
        assert!(opened.iter().all(|data| data["chain"] == *chain), "{opened:?}");
        let last = changes.last.clone();
        env.pausegate(&["approve", opened[0]["id"].as_str().unwrap()]);
        let (_, closed) = changes.by_ref().find(|(name, _)| name == "pause_closed").unwrap();
        assert_eq!(closed["id"], opened[0]["id"], "the command line decided it");
        drop(changes);

        let mut again = alice.listen(Some(&last));
        assert_eq!(again.first, "hello");
        let (_, missed) = again.find(|(name, _)| name == "pause_closed").unwrap();
        assert_eq!(missed, closed, "it is told again to who comes back");
        for stale in ["nobody-1", "x", &format!("{last}000000")] {
            assert_eq!(alice.listen(Some(stale)).first, "reset", "{stale}");
        }
    }
}

#[test]
fn nobody_hears_of_what_they_may_not_know_of() {
    let env = TestEnvironment::new();
    env.script_of_the_main_job();
    let server = Serving::new(&env);
    let [alice, bob] = ["alice", "bob"].map(|name| server.client(name, "run"));
    let mut changes = bob.listen(None);
    let others = alice.start("clean up");
    alice.until_paused(&others, 2);
    let own = bob.start("clean up");
    let heard: Vec<_> = changes.by_ref().take_while(|(_, data)| data["status"] != "paused").map(|(_, data)| data).collect();
    assert!(!heard.is_empty() && heard.iter().all(|data| data["id"] == *own || data["chain"] == *own), "{heard:?}");
}

#[test]
fn there_are_places_for_so_many_listeners_and_then_for_new_ones() {
    let env = TestEnvironment::new();
    env.script(json!([{"text": "Done."}]));
    let server = Serving::new(&env);
    let alice = server.client("alice", "read");
    let listening: Vec<_> = (0..128).map(|_| alice.listen(None)).collect();
    let full = alice.get("/api/v1/changes");
    assert_eq!((full.status, full.problem().as_str()), (503, "too-many-subscribers"));
    assert!(alice.get("/metrics").body.contains("pausegate_change_subscribers 128"));
    drop(listening);
    // A closed connection is noticed when something is to be said on it.
    assert_eq!(alice.get("/api/v1/pauses").status, 200);
}
