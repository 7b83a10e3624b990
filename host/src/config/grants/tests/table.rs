//! Each capability under each kind of line, on the real doors: the table in THREATS.md is what comes out here.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::call::ToolResult;
use crate::capability::judge::{CallFacts, Judgement};
use crate::chain::ChainId;
use crate::config::{Places, grants};
use crate::plugin::tests::web::{OK, Server};
use crate::plugin::tests::{attempt, probe};
use crate::plugin::{Ended, Plugins as _};

/// One thing that a plugin does.
struct Row {
    what: &'static str,
    /// The line that is for it, without `when`.
    line: String,
    /// What stands in the section whatever the column is.
    beside: String,
    tool: &'static str,
    arguments: Value,
}

const WHEN: &str = "when = \"approved\"\n";

fn rows(dir: &Path, server: &Server) -> Vec<Row> {
    let fs = |access: &str| format!("[[plugins.probe.fs]]\npath = {dir:?}\nmount = \"/d\"\naccess = \"{access}\"\n");
    let none = format!("[[plugins.probe.fs]]\npath = {:?}\nmount = \"/d/shut\"\naccess = \"none\"\n", dir.join("shut"));
    let http = |host: &str, method: &str, private: bool| {
        format!("[[plugins.probe.http]]\nurl = \"http://{host}:{}/**\"\nmethods = [\"{method}\"]\nprivate = {private}\n", server.port)
    };
    let kv = |access: &str| format!("[[plugins.probe.kv]]\naccess = \"{access}\"\n");
    let file = |op: &str, path: &str| json!({"op": op, "path": path});
    let request = |method: &str, url: String| json!({"method": method, "url": url, "body": if method == "GET" { "" } else { "x" }});
    let plain = |what, line: String, tool, arguments| Row { what, line, beside: String::new(), tool, arguments };
    let after = json!({"ops": [{"op": "write", "path": "/free/x"}, {"op": "write", "path": "/d/x"}]});
    let free = fs("write").replace("\"/d\"", "\"/free\"");
    let secret = "secret = { name = \"MISSING_KEY\", source = \"env\", header = \"x-key\" }\n";
    vec![
        plain("`fs` read", fs("read"), "fs", file("read", "/d/a")),
        plain("`fs` write", fs("write"), "fs", file("write", "/d/new")),
        Row { beside: free, ..plain("`fs` write after another effect", fs("write"), "fs_all", after) },
        Row { beside: none, ..plain("`fs` below a `none` line", fs("write"), "fs", file("write", "/d/shut/x")) },
        plain("`http` GET", http("api.test", "GET", true), "http", request("GET", server.url("/"))),
        plain("`http` POST", http("api.test", "POST", true), "http", request("POST", server.url("/"))),
        plain(
            "`http` to a private address, without `private`",
            http("127.0.0.1", "GET", false),
            "http",
            request("GET", format!("http://127.0.0.1:{}/", server.port)),
        ),
        plain("`http` with a secret that is missing", http("api.test", "GET", true) + secret, "http", request("GET", server.url("/"))),
        plain("`kv` get", kv("read"), "kv", json!({"op": "get", "key": "a"})),
        plain("`kv` set", kv("write"), "kv", json!({"op": "set", "key": "a", "value": "x"})),
    ]
}

impl Row {
    /// With this much of the line in the file.
    fn judge(&self, line: &str) -> Judgement {
        let text = format!("version = 1\n[plugins.probe]\ndigest = \"any\"\n{}{line}", self.beside);
        let grants =
            grants::read(text.as_bytes(), Path::new("/g/grants.toml"), &Places::default(), "h").unwrap_or_else(|error| panic!("{error}\n{text}"));
        let tool = probe().catalog().into_iter().find(|tool| tool.tool == self.tool).unwrap();
        grants.judge(CallFacts {
            plugin: "probe",
            plugin_digest: &tool.plugin_digest,
            tool: &tool.name,
            effects: tool.effects,
            arguments: &self.arguments,
            today: "2026-06-15".parse().unwrap(),
        })
    }

    async fn comes_of(&self, line: &str, approved: bool) -> &'static str {
        let judgement = self.judge(line);
        let mut attempt = attempt(self.tool, self.arguments.clone());
        attempt.chain = ChainId("ch_table".into());
        attempt.held = if approved { judgement.held.with(&judgement.opens) } else { judgement.held };
        let outcome = probe().call(attempt).await;
        match (&outcome.ended, outcome.refusals.first()) {
            (Ended::HeldBack(_), _) => "held back, asked",
            (_, Some(refusal)) if refusal.allow_with.starts_with('[') => "refused, with the line",
            (Ended::Result(ToolResult::Failure(failure)), Some(_)) if failure.kind == "auth-required" => "`auth-required`, nothing sent",
            (_, Some(_)) => "refused",
            (Ended::Result(ToolResult::Success { .. }), None) if outcome.uses.effectful() => "done, counted",
            (Ended::Result(ToolResult::Success { .. }), None) => "done",
            other => panic!("{}: {other:?}", self.what),
        }
    }

    /// The line under `when = "approved"`: nothing binds it, so it says that it is whole.
    fn approved_only(&self) -> String {
        let scope = if self.line.contains(".kv]]") { "" } else { "scope = \"whole\"\n" };
        format!("{}{WHEN}{scope}", self.line)
    }
}

#[tokio::test]
async fn the_table_of_capabilities_is_what_the_doors_do() {
    let (dir, server) = (tempfile::tempdir().unwrap(), Server::fixed(OK));
    std::fs::create_dir(dir.path().join("shut")).unwrap();
    let mut table =
        "| capability | no line | a line | `when = \"approved\"`, not approved | approved |\n| --- | --- | --- | --- | --- |\n".to_owned();
    for row in rows(dir.path(), &server) {
        std::fs::write(dir.path().join("a"), "a").unwrap();
        let only = row.approved_only();
        let cells =
            [row.comes_of("", false).await, row.comes_of(&row.line, false).await, row.comes_of(&only, false).await, row.comes_of(&only, true).await];
        _ = writeln!(table, "| {} | {} |", row.what, cells.join(" | "));
    }
    let threats = include_str!("../../../../../THREATS.md");
    assert!(threats.contains(&table), "the table in THREATS.md differs from\n{table}");
}
