//! Plugins that an enemy wrote, each with what must come of it: `tests/hostile/*.wat`.
//!
//! A file says in its first lines what it does and what is expected. The host loads all of them at once, beside a good
//! one, on runtimes of 1, 2 and 8 threads, and calls each of those that can be called.

mod guest;
mod shown;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use pausegate::call::{Content, Effects, Failure, ToolResult};
use pausegate::capability::{Held, Limits, Uses};
use pausegate::plugin::{Attempt, AttemptOutcome, Ended, PluginConfig, Plugins, WasmPlugins};
use tempfile::TempDir;
use tokio::runtime::Runtime;

pub use guest::{Expected, Hostile, all};

/// The host may take this much memory for eight hostile calls at once, beside what is theirs.
const HOST_BYTES_MAX: u64 = 64 << 20;

/// All of them and a good one in one directory.
pub fn directory() -> (TempDir, BTreeMap<String, Hostile>) {
    let dir = TempDir::new().unwrap();
    let hostile = all();
    for (name, guest) in &hostile {
        fs::write(dir.path().join(format!("{name}.wasm")), guest.component()).unwrap();
    }
    let whole = fs::read(built("plugins/files.wasm")).unwrap();
    fs::write(dir.path().join("files.wasm"), &whole).unwrap();
    fs::write(dir.path().join("half-a-file.wasm"), &whole[..whole.len() / 2]).unwrap();
    fs::write(dir.path().join("no-file.wasm"), "").unwrap();
    (dir, hostile)
}

fn built(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target").join(path)
}

fn limits() -> Limits {
    Limits { memory_bytes: 16 << 20, time: Duration::from_secs(2), cpu: Duration::from_millis(200), output_bytes: 1 << 20, ..Limits::default() }
}

async fn load(dir: &Path, cache: &Path) -> WasmPlugins {
    let mut config = PluginConfig::new(dir, Some(cache.to_owned()));
    config.list_limits = limits();
    WasmPlugins::load(config).await.unwrap()
}

fn attempt(plugin: &str) -> Attempt {
    Attempt {
        chain: pausegate::chain::ChainId("ch_1".to_owned()),
        plugin: plugin.into(),
        digest: None,
        tool: "go".into(),
        call_id: "tc_1".into(),
        arguments: "{}".into(),
        attempt: 1,
        idempotency_key: "key".into(),
        approved: false,
        answers: Vec::new(),
        state: None,
        recorded: Default::default(),
        effects: Effects::Once,
        held: Held::default(),
        limits: limits(),
        cancel: Default::default(),
        still: None,
        let_go: Default::default(),
        lease: None,
        watcher: None,
    }
}

fn runtime(threads: usize) -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build().unwrap()
}

/// What came of a plugin at load: nothing, or why it or its tool was refused.
fn refused(plugins: &WasmPlugins, name: &str) -> Option<(bool, String)> {
    let tool = format!("{name}__");
    plugins.failures().into_iter().find_map(|failure| match failure.name == name {
        true => Some((false, failure.reason)),
        false => failure.name.starts_with(&tool).then_some((true, failure.reason)),
    })
}

fn check_load(plugins: &WasmPlugins, name: &str, guest: &Hostile) -> Result<(), String> {
    let refused = refused(plugins, name);
    match (&guest.expected, &refused) {
        (Expected::Refused(why), Some((false, reason))) | (Expected::ToolRefused(why), Some((true, reason))) if reason.contains(why) => {}
        (Expected::Fails(_) | Expected::Done | Expected::Pauses, None) => return Ok(()),
        _ => return Err(format!("{name}: expected {:?}, at load came {refused:?}", guest.expected)),
    }
    let offered = plugins.catalog().iter().filter(|tool| tool.plugin == name).count();
    if offered == 0 { Ok(()) } else { Err(format!("{name}: was refused and offers {offered} tools")) }
}

fn check_call(name: &str, guest: &Hostile, outcome: &AttemptOutcome) -> Result<(), String> {
    let came = match &outcome.ended {
        Ended::Pause(_) => "pauses".to_owned(),
        Ended::HeldBack(frozen) => format!("held back: {frozen}"),
        Ended::Diverged(why) => why.clone(),
        Ended::Result(ToolResult::Success { .. }) => "done".to_owned(),
        Ended::Result(ToolResult::Failure(failure)) => failure.kind.clone(),
    };
    let fits = match &guest.expected {
        Expected::Fails(kinds) => kinds.contains(&came),
        Expected::Done => came == "done",
        Expected::Pauses => came == "pauses",
        Expected::Refused(_) | Expected::ToolRefused(_) => false,
    };
    if !fits {
        return Err(format!("{name}: expected {:?}, came {came}: {:.300}", guest.expected, format!("{:?}", outcome.ended)));
    }
    if outcome.uses != Uses::default() {
        return Err(format!("{name}: it used {:?} and held nothing", outcome.uses));
    }
    if size(outcome) > limits().output_bytes as usize {
        return Err(format!("{name}: {} bytes were kept of it", size(outcome)));
    }
    Ok(())
}

/// Bytes that the chain would keep.
fn size(outcome: &AttemptOutcome) -> usize {
    match &outcome.ended {
        Ended::Result(ToolResult::Failure(Failure { message, .. })) => message.len(),
        Ended::Result(ToolResult::Success { content }) => {
            content.iter().map(|piece| if let Content::Text { text } = piece { text.len() } else { 0 }).sum()
        }
        Ended::Pause(pause) => pause.reason.len() + pause.state.as_ref().map_or(0, Vec::len),
        Ended::HeldBack(_) | Ended::Diverged(_) => 0,
    }
}

fn on(threads: usize, dir: &Path, cache: &Path, hostile: &BTreeMap<String, Hostile>) -> Vec<String> {
    runtime(threads).block_on(async {
        let plugins = load(dir, cache).await;
        let mut wrong: Vec<String> = hostile.iter().filter_map(|(name, guest)| check_load(&plugins, name, guest).err()).collect();
        let offered = plugins.catalog();
        assert_eq!(offered.iter().filter(|tool| tool.plugin == "files").count(), 4, "a good plugin is not disturbed");
        assert!(refused(&plugins, "half-a-file").is_some() && refused(&plugins, "no-file").is_some());
        let callable: Vec<_> = hostile.iter().filter(|(name, _)| offered.iter().any(|tool| tool.plugin == **name)).collect();
        for eight in callable.chunks(8) {
            let began = Instant::now();
            let peak = Peak::begin();
            let outcomes = join_all(eight.iter().map(|(name, _)| plugins.call(attempt(name)))).await;
            assert!(began.elapsed() < Duration::from_secs(60), "a limit of 2 s held for {:?}", began.elapsed());
            let (grown, theirs) = (peak.grown(), 8 * limits().memory_bytes);
            let names: Vec<_> = eight.iter().map(|(name, _)| name).collect();
            assert!(grown < theirs + HOST_BYTES_MAX, "the host took {} MiB for {names:?}", grown >> 20);
            wrong.extend(eight.iter().zip(&outcomes).filter_map(|((name, guest), outcome)| check_call(name, guest, outcome).err()));
        }
        wrong
    })
}

#[test]
fn every_hostile_plugin_gets_what_it_deserves_on_any_number_of_threads() {
    alone("hostile::every_hostile_plugin_gets_what_it_deserves_on_any_number_of_threads", || {
        let (dir, hostile) = directory();
        assert!(hostile.len() >= 60);
        let cache = TempDir::new().unwrap();
        let cache = cache.path().join("compiled");
        for threads in [1, 2, 8] {
            let wrong = on(threads, dir.path(), &cache, &hostile);
            assert!(wrong.is_empty(), "on {threads} threads:\n{}", wrong.join("\n"));
        }
    });
}

/// Their memories are asked for and never touched, so that what is resident is the host's own: one copy of one result, or
/// a buffer as long as a guest says, would be too much.
#[test]
fn w10_eight_results_and_messages_of_300_mib_at_once_never_become_host_memory() {
    alone("hostile::w10_eight_results_and_messages_of_300_mib_at_once_never_become_host_memory", || {
        let dir = TempDir::new().unwrap();
        let hostile = all();
        let names = ["text-is-300-mib", "message-is-300-mib"];
        names.iter().for_each(|name| fs::write(dir.path().join(format!("{name}.wasm")), hostile[*name].component()).unwrap());
        for threads in [1, 2, 8] {
            runtime(threads).block_on(async {
                let limits = Limits { memory_bytes: 320 << 20, ..Limits::default() };
                let mut config = PluginConfig::new(dir.path(), None);
                config.memory_bytes_max = limits.memory_bytes;
                let plugins = WasmPlugins::load(config).await.unwrap();
                assert_eq!(plugins.failures(), []);
                let peak = Peak::begin();
                let eight = (0..8).map(|number| plugins.call(Attempt { limits: limits.clone(), ..attempt(names[number % 2]) }));
                for outcome in join_all(eight).await {
                    let Ended::Result(ToolResult::Failure(failure)) = &outcome.ended else { panic!("{outcome:?}") };
                    assert_eq!(failure.kind, "too-large", "{failure:?}");
                    assert!(failure.message.len() <= 4096, "{} bytes of words", failure.message.len());
                }
                let grown = peak.grown();
                assert!(grown < HOST_BYTES_MAX, "the host took {} MiB on {threads} threads", grown >> 20);
            });
        }
    });
}

/// Runs it in a process of its own, whose memory no other test uses.
fn alone(name: &str, test: impl FnOnce()) {
    const ALONE: &str = "PAUSEGATE_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return test();
    }
    let program = std::env::current_exe().unwrap();
    let output = std::process::Command::new(program).args([name, "--exact", "--nocapture"]).env(ALONE, "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

/// What this process has resident, and from then on the most of it.
struct Peak(u64);

impl Peak {
    fn begin() -> Self {
        let now = resident("VmRSS:");
        // The highest mark begins anew.
        fs::write("/proc/self/clear_refs", "5").unwrap();
        Self(now)
    }

    fn grown(&self) -> u64 {
        resident("VmHWM:").saturating_sub(self.0)
    }
}

/// Bytes.
fn resident(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}
