//! Limits that no other test of this folder breaks, each just under it and just over.

use std::fs;
use std::path::Path;

use super::held_back::held_back;
use super::web::{OK, Server};
use super::*;
use crate::capability::frozen::{FROZEN_NAME_BYTES_MAX, PREVIEW_BYTES_MAX};
use crate::capability::{Opening, Refusal};
use crate::plugin::bindings::types;
use crate::plugin::console::{Console, LOG_BYTES_MAX, LOG_LINES_MAX, PROGRESS_MAX};
use crate::plugin::ledger::{ATTEMPTED_BYTES_MAX, LINE_BYTES_MAX, Ledger, REFUSALS_MAX};
use crate::plugin::lift;
use crate::plugin::vault::Vault;

fn vault() -> Arc<Vault> {
    Arc::new(Vault::new(&Held::default(), Arc::new(SystemSecrets)))
}

fn heard(lines: impl Iterator<Item = String>) -> Vec<String> {
    let heard = Arc::new(Heard::default());
    let console = Console::new("tc_1".into(), Some(heard.clone()), vault());
    lines.for_each(|line| console.log("info", line));
    console.finish();
    let lines = heard.lines.lock().unwrap();
    lines.iter().map(|(_, line)| line.clone()).collect()
}

/// limit: plugin/console::LOG_LINES_MAX
#[test]
fn lines_over_the_limit_are_dropped_and_counted() {
    let lines = |count: usize| heard((0..count).map(|number| number.to_string()));
    assert_eq!(lines(LOG_LINES_MAX).len(), LOG_LINES_MAX);
    let over = lines(LOG_LINES_MAX + 2);
    assert_eq!(over.len(), LOG_LINES_MAX + 1);
    assert!(over.last().unwrap().starts_with("2 more log lines were dropped"), "{over:?}");
}

/// limit: plugin/console::LOG_BYTES_MAX
#[test]
fn bytes_of_log_lines_over_the_limit_are_cut() {
    let bytes = |count: usize| heard(std::iter::once("x".repeat(count))).iter().map(String::len).sum::<usize>();
    assert_eq!((bytes(LOG_BYTES_MAX), bytes(LOG_BYTES_MAX + 100)), (LOG_BYTES_MAX, LOG_BYTES_MAX));
}

/// limit: plugin/console::PROGRESS_MAX
#[tokio::test]
async fn progress_beyond_the_limit_is_not_passed_on() {
    for (steps, passed) in [(PROGRESS_MAX, PROGRESS_MAX), (PROGRESS_MAX + 1, PROGRESS_MAX)] {
        let heard = Arc::new(Heard::default());
        let mut attempt = attempt("progress", json!({"steps": steps}));
        attempt.watcher = Some(heard.clone());
        assert_eq!(text(&probe().call(attempt).await), format!("took {steps} steps"));
        assert_eq!(heard.progress.lock().unwrap().len(), passed);
    }
}

/// limit: plugin/ledger::REFUSALS_MAX, plugin/ledger::ATTEMPTED_BYTES_MAX, plugin/ledger::LINE_BYTES_MAX
#[test]
fn refusals_are_kept_in_a_bounded_number_and_size() {
    let ledger = Ledger::new("p", vault(), None);
    let line = |bytes: usize| "x".repeat(bytes);
    for (number, (attempted, allow_with)) in
        [(ATTEMPTED_BYTES_MAX, LINE_BYTES_MAX), (ATTEMPTED_BYTES_MAX + 1, LINE_BYTES_MAX + 1)].into_iter().enumerate()
    {
        ledger.refuse(Refusal { attempted: line(attempted), allow_with: line(allow_with) });
        let kept = &ledger.refusals()[number];
        assert!(kept.attempted.len() <= ATTEMPTED_BYTES_MAX, "{number}");
        assert_eq!(kept.allow_with.starts_with("# the line that allows it has more than"), number == 1);
    }
    (0..REFUSALS_MAX).for_each(|number| ledger.refuse(Refusal { attempted: number.to_string(), allow_with: String::new() }));
    assert_eq!(ledger.refusals().len(), REFUSALS_MAX);
}

fn pause() -> types::Pause {
    types::Pause { key: "k".into(), reason: "why".into(), context: None, ask: types::Ask::Approval, state: None, meta: Vec::new() }
}

fn choice(value: String) -> types::Choice {
    types::Choice { value, label: None }
}

fn lifted(pause: types::Pause) -> Result<Asked, String> {
    lift::asked(pause, &vault()).map_err(|failure| failure.kind)
}

/// limit: plugin/lift::KEY_BYTES_MAX, plugin/lift::CONTEXT_BYTES_MAX, plugin/lift::STATE_BYTES_MAX, plugin/lift::CHOICES_MAX, plugin/lift::CHOICE_BYTES_MAX
#[test]
fn each_part_of_a_pause_is_refused_just_over_its_limit() {
    let key = |over: usize| types::Pause { key: "k".repeat(lift::KEY_BYTES_MAX + over), ..pause() };
    let kind = |over: usize| types::Question { kind: "k".repeat(lift::KEY_BYTES_MAX + over), schema: "{}".into() };
    let other = |over: usize| types::Pause { ask: types::Ask::Other(kind(over)), ..pause() };
    let context = |over: usize| types::Pause { context: Some(format!("\"{}\"", "c".repeat(lift::CONTEXT_BYTES_MAX - 2 + over))), ..pause() };
    let state = |over: usize| types::Pause { state: Some(vec![0; lift::STATE_BYTES_MAX + over]), ..pause() };
    let options = |over: usize| (0..lift::CHOICES_MAX + over).map(|number| choice(number.to_string())).collect();
    let choices = |over: usize| types::Pause { ask: types::Ask::Choice(options(over)), ..pause() };
    let long = |over: usize| types::Pause { ask: types::Ask::Choice(vec![choice("v".repeat(lift::CHOICE_BYTES_MAX + over))]), ..pause() };
    let parts: [(&str, &dyn Fn(usize) -> types::Pause); 6] =
        [("key", &key), ("kind", &other), ("context", &context), ("state", &state), ("choices", &choices), ("choice", &long)];
    for (part, with) in parts {
        assert!(lifted(with(0)).is_ok(), "{part}: {:?}", lifted(with(0)));
        let kind = lifted(with(1)).unwrap_err();
        assert_eq!(kind, if part == "state" { "too-large" } else { "invalid-result" }, "{part}");
    }
}

/// limit: plugin/lift::REASON_BYTES_MAX, plugin/lift::MESSAGE_BYTES_MAX
#[test]
fn words_of_a_plugin_are_cut_at_their_limit() {
    let reason = |bytes: usize| lifted(types::Pause { reason: "ä".repeat(bytes / 2), ..pause() }).unwrap().reason;
    assert_eq!(reason(lift::REASON_BYTES_MAX).len(), lift::REASON_BYTES_MAX);
    let cut = reason(lift::REASON_BYTES_MAX + 2);
    assert!(cut.len() <= lift::REASON_BYTES_MAX && cut.ends_with('…'), "{}", cut.len());
    let failed = |bytes: usize| types::Failure {
        kind: "failed".into(),
        message: "m".repeat(bytes),
        retry_after_ms: None,
        effect: types::EffectState::None,
        meta: Vec::new(),
    };
    let message = |bytes: usize| lift::failure(failed(bytes), &vault()).message;
    assert_eq!(message(lift::MESSAGE_BYTES_MAX).len(), lift::MESSAGE_BYTES_MAX);
    assert!(message(lift::MESSAGE_BYTES_MAX + 1).ends_with('…'));
}

/// limit: plugin/lift::MEDIA_TYPE_BYTES_MAX
#[test]
fn a_media_type_over_the_limit_is_no_result() {
    let done = |bytes: usize| {
        let media_type = format!("image/{}", "p".repeat(bytes - 6));
        let body = types::Body::Blob(types::Blob { media_type, data: vec![1] });
        let done = types::Success { content: vec![types::Content { body, meta: Vec::new() }], meta: Vec::new() };
        lift::success(done, None, 1 << 20, &vault()).map_err(|failure| failure.kind)
    };
    assert!(done(128).is_ok());
    assert_eq!(done(129), Err("invalid-result".into()));
}

async fn try_fs(dir: &Path, op: &str, path: &str) -> String {
    let mut attempt = attempt("fs", json!({"op": op, "path": path}));
    attempt.held.fs = vec![HeldFs { mount: "/d".into(), host: dir.into(), access: Access::Read, only: None, quota: None }];
    text(&probe().call(attempt).await).to_owned()
}

/// limit: plugin/fs/walk::LINKS_MAX
#[tokio::test]
async fn a_way_of_too_many_symlinks_ends() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("l0"), "here").unwrap();
    for number in 1..=41 {
        std::os::unix::fs::symlink(format!("l{}", number - 1), dir.path().join(format!("l{number}"))).unwrap();
    }
    assert_eq!(try_fs(dir.path(), "read", "/d/l40").await, "ok: here");
    assert!(try_fs(dir.path(), "read", "/d/l41").await.starts_with("error: "));
}

/// limit: plugin/fs/walk::COMPONENTS_MAX
#[tokio::test]
async fn a_way_of_too_many_steps_ends() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("a")).unwrap();
    fs::write(dir.path().join("f"), "here").unwrap();
    let around = |times: usize| format!("/d/{}f", "a/../".repeat(times));
    assert_eq!(try_fs(dir.path(), "read", &around(511)).await, "ok: here");
    assert!(try_fs(dir.path(), "read", &around(512)).await.starts_with("error: "));
}

/// limit: plugin/fs/descriptor::NAMES_MAX
#[tokio::test]
async fn a_folder_of_too_many_names_is_not_listed() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("0"), "").unwrap();
    for number in 1..65_536 {
        fs::hard_link(dir.path().join(((number - 1) / 1000 * 1000).to_string()), dir.path().join(number.to_string()))
            .or_else(|_| fs::write(dir.path().join(number.to_string()), ""))
            .unwrap();
    }
    assert!(try_fs(dir.path(), "list", "/d").await.starts_with("ok: 0\n1\n"));
    fs::write(dir.path().join("more"), "").unwrap();
    assert!(try_fs(dir.path(), "list", "/d").await.starts_with("error: "));
}

async fn try_post(server: &Server, path: &str, body: &str) -> AttemptOutcome {
    let mut attempt = attempt("http", json!({"method": "POST", "url": server.url(path), "body": body}));
    attempt.held.reach = vec![Opening::Http(server.line("/**", &["POST"], true))];
    probe().call(attempt).await
}

/// limit: capability/frozen::FROZEN_NAME_BYTES_MAX
#[tokio::test]
async fn nobody_is_asked_about_a_url_longer_than_can_be_shown() {
    let server = Server::fixed(OK);
    let room = FROZEN_NAME_BYTES_MAX - server.url("/").len();
    held_back(&try_post(&server, &format!("/{}", "a".repeat(room)), "").await);
    let outcome = try_post(&server, &format!("/{}", "a".repeat(room + 1)), "").await;
    assert!(matches!(outcome.ended, Ended::Result(_)) && outcome.refusals[0].attempted.contains("with a URL of over 4096 bytes"), "{outcome:?}");
    assert_eq!(server.hits(), 0);
}

/// limit: capability/frozen::PREVIEW_BYTES_MAX
#[tokio::test]
async fn of_a_long_body_its_beginning_is_shown() {
    let server = Server::fixed(OK);
    for (bytes, shown) in [(PREVIEW_BYTES_MAX, PREVIEW_BYTES_MAX), (PREVIEW_BYTES_MAX + 1, PREVIEW_BYTES_MAX)] {
        let FrozenUse::Http(frozen) = held_back(&try_post(&server, "/", &"b".repeat(bytes)).await) else { panic!("another use") };
        assert_eq!((frozen.preview.len(), frozen.body_bytes), (shown, bytes as u64));
    }
}
