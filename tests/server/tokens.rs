//! Tokens and browsers' sessions.

use super::Serving;
use crate::e2e::TestEnvironment;

#[test]
fn a_token_is_shown_once_listed_and_revoked_at_once() {
    let env = TestEnvironment::new();
    let server = Serving::new(&env);
    assert!(server.said().contains("nobody may speak to it yet"), "{}", server.said());
    let alice = server.client("alice", "read,approve");
    assert_eq!(alice.get("/api/v1/pauses").status, 200);
    let listed = env.pausegate(&["token", "list", "--json"]);
    let row = &listed.json()[0];
    assert_eq!((&row["name"], &row["scopes"], &row["expired"]), (&"alice".into(), &serde_json::json!(["read", "approve"]), &false.into()));
    assert!(!listed.stdout.contains("pgt_") && !listed.stdout.contains("sha256"), "{listed}");
    assert_eq!(env.pausegate(&["token", "create", "alice", "--can", "admin"]).code, Some(2));
    assert_eq!(env.pausegate(&["token", "create", "Alice", "--can", "admin"]).code, Some(64));
    assert_eq!(env.pausegate(&["token", "create", "bob", "--can", "everything"]).code, Some(64));
    assert_eq!(env.pausegate(&["token", "revoke", "alice"]).code, Some(0));
    assert_eq!(alice.get("/api/v1/pauses").status, 401, "the server asks the store each time");
    assert_eq!(env.pausegate(&["token", "revoke", "alice"]).code, Some(66));
}

#[test]
fn wrong_tokens_are_limited_and_a_right_one_is_let_in() {
    let env = TestEnvironment::new();
    let server = Serving::new(&env);
    let (alice, mut wrong) = (server.client("alice", "read"), server.nobody());
    wrong.token = Some("pgt_wrong".into());
    let statuses: Vec<_> = (0..25).map(|_| wrong.get("/api/v1/pauses").status).collect();
    assert_eq!((statuses[0], statuses[19], statuses[20], statuses[24]), (401, 401, 429, 429));
    assert!(wrong.get("/api/v1/pauses").header("retry-after").is_some());
    assert_eq!(alice.get("/api/v1/pauses").status, 200, "behind a proxy an address is many people");
}

#[test]
fn a_browser_logs_in_once_by_a_button_and_speaks_from_its_own_page_alone() {
    let env = TestEnvironment::new();
    let server = Serving::new(&env);
    server.client("alice", "read,approve");
    let base = format!("http://127.0.0.1:{}", server.port);
    let link = env.pausegate(&["token", "login", "alice", "--url", &base]).stdout;
    let path = link.trim().strip_prefix(&base).unwrap();
    let browser = server.nobody();
    // A mail scanner that follows the link uses nothing up.
    for _ in 0..2 {
        let shown = browser.get(path);
        assert!(shown.status == 200 && shown.header("set-cookie").is_none() && shown.body.contains("<button"), "{shown:?}");
    }
    let code = path.split_once("code=").unwrap().1;
    let own = ("origin", base.as_str());
    let form = ("content-type", "application/x-www-form-urlencoded");
    let evil = browser.send("POST", "/login", &[form, ("origin", "https://evil.test")], &format!("code={code}"));
    assert_eq!(evil.status, 403, "nobody is logged in by another page");
    let logged_in = browser.send("POST", "/login", &[form, own], &format!("code={code}"));
    assert_eq!(logged_in.status, 303, "{logged_in:?}");
    let set = logged_in.header("set-cookie").unwrap();
    assert!(set.contains("; HttpOnly; SameSite=Strict;"), "{set}");
    let cookie = ("cookie", set.split(';').next().unwrap());
    assert_eq!(browser.send("POST", "/login", &[form, own], &format!("code={code}")).status, 401, "a link works once");

    assert_eq!(browser.send("GET", "/", &[cookie], "").status, 200);
    assert_eq!(browser.send("GET", "/api/v1/pauses", &[cookie], "").status, 200);
    let decision = "/api/v1/pauses/pa_00000000000000000000000000/decision";
    let json = ("content-type", "application/json");
    assert_eq!(browser.send("POST", decision, &[cookie, json], "{}").status, 403, "it does not say where it comes from");
    assert_eq!(browser.send("POST", decision, &[cookie, json, ("origin", "https://evil.test")], "{}").status, 403);
    assert_eq!(browser.send("POST", decision, &[cookie, json, ("sec-fetch-site", "same-site")], "{}").status, 403);
    assert_eq!(browser.send("POST", decision, &[cookie, json, own], "{}").status, 428, "from its own page it is looked at");

    assert_eq!(browser.send("POST", "/logout", &[cookie, own], "").status, 303);
    assert_eq!(browser.send("GET", "/api/v1/pauses", &[cookie], "").status, 401);
}

#[test]
fn another_address_needs_a_word_and_a_taken_port_is_said() {
    let env = TestEnvironment::new();
    let server = Serving::new(&env);
    let refused = env.pausegate(&["serve", "--listen", "0.0.0.0:0"]);
    assert!(refused.code == Some(64) && refused.stderr.contains("--allow-remote"), "{refused}");
    let taken = env.pausegate(&["serve", "--listen", &format!("127.0.0.1:{}", server.port)]);
    assert!(taken.code == Some(69) && taken.stderr.contains("cannot listen"), "{taken}");
    assert_eq!(env.pausegate(&["serve", "--public-url", "https://gate.example/path"]).code, Some(64));
    assert_eq!(server.end(), Some(0));
}

/// The store is what runs the host: no grant holds it.
#[test]
fn no_grant_reaches_the_token_store() {
    let env = TestEnvironment::new();
    env.pausegate(&["token", "create", "alice", "--can", "read"]);
    let state = env.path("home/.local/state/pausegate");
    assert!(state.join("journal.db.tokens").is_file());
    for path in [state.join("journal.db.tokens"), state] {
        env.grants(&format!(
            "[plugins.files]\ndigest = \"any\"\n[[plugins.files.fs]]\npath = \"{}\"\nmount = \"/x\"\naccess = \"read\"\n",
            path.display()
        ));
        assert_eq!(env.pausegate(&["tools"]).code, Some(78), "{}", path.display());
    }
}
