//! A real guest of many megabytes: the conformance plugin in Python, interpreter and all.

use super::*;
use crate::call::kind;

pub(super) async fn load(dir: &TempDir, cache: &TempDir) -> (WasmPlugins, Vec<LoadStage>) {
    let stages = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&stages);
    let mut config = PluginConfig::new(dir.path(), Some(cache.path().join("compiled")));
    config.progress = Some(Arc::new(move |progress: LoadProgress| heard.lock().unwrap().push(progress.stage)));
    let plugins = WasmPlugins::load(config).await.unwrap();
    assert_eq!(plugins.failures(), []);
    let stages = stages.lock().unwrap().clone();
    (plugins, stages)
}

fn attempt(tool: &str, arguments: Value) -> Attempt {
    let mut attempt = Attempt { plugin: "python".into(), ..super::attempt("echo", arguments) };
    attempt.tool = tool.into();
    attempt.effects = Effects::ReadOnly;
    attempt
}

/// One load for all that is asked of it, since compiling it is what costs.
#[test]
fn w16_w06_a_python_guest_is_compiled_once_and_is_cancelled_while_it_sleeps() {
    runtime(2).block_on(async {
        let (dir, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::copy(guest("conformance/python.wasm"), dir.path().join("python.wasm")).unwrap();
        assert!(std::fs::metadata(dir.path().join("python.wasm")).unwrap().len() > 15 << 20);
        let (first, stages) = load(&dir, &cache).await;
        assert_eq!(stages, [LoadStage::Compiling, LoadStage::Listing, LoadStage::Ready]);
        drop(first);

        let began = Instant::now();
        let (plugins, stages) = load(&dir, &cache).await;
        let took = began.elapsed();
        println!("second start: {took:?}");
        assert_eq!(stages, [LoadStage::Ready], "neither compiled nor asked");
        // 0.3 s is the promise, the benchmark's figure is far below it; to compile takes many seconds.
        assert!(took < Duration::from_secs(3), "{took:?}");

        // A hundred calls under the default limits, a few at a time.
        for round in 0..25 {
            let calls = (0..4).map(|number| plugins.call(attempt("echo", json!({"text": format!("{round}.{number}")}))));
            for (number, outcome) in futures_util::future::join_all(calls).await.into_iter().enumerate() {
                assert_eq!(text(&outcome), format!("{round}.{number}"));
            }
        }
        a_sleeping_guest_is_cancelled(plugins).await;
    });
}

async fn a_sleeping_guest_is_cancelled(plugins: WasmPlugins) {
    let slept = plugins.call(attempt("nap", json!({"ms": 20}))).await;
    assert_eq!(text(&slept), "slept");
    let attempt = attempt("nap", json!({"ms": 100_000}));
    let cancel = attempt.cancel.clone();
    let calling = tokio::spawn(async move { plugins.call(attempt).await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    let asked = Instant::now();
    cancel.cancel();
    assert_eq!(failure(&calling.await.unwrap()).kind, kind::CANCELLED);
    // A quarter of a second is the promise; a busy machine may take longer, and the guest sleeps for 100 s.
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
}
