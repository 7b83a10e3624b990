//! The plugin host against real components: the probe in `tests/guests/probe` and hostile ones written here.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::call::{Content, Failure};
use crate::capability::{Access, HeldFs, HeldHttp};

mod adapted;
mod bounds;
mod files;
mod follow;
mod held_back;
mod imports;
mod languages;
mod let_go;
mod limits;
mod loading;
mod outcomes;
mod python;
mod reconcile;
mod requests;
mod retold;
mod revoked;
mod secrets;
mod slots;
mod tls;
mod values;
pub mod web;

/// A built component; `tools/build-plugins.sh` makes them.
fn guest(path: &str) -> PathBuf {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target").join(path);
    assert!(file.is_file(), "`target/{path}` is missing: run `tools/build-plugins.sh` first");
    file
}

/// The probe, loaded once for all tests of this process.
pub fn probe() -> &'static WasmPlugins {
    static PROBE: OnceLock<(WasmPlugins, TempDir)> = OnceLock::new();
    let (plugins, _) = PROBE.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        std::fs::copy(guest("guests/probe.wasm"), dir.path().join("probe.wasm")).unwrap();
        let mut config = PluginConfig::new(dir.path(), None);
        config.resolver = Arc::new(web::TestNames);
        config.tls_roots = Some(tls::roots());
        config.values = Some(Arc::new(crate::capability::keyvalue::twin::Twin::default()));
        config.secrets = Arc::new(secrets::TestSecrets);
        // On a thread of its own: some tests are inside a runtime already.
        let plugins = std::thread::spawn(move || runtime(2).block_on(WasmPlugins::load(config)).unwrap()).join().unwrap();
        assert_eq!(plugins.failures(), []);
        (plugins, dir)
    });
    plugins
}

fn runtime(threads: usize) -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build().unwrap()
}

/// What comes of a hostile guest must not hang on how many threads there are.
fn on_any_number_of_threads(test: impl AsyncFn()) {
    for threads in [1, 2, 8] {
        runtime(threads).block_on(test());
    }
}

pub fn attempt(tool: &str, arguments: Value) -> Attempt {
    let spec = probe().catalog().into_iter().find(|spec| spec.tool == tool).unwrap_or_else(|| panic!("the probe has no tool `{tool}`"));
    Attempt {
        chain: ChainId("ch_1".into()),
        plugin: "probe".into(),
        digest: None,
        tool: tool.into(),
        call_id: "tc_1".into(),
        arguments: crate::digest::canonical(&arguments),
        attempt: 1,
        idempotency_key: "key".into(),
        approved: false,
        answers: Vec::new(),
        state: None,
        recorded: Default::default(),
        effects: spec.effects,
        held: Held::default(),
        limits: Limits::default(),
        cancel: CancellationToken::new(),
        still: None,
        let_go: CancellationToken::new(),
        lease: None,
        watcher: None,
    }
}

async fn call(tool: &str, arguments: Value) -> AttemptOutcome {
    probe().call(attempt(tool, arguments)).await
}

/// The text of a success.
#[track_caller]
fn text(outcome: &AttemptOutcome) -> &str {
    match &outcome.ended {
        Ended::Result(ToolResult::Success { content }) => match content.as_slice() {
            [Content::Text { text }] => text,
            other => panic!("not one text: {other:?}"),
        },
        other => panic!("no success: {other:?}"),
    }
}

#[track_caller]
fn failure(outcome: &AttemptOutcome) -> &Failure {
    match &outcome.ended {
        Ended::Result(ToolResult::Failure(failure)) => failure,
        other => panic!("no failure: {other:?}"),
    }
}

#[track_caller]
fn structured(outcome: &AttemptOutcome) -> &Value {
    match &outcome.ended {
        Ended::Result(ToolResult::Success { content }) => match content.as_slice() {
            [Content::Structured { value }] => value,
            other => panic!("not one structured piece: {other:?}"),
        },
        other => panic!("no success: {other:?}"),
    }
}

#[derive(Default)]
struct Heard {
    lines: Mutex<Vec<(&'static str, String)>>,
    progress: Mutex<Vec<(f64, Option<f64>, String)>>,
}

impl Watcher for Heard {
    fn log(&self, _call_id: &str, level: &'static str, message: &str) {
        self.lines.lock().unwrap().push((level, message.to_owned()));
    }

    fn progress(&self, _call_id: &str, done: f64, total: Option<f64>, message: &str) {
        self.progress.lock().unwrap().push((done, total, message.to_owned()));
    }
}
