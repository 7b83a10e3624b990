//! An attempt that is let go of ends at once where it has had no effect, and by itself where it has.

use super::*;

fn writing(dir: &TempDir, tool: &str, arguments: Value) -> Attempt {
    let line = HeldFs { mount: "/build".into(), host: dir.path().into(), access: Access::Write, only: None, quota: None };
    Attempt { effects: Effects::Once, held: Held { fs: vec![line], ..Held::default() }, ..attempt(tool, arguments) }
}

#[test]
fn an_attempt_without_an_effect_ends_and_can_have_none_later() {
    runtime(2).block_on(async {
        let dir = tempfile::tempdir().unwrap();
        for (tool, arguments) in [("sleep", json!({"ms": 20_000})), ("spin", json!({}))] {
            let attempt = writing(&dir, tool, arguments);
            attempt.let_go.cancel();
            let outcome = probe().call(attempt).await;
            let cancelled = matches!(&outcome.ended, Ended::Result(ToolResult::Failure(failure)) if failure.kind == crate::call::kind::CANCELLED);
            assert!(cancelled, "{tool}: {outcome:?}");
            assert!(!outcome.uses.effectful());
        }
    });
}

#[test]
fn an_attempt_that_wrote_goes_on_to_its_end() {
    runtime(2).block_on(async {
        let dir = tempfile::tempdir().unwrap();
        let attempt = writing(&dir, "append_then_sleep", json!({"path": "/build/log", "line": "once", "ms": 300}));
        let let_go = attempt.let_go.clone();
        let running = tokio::spawn(probe().call(attempt));
        for _ in 0..2000 {
            if dir.path().join("log").exists() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let_go.cancel();
        let outcome = running.await.unwrap();
        assert!(matches!(&outcome.ended, Ended::Result(ToolResult::Success { .. })), "{outcome:?}");
        assert!(outcome.uses.effectful());
        assert_eq!(std::fs::read_to_string(dir.path().join("log")).unwrap().trim(), "once");
    });
}
