//! Pauses that expire, and approvers that grow with time, where the operator says so.

use std::time::Duration;

use serde_json::json;

use super::twins::{World, calls, effectful, pauses, rule, say, turn};
use crate::capability::{Escalation, Grants, Rule, Verdict};
use crate::chain::Actor;
use crate::clock::Clock;
use crate::event::Event;
use crate::pause::PauseStatus;
use crate::runner::{HostError, Rest};
use crate::state::decide::Refused;

fn expiring(seconds: u64) -> Rule {
    Rule { expires: Some(Duration::from_secs(seconds)), ..rule("t__ok", Verdict::Ask) }
}

/// The world of twins begins at 12:00.
fn at(world: &mut World, time: &str) {
    world.host.clock = Clock::fixed(format!("2026-11-29T{time}Z").parse().unwrap());
}

#[tokio::test]
async fn a_pause_can_be_decided_until_its_time_is_over() {
    for (time, decided) in [("12:59:59", true), ("13:00:01", false)] {
        let mut world = World::with_rules(json!([turn(&["ok"]), say("done")]), vec![expiring(3600), expiring(9999)]);
        let id = world.run().await.state.id;
        let pause = pauses(&world.journal.state(&id))[0].clone();
        at(&mut world, time);
        let outcome = world.decide(&pause.id, json!({"decision": "approve"})).await;
        assert_eq!(outcome.is_ok(), decided, "{outcome:?}");
        if !decided {
            // What was asked for too late ends the pause, and every later decider is told the same.
            let again = world.decide(&pause.id, json!({"decision": "approve"})).await;
            for told in [outcome, again] {
                assert!(matches!(told, Err(HostError::Refused(Refused::Gone { status: PauseStatus::Expired, .. }))), "{told:?}");
            }
        }
        let report = world.resume(&id).await;
        assert!(matches!(report.rest, Rest::Completed));
        assert_eq!(world.ran(), if decided { vec!["ok#1"] } else { vec![] });
        let told = if decided { "ok succeeded" } else { r#"ok expired {"error":{"kind":"expired","# };
        assert!(calls(&report.state)[0].starts_with(told), "{:?}", calls(&report.state));
    }
}

#[tokio::test]
async fn h35_a_call_in_doubt_that_nobody_settles_in_time_is_not_said_to_have_not_run() {
    let rules = vec![Rule { expires: Some(Duration::from_secs(60)), ..rule("t__ok", Verdict::Allow) }];
    let mut world = World::new(json!([turn(&["ok"]), say("done")])).restarted(Grants { rules, ..effectful() });
    let id = world.start().await;
    world.resume(&id).await;
    world.crash_after_start(&id);
    assert!(matches!(world.resume(&id).await.rest, Rest::Paused));
    at(&mut world, "12:02:00");
    let report = world.resume(&id).await;
    assert!(matches!(report.rest, Rest::Completed));
    assert_eq!(report.state.pauses[0].status, PauseStatus::Expired);
    assert!(calls(&report.state)[0].contains("unknown-outcome"), "{:?}", calls(&report.state));
    assert_eq!(world.ran(), ["ok#1"]);
}

/// Nothing holds a paused chain but its pause: no process has it, no clock of the host runs over it, and the limits of an
/// attempt count attempts. Only `expires` of a rule ends a wait.
#[tokio::test]
async fn h71_a_paused_chain_is_not_idle() {
    let mut world = World::new(json!([turn(&["ask", "ok"]), say("done")]));
    let id = world.run().await.state.id;
    let (events, pause) = (world.journal.stamped(&id).len(), pauses(&world.journal.state(&id))[0].clone());
    for year in [2027, 2036, 2126] {
        world.host.clock = Clock::fixed(format!("{year}-11-29T12:00:00Z").parse().unwrap());
        world.forget(&id);
        let report = world.resume(&id).await;
        assert!(matches!(report.rest, Rest::Paused), "{year}");
        assert_eq!(pauses(&report.state)[0].status, PauseStatus::Open, "{year}");
        let written = &world.journal.stamped(&id)[events..];
        assert!(!written.iter().any(|event| matches!(event.event, Event::PauseClosed { .. })), "{year}: {written:?}");
    }
    world.decide(&pause.id, json!({"decision": "approve"})).await.unwrap();
    assert!(matches!(world.resume(&id).await.rest, Rest::Completed));
    assert_eq!(world.ran(), ["ask#1", "ok#1", "ask#2"]);
}

#[tokio::test]
async fn w59_taking_the_chain_up_closes_what_has_expired_and_the_model_goes_on() {
    let mut world = World::with_rules(json!([turn(&["ok", "ask", "boom"]), say("done")]), vec![expiring(60)]);
    let id = world.run().await.state.id;
    at(&mut world, "12:02:00");
    let report = world.resume(&id).await;
    assert!(matches!(report.rest, Rest::Paused), "the plugin's own question has no time");
    let statuses: Vec<_> = report.state.calls.values().map(|call| call.status.as_str()).collect();
    assert_eq!(statuses, ["expired", "paused", "failed"]);
    world.decide(&pauses(&report.state)[0].id, json!({"decision": "deny"})).await.unwrap();
    assert!(matches!(world.resume(&id).await.rest, Rest::Completed));
    assert_eq!(world.model.asked().len(), 2);
    assert_eq!(world.journal.state(&id).pauses[0].status, PauseStatus::Expired);
}

#[tokio::test]
async fn approvers_are_more_after_a_while() {
    let boss = |name: &str| Actor(format!("os:{name}@host"));
    let escalation = Escalation { after: Duration::from_secs(3600), to: vec![boss("carol")] };
    let rule = Rule { approvers: vec![boss("bob")], escalation: Some(escalation), ..rule("t__ok", Verdict::Ask) };
    let mut world = World::with_rules(json!([turn(&["ok"]), say("done")]), vec![rule]);
    let id = world.run().await.state.id;
    let pause = pauses(&world.journal.state(&id))[0].clone();
    assert_eq!(pause.requirements.in_words(), "os:bob@host; after 1 h also os:carol@host");
    for (time, by, fits) in [("12:59:00", "carol", false), ("13:00:01", "dave", false), ("13:00:01", "carol", true)] {
        at(&mut world, time);
        let outcome = world.decide_as(&boss(by).0, &pause.id, json!({"decision": "approve"})).await;
        assert_eq!(outcome.is_ok(), fits, "{time} {by}: {outcome:?}");
    }
}
