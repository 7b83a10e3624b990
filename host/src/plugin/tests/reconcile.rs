//! The optional export: asked with what reads alone, and whatever goes wrong is a finding that settles nothing.

use super::web::{Server, TestNames};
use super::*;
use crate::call::{Finding, kind};

fn courier() -> &'static WasmPlugins {
    static COURIER: OnceLock<(WasmPlugins, TempDir)> = OnceLock::new();
    let (plugins, _) = COURIER.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        std::fs::copy(guest("guests/courier.wasm"), dir.path().join("courier.wasm")).unwrap();
        let mut config = PluginConfig::new(dir.path(), None);
        config.resolver = Arc::new(TestNames);
        let plugins = std::thread::spawn(move || runtime(2).block_on(WasmPlugins::load(config)).unwrap()).join().unwrap();
        assert_eq!(plugins.failures(), []);
        (plugins, dir)
    });
    plugins
}

fn lookup(server: &Server, held: Vec<HeldHttp>) -> Attempt {
    let arguments = crate::digest::canonical(&json!({"url": server.url("/orders")}));
    let held = Held { http: held, ..Held::default() };
    Attempt { plugin: "courier".into(), tool: "post".into(), arguments, held, ..attempt("echo", json!({"text": ""})) }
}

fn answering(status: &str, body: &str) -> Server {
    Server::fixed(format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len()))
}

#[test]
fn a_plugin_says_what_it_finds_and_a_failure_to_look_is_a_finding_too() {
    runtime(2).block_on(async {
        for (status, body, expected) in [
            ("200 OK", "order 7", Finding::Happened(ToolResult::text("order 7"))),
            ("404 Not Found", "", Finding::NotHappened),
            ("302 Found", "", Finding::Unknown),
        ] {
            let server = answering(status, body);
            let line = server.line("/**", &["GET", "POST"], true);
            let found = courier().reconcile(lookup(&server, vec![line])).await;
            assert_eq!((found, server.hits()), (Some(expected), 1));
        }
        let server = answering("500 Oh", "");
        let found = courier().reconcile(lookup(&server, vec![server.line("/**", &["GET"], true)])).await;
        assert!(matches!(found, Some(Finding::Failed(failure)) if failure.kind == kind::TRAPPED));
    });
}

#[test]
fn it_holds_what_reads_and_ends_with_its_limits() {
    runtime(2).block_on(async {
        // Without a grant for GET it cannot look; that it may post helps nothing.
        let server = answering("200 OK", "order 7");
        let found = courier().reconcile(lookup(&server, vec![server.line("/**", &["POST"], true)])).await;
        assert_eq!((found, server.hits()), (Some(Finding::Unknown), 0));

        let silent = Server::start(|stream| {
            let mut held_open = stream;
            std::io::Read::read_to_end(&mut held_open, &mut Vec::new()).ok();
        });
        let limits = Limits { time: Duration::from_millis(300), ..Limits::default() };
        let line = silent.line("/**", &["GET"], true);
        let found = courier().reconcile(Attempt { limits, ..lookup(&silent, vec![line]) }).await;
        assert!(matches!(found, Some(Finding::Failed(failure)) if failure.kind == kind::OUT_OF_TIME));

        let large = answering("200 OK", &"x".repeat(2048));
        let limits = Limits { output_bytes: 1024, ..Limits::default() };
        let line = large.line("/**", &["GET"], true);
        let found = courier().reconcile(Attempt { limits, ..lookup(&large, vec![line]) }).await;
        assert!(matches!(found, Some(Finding::Failed(failure)) if failure.kind == kind::TOO_LARGE));
    });
}

#[test]
fn a_plugin_without_the_export_is_not_asked() {
    runtime(1).block_on(async {
        let asked = Attempt { tool: "echo".into(), ..attempt("echo", json!({"text": "x"})) };
        assert_eq!(probe().reconcile(asked).await, None);
    });
}
