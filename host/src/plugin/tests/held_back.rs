//! Uses that only an approval opens: held back before anything happens, and made once exactly as approved.

use std::fs;
use std::path::Path;

use super::web::{OK, Server};
use super::*;
use crate::capability::frozen::{FsOperation, FsUse, HttpUse};
use crate::capability::{FrozenUse, Opening, Uses};

fn reach(host: &Path, access: Access) -> Opening {
    Opening::Fs(HeldFs { mount: "/build".into(), host: host.into(), access, only: None, quota: None })
}

async fn try_fs(held: &Held, op: &str, path: &str, to: &str) -> AttemptOutcome {
    let mut attempt = attempt("fs", json!({"op": op, "path": path, "to": to}));
    attempt.held = held.clone();
    probe().call(attempt).await
}

#[track_caller]
pub fn held_back(outcome: &AttemptOutcome) -> FrozenUse {
    assert_eq!(outcome.uses, Uses::default(), "nothing happened before");
    match &outcome.ended {
        Ended::HeldBack(frozen) => frozen.clone(),
        other => panic!("not held back: {other:?}"),
    }
}

fn folder() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a"), "kept").unwrap();
    fs::create_dir(dir.path().join("d")).unwrap();
    dir
}

#[tokio::test]
async fn each_operation_is_held_back_and_then_made_once_as_approved() {
    use FsOperation::*;
    for (op, path, to, operation, said) in [
        ("read", "/build/a", "", Read, "ok: kept"),
        ("stat", "/build/a", "", Look, "ok: file 4"),
        ("list", "/build/", "", List, "ok: a\nd"),
        ("write", "/build/new", "", Write, "ok"),
        ("truncate", "/build/a", "", Write, "ok"),
        ("append", "/build/a", "", Write, "ok"),
        ("unlink", "/build/a", "", RemoveFile, "ok"),
        ("mkdir", "/build/e", "", CreateFolder, "ok"),
        ("rmdir", "/build/d", "", RemoveFolder, "ok"),
        ("rename", "/build/a", "/build/b", Rename, "ok"),
        ("link", "/build/a", "/build/b", Link, "ok"),
    ] {
        let dir = folder();
        let mut held = Held { reach: vec![reach(dir.path(), Access::Write)], ..Held::default() };
        let frozen = held_back(&try_fs(&held, op, path, to).await);
        let wanted = FsUse { operation, path: path.trim_end_matches('/').into(), to: (!to.is_empty()).then(|| to.into()) };
        assert_eq!(frozen, FrozenUse::Fs(wanted), "{op}");
        assert_eq!(fs::read_to_string(dir.path().join("a")).unwrap(), "kept", "{op}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "{op}");
        held.uses = vec![frozen];
        let made = try_fs(&held, op, path, to).await;
        assert!(matches!(made.ended, Ended::Result(_)), "{op}: {made:?}");
        assert_eq!(text(&made), said, "{op}");
    }
}

#[tokio::test]
async fn another_use_than_the_approved_one_is_held_back_anew() {
    let dir = folder();
    let mut held = Held { reach: vec![reach(dir.path(), Access::Write)], ..Held::default() };
    held.uses = vec![held_back(&try_fs(&held, "unlink", "/build/a", "").await)];
    for (op, path, to) in [("write", "/build/a", ""), ("read", "/build/a", ""), ("unlink", "/build/d/x", ""), ("rename", "/build/a", "/build/b")] {
        assert_ne!(held_back(&try_fs(&held, op, path, to).await), held.uses[0], "{op} {path}");
    }
    assert_eq!(fs::read_to_string(dir.path().join("a")).unwrap(), "kept");
}

#[tokio::test]
async fn what_no_approval_could_open_is_refused() {
    let dir = folder();
    std::os::unix::fs::symlink("a", dir.path().join("link")).unwrap();
    let none = HeldFs { mount: "/build/d".into(), host: dir.path().join("d"), access: Access::None, only: None, quota: None };
    let read = HeldFs { mount: "/build".into(), host: dir.path().into(), access: Access::Read, only: None, quota: None };
    let held = Held { reach: vec![reach(dir.path(), Access::Write)], fs: vec![none, read], ..Held::default() };
    for (op, path, to) in
        [("write", "/build/d/x", ""), ("rename", "/build/a", "/build/d/a"), ("append", "/build/link", ""), ("write", "/other/a", "")]
    {
        let outcome = try_fs(&held, op, path, to).await;
        assert!(text(&outcome).starts_with("error"), "{op} {path}: {outcome:?}");
    }
    let reading = Held { reach: vec![reach(dir.path(), Access::Read)], ..Held::default() };
    assert!(text(&try_fs(&reading, "write", "/build/a", "").await).starts_with("error"));
}

#[tokio::test]
async fn after_an_effect_nobody_is_asked_and_the_refusal_says_so() {
    let (dir, free) = (folder(), tempfile::tempdir().unwrap());
    let mut held = Held { reach: vec![reach(dir.path(), Access::Write)], ..Held::default() };
    held.fs = vec![HeldFs { mount: "/free".into(), host: free.path().into(), access: Access::Write, only: None, quota: None }];
    // Copies by writing to the free folder; reading the source comes first and is approved.
    held.uses = vec![FrozenUse::Fs(FsUse { operation: FsOperation::RemoveFile, path: "/build/a".into(), to: None })];
    let mut attempt = attempt(
        "fs_all",
        json!({"ops": [
            {"op": "write", "path": "/free/x", "to": ""},
            {"op": "unlink", "path": "/build/a", "to": ""},
            {"op": "unlink", "path": "/build/a", "to": ""},
        ]}),
    );
    attempt.held = held;
    let outcome = probe().call(attempt).await;
    assert_eq!(text(&outcome), "ok\nok\nerror: PermissionDenied");
    assert!(outcome.refusals[0].allow_with.contains("nobody can be asked once an attempt had an effect"), "{:?}", outcome.refusals);
    assert!(outcome.refusals[0].allow_with.starts_with("[[plugins.probe.fs]]"));
}

fn post(server: &Server) -> Held {
    let HeldHttp { url, .. } = server.line("/v1/*", &["POST"], true);
    Held { reach: vec![Opening::Http(HeldHttp { url, methods: vec!["POST".into()], private: true, secret: None })], ..Held::default() }
}

async fn try_post(held: &Held, url: &str, body: &str) -> AttemptOutcome {
    let mut attempt = attempt("http", json!({"method": "POST", "url": url, "body": body}));
    attempt.held = held.clone();
    probe().call(attempt).await
}

#[tokio::test]
async fn a_request_is_held_back_whole_and_sent_once_as_approved() {
    let server = Server::fixed(OK);
    let mut held = post(&server);
    let frozen = held_back(&try_post(&held, &server.url("/v1/pay?n=1"), "ten").await);
    let FrozenUse::Http(HttpUse { method, url, body_digest, body_bytes, preview, .. }) = &frozen else { panic!("{frozen:?}") };
    assert_eq!((method.as_str(), url, *body_bytes, preview.as_str()), ("POST", &server.url("/v1/pay?n=1"), 3, "ten"));
    assert_eq!(*body_digest, crate::digest::Digest::of_bytes(b"ten"));
    assert_eq!(server.hits(), 0);
    held.uses = vec![frozen];
    let sent = try_post(&held, &server.url("/v1/pay?n=1"), "ten").await;
    assert!(matches!(sent.ended, Ended::Result(ToolResult::Success { .. })), "{sent:?}");
    assert_eq!((server.hits(), sent.uses.http_effects), (1, 1));
    for (url, body) in [("/v1/pay?n=1", "tenn"), ("/v1/pay?n=2", "ten"), ("/v1/other?n=1", "ten")] {
        held_back(&try_post(&held, &server.url(url), body).await);
    }
    assert_eq!(server.hits(), 1, "what was approved is what is sent");
}

/// limit: capability/frozen::FROZEN_BODY_BYTES_MAX
#[tokio::test]
async fn a_request_too_large_to_be_shown_is_refused() {
    let server = Server::fixed(OK);
    let limit = crate::capability::frozen::FROZEN_BODY_BYTES_MAX;
    held_back(&try_post(&post(&server), &server.url("/v1/a"), &"x".repeat(limit)).await);
    let outcome = try_post(&post(&server), &server.url("/v1/a"), &"x".repeat(limit + 1)).await;
    assert!(matches!(outcome.ended, Ended::Result(ToolResult::Failure(_))), "{outcome:?}");
    assert!(outcome.refusals[0].attempted.ends_with("with a body of over 262144 bytes"), "{:?}", outcome.refusals);
    assert_eq!(server.hits(), 0);
}

#[tokio::test]
async fn a_change_of_values_is_held_back_and_made_once_as_approved() {
    use crate::capability::frozen::KvOperation;
    use crate::capability::keyvalue::{HeldKv, Quota, Scope};
    let try_kv = async |held: &Held, op: &str, value: &str| {
        let mut attempt = attempt("kv", json!({"op": op, "key": "k", "value": value}));
        attempt.chain = crate::chain::ChainId("ch_held_back".into());
        attempt.held = held.clone();
        probe().call(attempt).await
    };
    let line = HeldKv { scope: Scope::Chain, access: Access::Write, quota: Quota::default() };
    let mut held = Held { reach: vec![Opening::Kv(line)], ..Held::default() };
    let frozen = held_back(&try_kv(&held, "set", "ten").await);
    let FrozenUse::Kv(set) = &frozen else { panic!("{frozen:?}") };
    assert_eq!((set.operation, set.keys.as_slice(), set.bytes, set.preview.as_str()), (KvOperation::Set, &["k".to_owned()][..], 3, "ten"));
    held.uses = vec![frozen.clone()];
    assert_ne!(held_back(&try_kv(&held, "set", "eleven").await), frozen);
    let made = try_kv(&held, "set", "ten").await;
    assert_eq!((text(&made), made.uses.kv_writes), ("ok: set", 1));
    held.uses = vec![held_back(&try_kv(&held, "get", "").await)];
    assert_eq!(text(&try_kv(&held, "get", "").await), "ok: ten");
}
