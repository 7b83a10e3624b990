//! Many people at once, while chains run: `cargo bench -p pausegate --bench load [-- queue|spread|webhook]`.
//!
//! The real `serve` over loopback, with a token and a connection for each client; calls that are approved run in sandboxes
//! and append a line each to a file of its own. `queue`: everybody takes the oldest pause. `spread`: one of any chain.
//! `webhook`: as `queue`, with a receiver that is down until all is decided. Ends where a decision is lost, a call has had
//! its effect twice, or a notice has not come. `PAUSEGATE_LOAD_PAUSES` and `PAUSEGATE_LOAD_CLIENTS` change how many.
#![expect(clippy::print_stdout, reason = "the lines are what this program is for")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on fails")]

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

#[path = "load/line.rs"]
mod line;
#[path = "load/receiver.rs"]
mod receiver;

#[expect(dead_code, reason = "tests use all of it")]
#[path = "../e2e/environment.rs"]
mod e2e;
#[path = "../support/postgres.rs"]
mod postgres;
#[expect(dead_code, reason = "tests use all of it")]
#[path = "../server/serving.rs"]
mod serving;

use e2e::TestEnvironment;
use line::Line;
use receiver::Receiver;
use serving::{Client, Serving};

/// Calls of one turn, each with a gate.
const CALLS: usize = 100;
/// Chains that run at the same time.
const WORKERS: &str = "16";
const PARTS: [&str; 3] = ["queue", "spread", "webhook"];
/// For chains to come to their rest, far beyond what they take.
const PATIENCE: Duration = Duration::from_secs(900);
const LOOK: Duration = Duration::from_millis(200);

fn main() {
    // Cargo says it to a benchmark; `cargo test --all-targets` does not.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("a benchmark: `cargo bench` runs it");
        return;
    }
    let chosen: Vec<_> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    for part in PARTS.into_iter().filter(|part| chosen.is_empty() || chosen.iter().any(|name| name == part)) {
        measure(part);
    }
}

fn measure(part: &str) {
    let number = |name: &str, usual: usize| std::env::var(name).map_or(usual, |text| text.parse().unwrap());
    let (pauses, clients) = (number("PAUSEGATE_LOAD_PAUSES", 5000), number("PAUSEGATE_LOAD_CLIENTS", 64));
    let env = TestEnvironment::new();
    let receiver = (part == "webhook").then(|| Receiver::down(&env));
    let chains = pauses.div_ceil(CALLS);
    let server = serve(&env, chains);
    let memory = |when: &str| println!("{part:<8} memory {:>7.1} MiB, {when}", memory(&server));
    memory("before the first chain");
    let starter = server.client("starter", "run,read");
    let began: Vec<_> = (0..chains).map(|chain| started(&starter, &script(&env, chain))).collect();
    let open = until(|| open(&starter, &began));
    memory("all pauses open");

    let open = in_order(part, open);
    let all = open.len();
    let lines: Vec<_> = (0..clients).map(|client| Line::of(&server.client(&format!("client-{client}"), "approve"))).collect();
    let (queue, took) = (Mutex::new(open), Mutex::new(Vec::with_capacity(all)));
    let start = Instant::now();
    std::thread::scope(|scope| {
        for line in lines {
            scope.spawn(|| decide_all(line, &queue, &took));
        }
        until(|| (took.lock().unwrap().len() >= all / 2).then_some(()));
        memory("half of them decided");
    });
    let deciding = start.elapsed();
    memory("all decided");
    let late = began.iter().filter(|chain| shown(&starter, chain)["status"] != "completed").count();
    let decided = until(|| completed(&starter, &began));
    let running = start.elapsed();
    memory("all chains completed");

    let mut took = took.into_inner().unwrap();
    took.sort();
    let at = |percent: usize| took[(took.len() - 1) * percent / 100].as_secs_f64() * 1e3;
    let rate = all as f64 / deciding.as_secs_f64();
    println!("{part:<8} {all} decisions by {clients} clients in {:.2} s: {rate:.0} a second", deciding.as_secs_f64());
    println!("{part:<8} decide  p50 {:.1} ms, p99 {:.1} ms, longest {:.1} ms", at(50), at(99), at(100));
    println!("{part:<8} {late} of {chains} chains still ran then; all calls had run after {:.1} s", running.as_secs_f64());
    let (missing, twice) = effects(&env, chains);
    println!("{part:<8} lost decisions {}, missing effects {missing}, effects had twice {twice}", all - decided);
    assert_eq!((decided, missing, twice), (all, 0, 0));
    if let Some(receiver) = receiver {
        receiver.back(part, 2 * all);
    }
}

fn serve(env: &TestEnvironment, chains: usize) -> Serving<'_> {
    env.add_guest("probe");
    let fs = "[[plugins.probe.fs]]\npath = \"BUILD\"\nmount = \"/build\"\naccess = \"write\"\n";
    env.grants(&format!("[plugins.probe]\ndigest = \"any\"\n{fs}[[rules]]\ntool = \"probe__*\"\neffect = \"ask\"\n"));
    let scripts: Vec<_> = (0..chains).map(|chain| script(env, chain)).collect();
    let models: Vec<_> = scripts.iter().flat_map(|script| ["--model", script]).collect();
    Serving::with(env, &[&models[..], &["--workers", WORKERS]].concat())
}

/// The model that plays a chain; every call has a file of its own.
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

fn shown(client: &Client, chain: &str) -> Value {
    client.get(&format!("/api/v1/chains/{chain}")).json()
}

fn pauses(shown: &Value) -> &[Value] {
    shown["pauses"].as_array().map_or(&[], Vec::as_slice)
}

/// Id and tag of every pause, chain by chain, once all wait.
fn open(client: &Client, chains: &[String]) -> Option<Vec<(String, String)>> {
    let mut open = Vec::new();
    for chain in chains {
        let shown = shown(client, chain);
        if pauses(&shown).len() < CALLS || shown["status"] != "paused" {
            return None;
        }
        open.extend(
            pauses(&shown).iter().map(|pause| (pause["id"].as_str().unwrap().to_owned(), format!("\"{}\"", pause["digest"].as_str().unwrap()))),
        );
    }
    Some(open)
}

fn in_order(part: &str, open: Vec<(String, String)>) -> VecDeque<(String, String)> {
    match part {
        "spread" => (0..CALLS).flat_map(|call| open.iter().skip(call).step_by(CALLS).cloned()).collect(),
        _ => open.into(),
    }
}

fn decide_all(mut line: Line, queue: &Mutex<VecDeque<(String, String)>>, took: &Mutex<Vec<Duration>>) {
    loop {
        let next = queue.lock().unwrap().pop_front();
        let Some((pause, tag)) = next else { return };
        let began = Instant::now();
        let (status, answer) = line.approve(&pause, &tag);
        took.lock().unwrap().push(began.elapsed());
        assert!(status == 200 && answer.contains("\"before\":false"), "{status} {answer}");
    }
}

/// How many decisions stand, once every chain has run to its end.
fn completed(client: &Client, chains: &[String]) -> Option<usize> {
    let mut decided = 0;
    for chain in chains {
        let shown = shown(client, chain);
        if shown["status"] != "completed" {
            return None;
        }
        decided += pauses(&shown).iter().filter(|pause| pause["status"] == "approved").count();
    }
    Some(decided)
}

/// Calls without their line, and lines there are too many.
fn effects(env: &TestEnvironment, chains: usize) -> (usize, usize) {
    let (mut missing, mut twice) = (0, 0);
    for (chain, call) in (0..chains).flat_map(|chain| (0..CALLS).map(move |call| (chain, call))) {
        match std::fs::read_to_string(env.path(&format!("work/build/{chain}-{call}.txt"))).as_deref() {
            Ok("ran\n") => {}
            Ok(log) => twice += log.lines().count() - 1,
            Err(_) => missing += 1,
        }
    }
    (missing, twice)
}

fn until<T>(mut found: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        match found() {
            Some(found) => return found,
            None => assert!(began.elapsed() < PATIENCE, "it takes too long"),
        }
        std::thread::sleep(LOOK);
    }
}

/// Resident, in MiB.
fn memory(server: &Serving<'_>) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
}
