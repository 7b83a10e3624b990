//! A chain's past: looked at, forked from, put through other rules.

use insta::assert_snapshot;
use serde_json::json;

use super::TestEnvironment;

/// The main job with its first deletion approved and carried out, and its second open.
fn half_done() -> (TestEnvironment, String) {
    let env = TestEnvironment::new();
    env.script_of_the_main_job();
    env.pausegate(&["run", "clean up", "--model", "script:turns.json"]);
    let chain = env.chains()[0].clone();
    env.normal(&chain);
    env.pausegate(&["approve", &env.pending()[0]]);
    env.pausegate(&["resume", &chain]);
    assert_eq!(env.build(), ["b.tmp", "keep.txt"]);
    (env, chain)
}

#[test]
fn an_earlier_state_is_shown_in_every_form() {
    let (env, chain) = half_done();
    let whole = env.pausegate(&["inspect", &chain, "--json"]).json();
    let events = whole["events"].as_array().unwrap();
    let asked = 1 + events.iter().rposition(|event| event["kind"] == "TurnReceived").unwrap();
    let at = asked.to_string();
    assert_snapshot!(env.pausegate(&["inspect", &chain, "--at", &at]), @r#"
    $ pausegate inspect ch_1 --at 6
    chain ch_1 runnable
      as it was  after event 6 of 15, at [TIME]
      started    0 s ago by [ME]
      model      script:[TMP]/work/turns.json, 2 of 20 calls
      events     6; `inspect --at N` shows it after one, `fork --at N` goes on from there
    user
      clean up
    model, event 2
      Looking first.
    call files__list {"path":"/build"}
      succeeded, 1 attempt, call list, event 5
      done: a.tmp\nb.tmp\nkeep.txt
    call files__delete {"path":"/build/a.tmp"}
      requested, 0 attempts, call a, event 6
    call files__delete {"path":"/build/b.tmp"}
      requested, 0 attempts, call b, event 6
    --- exit 0
    "#);
    let then = env.pausegate(&["inspect", &chain, "--at", &at, "--json"]).json();
    assert_eq!((then["events"].as_array().unwrap().len(), &then["seq"]), (asked, &json!(asked)));
    let opened = 1 + events.iter().position(|event| event["kind"] == "PauseOpened").unwrap();
    let waiting = env.pausegate(&["inspect", &chain, "--at", &opened.to_string()]).stdout;
    assert!(waiting.contains(" open: files__delete") && !waiting.contains("pausegate "), "no command is offered for what is past: {waiting}");
    let messages = env.pausegate(&["inspect", &chain, "--at", "1", "--messages"]).json();
    assert_eq!(messages.as_array().unwrap().len(), 1);
    let head = events.len().to_string();
    // A second may pass between the two.
    let shown = |args: &[&str]| env.normal(&env.pausegate(args).stdout);
    assert_eq!(shown(&["inspect", &chain, "--at", &head]), shown(&["inspect", &chain]));
    assert_snapshot!(env.pausegate(&["inspect", &chain, "--at", "99"]), @r"
    $ pausegate inspect ch_1 --at 99
    --- stderr
    error: chain ch_1 has 15 events; there is no event 99
    --- exit 65
    ");
    assert_eq!(env.pausegate(&["inspect", &chain, "--at", "0"]).code, Some(64));

    // What came before a damaged event can still be looked at.
    let sql = rusqlite::Connection::open(env.path("home/.local/state/pausegate/journal.db")).unwrap();
    sql.execute("UPDATE event SET payload = 'null' WHERE seq = ?1", [asked as i64 + 1]).unwrap();
    assert_eq!(env.pausegate(&["inspect", &chain]).code, Some(78));
    assert_eq!(env.pausegate(&["inspect", &chain, "--at", &at, "--json"]).json(), then);
    assert_eq!(env.pausegate(&["inspect", &chain, "--at", &head]).code, Some(78));
}

#[test]
fn h78_a_fork_keeps_results_and_asks_anew() {
    let (env, chain) = half_done();
    let before = env.pausegate(&["inspect", &chain]).stdout;
    assert_snapshot!(env.pausegate(&["fork", &chain]), @r"
    $ pausegate fork ch_1
    ch_2
    --- stderr
    chain ch_2 is forked from ch_1 after event 15; no pause, decision or approval came along
      nor did values that plugins kept for ch_1 alone
      pausegate resume ch_2
    --- exit 0
    ");
    let fork = env.chains()[0].clone();
    assert_eq!(env.pausegate(&["resume", &fork]).code, Some(75));
    let pending: Vec<_> = env.pausegate(&["pending", "--json"]).json().as_array().unwrap().iter().map(|row| row["chain"].clone()).collect();
    assert_eq!(pending, [json!(chain), json!(fork)]);
    env.pausegate(&["approve", &env.pending()[1]]);
    let shown = env.pausegate(&["resume", &fork]);
    assert_eq!((shown.code, env.build()), (Some(0), vec!["keep.txt".to_owned()]), "{shown}");
    assert_eq!(env.normal(&env.pausegate(&["inspect", &chain]).stdout), env.normal(&before));
    let forked = env.pausegate(&["inspect", &fork, "--json"]).json()["forked"].clone();
    assert_eq!(forked["chain"], json!(chain));

    let again = env.pausegate(&["fork", &fork, "--at", "1", "--json"]).json();
    assert_eq!((&again["status"], &again["forked"]), (&json!("runnable"), &json!({"chain": fork, "seq": 1})));
    assert_eq!(env.pausegate(&["fork", &fork, "--at", "999"]).code, Some(65));
    assert_eq!(env.pausegate(&["fork", "ch_z"]).code, Some(66));
}

#[test]
fn a_replay_says_what_todays_rules_decide_otherwise() {
    let (env, chain) = half_done();
    assert_snapshot!(env.pausegate(&["replay", &chain]), @r"
    $ pausegate replay ch_1
    chain ch_1: 15 events, 3 calls judged
    the same would be decided today
    --- exit 0
    ");
    env.grants(&format!("{}\n[[rules]]\ntool = \"files__list\"\neffect = \"deny\"\n", super::environment::FILES_GRANTS));
    assert_snapshot!(env.pausegate(&["replay", &chain]), @r#"
    $ pausegate replay ch_1
    chain ch_1: 15 events, 3 calls judged
    event 2: files__list {"path":"/build"}
      then allowed, now denied
      grants.toml:16: deny files__list
    it differs
    --- exit 1
    "#);
    let replayed = env.pausegate(&["replay", &chain, "--json"]).json();
    assert_eq!((&replayed["same"], &replayed["faults"]), (&json!(false), &json!([])));
    assert_eq!(replayed["calls"][0]["now"], json!({"admission": "denied"}));
    assert_eq!(env.pausegate(&["replay", "ch_z"]).code, Some(66));
}
