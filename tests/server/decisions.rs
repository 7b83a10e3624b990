//! Decisions over HTTP: who may, by what shape, once.

use std::sync::Barrier;

use serde_json::{Value, json};

use super::serving::Answer;
use super::{Client, Serving};
use crate::e2e::{FILES_GRANTS, TestEnvironment};

fn asking(env: &TestEnvironment) {
    env.script(json!([
        {"tool_calls": [{"id": "a", "name": "files__delete", "arguments": {"path": "/build/a.tmp"}}]},
        {"text": "Done."}
    ]));
}

fn ruled(env: &TestEnvironment, rule: &str) {
    env.grants(&format!("{FILES_GRANTS}\n[[rules]]\ntool = \"files__delete\"\neffect = \"ask\"\n{rule}\n"));
}

fn first(client: &Client, chain: &str) -> (String, String) {
    let pause = &client.until_paused(chain, 1)[0];
    let text = |key: &str| pause[key].as_str().unwrap().to_owned();
    (text("id"), format!("\"{}\"", text("digest")))
}

#[test]
fn s03_s22_nothing_but_the_closed_shapes_is_a_decision_and_nobody_names_who_decides() {
    let env = TestEnvironment::new();
    asking(&env);
    let server = Serving::new(&env);
    let alice = server.client("alice", "run,read,approve");
    let (pause, tag) = first(&alice, &alice.start("clean up"));
    let path = format!("/api/v1/pauses/{pause}/decision");
    for body in [
        "",
        "{}",
        "null",
        "true",
        "1",
        "0",
        "\"approve\"",
        "[]",
        "[\"approve\"]",
        "{\"approved\":true}",
        "{\"decision\":null}",
        "{\"decision\":true}",
        "{\"decision\":\"false\"}",
        "{\"decision\":0}",
        "{\"decision\":\"Approve\"}",
        "{\"decision\":\"approve\",\"decision\":\"deny\"}",
        "{\"decision\":\"approve\",\"actor\":\"os:boss@host\"}",
        "{\"decision\":\"approve\",\"by\":\"token:boss\"}",
        "{\"decision\":\"approve\",\"value\":1}",
        "{\"decision\":\"edit\"}",
        "{\"decision\":\"respond\"}",
        "{\"decision\":\"deny\",\"then\":\"maybe\"}",
        "decision=approve",
        "{\"decision\":\"settle\",\"outcome\":\"run-again\"}",
    ] {
        for headers in [
            &[("content-type", "application/json"), ("if-match", tag.as_str())][..],
            &[("content-type", "application/x-www-form-urlencoded"), ("if-match", &tag)],
        ] {
            let answer = alice.send("POST", &path, headers, body);
            assert!([400, 415, 422].contains(&answer.status), "{body}: {answer:?}");
        }
    }
    // Headers and queries do not name anybody either, and a GET never decides.
    let spoofed = [("content-type", "application/json"), ("x-forwarded-user", "boss"), ("x-actor", "boss")];
    assert_eq!(alice.send("POST", &format!("{path}?actor=boss"), &spoofed, "{\"decision\":\"approve\"}").status, 428);
    assert_eq!(alice.get(&path).status, 405);
    for wrong in ["*", "W/\"sha256:0\"", "\"sha256:0\"", "sha256:0", &tag.replace("sha256:", "sha256:0")[..tag.len()]] {
        assert_eq!(alice.decide_as_seen(&pause, wrong, &json!({"decision": "approve"})).problem(), "digest-differs", "{wrong}");
    }
    let other = json!({"decision": "approve", "digest": format!("sha256:{}", "0".repeat(64))});
    assert_eq!(alice.decide_as_seen(&pause, &tag, &other).status, 412);
    let other = format!("\"sha256:{}\"", "0".repeat(64));
    assert_eq!(alice.decide_as_seen(&pause, &other, &json!({"decision": "approve"})).status, 412);
    assert_eq!(env.pending().len(), 1, "it still waits");
    assert!(env.build().contains(&"a.tmp".to_owned()));

    let decided = alice.send("POST", &format!("{path}?actor=boss"), &[&spoofed[..], &[("if-match", &tag)]].concat(), "{\"decision\":\"approve\"}");
    assert_eq!((decided.status, &decided.json()["decided"]["by"]), (200, &"token:alice".into()), "{decided:?}");
}

#[test]
fn h53_h54_somebody_else_may_not_decide_and_who_started_it_neither() {
    let env = TestEnvironment::new();
    asking(&env);
    ruled(
        &env,
        "approvers = [\"alice\", \"carol\"]\nexclude_requester = true\n[people]\nalice = [\"token:alice\"]\ncarol = [\"token:carol\", \"token:carol-phone\"]",
    );
    let server = Serving::new(&env);
    let [alice, bob, carol, phone] = [("alice", "run,approve"), ("bob", "approve"), ("carol", "run,approve"), ("carol-phone", "approve")]
        .map(|(name, can)| server.client(name, can));
    let looking = server.client("dave", "read,approve");
    let chain = carol.start("clean up");
    let (pause, tag) = first(&carol, &chain);
    let approve = json!({"decision": "approve"});
    // What bob may not decide is not there for him: not to look at, not to decide, not in a list.
    assert_eq!(bob.get(&format!("/api/v1/pauses/{pause}")).problem(), "unknown");
    assert_eq!(bob.decide_as_seen(&pause, &tag, &approve).problem(), "unknown");
    assert_eq!(bob.get("/api/v1/pauses").json(), json!([]));
    assert_eq!(bob.get(&format!("/api/v1/chains/{chain}")).status, 404);
    // Who may look is told who may decide.
    let refused = looking.decide_as_seen(&pause, &tag, &approve);
    assert_eq!((refused.status, refused.problem().as_str()), (403, "not-eligible"));
    assert!(refused.body.contains("token:alice"), "{refused:?}");
    // Carol started it: by another of her identities she is carol all the same.
    let own = carol.decide_as_seen(&pause, &tag, &json!({"decision": "approve", "actor": "token:alice"}));
    assert_eq!(own.status, 422);
    assert_eq!(carol.decide_as_seen(&pause, &tag, &approve).problem(), "requester");
    assert!([403, 404].contains(&phone.decide_as_seen(&pause, &tag, &approve).status));
    let shown = alice.get("/api/v1/pauses").json();
    assert_eq!((&shown[0]["id"], shown[0]["decisions"][0].as_str()), (&json!(pause), Some("approve")));
    assert_eq!(alice.decide_as_seen(&pause, &tag, &approve).status, 200);
}

#[test]
fn a_vote_is_202_until_enough_people_say_the_same() {
    let env = TestEnvironment::new();
    asking(&env);
    ruled(&env, "quorum = 2\n[people]\nalice = [\"token:alice\", \"token:alice-phone\"]");
    let server = Serving::new(&env);
    let [alice, phone, bob] =
        [("alice", "run,read,approve"), ("alice-phone", "read,approve"), ("bob", "read,approve")].map(|(name, can)| server.client(name, can));
    let (pause, _) = first(&alice, &alice.start("clean up"));
    let approve = json!({"decision": "approve"});
    assert_eq!(alice.decide(&pause, &approve).status, 202);
    let again = phone.decide(&pause, &approve);
    assert_eq!((again.status, &again.json()["before"]), (202, &true.into()), "one person has one vote");
    let decided = bob.decide(&pause, &approve);
    assert_eq!((decided.status, decided.json()["votes"].as_array().map(Vec::len)), (200, Some(1)), "{decided:?}");
}

#[test]
fn an_edit_an_answer_and_a_stop_go_through_the_same_door() {
    let env = TestEnvironment::new();
    let delete = |id: &str| json!({"id": id, "name": "files__delete", "arguments": {"path": "/build/a.tmp"}});
    env.script(json!([{"tool_calls": [delete("a")]}, {"tool_calls": [delete("b")]}, {"tool_calls": [delete("c")]}, {"text": "Done."}]));
    ruled(&env, "");
    let server = Serving::new(&env);
    let alice = server.client("alice", "run,read,approve");
    let chain = alice.start("clean up");
    let (pause, _) = first(&alice, &chain);
    assert_eq!(alice.decide(&pause, &json!({"decision": "edit", "arguments": {"paht": "/build/b.tmp"}})).problem(), "does-not-fit");
    let edited = alice.decide(&pause, &json!({"decision": "edit", "arguments": {"path": "/build/b.tmp"}}));
    assert_eq!((edited.status, &edited.json()["status"]), (200, &"edited".into()), "{edited:?}");
    let next = |before: &str| {
        alice.until(|client| {
            let open = client.get("/api/v1/pauses").json();
            open[0]["id"].as_str().filter(|id| *id != before).map(str::to_owned)
        })
    };
    let second = next(&pause);
    assert_eq!(alice.decide(&second, &json!({"decision": "respond", "value": {"deleted": false}})).status, 200);
    let third = next(&second);
    let stopped = alice.decide(&third, &json!({"decision": "deny", "then": "stop"}));
    assert_eq!((stopped.status, &stopped.json()["chain_status"]), (200, &"rejected".into()), "{stopped:?}");
    assert_eq!(env.build(), ["a.tmp", "keep.txt"], "what was edited to is what ran");
}

/// What would let the same call pass in the future is there to be copied, and only where there is such a line.
#[test]
fn a_pause_gives_the_line_that_the_operator_could_write() {
    let env = TestEnvironment::new();
    asking(&env);
    ruled(&env, "");
    let server = Serving::new(&env);
    let alice = server.client("alice", "run,read,approve");
    let (pause, _) = first(&alice, &alice.start("clean up"));
    let shown = |client: &Client| client.get(&format!("/api/v1/pauses/{pause}")).json()["standing_line"].clone();
    let line = shown(&alice).as_str().unwrap().to_owned();
    let written = env.pausegate(&["trust", "--always", &pause, "--dry-run"]);
    assert!(written.stdout.contains(line.trim()) && line.contains("/build/a.tmp"), "{line}\n{written}");
    assert_eq!(alice.get("/api/v1/pauses").json()[0].get("standing_line"), None, "a list reads no grants file for it");
    alice.decide(&pause, &json!({"decision": "deny"}));
    assert_eq!(shown(&alice), Value::Null, "nothing is asked any more");
}

/// H83: a decision is answered before its call has run; a second click says who decided, and nothing runs twice.
#[test]
fn h83_a_second_click_during_a_slow_tool_changes_nothing() {
    let env = TestEnvironment::new();
    env.add_guest("probe");
    let fs = "[[plugins.probe.fs]]\npath = \"BUILD\"\nmount = \"/build\"\naccess = \"write\"\n";
    env.grants(&format!("[plugins.probe]\ndigest = \"any\"\n{fs}[[rules]]\ntool = \"probe__*\"\neffect = \"ask\"\n"));
    let slow = json!({"path": "/build/log.txt", "line": "ran", "ms": 3000});
    env.script(json!([{"tool_calls": [{"id": "a", "name": "probe__append_then_sleep", "arguments": slow}]}, {"text": "Done."}]));
    let server = Serving::new(&env);
    let [alice, bob] = [("alice", "run,read,approve"), ("bob", "read,approve")].map(|(name, can)| server.client(name, can));
    let chain = alice.start("slowly");
    let (pause, tag) = first(&alice, &chain);
    let approve = json!({"decision": "approve"});
    let clicked = alice.decide_as_seen(&pause, &tag, &approve);
    assert_eq!((clicked.status, &clicked.json()["before"]), (200, &false.into()));
    let running = alice.until(|client| {
        let shown = client.get(&format!("/api/v1/chains/{chain}")).json();
        (shown["calls"][0]["status"] == "started").then_some(shown)
    });
    assert_eq!(running["status"], "running");
    for client in [&alice, &bob] {
        let again = client.decide_as_seen(&pause, &tag, &approve).json();
        assert_eq!((&again["before"], &again["decided"]["by"]), (&true.into(), &"token:alice".into()));
    }
    assert_eq!(alice.get(&format!("/api/v1/chains/{chain}")).json()["calls"][0]["status"], "started", "all that was answered while it runs");
    let other = bob.decide_as_seen(&pause, &tag, &json!({"decision": "deny"}));
    assert_eq!((other.problem().as_str(), &other.json()["decided"]["by"]), ("already-decided", &"token:alice".into()));
    let held = alice.post(&format!("/api/v1/chains/{chain}/resume"), &json!({}));
    assert_eq!((held.status, held.problem().as_str()), (409, "held"), "{held:?}");
    alice.until_status(&chain, "completed");
    assert_eq!(std::fs::read_to_string(env.path("work/build/log.txt")).unwrap(), "ran\n");
}

/// 8 and 64 people at two servers decide this way and that, others resume: one decision stands, the call runs at most once,
/// and everybody is told who decided.
#[test]
fn s06_of_many_deciders_at_two_servers_one_wins_and_nobody_sees_the_database() {
    for (env, many) in [(TestEnvironment::new(), 8), (TestEnvironment::new(), 64), (TestEnvironment::on_postgres(), 64)] {
        asking(&env);
        let (one, other) = (Serving::new(&env), Serving::new(&env));
        let alice = one.client("alice", "run,read,approve");
        let chain = alice.start("clean up");
        let (pause, tag) = first(&alice, &chain);
        let (barrier, ports) = (Barrier::new(many), [one.port, other.port]);
        let act = |number: usize| -> Answer {
            let client = Client { port: ports[number % 2], ..alice.clone() };
            barrier.wait();
            match number % 8 {
                7 => client.post(&format!("/api/v1/chains/{chain}/resume"), &json!({})),
                number if number < 4 => client.decide_as_seen(&pause, &tag, &json!({"decision": "approve"})),
                _ => client.decide_as_seen(&pause, &tag, &json!({"decision": "deny"})),
            }
        };
        let answers: Vec<(usize, Answer)> = std::thread::scope(|scope| {
            let act = &act;
            let acting: Vec<_> = (0..many).map(|number| scope.spawn(move || (number, act(number)))).collect();
            acting.into_iter().map(|acting| acting.join().unwrap()).collect()
        });
        let done = alice.until_status(&chain, "completed");
        let decided = &done["pauses"][0]["decided"];
        let approved = decided["decision"]["decision"] == "approve";
        let mut first = 0;
        for (number, answer) in &answers {
            let body = answer.json();
            if number % 8 == 7 {
                assert!([202, 409].contains(&answer.status), "{answer:?}");
            } else if (number % 8 < 4) == approved {
                assert_eq!((answer.status, &body["decided"]["at"]), (200, &decided["at"]), "{answer:?}");
                first += usize::from(body["before"] == false);
            } else {
                assert_eq!(
                    (answer.status, answer.problem().as_str(), &body["decided"]["at"]),
                    (409, "already-decided", &decided["at"]),
                    "{answer:?}"
                );
            }
            assert!(!answer.body.to_lowercase().contains("sql") && !answer.body.contains("journal"), "{answer:?}");
        }
        assert_eq!(first, 1, "one of them decided");
        let decisions = done["pauses"].as_array().unwrap().len();
        assert_eq!((decisions, &done["calls"][0]["attempts"]), (1, &json!(if approved { 2 } else { 1 })));
        assert_eq!(env.build().contains(&"a.tmp".to_owned()), !approved);
    }
}

/// H59, H61: what plugins and models say comes as JSON in which nothing is invisible.
#[test]
fn h59_h61_no_control_and_no_bidi_mark_comes_raw() {
    let env = TestEnvironment::new();
    let path = "/build/a\u{202e}pmt.b\u{1b}[2J\u{9b}2J\u{200b}\u{1b}]52;c;eA==\u{7}";
    env.script(json!([{"tool_calls": [{"id": "a", "name": "files__delete", "arguments": {"path": path}}]}, {"text": format!("Gone: {path}")}]));
    ruled(&env, "");
    let server = Serving::new(&env);
    let alice = server.client("alice", "run,read,approve");
    let chain = alice.start(path);
    let (pause, _) = first(&alice, &chain);
    let checked = |answer: &Answer| {
        let hidden = |c: char| (c.is_control() && !"\r\n".contains(c)) || "\u{202e}\u{200b}".contains(c);
        assert!(!answer.body.contains(hidden), "{:?}", answer.body);
    };
    let shown = alice.get(&format!("/api/v1/pauses/{pause}"));
    checked(&shown);
    assert_eq!(shown.json()["arguments"]["path"], path, "what is decided is what is there");
    checked(&alice.get("/api/v1/pauses"));
    checked(&alice.get("/api/v1/chains"));
    checked(&alice.decide(&pause, &json!({"decision": "deny", "note": path})));
    checked(&alice.decide(&pause, &json!({"decision": "approve"})));
    let done: Value = alice.until_status(&chain, "completed");
    assert!(done["answer"].as_str().unwrap().contains('\u{202e}'));
    checked(&alice.get(&format!("/api/v1/chains/{chain}")));
    checked(&alice.get(&format!("/api/v1/chains/{chain}/events")));
}

#[test]
fn which_bytes_of_a_replaced_plugin_go_on_is_asked_over_http_as_on_a_terminal() {
    let env = TestEnvironment::new();
    env.write("home/.config/pausegate/config.toml", "plugin_changed = \"ask\"\n");
    env.script(json!([{"tool_calls": [{"id": "q", "name": "survey__text", "arguments": {"reason": "when?"}}]}, {"text": "Done."}]));
    assert_eq!(env.pausegate(&["run", "ask me", "--model", "script:turns.json"]).code, Some(75));
    assert_eq!(env.pausegate(&["respond", &env.pending()[0], "--text", "Friday"]).code, Some(0));
    env.add_plugin("fetch");
    let plugins = env.path("home/.local/share/pausegate/plugins");
    std::fs::rename(plugins.join("fetch.wasm"), plugins.join("survey.wasm")).unwrap();
    let chain = env.chains()[0].clone();
    assert_eq!(env.pausegate(&["resume", &chain]).code, Some(75));

    let server = Serving::new(&env);
    let alice = server.client("alice", "run,read,approve");
    let pause = env.pending()[0].clone();
    let seen = alice.get(&format!("/api/v1/pauses/{pause}")).json();
    assert_eq!((&seen["kind"], &seen["decisions"]), (&json!("plugin_changed"), &json!(["approve", "deny", "respond"])));
    assert!(seen["context"]["changes"].to_string().contains("tool `text` is gone"), "{seen}");
    let page = alice.send("GET", &format!("/pauses/{pause}"), &[("accept", "text/html")], "");
    assert_eq!(page.status, 200, "{page:?}");
    for told in ["What changed", "tool `text` is gone", "The bytes", "value=\"pinned\"", "value=\"new\"", "value=\"deny\""] {
        assert!(page.body.contains(told), "{told}: {}", page.body);
    }
    assert!(!page.body.contains("value=\"approve\"") && !page.body.contains("value=\"edit\""), "what is chosen says which bytes");
    assert_eq!(alice.decide(&pause, &json!({"decision": "respond", "value": "neither"})).status, 422);
    assert_eq!(alice.decide(&pause, &json!({"decision": "respond", "value": "pinned"})).status, 200);
    alice.until(|client| (client.get(&format!("/api/v1/chains/{chain}")).json()["status"] == "completed").then_some(()));
}
