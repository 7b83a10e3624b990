//! Chains over HTTP: started once, carried on, told, forked, ended.

use serde_json::{Value, json};

use super::{Client, Serving};
use crate::e2e::TestEnvironment;

fn both() -> [TestEnvironment; 2] {
    [TestEnvironment::new(), TestEnvironment::on_postgres()]
}

fn act(client: &Client, chain: &str, verb: &str, body: &Value) -> super::serving::Answer {
    client.post(&format!("/api/v1/chains/{chain}/{verb}"), body)
}

#[test]
fn the_main_job_goes_through_over_http_alone() {
    for env in both() {
        env.script_of_the_main_job();
        let server = Serving::new(&env);
        let (alice, bob) = (server.client("alice", "run"), server.client("bob", "approve"));
        let chain = alice.start("clean up");
        let pauses = alice.until_paused(&chain, 2);
        assert_eq!(pauses[0]["decisions"], json!([]), "alice only starts");
        for pause in &pauses {
            // Whichever of the two was quicker stands first.
            let decision = match pause["arguments"]["path"].as_str() {
                Some("/build/a.tmp") => json!({"decision": "approve"}),
                _ => json!({"decision": "deny", "note": "keep it"}),
            };
            let decided = bob.decide(pause["id"].as_str().unwrap(), &decision);
            assert_eq!((decided.status, &decided.json()["decided"]["by"]), (200, &"token:bob".into()), "{decided:?}");
        }
        let done = alice.until_status(&chain, "completed");
        assert_eq!((&done["answer"], &done["started_by"]), (&"Deleted a.tmp; b.tmp stays.".into(), &"token:alice".into()));
        assert_eq!(env.build(), ["b.tmp", "keep.txt"]);

        let mut events = Vec::new();
        let mut next = json!(0);
        while !next.is_null() {
            let page = alice.get(&format!("/api/v1/chains/{chain}/events?limit=5&after={next}")).json();
            assert!(page["events"].as_array().unwrap().len() <= 5);
            events.extend(page["events"].as_array().unwrap().iter().map(|event| event["seq"].as_u64().unwrap()));
            next = page["next"].clone();
        }
        assert_eq!(events, (1..=done["seq"].as_u64().unwrap()).collect::<Vec<_>>(), "each once, in order");
        assert_eq!(act(&alice, &chain, "resume", &json!({})).problem(), "ended");
        assert_eq!(act(&alice, &chain, "cancel", &json!({})).problem(), "ended");
    }
}

#[test]
fn a_key_starts_one_chain_also_at_two_servers_and_after_an_end() {
    for env in both() {
        env.script(json!([{"text": "Done."}]));
        let (one, other) = (Serving::with(&env, &["--model", "script:turns.json", "--workers", "0"]), Serving::new(&env));
        let alice = one.client("alice", "run");
        let bob = one.client("bob", "run");
        let at = |server: &Serving<'_>, who: &Client| Client { port: server.port, ..who.clone() };
        let start = |client: &Client, key: &str, prompt: &str| {
            let headers = [("content-type", "application/json"), ("idempotency-key", key)];
            client.send("POST", "/api/v1/chains", &headers, &json!({"prompt": prompt}).to_string())
        };
        let clients = [at(&one, &alice), at(&other, &alice)];
        let answers: Vec<_> = std::thread::scope(|scope| {
            let (clients, start) = (&clients, &start);
            let asked: Vec<_> = (0..16).map(|number| scope.spawn(move || start(&clients[number % 2], "k 1", "once"))).collect();
            asked.into_iter().map(|asked| asked.join().unwrap()).collect()
        });
        assert!(answers.iter().all(|answer| answer.status == 201 && answer.body == answers[0].body), "{answers:?}");
        assert_eq!(env.chains().len(), 1);
        assert_eq!(start(&alice, "k 1", "another").problem(), "does-not-fit");
        assert_ne!(start(&at(&other, &bob), "k 1", "once").body, answers[0].body, "bob's key is not alice's");
        assert_eq!(one.end(), Some(0));
        let again = Serving::new(&env);
        let repeated = start(&at(&again, &alice), "k 1", "once");
        assert_eq!((repeated.status, &repeated.body, env.chains().len()), (201, &answers[0].body, 2));
        assert_eq!(start(&at(&again, &alice), "", "once").status, 400);
        assert_eq!(start(&at(&again, &alice), &"k".repeat(256), "once").status, 400);
    }
}

/// Keys remembered, two rows for each, as `server/api/start.rs` has it.
const KEY_ROWS_MAX: u32 = 20_000;

/// What is full of keys forgets the oldest and goes on.
#[test]
fn the_oldest_keys_make_room_and_the_newest_still_hold() {
    let env = TestEnvironment::new();
    let server = Serving::new(&env);
    let alice = server.client("alice", "run");
    let start = |key: &str| {
        let headers = [("content-type", "application/json"), ("idempotency-key", key)];
        let started = alice.send("POST", "/api/v1/chains", &headers, &json!({"prompt": "once"}).to_string());
        assert_eq!(started.status, 201, "{started:?}");
        started.json()["id"].clone()
    };
    let oldest = start("oldest");
    let journal = rusqlite::Connection::open(env.path("home/.local/state/pausegate/journal.db")).unwrap();
    journal.busy_timeout(std::time::Duration::from_secs(60)).unwrap();
    let rows = || journal.query_row("SELECT count(*) FROM keyvalue", [], |row| row.get::<_, u32>(0)).unwrap();
    assert_eq!(rows(), 2);
    let fill = "WITH RECURSIVE many (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many WHERE n < ?1)
                INSERT INTO keyvalue (plugin, chain, number, key, value, bytes)
                SELECT plugin, chain, number + n, 'other' || n, x'00', 10 FROM many, (SELECT * FROM keyvalue ORDER BY number DESC LIMIT 1)";
    journal.execute(fill, [KEY_ROWS_MAX - 2]).unwrap();
    assert_eq!(start("oldest"), oldest, "full, and none is forgotten yet");
    let newest = start("newest");
    assert!(rows() < KEY_ROWS_MAX, "{}", rows());
    assert_eq!(start("newest"), newest);
    assert_ne!(start("oldest"), oldest, "forgotten: it stands for another chain now");
    assert_eq!((start("newest"), env.chains().len()), (newest, 3));
}

#[test]
fn a_client_names_only_models_and_tools_that_are_there() {
    let env = TestEnvironment::new();
    env.script(json!([{"text": "Done."}]));
    env.write("work/other.json", "{\"turns\":[]}");
    let server = Serving::new(&env);
    let alice = server.client("alice", "run,read");
    let file = format!("script:{}", env.path("work/other.json").display());
    for (wrong, why) in [
        (json!({"prompt": "x", "model": file}), "no file of the server's is played"),
        (json!({"prompt": "x", "model": "gpt-5"}), "and no other model costs money"),
        (json!({"prompt": " "}), "empty"),
        (json!({"prompt": "x", "only": ["files__lst"]}), "fits no tool"),
        (json!({"prompt": "x", "max_turns": 0}), "none"),
        (json!({"prompt": "x", "actor": "os:boss@host"}), "S22: who asks is not asked"),
        (json!({"prompt": ["x"]}), "a list"),
    ] {
        let refused = alice.post("/api/v1/chains", &wrong);
        assert_eq!(refused.problem(), "does-not-fit", "{why}: {refused:?}");
    }
    let settings = json!({"prompt": "x", "system": "Be brief.", "only": ["files__list"], "max_turns": 3});
    let started = alice.post("/api/v1/chains", &settings).json();
    let shown = alice.until_status(started["id"].as_str().unwrap(), "completed");
    let shown = &shown["settings"];
    assert_eq!((&shown["system"], &shown["only"], &shown["max_turns"]), (&"Be brief.".into(), &json!([["files__list"]]), &3.into()));
}

#[test]
fn chains_are_told_forked_and_resumed_with_a_fix() {
    let env = TestEnvironment::new();
    env.script(json!([
        {"tool_calls": [{"id": "a", "name": "files__delete", "arguments": {"path": "/build/a.tmp"}}]},
        {"text": "Never mind."},
        {"text": "Welcome."}
    ]));
    env.write("work/other.json", &json!({"turns": [{"text": "Not asked."}, {"text": "Three, says the other."}]}).to_string());
    let server = Serving::with(&env, &["--model", "script:turns.json", "--model", "script:other.json"]);
    let alice = server.client("alice", "run,read");
    let chain = alice.start("clean up");
    let pause = alice.until_paused(&chain, 1)[0]["id"].clone();
    let waiting = act(&alice, &chain, "say", &json!({"message": "forget it"}));
    assert_eq!((waiting.problem().as_str(), &waiting.json()["pauses"]), ("waiting", &json!([pause])), "{waiting:?}");
    assert_eq!(act(&alice, &chain, "say", &json!({"message": ""})).status, 422);

    let forked = act(&alice, &chain, "fork", &json!({}));
    assert_eq!((forked.status, &forked.json()["forked"]["chain"]), (201, &json!(chain)), "{forked:?}");
    assert_eq!(act(&alice, &chain, "fork", &json!({"at": 999})).status, 422);

    let told = act(&alice, &chain, "say", &json!({"message": "forget it", "supersede": true}));
    assert_eq!((told.status, &told.json()["id"]), (202, &json!(chain)), "{told:?}");
    assert_eq!(alice.until_status(&chain, "completed")["answer"], "Never mind.");
    let linked = act(&alice, &chain, "say", &json!({"message": "thanks"}));
    let linked = linked.json()["id"].as_str().unwrap().to_owned();
    assert_ne!(linked, chain);

    env.script(json!([
        {"tool_calls": [{"id": "l", "name": "files__list", "arguments": {"path": "/build"}}]},
        {"text": "Three files."}
    ]));
    let short = alice.post("/api/v1/chains", &json!({"prompt": "look", "max_turns": 1})).json();
    let short = short["id"].as_str().unwrap();
    assert_eq!(alice.until_status(short, "blocked")["blocked"]["reason"], "max_turns");
    assert_eq!(act(&alice, short, "resume", &json!({"max_turns": 1})).status, 422, "no more than before");
    let unlisted = act(&alice, short, "resume", &json!({"max_turns": 5, "model": "gpt-5"}));
    assert_eq!(unlisted.problem(), "does-not-fit", "{unlisted:?}");
    let other = &unlisted.json()["models"][1];
    assert_eq!(act(&alice, short, "resume", &json!({"max_turns": 5, "model": other})).status, 202, "{unlisted:?}");
    assert_eq!(alice.until_status(short, "completed")["answer"], "Three, says the other.");
}

/// H75: what waits for nobody any more is not in the list.
#[test]
fn h75_a_cancelled_chain_takes_its_pauses_along() {
    for env in both() {
        let delete = |name: &str| json!({"id": name, "name": "files__delete", "arguments": {"path": format!("/build/{name}")}});
        env.script(json!([{"tool_calls": [delete("a.tmp"), delete("b.tmp"), delete("keep.txt")]}, {"text": "Done."}]));
        let server = Serving::new(&env);
        let alice = server.client("alice", "run,read,approve");
        let chain = alice.start("clean up");
        let pauses = alice.until_paused(&chain, 3);
        let cancelled = act(&alice, &chain, "cancel", &json!({"note": "wrong folder"}));
        assert_eq!((cancelled.status, &cancelled.json()["status"]), (200, &"cancelled".into()), "{cancelled:?}");
        assert_eq!(alice.get("/api/v1/pauses").json(), json!([]));
        assert_eq!(alice.get("/api/v1/chains").json()[0]["open_pauses"], 0);
        for pause in &pauses {
            let id = pause["id"].as_str().unwrap();
            let late = alice.decide(id, &json!({"decision": "approve"}));
            assert_eq!((late.status, late.problem().as_str(), &late.json()["pause_status"]), (410, "gone", &"cancelled".into()));
            assert_eq!(alice.get(&format!("/api/v1/pauses/{id}")).json()["decisions"], json!([]));
        }
        assert_eq!(env.build(), ["a.tmp", "b.tmp", "keep.txt"]);
    }
}

/// What this server left of a chain is a head start and no more.
#[test]
fn what_another_process_does_to_a_chain_is_seen_and_an_archived_one_is_gone() {
    for env in both() {
        env.script_of_the_main_job();
        let server = Serving::new(&env);
        let alice = server.client("alice", "run,read,approve");
        let chain = alice.start("clean up");
        let pause = alice.until_paused(&chain, 2)[0]["id"].as_str().unwrap().to_owned();
        let places = [format!("/api/v1/chains/{chain}"), format!("/api/v1/pauses/{pause}")];
        assert_eq!(places.each_ref().map(|place| alice.get(place).json()["status"].clone()), ["paused", "open"]);
        assert_eq!(env.pausegate(&["cancel", &chain]).code, Some(0));
        assert_eq!(places.each_ref().map(|place| alice.get(place).json()["status"].clone()), ["cancelled", "cancelled"]);
        assert_eq!(env.pausegate(&["archive", "--older-than", "0d"]).code, Some(0));
        assert_eq!(places.each_ref().map(|place| alice.get(place).status), [404, 404]);
    }
}

#[test]
fn a_server_that_is_told_to_end_ends_in_order() {
    let env = TestEnvironment::new();
    env.script_of_the_main_job();
    let server = Serving::new(&env);
    let alice = server.client("alice", "run,read");
    let chain = alice.start("clean up");
    alice.until_paused(&chain, 2);
    let mut changes = alice.listen(None);
    assert_eq!(server.end(), Some(0));
    assert!(changes.by_ref().last().is_none_or(|(name, _)| name == "chain"), "whoever listens is let go");
    assert_eq!(env.pausegate(&["chains", "--json"]).json()[0]["status"], "paused");
    assert_eq!(env.pending().len(), 2);
}
