//! The plugin directory of a host that runs long.

use std::fs;
use std::path::{Path, PathBuf};

use tokio::sync::mpsc;

use super::*;
use crate::call::kind;

/// A machine that is busy takes long to look; nothing waits for this but a test that fails.
const PATIENCE: Duration = Duration::from_secs(300);

pub(super) struct World {
    pub dir: TempDir,
    pub plugins: Arc<WasmPlugins>,
    pub changes: mpsc::UnboundedReceiver<Change>,
    _following: Following,
}

impl World {
    /// A directory with these, followed.
    async fn of(files: &[(&str, &str)]) -> Self {
        Self::with_cache(files, None).await
    }

    pub async fn with_cache(files: &[(&str, &str)], cache: Option<PathBuf>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        files.iter().for_each(|(name, from)| put(dir.path(), name, &bytes(from)));
        let mut config = PluginConfig::new(dir.path(), cache);
        config.resolver = Arc::new(web::TestNames);
        config.secrets = Arc::new(secrets::TestSecrets);
        let plugins = Arc::new(WasmPlugins::load(config).await.unwrap());
        let (sender, changes) = mpsc::unbounded_channel();
        let following = plugins.follow(Box::new(move |change| {
            sender.send(change).unwrap_or_default();
        }));
        Self { dir, plugins, changes, _following: following }
    }

    pub async fn next(&mut self) -> Change {
        tokio::time::timeout(PATIENCE, self.changes.recv()).await.expect("a change is told").expect("the follower lives")
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        put(self.dir.path(), name, bytes);
    }

    pub fn digest(&self, name: &str) -> Option<Digest> {
        self.plugins.loaded().get(name).cloned()
    }
}

/// In one step.
fn put(dir: &Path, name: &str, bytes: &[u8]) {
    let beside = dir.join(format!(".{name}.new"));
    fs::write(&beside, bytes).unwrap();
    fs::rename(beside, dir.join(name)).unwrap();
}

fn bytes(from: &str) -> Vec<u8> {
    fs::read(guest(from)).unwrap()
}

fn digest(from: &str) -> Digest {
    Digest::of_bytes(&bytes(from))
}

#[tokio::test(flavor = "multi_thread")]
async fn w51_half_a_file_is_not_loaded_and_a_broken_one_keeps_the_one_before() {
    let (files, survey) = ("plugins/files.wasm", "plugins/survey.wasm");
    let mut world = World::of(&[]).await;
    let whole = bytes(files);
    fs::write(world.dir.path().join("a.wasm"), &whole[..whole.len() / 2]).unwrap();
    assert!(matches!(world.next().await, Change::Failed(failure) if failure.name == "a"));
    assert_eq!(world.plugins.failures().len(), 1);
    fs::write(world.dir.path().join("a.wasm"), &whole).unwrap();
    assert_eq!(world.next().await, Change::Loaded("a".into(), digest(files)));
    assert_eq!(world.plugins.failures(), []);
    fs::write(world.dir.path().join("a.wasm"), &whole[..whole.len() / 3]).unwrap();
    assert!(matches!(world.next().await, Change::Kept(failure) if failure.name == "a"));
    assert_eq!(world.digest("a"), Some(digest(files)), "the old version serves meanwhile");
    world.put("a.wasm", &bytes(survey));
    assert_eq!(world.next().await, Change::Loaded("a".into(), digest(survey)));
    fs::remove_file(world.dir.path().join("a.wasm")).unwrap();
    assert_eq!(world.next().await, Change::Gone("a".into()));
    assert_eq!((world.plugins.catalog().len(), world.plugins.failures()), (0, Vec::new()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_runs_ends_on_the_code_it_started_with() {
    let mut world = World::of(&[("probe.wasm", "guests/probe.wasm"), ("other.wasm", "plugins/files.wasm")]).await;
    let cancel = CancellationToken::new();
    let old = Some(digest("guests/probe.wasm"));
    let limits = Limits { time: 10 * PATIENCE, ..Limits::default() };
    let waits = Attempt { cancel: cancel.clone(), digest: old.clone(), limits, ..attempt("sleep", json!({"ms": 600_000})) };
    let plugins = Arc::clone(&world.plugins);
    let running = tokio::spawn(async move { plugins.call(waits).await });
    let judged = Attempt { digest: old, ..attempt("echo", json!({"text": "old"})) };
    world.put("probe.wasm", &bytes("plugins/survey.wasm"));
    assert_eq!(world.next().await, Change::Loaded("probe".into(), digest("plugins/survey.wasm")));
    // What was judged for bytes runs on those bytes; what was judged for others runs nowhere.
    assert_eq!(text(&world.plugins.call(judged.clone()).await), "old");
    assert!(!running.is_finished());
    cancel.cancel();
    assert_eq!(failure(&running.await.unwrap()).kind, kind::CANCELLED);
    let other = Attempt { digest: Some(digest("plugins/files.wasm")), ..judged.clone() };
    assert_eq!(failure(&world.plugins.call(other).await).kind, kind::NOT_LOADED);
    let newest = Attempt { digest: None, ..judged };
    assert_eq!(failure(&world.plugins.call(newest).await).kind, kind::NOT_LOADED, "the new one has no such tool");
    assert_eq!(world.digest("other"), Some(digest("plugins/files.wasm")), "no other plugin is touched");
}

/// The same plugin in other bytes: a section that nothing reads stands at its end.
fn other_bytes(from: &str) -> Vec<u8> {
    [bytes(from), vec![0, 2, 1, b'x']].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn w30_a_secret_arrives_from_a_plugin_that_was_replaced_while_the_host_ran() {
    let (server, heads) = secrets::echoing();
    let mut world = World::of(&[("probe.wasm", "guests/probe.wasm")]).await;
    let replaced = other_bytes("guests/probe.wasm");
    world.put("probe.wasm", &replaced);
    assert_eq!(world.next().await, Change::Loaded("probe".into(), Digest::of_bytes(&replaced)));
    let mut calling = attempt("http", json!({"method": "GET", "url": server.url("/v1/a")}));
    calling.digest = world.digest("probe");
    calling.held.http = vec![HeldHttp { secret: Some(secrets::bearer("WEATHER_KEY")), ..server.line("/v1/**", &["GET"], true) }];
    let outcome = world.plugins.call(calling).await;
    assert_eq!(structured(&outcome)["status"], 200, "{outcome:?}");
    secrets::without_canary(&outcome);
    let head = heads.lock().unwrap().join("").to_ascii_lowercase();
    assert!(head.contains(&format!("authorization: bearer {}", secrets::CANARY.to_ascii_lowercase())), "{head}");
}
