//! What the operator takes away while an attempt runs: the next host call finds it gone, and what is given anew never
//! comes to the attempt.

use std::fs;
use std::io::Write;
use std::path::Path;

use super::web::{OK, Server, read_head};
use super::*;
use crate::capability::keyvalue::{HeldKv, Quota, Scope};
use crate::capability::{Opening, Uses};

/// What the operator gives by now; `None` until the gate is asked for the first time.
#[derive(Default)]
struct Now(Mutex<Option<Arc<Held>>>);

impl StillHeld for Now {
    fn now(&self) -> Option<Arc<Held>> {
        self.0.lock().unwrap().clone()
    }
}

/// An attempt of steps, between which a server changes what the operator gives before it answers.
struct Steps {
    gate: Server,
    now: Arc<Now>,
}

impl Steps {
    fn new(changes: Vec<Held>) -> Self {
        let now = Arc::new(Now::default());
        let (given, changes) = (Arc::clone(&now), Mutex::new(changes.into_iter()));
        let gate = Server::start(move |mut stream| {
            // Connections are kept: one may ask again.
            while !read_head(&mut stream).is_empty() {
                if let Some(mut next) = changes.lock().unwrap().next() {
                    // The gate stays open whatever else is taken away.
                    next.http.push(gate_line(stream.local_addr().unwrap().port()));
                    *given.0.lock().unwrap() = Some(Arc::new(next));
                }
                if stream.write_all(OK.as_bytes()).is_err() {
                    return;
                }
            }
        });
        Self { gate, now }
    }

    async fn take(&self, held: Held, steps: Value) -> AttemptOutcome {
        let mut attempt = attempt("step_by_step", json!({"gate": self.gate.url("/gate"), "steps": steps}));
        attempt.held = held;
        attempt.held.http.push(gate_line(self.gate.port));
        attempt.still = Some(self.now.clone());
        probe().call(attempt).await
    }
}

fn gate_line(port: u16) -> HeldHttp {
    HeldHttp { url: format!("http://api.test:{port}/gate"), methods: vec!["GET".into()], private: true, secret: None }
}

fn line(host: &Path, mount: &str, access: Access) -> HeldFs {
    HeldFs { mount: mount.into(), host: host.into(), access, only: None, quota: None }
}

fn write(path: &str) -> Value {
    json!({"fs": {"op": "write", "path": path}})
}

#[tokio::test]
async fn w68_a_file_grant_that_is_taken_away_ends_with_the_next_effect() {
    let dir = tempfile::tempdir().unwrap();
    let held = |access| Held { fs: vec![line(dir.path(), "/d", access)], ..Held::default() };
    let steps = Steps::new(vec![held(Access::Write), held(Access::Read)]);
    let outcome = steps.take(held(Access::Write), json!([write("/d/one"), write("/d/two"), write("/d/three")])).await;
    assert_eq!(text(&outcome), "ok\nok\nerror: PermissionDenied");
    assert!(dir.path().join("two").exists() && !dir.path().join("three").exists());
    let refused = &outcome.refusals[0];
    assert_eq!(refused.attempted, "fs write /d/three");
    assert!(refused.allow_with.starts_with("[[plugins.probe.fs]]\npath = ") && refused.allow_with.ends_with("access = \"write\""), "{refused:?}");
}

#[tokio::test]
async fn w68_what_is_open_is_shut_with_its_grant() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a"), "read me").unwrap();
    fs::write(dir.path().join("b"), "").unwrap();
    let held = |lines| Held { fs: lines, ..Held::default() };
    let all = || held(vec![line(dir.path(), "/d", Access::Write)]);
    // A stream has one error for everything; the refusal says which.
    const BROKEN: &str = "error: Uncategorized";
    let shut = HeldFs { mount: "/d/b".into(), host: dir.path().join("b"), access: Access::None, only: None, quota: None };
    for (now, appended, read) in [
        (all(), "ok", "ok"),
        (held(vec![]), BROKEN, BROKEN),
        (held(vec![line(dir.path(), "/d", Access::Read)]), BROKEN, "ok"),
        (held(vec![line(dir.path(), "/d", Access::Write), shut]), BROKEN, "ok"),
    ] {
        fs::write(dir.path().join("b"), "").unwrap();
        let steps = Steps::new(vec![all(), now]);
        let ops = json!([{"append": "/d/b"}, {"read": "/d/a"}, {"append": "/d/b"}, {"read": "/d/a"}]);
        let outcome = steps.take(all(), ops).await;
        assert_eq!(text(&outcome), format!("ok\nok\n{appended}\n{read}"));
        assert_eq!(fs::read(dir.path().join("b")).unwrap().len(), 1 + usize::from(appended == "ok"));
        assert_eq!(outcome.refusals.len(), [appended, read].iter().filter(|said| **said == BROKEN).count(), "{:?}", outcome.refusals);
    }
}

#[tokio::test]
async fn w68_another_folder_or_a_new_shut_place_narrows_too() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::create_dir(dir.path().join("keep")).unwrap();
    let held = |lines| Held { fs: lines, ..Held::default() };
    let start = || held(vec![line(dir.path(), "/d", Access::Write)]);
    // The same mount by another name of the host is nothing that was held.
    let steps = Steps::new(vec![held(vec![line(other.path(), "/d", Access::Write)])]);
    let outcome = steps.take(start(), json!([write("/d/one"), write("/d/two")])).await;
    assert_eq!(text(&outcome), "ok\nerror: PermissionDenied");
    assert_eq!(fs::read_dir(other.path()).unwrap().count(), 0);
    let shut = line(&dir.path().join("keep"), "/d/keep", Access::None);
    let steps = Steps::new(vec![held(vec![line(dir.path(), "/d", Access::Write), shut])]);
    let moved = json!({"fs": {"op": "rename", "path": "/d/keep", "to": "/d/kept"}});
    let outcome = steps.take(start(), json!([write("/d/keep/a"), write("/d/keep/b"), moved, write("/d/c")])).await;
    assert_eq!(text(&outcome), "ok\nerror: PermissionDenied\nerror: PermissionDenied\nok");
}

#[tokio::test]
async fn w68_what_is_given_meanwhile_does_not_come_to_a_running_attempt() {
    let dir = tempfile::tempdir().unwrap();
    let held = |access| Held { fs: vec![line(dir.path(), "/d", access)], ..Held::default() };
    let steps = Steps::new(vec![held(Access::Write)]);
    let outcome = steps.take(held(Access::Read), json!([write("/d/one"), write("/d/two")])).await;
    assert_eq!(text(&outcome), "error: PermissionDenied\nerror: PermissionDenied");
    // What was taken away and given back is what it held.
    let steps = Steps::new(vec![held(Access::Read), held(Access::Write)]);
    let outcome = steps.take(held(Access::Write), json!([write("/d/one"), write("/d/two"), write("/d/three")])).await;
    assert_eq!(text(&outcome), "ok\nerror: PermissionDenied\nok");
}

#[tokio::test]
async fn w68_a_line_that_becomes_approved_only_is_asked_about_or_refused() {
    let dir = tempfile::tempdir().unwrap();
    let start = || Held { fs: vec![line(dir.path(), "/d", Access::Write)], ..Held::default() };
    let asking = || Held { reach: vec![Opening::Fs(line(dir.path(), "/d", Access::Write))], ..Held::default() };
    let outcome = Steps::new(vec![asking()]).take(start(), json!([write("/d/one"), write("/d/two")])).await;
    assert_eq!(text(&outcome), "ok\nerror: PermissionDenied");
    assert!(outcome.refusals[0].allow_with.contains("nobody can be asked once an attempt had an effect"), "{:?}", outcome.refusals);
    let looks = json!({"fs": {"op": "list", "path": "/d"}});
    let outcome = Steps::new(vec![asking()]).take(start(), json!([looks, write("/d/three")])).await;
    assert!(matches!(outcome.ended, Ended::HeldBack(_)), "{outcome:?}");
    assert!(!dir.path().join("three").exists());
}

#[tokio::test]
async fn w68_an_approved_use_falls_with_the_line_it_stands_on() {
    let dir = tempfile::tempdir().unwrap();
    let start = |uses| Held { reach: vec![Opening::Fs(line(dir.path(), "/d", Access::Write))], uses, ..Held::default() };
    let looks = json!({"fs": {"op": "stat", "path": "/"}});
    let ops = json!([looks, write("/d/one")]);
    let asked = Steps::new(vec![]).take(start(vec![]), ops.clone()).await;
    let Ended::HeldBack(frozen) = asked.ended else { panic!("{asked:?}") };
    let kept = Steps::new(vec![start(vec![frozen.clone()])]).take(start(vec![frozen.clone()]), ops.clone()).await;
    assert_eq!(text(&kept).lines().last(), Some("ok"));
    let gone = Steps::new(vec![Held::default()]).take(start(vec![frozen]), ops).await;
    assert_eq!(text(&gone).lines().last(), Some("error: PermissionDenied"));
}

#[tokio::test]
async fn w68_a_request_after_its_line_was_taken_away_is_refused() {
    let api = Server::fixed("HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi");
    let get = || json!({"get": api.url("/v1/a")});
    let with = |line: HeldHttp| Held { http: vec![line], ..Held::default() };
    let full = || with(api.line("/v1/*", &["GET"], true));
    for (now, said) in [
        (full(), "ok: 200"),
        (Held::default(), "error: denied"),
        (with(api.line("/v2/*", &["GET"], true)), "error: denied"),
        (with(api.line("/v1/*", &["POST"], true)), "error: denied"),
        (with(api.line("/**", &["GET"], true)), "ok: 200"),
    ] {
        let before = api.hits();
        let outcome = Steps::new(vec![now]).take(full(), json!([get(), get()])).await;
        assert_eq!(text(&outcome), format!("ok: 200\n{said}"));
        assert_eq!(api.hits() - before, 1 + usize::from(said == "ok: 200"));
        assert_eq!(outcome.refusals.len(), usize::from(said != "ok: 200"), "{:?}", outcome.refusals);
    }
    // Addresses of this host are no longer admitted.
    let outcome = Steps::new(vec![with(api.line("/v1/*", &["GET"], false))]).take(full(), json!([get(), get()])).await;
    assert!(text(&outcome).starts_with("ok: 200\nerror: "), "{outcome:?}");
}

#[tokio::test]
async fn w68_values_are_shut_with_their_line() {
    let line = |scope, access, keys| HeldKv { scope, access, quota: Quota { keys, ..Quota::default() } };
    let held = |lines| Held { kv: lines, ..Held::default() };
    let start = || held(vec![line(Scope::Chain, Access::Write, 10)]);
    let ops = json!([{"set": "w68-a"}, {"set": "w68-b"}, {"value": "w68-a"}]);
    for (now, said) in [
        (start(), "ok: set\nok: x"),
        (held(vec![]), "error: access denied\nerror: access denied"),
        (held(vec![line(Scope::Chain, Access::Read, 10)]), "error: access denied\nok: x"),
        (held(vec![line(Scope::Plugin, Access::Write, 10)]), "error: access denied\nerror: access denied"),
        (held(vec![line(Scope::Chain, Access::Write, 0)]), "error: over the quota: 2 keys, the limit is 0\nok: x"),
    ] {
        let chain = format!("ch_w68_{}", said.len());
        let steps = Steps::new(vec![now]);
        let mut attempt = attempt("step_by_step", json!({"gate": steps.gate.url("/gate"), "steps": ops}));
        attempt.chain = ChainId(chain);
        attempt.held = Held { http: vec![gate_line(steps.gate.port)], ..start() };
        attempt.still = Some(steps.now.clone());
        let outcome = probe().call(attempt).await;
        assert_eq!(text(&outcome), format!("ok: set\n{said}"));
        assert_eq!(outcome.uses, Uses { kv_writes: outcome.uses.kv_writes, http_requests: 2, ..Uses::default() });
    }
}
