//! Who gets in, and how far: every endpoint against everybody who should not.

use serde_json::{Value, json};

use super::{Client, Serving};
use crate::e2e::TestEnvironment;

const NO_CHAIN: &str = "ch_00000000000000000000000000";
const NO_PAUSE: &str = "pa_00000000000000000000000000";
const DOCUMENT: &str = include_str!("../../host/src/server/api/openapi.json");
/// Of these anybody may know.
const OPEN: [&str; 3] = ["/healthz", "/readyz", "/api/v1/openapi.json"];

/// Method and path of every operation in the document, ids filled in.
fn endpoints() -> Vec<(String, String)> {
    let document: Value = serde_json::from_str(DOCUMENT).unwrap();
    let paths = document["paths"].as_object().unwrap();
    let mut found = Vec::new();
    for (path, methods) in paths {
        let id = if path.contains("/pauses/") { NO_PAUSE } else { NO_CHAIN };
        found.extend(methods.as_object().unwrap().keys().map(|method| (method.to_uppercase(), path.replace("{id}", id))));
    }
    assert!(found.len() > 15, "{found:?}");
    found
}

fn closed() -> impl Iterator<Item = (String, String)> {
    endpoints().into_iter().filter(|(_, path)| !OPEN.contains(&path.as_str()))
}

#[test]
fn nobody_gets_in_without_a_token_that_is_known() {
    let env = TestEnvironment::new();
    let server = Serving::new(&env);
    let nobody = server.nobody();
    for (method, path) in closed() {
        let answer = nobody.send(&method, &path, &[], "");
        assert_eq!((answer.status, answer.problem().as_str()), (401, "not-authenticated"), "{method} {path}");
        assert!(answer.header("www-authenticate").is_some(), "{method} {path}");
    }
    for wrong in ["Bearer pgt_0", "Basic YWxpY2U6eA==", "Bearer", ""] {
        assert_eq!(nobody.send("GET", "/api/v1/pauses", &[("authorization", wrong)], "").status, 401, "{wrong}");
    }
    for path in OPEN {
        assert_eq!(nobody.get(path).status, 200, "{path}");
    }
    let page = nobody.send("GET", "/", &[("accept", "text/html")], "");
    assert_eq!((page.status, page.body.contains("pausegate token login")), (401, true), "a person is shown the way in: {page:?}");
    assert_eq!((page.status, page.header("content-type")), (401, Some("text/html; charset=utf-8")), "a person is shown the way in");
}

#[test]
fn w70_a_page_elsewhere_reaches_nothing_under_any_name() {
    let env = TestEnvironment::new();
    let server = Serving::new(&env);
    let alice = server.client("alice", "admin");
    for (method, path) in endpoints() {
        // Before the token is looked at, and before the body is.
        let evil = [("host", "evil.test"), ("origin", "https://evil.test"), ("content-type", "application/json")];
        for client in [&alice, &server.nobody()] {
            let answer = client.send(&method, &path, &evil, "{\"prompt\":");
            assert_eq!((answer.status, answer.problem().as_str()), (403, "wrong-host"), "{method} {path}");
        }
        if method != "GET" {
            for (name, value) in
                [("origin", "https://evil.test"), ("origin", "null"), ("sec-fetch-site", "cross-site"), ("sec-fetch-site", "same-site")]
            {
                let answer = alice.send(&method, &path, &[(name, value), ("content-type", "application/json")], "{");
                assert_eq!((answer.status, answer.problem().as_str()), (403, "wrong-origin"), "{method} {path} {name}: {value}");
            }
        }
        let answer = alice.send("OPTIONS", &path, &[("origin", "https://evil.test"), ("access-control-request-method", "POST")], "");
        assert!(answer.headers.iter().all(|(name, _)| !name.starts_with("access-control-")), "{answer:?}");
    }
}

#[test]
fn a_token_does_what_its_scopes_say_and_no_more() {
    let env = TestEnvironment::new();
    env.script(json!([{"text": "Nothing to do."}]));
    let server = Serving::new(&env);
    let owner = server.client("owner", "run");
    let chain = owner.start("Nothing");
    let clients = ["read", "run", "approve"].map(|scope| (scope, server.client(scope, scope)));
    let post = |client: &Client, path: &str, body: &str| {
        client.send("POST", path, &[("content-type", "application/json"), ("if-match", "\"sha256:0\"")], body).status
    };
    for (scope, client) in &clients {
        let may = |wanted: &[&str], yes: u16| if wanted.contains(scope) { yes } else { 403 };
        assert_eq!(client.get("/metrics").status, may(&["read"], 200), "{scope}");
        assert_eq!(client.get("/api/v1/plugins").status, may(&["read"], 200), "{scope}");
        assert_eq!(client.get("/api/v1/tools").status, may(&["read", "run"], 200), "{scope}");
        assert_eq!(post(client, "/api/v1/chains", "{}"), may(&["run"], 422), "{scope}");
        for act in ["resume", "cancel", "fork"] {
            // A chain of somebody else's is not there for who may not look at all.
            assert_eq!(post(client, &format!("/api/v1/chains/{chain}/{act}"), "{}"), may(&["run"], 404), "{scope} {act}");
        }
        assert_eq!(post(client, &format!("/api/v1/chains/{chain}/say"), r#"{"message":"x"}"#), may(&["run"], 404), "{scope}");
        assert_eq!(post(client, &format!("/api/v1/pauses/{NO_PAUSE}/decision"), "{}"), may(&["approve"], 422), "{scope}");
        let known = if *scope == "read" { 200 } else { 404 };
        assert_eq!(client.get(&format!("/api/v1/chains/{chain}")).status, known, "{scope}");
        assert_eq!(client.get(&format!("/api/v1/chains/{chain}/events")).status, known, "{scope}");
        let listed = client.get("/api/v1/chains").json().as_array().unwrap().len();
        assert_eq!(listed, usize::from(*scope == "read"), "{scope}");
    }
    assert_eq!(owner.get(&format!("/api/v1/chains/{chain}")).status, 200, "its own");
    let taken = post(&owner, &format!("/api/v1/chains/{chain}/resume"), r#"{"accept_plugin":true}"#);
    assert_eq!(taken, 403, "other bytes are the operator's to take on");
}

/// Bodies of those operations that want more of one than that it is an object.
fn body_of(path: &str) -> &'static str {
    if path.ends_with("/say") { r#"{"message":"x"}"# } else { "{}" }
}

/// What the document says of each operation is what a token meets, whichever operation comes.
#[test]
fn each_operation_lets_in_the_roles_that_the_document_names_and_no_other() {
    let env = TestEnvironment::new();
    let server = Serving::new(&env);
    let document: Value = serde_json::from_str(DOCUMENT).unwrap();
    let clients = ["read", "run", "approve", "admin"].map(|scope| (scope, server.client(scope, scope)));
    let mut refused = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let security = operation.get("security").unwrap_or(&document["security"]).as_array().unwrap();
            let roles: Vec<_> = security.iter().filter_map(|way| way["token"][0].as_str()).collect();
            let by_session: Vec<_> = security.iter().filter_map(|way| way["session"][0].as_str()).collect();
            assert_eq!(roles, by_session, "{method} {path}");
            for (scope, client) in &clients {
                let filled = path.replace("{id}", if path.contains("/pauses/") { NO_PAUSE } else { NO_CHAIN });
                let headers = [("content-type", "application/json"), ("if-match", "\"sha256:0\"")];
                let body = if method == "get" { "" } else { body_of(path) };
                let (status, problem) = client.begun(&method.to_uppercase(), &filled, &headers, body);
                let may = roles.is_empty() || *scope == "admin" || roles.contains(scope);
                refused += usize::from(!may);
                match may {
                    true => assert!(![401, 403].contains(&status), "{method} {path} as {scope}: {status} {problem}"),
                    false => assert_eq!((status, problem.contains(":forbidden\"")), (403, true), "{method} {path} as {scope}: {problem}"),
                }
            }
        }
    }
    assert!(refused >= 15, "{refused}");
}

#[test]
fn what_is_no_request_is_refused_in_words() {
    let env = TestEnvironment::new();
    let server = Serving::new(&env);
    let alice = server.client("alice", "admin");
    let json = ("content-type", "application/json");
    let tag = ("if-match", "\"sha256:0000000000000000000000000000000000000000000000000000000000000000\"");
    let huge = format!("{{\"prompt\":\"{}\"}}", "x".repeat(3 << 20));
    let (reading, changing): (Vec<_>, Vec<_>) = endpoints().into_iter().partition(|(method, _)| method == "GET");
    assert!(changing.iter().all(|(method, _)| method == "POST"), "bodies of other methods are to be tried too: {changing:?}");
    // A body that nobody asked for is not read, and changes nothing.
    for (method, path) in reading.iter().filter(|(_, path)| !path.ends_with("/changes")) {
        for body in ["{", &huge] {
            let (with, without) = (alice.send(method, path, &[json], body), alice.send(method, path, &[], ""));
            assert_eq!(with.status, without.status, "{path}");
        }
    }
    for (method, path) in changing {
        for (body, statuses) in [
            ("", &[400][..]),
            ("{", &[400]),
            ("[1]", &[422]),
            ("null", &[422]),
            ("{\"a\":1,\"a\":2}", &[400]),
            ("{\"unknown\":1}", &[422]),
            ("\u{feff}{}", &[400]),
        ] {
            let answer = alice.send(&method, &path, &[json, tag], body);
            assert!(statuses.contains(&answer.status), "{path} {body}: {answer:?}");
            answer.problem();
        }
        assert_eq!(alice.send(&method, &path, &[json, tag], &huge).status, 413, "{path}");
        assert_eq!(
            alice.send(&method, &path, &[tag, ("content-type", "text/plain")], "{}").status,
            415,
            "a form of another page may send that: {path}"
        );
        assert_eq!(alice.send("DELETE", &path, &[], "").problem(), "method-not-allowed", "{path}");
    }
    for path in ["/api/v1/chains?limit=0", "/api/v1/chains?limit=x", "/api/v1/chains?limit=1001", "/api/v1/pauses?limit=-1", "/api/v1/chains?evil=1"]
    {
        assert_eq!(alice.get(path).problem(), "bad-request", "{path}");
    }
    for path in [
        "/nothing".to_owned(),
        "/api/v1/chains/x".into(),
        format!("/api/v1/chains/{NO_CHAIN}"),
        "/api/v1/chains/..%2f..%2fjournal.db".into(),
        format!("/api/v1/pauses/{NO_PAUSE}"),
        "/api/v1/pauses/pa_".into(),
        "/api/v1/pauses/%25".into(),
    ] {
        assert_eq!(alice.get(&path).problem(), "unknown", "{path}");
    }
    let long = "x".repeat(64 << 10);
    assert_eq!(alice.send("GET", "/healthz", &[("x-long", &long)], "").status, 431);
    assert_eq!(alice.get("/healthz").status, 200, "it goes on");
}

#[test]
fn every_answer_tells_browsers_to_be_strict() {
    let env = TestEnvironment::new();
    let server = Serving::new(&env);
    let alice = server.client("alice", "read");
    for path in ["/", "/login?code=x", "/api/v1/pauses", "/nothing"] {
        let answer = alice.get(path);
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"), "{path}: {policy}");
        for (name, value) in [("x-content-type-options", "nosniff"), ("x-frame-options", "DENY"), ("cache-control", "no-store")] {
            assert_eq!(answer.header(name), Some(value), "{path}");
        }
    }
}

/// The document names each route, and no other.
#[test]
fn the_document_and_the_routes_are_one() {
    let source = concat!(include_str!("../../host/src/server/api.rs"), include_str!("../../host/src/server.rs"));
    let route = regex::Regex::new(r#"\.route\("(/api/[^"]*|/metrics|/healthz|/readyz)", (.*)\)"#).unwrap();
    let mut routes = Vec::new();
    for line in source.lines() {
        for piece in line.split(".route(").skip(1) {
            let whole = format!(".route({piece}");
            let Some(found) = route.captures(&whole) else { continue };
            for method in ["get", "post", "put", "delete", "patch"] {
                if regex::Regex::new(&format!(r"\b{method}\(")).unwrap().is_match(&found[2]) {
                    routes.push((method.to_uppercase(), found[1].to_owned()));
                }
            }
        }
    }
    routes.sort();
    let document: Value = serde_json::from_str(DOCUMENT).unwrap();
    let mut documented: Vec<_> = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, methods)| methods.as_object().unwrap().keys().map(move |method| (method.to_uppercase(), path.clone())))
        .collect();
    documented.sort();
    assert_eq!(routes, documented);
    let env = TestEnvironment::new();
    let server = Serving::new(&env);
    assert_eq!(server.nobody().get("/api/v1/openapi.json").json(), document);
}

/// A plugin that may reach one origin does not reach the server that runs it, under any spelling.
#[test]
fn w22_no_plugin_reaches_its_own_server() {
    let env = TestEnvironment::new();
    env.add_plugin("fetch");
    let calls = |port: u16| {
        let hosts = ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0x7f000001", "127.1", "localhost.", "[64:ff9b::7f00:1]"];
        hosts.map(|host| json!({"id": host, "name": "fetch__get", "arguments": {"url": format!("http://{host}:{port}/healthz")}}))
    };
    // The port is known once it listens; the script is read when the model is asked.
    env.script(json!([{"text": "Nothing yet."}]));
    for granted in ["https://api.test/**", "http://127.0.0.1:PORT/**", "http://localhost:PORT/**"] {
        let server = Serving::new(&env);
        let granted = granted.replace("PORT", &server.port.to_string());
        env.grants(&format!("[plugins.fetch]\ndigest = \"any\"\n[[plugins.fetch.http]]\nurl = \"{granted}\"\nmethods = [\"GET\"]\n"));
        env.script(json!([{"tool_calls": calls(server.port)}, {"text": "Nothing."}]));
        let alice = server.client(&format!("a{}", server.port), "run,read");
        let chain = alice.start("reach the server");
        let ended = alice.until_status(&chain, "completed");
        let results: Vec<_> = ended["calls"].as_array().unwrap().iter().map(|call| &call["status"]).collect();
        assert!(results.len() == 8 && results.iter().all(|status| **status == "failed"), "{granted}: {ended}");
        assert!(!ended["calls"].to_string().contains("ok\\n"), "{ended}");
    }
}
