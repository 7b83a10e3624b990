//! Who decides: people and not identities, as many as the rules want, and not who asked.

use std::num::NonZeroU32;

use serde_json::{Value, json};

use super::twins::{World, calls, pauses, rule, say, turn};
use crate::capability::{Grants, People, Rule, Verdict};
use crate::chain::Actor;
use crate::event::Event;
use crate::pause::{Pause, PauseStatus};
use crate::runner::{HostError, Rest};
use crate::state::ChainState;
use crate::state::decide::Refused;

fn actors(names: &[&str]) -> Vec<Actor> {
    names.iter().map(|name| Actor((*name).to_owned())).collect()
}

/// Alice and bob have two identities each; carol has no line.
fn people() -> People {
    let person = |name: &str| (name.to_owned(), actors(&[&format!("os:{name}@host"), &format!("token:{name}")]));
    People([person("alice"), person("bob")].into())
}

fn quorum(tool: &str, quorum: u32) -> Rule {
    Rule { quorum: NonZeroU32::new(quorum).unwrap(), ..rule(tool, Verdict::Ask) }
}

async fn paused(turns: Value, rules: Vec<Rule>) -> (World, ChainState, Pause) {
    let world = World::new(turns).restarted(Grants { rules, people: people(), ..Grants::default() });
    let report = world.run().await;
    assert!(matches!(report.rest, Rest::Paused), "{:?}", report.rest);
    let pause = pauses(&report.state)[0].clone();
    (world, report.state, pause)
}

fn refused(result: Result<impl std::fmt::Debug, HostError>) -> Refused {
    match result {
        Err(HostError::Refused(refused)) => refused,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

fn approve() -> Value {
    json!({"decision": "approve"})
}

/// Status of the pause and how many votes it has.
fn stands(state: &ChainState, pause: &Pause) -> (PauseStatus, usize) {
    let pause = state.pause(&pause.id).unwrap();
    (pause.status, pause.votes.len())
}

#[tokio::test]
async fn a_quorum_counts_people_once_whatever_identity_they_come_with() {
    let (world, state, pause) = paused(json!([turn(&["ok"]), say("done")]), vec![quorum("t__ok", 2)]).await;
    let first = world.decide(&pause.id, json!({"decision": "approve", "note": "fine", "digest": pause.digest})).await.unwrap();
    assert_eq!(stands(&first, &pause), (PauseStatus::Open, 1));
    for again in ["os:alice@host", "token:alice"] {
        let same = world.decide_as(again, &pause.id, approve()).await.unwrap();
        assert_eq!(stands(&same, &pause), (PauseStatus::Open, 1), "{again} has voted");
    }
    assert!(matches!(world.resume(&state.id).await.rest, Rest::Paused), "one vote opens nothing");
    assert!(world.ran().is_empty());
    let decided = world.decide_as("token:bob", &pause.id, approve()).await.unwrap();
    assert_eq!(stands(&decided, &pause), (PauseStatus::Approved, 1));
    assert_eq!(calls(&world.resume(&state.id).await.state), [r#"ok succeeded ok {"n":0}"#]);
    let late = world.decide_as("os:carol@host", &pause.id, approve()).await.unwrap();
    assert_eq!(stands(&late, &pause), (PauseStatus::Approved, 1), "the identical decision again changes nothing");
    let votes = world.journal.stamped(&state.id).into_iter().filter(|stamped| matches!(stamped.event, Event::VoteCounted { .. }));
    assert_eq!(votes.count(), 1);
}

#[tokio::test]
async fn the_strictest_quorum_and_every_list_of_approvers_hold() {
    let named = Rule { approvers: actors(&["os:alice@host", "token:alice", "os:bob@host"]), ..quorum("t__*", 2) };
    let (world, _, pause) = paused(json!([turn(&["ok"]), say("done")]), vec![named, quorum("t__ok", 1), rule("*", Verdict::Ask)]).await;
    assert_eq!(pause.requirements.quorum.get(), 2);
    for stranger in ["os:carol@host", "token:bob", "os:alice@other"] {
        assert!(matches!(refused(world.decide_as(stranger, &pause.id, approve()).await), Refused::NotEligible { .. }), "{stranger}");
    }
    world.decide_as("token:alice", &pause.id, approve()).await.unwrap();
    let decided = world.decide_as("os:bob@host", &pause.id, approve()).await.unwrap();
    assert_eq!(stands(&decided, &pause), (PauseStatus::Approved, 1));
}

#[tokio::test]
async fn one_denial_is_enough_also_of_somebody_who_had_approved() {
    for by in ["os:bob@host", "token:alice"] {
        let (world, state, pause) = paused(json!([turn(&["ok"]), say("done")]), vec![quorum("t__ok", 3)]).await;
        world.decide(&pause.id, approve()).await.unwrap();
        let denied = world.decide_as(by, &pause.id, json!({"decision": "deny"})).await.unwrap();
        assert_eq!(stands(&denied, &pause), (PauseStatus::Denied, 1));
        assert!(calls(&world.resume(&state.id).await.state)[0].starts_with("ok denied"));
        assert!(world.ran().is_empty());
    }
}

#[tokio::test]
async fn an_edit_under_a_quorum_is_asked_anew_and_takes_no_vote_along() {
    let (world, state, pause) = paused(json!([turn(&["ok"]), say("done")]), vec![quorum("t__ok", 2)]).await;
    world.decide_as("os:bob@host", &pause.id, approve()).await.unwrap();
    let edited = world.decide(&pause.id, json!({"decision": "edit", "arguments": {"n": 7}})).await.unwrap();
    assert_eq!(stands(&edited, &pause).0, PauseStatus::Edited);
    let anew = pauses(&edited)[0].clone();
    assert!(anew.votes.is_empty() && *anew.arguments == json!({"n": 7}) && anew.difference.is_some());
    world.decide(&anew.id, approve()).await.unwrap();
    assert!(world.ran().is_empty());
    world.decide_as("os:bob@host", &anew.id, approve()).await.unwrap();
    assert_eq!(calls(&world.resume(&state.id).await.state), [r#"ok succeeded ok {"n":7}"#]);
}

#[tokio::test]
async fn answers_of_a_quorum_must_agree_and_the_last_word_of_each_counts() {
    let (world, state, pause) = paused(json!([turn(&["pick"]), say("done")]), vec![quorum("t__pick", 2), rule("t__pick", Verdict::Allow)]).await;
    for by in ["os:alice@host", "os:bob@host"] {
        world.decide_as(by, &pause.id, approve()).await.unwrap();
    }
    let question = pauses(&world.resume(&state.id).await.state)[0].clone();
    let respond = |value: &str| json!({"decision": "respond", "value": value});
    for (by, value, votes) in [("os:alice@host", "red", 1), ("os:bob@host", "blue", 2), ("os:alice@host", "red", 2), ("os:alice@host", "green", 3)] {
        let counted = world.decide_as(by, &question.id, respond(value)).await.unwrap();
        assert_eq!(stands(&counted, &question), (PauseStatus::Open, votes), "{by} says {value}");
    }
    assert!(
        refused(world.decide_as("os:carol@host", &question.id, json!({"decision": "respond", "value": 1})).await)
            .to_string()
            .contains("does not fit")
    );
    let red = world.decide_as("os:carol@host", &question.id, respond("red")).await.unwrap();
    assert_eq!(stands(&red, &question).0, PauseStatus::Open, "alice has changed her mind");
    let blue = world.decide_as("token:alice", &question.id, respond("blue")).await.unwrap();
    assert_eq!(stands(&blue, &question).0, PauseStatus::Responded);
}

#[tokio::test]
async fn h54_who_started_the_chain_does_not_decide_where_the_rules_say_so() {
    let others = Rule { exclude_requester: true, ..rule("t__ask", Verdict::Ask) };
    let (world, state, pause) = paused(json!([turn(&["ask"]), say("done")]), vec![others]).await;
    for requester in ["os:alice@host", "token:alice"] {
        for decision in
            [approve(), json!({"decision": "deny"}), json!({"decision": "respond", "value": 1}), json!({"decision": "edit", "arguments": {}})]
        {
            let refusal = refused(world.decide_as(requester, &pause.id, decision).await);
            assert!(matches!(refusal, Refused::Requester { .. }), "{requester}: {refusal}");
        }
    }
    world.decide_as("os:bob@host", &pause.id, approve()).await.unwrap();
    assert_eq!(calls(&world.resume(&state.id).await.state), [r#"ask succeeded did {"n":0}"#]);
}

#[tokio::test]
async fn joining_identities_later_asks_anew_where_people_are_counted() {
    let rules = vec![quorum("t__ok", 2)];
    let (world, state, pause) = paused(json!([turn(&["ok"]), say("done")]), rules.clone()).await;
    world.decide(&pause.id, approve()).await.unwrap();
    let mut joined = people();
    joined.0.insert("carol".into(), actors(&["os:carol@host", "token:carol"]));
    let changed = world.restarted(Grants { rules, people: joined, ..Grants::default() });
    let report = changed.resume(&state.id).await;
    assert_eq!(stands(&report.state, &pause).0, PauseStatus::Superseded);
    assert!(pauses(&report.state)[0].votes.is_empty());
}
