//! How much runs at once: by the numbers of the configuration, however the calls before ended.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Barrier;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::web::{OK, Server, TestNames, read_head};
use super::*;
use crate::call::kind;

/// The probe under these names, with a configuration of its own.
async fn probes(names: &[&str], change: impl FnOnce(&mut PluginConfig)) -> (WasmPlugins, TempDir) {
    let dir = tempfile::tempdir().unwrap();
    names.iter().for_each(|name| _ = std::fs::copy(guest("guests/probe.wasm"), dir.path().join(format!("{name}.wasm"))).unwrap());
    let mut config = PluginConfig::new(dir.path(), None);
    config.resolver = Arc::new(TestNames);
    change(&mut config);
    let plugins = WasmPlugins::load(config).await.unwrap();
    assert_eq!(plugins.failures(), []);
    (plugins, dir)
}

fn getting(plugin: &str, server: &Server) -> Attempt {
    let mut attempt = attempt("http", json!({"method": "GET", "url": server.url("/")}));
    attempt.plugin = plugin.into();
    attempt.held.http = vec![server.line("/**", &["GET"], true)];
    attempt
}

#[test]
fn w14_after_more_bad_ends_than_slots_there_are_as_many_slots() {
    const SLOTS: usize = 4;
    on_any_number_of_threads(async || {
        let (plugins, _dir) = probes(&["probe"], |config| config.instances = SLOTS as u32).await;
        for (tool, arguments) in [("boom", json!({"ok": false})), ("exit", json!({"code": 3})), ("recurse", json!({})), ("spin", json!({}))] {
            let ending = (0..=SLOTS).map(|_| {
                let mut attempt = attempt(tool, arguments.clone());
                attempt.limits.cpu = Duration::from_millis(200);
                plugins.call(attempt)
            });
            futures_util::future::join_all(ending).await.iter().for_each(|outcome| _ = failure(outcome));
        }
        // Answers once all slots are in use at the same moment.
        let all = Barrier::new(SLOTS);
        let server = Server::start(move |mut stream| {
            read_head(&mut stream);
            all.wait();
            stream.write_all(OK.as_bytes()).unwrap();
        });
        let at_once = (0..SLOTS).map(|_| plugins.call(getting("probe", &server)));
        for outcome in futures_util::future::join_all(at_once).await {
            assert_eq!(structured(&outcome)["status"], 200, "{outcome:?}");
        }
        assert_eq!(server.hits(), SLOTS);
    });
}

/// Tells of each request, and answers each when it is told to.
fn answering() -> (Server, Receiver<()>, Sender<()>) {
    let ((tell, came), (go, told)) = (channel(), channel());
    let told = Mutex::new(told);
    let server = Server::start(move |mut stream: TcpStream| {
        read_head(&mut stream);
        let _ = tell.send(());
        if told.lock().unwrap().recv().is_ok() {
            stream.write_all(OK.as_bytes()).unwrap();
        }
    });
    (server, came, go)
}

/// While a call of `first` has the only room, one of `second` gets none within its own time.
async fn one_at_a_time(plugins: &WasmPlugins, first: &str, second: &str) {
    let (server, came, go) = answering();
    let running = plugins.call(getting(first, &server));
    let other = async {
        tokio::task::spawn_blocking(move || came.recv_timeout(Duration::from_secs(10)).map(|()| came)).await.unwrap().unwrap();
        let mut waiting = getting(second, &server);
        waiting.limits.time = Duration::from_millis(300);
        let outcome = plugins.call(waiting).await;
        assert_eq!((&*failure(&outcome).kind, server.hits()), (kind::OUT_OF_TIME, 1), "{outcome:?}");
        go.send(()).unwrap();
    };
    let (outcome, ()) = tokio::join!(running, other);
    assert_eq!(structured(&outcome)["status"], 200);
    go.send(()).unwrap();
    assert_eq!(structured(&plugins.call(getting(second, &server)).await)["status"], 200, "its room is free again");
}

/// limit: config.instances
#[tokio::test]
async fn w05_no_more_instances_live_than_the_configuration_says() {
    let (plugins, _dir) = probes(&["probe", "other"], |config| config.instances = 1).await;
    one_at_a_time(&plugins, "probe", "other").await;
}

/// limit: config.calls_per_plugin
#[tokio::test]
async fn w05_no_more_calls_of_one_plugin_run_than_the_configuration_says() {
    let (plugins, _dir) = probes(&["probe", "other"], |config| config.calls_per_plugin = 1).await;
    one_at_a_time(&plugins, "probe", "probe").await;
    // Another plugin's calls are not held up by it.
    let (server, came, go) = answering();
    let both = async {
        tokio::task::spawn_blocking(move || (0..2).try_for_each(|_| came.recv_timeout(Duration::from_secs(10)))).await.unwrap().unwrap();
        (0..2).for_each(|_| go.send(()).unwrap());
    };
    let (one, other, ()) = tokio::join!(plugins.call(getting("probe", &server)), plugins.call(getting("other", &server)), both);
    assert_eq!((&structured(&one)["status"], &structured(&other)["status"]), (&json!(200), &json!(200)));
}

/// limit: config.memory_bytes_max
#[tokio::test]
async fn w05_no_call_has_more_memory_than_the_configuration_says() {
    let (plugins, _dir) = probes(&["probe"], |config| config.memory_bytes_max = 64 << 20).await;
    let filling = |mib: u64| {
        let mut attempt = attempt("alloc", json!({"mib": mib}));
        attempt.limits.memory_bytes = 1 << 30;
        plugins.call(attempt)
    };
    assert_eq!(text(&filling(32).await), "filled 32 MiB");
    failure(&filling(96).await);
}
