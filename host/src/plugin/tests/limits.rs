//! Each limit trips by itself, with its own kind, just over it and not just under.

use super::*;
use crate::call::kind;

const SHORT: Duration = Duration::from_millis(500);

fn limited(tool: &str, arguments: Value, change: impl FnOnce(&mut Limits)) -> Attempt {
    let mut attempt = attempt(tool, arguments);
    change(&mut attempt.limits);
    attempt
}

/// limit: limits.time
#[test]
fn w05_wall_time_ends_a_call_that_waits() {
    on_any_number_of_threads(async || {
        let began = Instant::now();
        let outcome = probe().call(limited("sleep", json!({"ms": 60_000}), |limits| limits.time = SHORT)).await;
        assert_eq!(failure(&outcome).kind, kind::OUT_OF_TIME);
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
        let outcome = probe().call(limited("sleep", json!({"ms": 10}), |limits| limits.time = SHORT)).await;
        assert_eq!(text(&outcome), "slept 10 ms");
    });
}

/// limit: limits.cpu
#[test]
fn w05_processor_time_ends_a_call_that_computes() {
    on_any_number_of_threads(async || {
        let outcome = probe().call(limited("spin", json!({}), |limits| limits.cpu = Duration::from_millis(200))).await;
        assert_eq!(failure(&outcome).kind, kind::OUT_OF_CPU);
    });
}

#[tokio::test]
async fn waiting_costs_no_processor_time() {
    let outcome = probe().call(limited("sleep", json!({"ms": 600}), |limits| limits.cpu = Duration::from_millis(200))).await;
    assert_eq!(text(&outcome), "slept 600 ms");
}

/// limit: limits.memory
#[test]
fn w05_memory_is_limited_over_all_of_a_call() {
    on_any_number_of_threads(async || {
        let with = |mib: u64| limited("alloc", json!({"mib": mib}), |limits| limits.memory_bytes = 64 << 20);
        assert_eq!(text(&probe().call(with(32)).await), "filled 32 MiB");
        let outcome = probe().call(with(96)).await;
        assert_eq!(failure(&outcome).kind, kind::OUT_OF_MEMORY);
        assert!(failure(&outcome).message.contains("its limit is 67108864 bytes"), "{outcome:?}");
    });
}

/// limit: limits.output
#[test]
fn w05_output_is_limited() {
    on_any_number_of_threads(async || {
        let with = |limit: u64| limited("big", json!({"mib": 1}), |limits| limits.output_bytes = limit);
        assert_eq!(text(&probe().call(with(1 << 20)).await).len(), 1 << 20);
        let outcome = probe().call(with((1 << 20) - 1)).await;
        assert_eq!(failure(&outcome).kind, kind::TOO_LARGE);
    });
}

/// Files of one attempt: bytes, and entries that were not there.
/// limit: limits.written, limits.entries
#[tokio::test]
async fn w05_what_a_call_writes_to_files_is_limited() {
    let dir = tempfile::tempdir().unwrap();
    let writing = async |operation: Value, bytes: u64, entries: u64| {
        let mut attempt = limited("fs", operation, |limits| (limits.written_bytes, limits.entries) = (bytes, entries));
        attempt.held.fs = vec![HeldFs { mount: "/build".into(), host: dir.path().into(), access: Access::Write, only: None, quota: None }];
        probe().call(attempt).await
    };
    let write = |bytes: usize| json!({"op": "write", "path": "/build/a", "text": "x".repeat(bytes)});
    assert_eq!(text(&writing(write(100_000), 100_000, 1).await), "ok");
    let over = writing(write(100_001), 100_000, 1).await;
    assert!(text(&over).starts_with("error: "), "{over:?}");
    assert!(over.refusals[0].attempted.contains("more bytes written to files"), "{over:?}");
    assert_eq!(over.refusals[0].allow_with, "# raise `written` in [plugins.probe.limits]");
    assert!(std::fs::metadata(dir.path().join("a")).unwrap().len() <= 100_000);
    // A file is made longer by whoever says how long it is, too.
    std::fs::write(dir.path().join("a"), "").unwrap();
    assert!(text(&writing(json!({"op": "set_len", "path": "/build/a"}), 0, 0).await).starts_with("error: "));
    assert_eq!(text(&writing(json!({"op": "set_len", "path": "/build/a"}), 1, 0).await), "ok");

    for (number, operation) in ["create", "create_new", "mkdir"].into_iter().enumerate() {
        let made = json!({"op": operation, "path": format!("/build/new{number}")});
        let refused = writing(made.clone(), 0, 0).await;
        assert!(text(&refused).starts_with("error: "), "{operation}: {refused:?}");
        assert_eq!(refused.refusals[0].allow_with, "# raise `entries` in [plugins.probe.limits]");
        assert_eq!(text(&writing(made, 0, 1).await), "ok", "{operation}");
    }
    for operation in ["link", "symlink"] {
        let made = |to: &str| json!({"op": operation, "path": if operation == "link" { "/build/a" } else { "a" }, "to": to});
        let to = format!("/build/{operation}");
        assert!(text(&writing(made(&to), 0, 0).await).starts_with("error: "), "{operation}");
        assert_eq!(text(&writing(made(&to), 0, 1).await), "ok", "{operation}");
    }
    // What is there is opened, not made.
    assert_eq!(text(&writing(json!({"op": "create", "path": "/build/a"}), 0, 0).await), "ok");
}

/// What is there already counts, and what one call frees, the next one has.
/// limit: fs.quota
#[tokio::test]
async fn w05_a_folder_holds_no_more_than_its_quota() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("sub")).unwrap();
    std::fs::write(dir.path().join("sub/there"), "x".repeat(60)).unwrap();
    let writing = async |operation: Value| {
        let mut attempt = attempt("fs", operation);
        let line = HeldFs { mount: "/build".into(), host: dir.path().into(), access: Access::Write, only: None, quota: Some(100) };
        attempt.held.fs = vec![line];
        probe().call(attempt).await
    };
    let write = |bytes: usize| json!({"op": "write", "path": "/build/a", "text": "y".repeat(bytes)});
    let over = writing(write(41)).await;
    assert!(text(&over).starts_with("error: "), "{over:?}");
    assert!(over.refusals[0].attempted.contains("41 more bytes below /build, whose quota of 100 has 40 left"), "{over:?}");
    assert_eq!(over.refusals[0].allow_with, "# raise `quota` of the line at mount \"/build\", or make room there");
    assert_eq!(text(&writing(write(40)).await), "ok");
    assert_eq!(text(&writing(write(40)).await), "ok", "what is written anew takes the place of what was cut off");
    assert!(text(&writing(json!({"op": "append", "path": "/build/a", "text": "z"})).await).starts_with("error: "));
    assert_eq!(text(&writing(json!({"op": "unlink", "path": "/build/sub/there"})).await), "ok");
    assert_eq!(text(&writing(json!({"op": "append", "path": "/build/a", "text": "z".repeat(60)})).await), "ok");
}

/// limit: plugin/fs/budget::COUNTED_MAX
#[tokio::test]
async fn a_folder_with_more_entries_than_are_counted_is_full() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("one"), "").unwrap();
    // The folder itself counts, and every further name of one file.
    (0..100_000).for_each(|number| std::fs::hard_link(dir.path().join("one"), dir.path().join(number.to_string())).unwrap_or_default());
    for number in 0..100_000 {
        let path = dir.path().join(number.to_string());
        if !path.exists() {
            std::fs::write(path, "").unwrap();
        }
    }
    let mut attempt = attempt("fs", json!({"op": "write", "path": "/build/a", "text": "y"}));
    attempt.held.fs = vec![HeldFs { mount: "/build".into(), host: dir.path().into(), access: Access::Write, only: None, quota: Some(1 << 40) }];
    assert!(text(&probe().call(attempt).await).starts_with("error: "));
}

#[test]
fn w10_huge_results_and_messages_never_become_host_memory() {
    let before = resident_kib();
    runtime(2).block_on(async {
        let calls = (0..8).map(|number| {
            let tool = if number % 2 == 0 { "big" } else { "bigerror" };
            probe().call(limited(tool, json!({"mib": 24}), |_| {}))
        });
        for outcome in futures_util::future::join_all(calls).await {
            assert_eq!(failure(&outcome).kind, kind::TOO_LARGE);
        }
        let outcome = call("bigerror", json!({"mib": 1})).await;
        assert!(failure(&outcome).message.len() <= 4096 && failure(&outcome).message.ends_with('…'));
    });
    // The guests' own memories stay warm in the pool, up to 4 MiB each.
    let grown = resident_kib().saturating_sub(before);
    assert!(grown < 512 << 10, "grew by {grown} KiB");
}

fn resident_kib() -> u64 {
    status_kib("VmRSS:")
}

fn status_kib(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn w02_spinning_guests_never_pin_a_worker() {
    for threads in [1, 2] {
        probe();
        let (slips, outcomes) = runtime(threads).block_on(async move {
            tokio::spawn(async move {
                let heartbeat = tokio::spawn(async {
                    let mut worst = Duration::ZERO;
                    let began = Instant::now();
                    while began.elapsed() < SHORT {
                        let asked = Instant::now();
                        tokio::time::sleep(Duration::from_millis(50)).await;
                        worst = worst.max(asked.elapsed().saturating_sub(Duration::from_millis(50)));
                    }
                    worst
                });
                let calls: Vec<_> = (0..=threads)
                    .map(|_| {
                        tokio::spawn(async {
                            let began = Instant::now();
                            (probe().call(limited("spin", json!({}), |limits| limits.time = SHORT)).await, began.elapsed())
                        })
                    })
                    .collect();
                (heartbeat.await.unwrap(), futures_util::future::join_all(calls).await)
            })
            .await
            .unwrap()
        });
        for outcome in outcomes {
            let (outcome, took) = outcome.unwrap();
            assert_eq!(failure(&outcome).kind, kind::OUT_OF_TIME);
            assert!(took < Duration::from_secs(5), "{took:?} with {threads} threads");
        }
        assert!(slips < Duration::from_secs(1), "the heartbeat slipped by {slips:?} with {threads} threads");
    }
}

#[tokio::test]
async fn w04_a_deadline_is_the_calls_own() {
    let limit = Duration::from_secs(1);
    let pair = async |_: usize| {
        assert_eq!(text(&call("echo", json!({"text": "a"})).await), "a");
        tokio::time::sleep(limit.mul_f32(0.9)).await;
        let second = probe().call(limited("sleep", json!({"ms": 400}), |limits| limits.time = limit)).await;
        assert_eq!(text(&second), "slept 400 ms");
    };
    // 200 pairs, as many at once as run without waiting for each other.
    for _ in 0..4 {
        futures_util::future::join_all((0..50).map(pair)).await;
    }
}

#[test]
fn w06_a_sleeping_guest_is_cancelled() {
    on_any_number_of_threads(async || {
        let attempt = attempt("sleep", json!({"ms": 100_000}));
        let cancel = attempt.cancel.clone();
        let calling = tokio::spawn(probe().call(attempt));
        tokio::time::sleep(Duration::from_millis(100)).await;
        let asked = Instant::now();
        cancel.cancel();
        let outcome = calling.await.unwrap();
        assert_eq!(failure(&outcome).kind, kind::CANCELLED);
        // A quarter of a second is the promise; a busy machine may take longer, and the guest sleeps for 100 s.
        assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
    });
}

#[test]
fn cancelled_calls_give_their_slots_back() {
    on_any_number_of_threads(async || {
        for _ in 0..3 {
            let attempts: Vec<_> = (0..100).map(|_| attempt("sleep", json!({"ms": 100_000}))).collect();
            let tokens: Vec<_> = attempts.iter().map(|attempt| attempt.cancel.clone()).collect();
            let calls = attempts.into_iter().map(|attempt| probe().call(attempt));
            let cancelling = async {
                tokio::time::sleep(Duration::from_millis(100)).await;
                tokens.iter().for_each(CancellationToken::cancel);
            };
            let (outcomes, ()) = tokio::join!(futures_util::future::join_all(calls), cancelling);
            assert!(outcomes.iter().all(|outcome| failure(outcome).kind == kind::CANCELLED));
        }
        assert_eq!(text(&call("echo", json!({"text": "a"})).await), "a");
    });
}

#[test]
fn a_spinning_guest_is_cancelled() {
    on_any_number_of_threads(async || {
        let attempt = attempt("spin", json!({}));
        let cancel = attempt.cancel.clone();
        let calling = tokio::spawn(probe().call(attempt));
        tokio::time::sleep(Duration::from_millis(50)).await;
        cancel.cancel();
        assert_eq!(failure(&calling.await.unwrap()).kind, kind::CANCELLED);
    });
}

#[test]
fn w14_after_a_trap_the_next_call_is_fine() {
    on_any_number_of_threads(async || {
        for _ in 0..3 {
            let outcome = call("boom", json!({"ok": false})).await;
            assert_eq!(failure(&outcome).kind, kind::TRAPPED);
            assert!(failure(&outcome).message.contains("boom"), "the panic's words are told: {outcome:?}");
            assert_eq!(text(&call("boom", json!({"ok": true})).await), "ok");
        }
        assert!(failure(&call("recurse", json!({})).await).message.contains("call stack exhausted"));
        let exit = call("exit", json!({"code": 3})).await;
        assert_eq!(failure(&exit).kind, kind::TRAPPED);
    });
}

/// limit: plugin/limits::RANDOM_BYTES_MAX
#[test]
fn w09_randomness_is_limited() {
    on_any_number_of_threads(async || {
        assert_eq!(text(&call("random", json!({"bytes": 4})).await).len(), 8);
        let outcome = call("random", json!({"bytes": 2_u64 << 30})).await;
        assert_eq!(failure(&outcome).kind, kind::TRAPPED);
    });
}

/// limit: plugin/limits::HANDLES_MAX, plugin/limits::HTTP_FIELD_BYTES_MAX, plugin/limits::CROSSING_BYTES_MAX
#[test]
fn w09_what_a_guest_makes_the_host_keep_is_limited() {
    const NAME: &str = "plugin::tests::limits::w09_what_a_guest_makes_the_host_keep_is_limited";
    // In a process of its own, whose memory no other test uses.
    const ALONE: &str = "PAUSEGATE_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return on_any_number_of_threads(greedy_guests);
    }
    let test = std::env::current_exe().unwrap();
    let output = std::process::Command::new(test).args([NAME, "--exact", "--nocapture"]).env(ALONE, "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

/// What the host may come to hold beside the memory that the guest itself may have.
const HOST_KIB: u64 = 64 << 10;

/// Each asks for something modest, which it gets, then for far too much, which ends the attempt: the host's memory at its
/// highest is the guest's limit and less than 64 MiB.
async fn greedy_guests() {
    let guest_bytes = 80 << 20;
    for (tool, modest, huge) in [
        ("random", json!({"bytes": 4}), json!({"bytes": 2_u64 << 30})),
        ("pollables", json!({"n": 100}), json!({"n": 10_000_000})),
        ("headers", json!({"n": 100}), json!({"n": 1_000_000})),
        ("logline", json!({"mib": 1}), json!({"mib": 64})),
        ("logline", json!({"mib": 1}), json!({"mib": 512})),
        ("choices", json!({"n": 10}), json!({"n": 1_000_000})),
    ] {
        let asked = async |arguments| probe().call(limited(tool, arguments, |limits| limits.memory_bytes = guest_bytes)).await;
        let outcome = asked(modest).await;
        assert!(!matches!(&outcome.ended, Ended::Result(ToolResult::Failure(_))), "{tool}: {outcome:?}");
        let before = resident_kib();
        // The highest mark begins anew.
        std::fs::write("/proc/self/clear_refs", "5").unwrap();
        failure(&asked(huge).await);
        let (peak, after) = (status_kib("VmHWM:").saturating_sub(before), resident_kib().saturating_sub(before));
        println!("{tool}: at most {peak} KiB more, then {after} KiB");
        assert!(peak < guest_bytes / 1024 + HOST_KIB, "{tool}: grew by {peak} KiB");
        assert!(after < HOST_KIB, "{tool}: kept {after} KiB");
    }
}

#[test]
fn logs_and_output_are_limited_and_stop_nothing() {
    on_any_number_of_threads(async || {
        for tool in ["logflood", "print"] {
            let heard = Arc::new(Heard::default());
            let mut attempt = attempt(tool, json!({"lines": 5000}));
            attempt.watcher = Some(heard.clone());
            assert!(text(&probe().call(attempt).await).ends_with("5000 lines"));
            let lines = heard.lines.lock().unwrap();
            let bytes: usize = lines.iter().map(|(_, line)| line.len()).sum();
            assert!(lines.len() <= 1001 && bytes < 66 << 10, "{} lines, {bytes} bytes", lines.len());
            let (level, last) = lines.last().unwrap();
            assert!(*level == "warn" && last.contains("more log lines were dropped"), "{last}");
        }
    });
}

#[tokio::test]
async fn progress_is_heard() {
    let heard = Arc::new(Heard::default());
    let mut attempt = attempt("progress", json!({"steps": 2}));
    attempt.watcher = Some(heard.clone());
    assert_eq!(text(&probe().call(attempt).await), "took 2 steps");
    assert_eq!(*heard.progress.lock().unwrap(), [(1.0, Some(2.0), "step 1".to_owned()), (2.0, Some(2.0), "step 2".to_owned())]);
}

#[tokio::test]
async fn each_attempt_has_its_own_instance_and_only_the_granted_environment() {
    for _ in 0..3 {
        assert_eq!(text(&call("counter", json!({})).await), "1");
    }
    assert_eq!(*structured(&call("env", json!({})).await), json!({}));
    let mut attempt = attempt("env", json!({}));
    attempt.held.env = BTreeMap::from([("UNITS".to_owned(), "metric".to_owned())]);
    assert_eq!(*structured(&probe().call(attempt).await), json!({"UNITS": "metric"}));
}

#[tokio::test]
async fn more_calls_than_slots_wait_their_turn() {
    let calls = (0..400).map(|number| call("echo", json!({"text": number.to_string()})));
    for (number, outcome) in futures_util::future::join_all(calls).await.into_iter().enumerate() {
        assert_eq!(text(&outcome), number.to_string());
    }
}
