//! Many people at once, while chains run: nothing is lost and nothing happens twice. The ordinary tests decide a few
//! hundred; more, with the times it took:
//!
//! PAUSEGATE_LOAD_PAUSES=5000 PAUSEGATE_LOAD_CLIENTS=64 cargo test --release -p pausegate --test it server::load -- --nocapture

use std::collections::{HashSet, VecDeque};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Client, Serving};
use crate::e2e::TestEnvironment;

/// Calls of one turn, each with a gate.
const CALLS: usize = 100;

#[test]
fn many_deciders_lose_nothing_and_nothing_happens_twice_while_chains_run() {
    let number = |name: &str, usual: usize| std::env::var(name).ok().map_or(usual, |text| text.parse().unwrap());
    let (pauses, clients) = (number("PAUSEGATE_LOAD_PAUSES", 300), number("PAUSEGATE_LOAD_CLIENTS", 16));
    let chains = pauses.div_ceil(CALLS);
    let env = TestEnvironment::new();
    env.add_guest("probe");
    let fs = "[[plugins.probe.fs]]\npath = \"BUILD\"\nmount = \"/build\"\naccess = \"write\"\n";
    env.grants(&format!("[plugins.probe]\ndigest = \"any\"\n{fs}[[rules]]\ntool = \"probe__*\"\neffect = \"ask\"\n"));
    // A script for each chain: every call has a file of its own.
    let scripts: Vec<_> = (0..chains).map(|chain| script(&env, chain)).collect();
    let models: Vec<_> = scripts.iter().flat_map(|script| ["--model", script]).collect();
    let server = Serving::with(&env, &[&models[..], &["--workers", "16"]].concat());
    let alice = server.client("alice", "run,read,approve");
    let began: Vec<_> = scripts.iter().map(|model| started(&alice, model)).collect();
    let before = memory(&server);

    let (queue, took) = (Mutex::new(VecDeque::new()), Mutex::new(Vec::new()));
    let start = Instant::now();
    let mut seen = HashSet::new();
    while seen.len() < chains * CALLS {
        let open = alice.until(|client| {
            let open = client.get("/api/v1/pauses?limit=1000").json();
            let new = |pause: &&Value| !seen.contains(pause["id"].as_str().unwrap());
            let open: Vec<_> = open.as_array().unwrap().iter().filter(new).map(seen_as).collect();
            (!open.is_empty()).then_some(open)
        });
        seen.extend(open.iter().map(|(pause, _)| pause.clone()));
        queue.lock().unwrap().extend(open);
        std::thread::scope(|scope| {
            (0..clients).for_each(|_| drop(scope.spawn(|| decide_all(&alice, &queue, &took))));
        });
    }
    let deciding = start.elapsed();
    began.iter().for_each(|chain| drop(alice.until_status(chain, "completed")));
    for chain in 0..chains {
        for call in 0..CALLS {
            let log = std::fs::read_to_string(env.path(&format!("work/build/{chain}-{call}.txt")));
            assert_eq!(log.unwrap(), "ran\n", "chain {chain}, call {call}");
        }
    }
    let mut took = took.into_inner().unwrap();
    took.sort();
    let at = |percent: usize| took[(took.len() - 1) * percent / 100];
    println!(
        "{} decisions by {clients} clients in {deciding:?}: p50 {:?}, p99 {:?}, longest {:?}; repeated effects 0; memory {before} KiB, then {} KiB",
        took.len(),
        at(50),
        at(99),
        at(100),
        memory(&server)
    );
}

/// The model that plays it.
fn script(env: &TestEnvironment, chain: usize) -> String {
    let call = |call: usize| {
        let arguments = json!({"path": format!("/build/{chain}-{call}.txt"), "line": "ran", "ms": 0});
        json!({"id": format!("c{call}"), "name": "probe__append_then_sleep", "arguments": arguments})
    };
    let turns = json!([{"tool_calls": (0..CALLS).map(call).collect::<Vec<_>>()}, {"text": "Done."}]);
    let path = format!("work/load-{chain}.json");
    env.write(&path, &json!({ "turns": turns }).to_string());
    format!("script:{}", env.path(&path).display())
}

fn started(client: &Client, model: &str) -> String {
    let started = client.post("/api/v1/chains", &json!({"prompt": "append", "model": model}));
    assert_eq!(started.status, 201, "{started:?}");
    started.json()["id"].as_str().unwrap().to_owned()
}

fn seen_as(pause: &Value) -> (String, String) {
    (pause["id"].as_str().unwrap().to_owned(), format!("\"{}\"", pause["digest"].as_str().unwrap()))
}

/// A connection each, as `curl` makes them.
fn decide_all(client: &Client, queue: &Mutex<VecDeque<(String, String)>>, took: &Mutex<Vec<Duration>>) {
    loop {
        let next = queue.lock().unwrap().pop_front();
        let Some((pause, tag)) = next else { return };
        let began = Instant::now();
        let answer = client.decide_as_seen(&pause, &tag, &json!({"decision": "approve"}));
        took.lock().unwrap().push(began.elapsed());
        assert_eq!((answer.status, &answer.json()["before"]), (200, &false.into()), "{answer:?}");
    }
}

/// Resident, in KiB.
fn memory(server: &Serving<'_>) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
