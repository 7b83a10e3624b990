//! Every function of every interface that the host links, with nothing granted: listed from the WIT, so that a new one
//! without a probe fails here.

use std::collections::BTreeSet;
use std::path::Path;

use super::web::{OK, Server};
use super::*;
use crate::capability::Uses;

/// How it is shown that a function reaches nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Shown {
    /// It is about memory, time, chance or what the guest says, which need no grant and have limits of their own.
    Harmless,
    /// `fs` with this operation is refused.
    Files(&'static str),
    /// `kv` with this operation is refused.
    Values(&'static str),
    /// `http` is refused.
    Requests,
    /// `sockets` finds every door shut.
    Sockets,
    /// `env` and `settings` hold nothing.
    Nothing,
}

fn shown(interface: &str, function: &str) -> Option<Shown> {
    use Shown::*;
    Some(match interface {
        "wasi:filesystem/types" => files(function)?,
        // It leads to a root from which everything is refused.
        "wasi:filesystem/preopens" => Files("list"),
        "wasi:keyvalue/store" | "wasi:keyvalue/atomics" | "wasi:keyvalue/batch" => values(function)?,
        // Not linked: a plugin that wants to be told of changes is refused at load.
        "wasi:keyvalue/watcher" => Harmless,
        "wasi:config/store" | "wasi:cli/environment" => Nothing,
        "wasi:http/outgoing-handler" => Requests,
        // What a plugin would have to offer: nobody calls it.
        "wasi:http/incoming-handler" | "wasi:cli/run" => Harmless,
        name if name.starts_with("wasi:sockets/") => Sockets,
        "wasi:http/types" => Harmless,
        name if ["wasi:io/", "wasi:clocks/", "wasi:random/"].iter().any(|package| name.starts_with(package)) => Harmless,
        "wasi:cli/exit" | "wasi:cli/stdin" | "wasi:cli/stdout" | "wasi:cli/stderr" => Harmless,
        name if name.starts_with("wasi:cli/terminal-") => Harmless,
        _ => return None,
    })
}

fn files(function: &str) -> Option<Shown> {
    use Shown::*;
    Some(match function.rsplit('.').next()? {
        "read-via-stream" | "read" | "advise" | "sync" | "sync-data" | "get-flags" | "get-type" | "open-at" => Files("read"),
        "write-via-stream" | "write" => Files("write"),
        "append-via-stream" => Files("append"),
        "set-size" => Files("set_len"),
        "set-times" | "set-times-at" => Files("set_times"),
        "read-directory" | "read-directory-entry" => Files("list"),
        "create-directory-at" => Files("mkdir"),
        "stat" | "stat-at" | "metadata-hash" | "metadata-hash-at" | "is-same-object" => Files("stat"),
        "link-at" => Files("link"),
        "readlink-at" => Files("read_link"),
        "remove-directory-at" => Files("rmdir"),
        "rename-at" => Files("rename"),
        "symlink-at" => Files("symlink"),
        "unlink-file-at" => Files("unlink"),
        "filesystem-error-code" => Harmless,
        _ => return None,
    })
}

fn values(function: &str) -> Option<Shown> {
    use Shown::*;
    Some(match function.rsplit('.').next()? {
        "open" => Values("open"),
        "get" => Values("get"),
        "set" => Values("set"),
        "delete" => Values("delete"),
        "exists" => Values("exists"),
        "list-keys" => Values("list"),
        "increment" => Values("increment"),
        "get-many" => Values("get_many"),
        "set-many" => Values("set_many"),
        "delete-many" => Values("delete_many"),
        _ => return None,
    })
}

/// Of the contract's folder, which holds all that is linked.
fn every_shown() -> BTreeSet<Shown> {
    let mut resolve = wit_parser::Resolve::default();
    resolve.push_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit")).unwrap();
    let mut found = BTreeSet::new();
    let mut lacking = Vec::new();
    for (_, interface) in resolve.interfaces.iter() {
        let (Some(name), Some(package)) = (&interface.name, interface.package) else { continue };
        let package = &resolve.packages[package].name;
        if package.namespace != "wasi" {
            continue;
        }
        let name = format!("{}:{}/{name}", package.namespace, package.name);
        for function in interface.functions.keys() {
            match shown(&name, function) {
                Some(shown) => drop(found.insert(shown)),
                None => lacking.push(format!("{name} {function}")),
            }
        }
    }
    assert!(lacking.is_empty(), "no probe shows that these reach nothing without a grant, add one to `shown`: {lacking:#?}");
    found
}

#[tokio::test]
async fn w40_every_import_reaches_nothing_without_a_grant() {
    let server = Server::fixed(OK);
    let every = every_shown();
    assert!(every.len() > 20, "the WIT was read: {every:?}");
    for shown in every {
        let tried = match shown {
            Shown::Harmless => continue,
            Shown::Files(op) => vec![("fs", json!({"op": op, "path": "/build/a", "to": "/build/b"}))],
            Shown::Values(op) => vec![("kv", json!({"op": op, "key": "", "number": 1}))],
            Shown::Requests => vec![("http", json!({"method": "GET", "url": server.url("/")}))],
            Shown::Sockets => vec![("sockets", json!({"port": server.port}))],
            Shown::Nothing => vec![("env", json!({})), ("settings", json!({}))],
        };
        for (tool, arguments) in tried {
            let outcome = call(tool, arguments).await;
            let refused = match (shown, &outcome.ended) {
                (Shown::Nothing, _) => *structured(&outcome) == json!({}),
                (Shown::Sockets, _) => text(&outcome) == "shut shut shut shut",
                (Shown::Requests, _) => failure(&outcome).kind == "denied" && !outcome.refusals.is_empty(),
                _ => text(&outcome).starts_with("error: ") && !outcome.refusals.is_empty(),
            };
            assert!(refused && outcome.uses == Uses::default(), "{shown:?}: {outcome:?}");
        }
    }
    assert_eq!(server.hits(), 0);
}

#[tokio::test]
async fn w20_a_plugin_with_requests_alone_writes_no_file() {
    let server = Server::fixed(OK);
    for op in ["write", "create", "create_new", "append", "open_rw", "mkdir", "rename", "copy", "link", "symlink"] {
        let mut attempt = attempt("fs", json!({"op": op, "path": "/tmp/body", "to": "/tmp/log"}));
        attempt.held.http = vec![server.line("/**", &["GET", "POST"], true)];
        let outcome = probe().call(attempt).await;
        assert!(text(&outcome).starts_with("error: "), "{op}: {outcome:?}");
        assert!(outcome.refusals[0].allow_with.starts_with("[[plugins.probe.fs]]"), "{op}: {:?}", outcome.refusals);
    }
}
