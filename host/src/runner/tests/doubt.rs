//! Calls whose process died with them: made again where that does no harm, else somebody says what became of them.

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::twins::{World, alice, calls, effectful, pauses, rule, say, tool, turn};
use crate::call::{EffectState, Effects, Failure, Finding, ToolResult};
use crate::capability::{Grants, PluginGrants, Reconcile, Rule, Uses, Verdict};
use crate::chain::{Actor, Blocked, ChainId, ChainStatus, UnknownCall};
use crate::event::Event;
use crate::pause::{Ask, PauseKind, PauseStatus};
use crate::runner::{HostError, Report, Rest, Resume, Said};
use crate::state::decide::Refused;

fn ruled(rules: Vec<Rule>) -> Grants {
    Grants { rules, ..effectful() }
}

/// A chain whose first calls were started with effectful grants when its process died.
async fn crashed(turns: Value, grants: Grants) -> (World, ChainId) {
    let world = World::new(turns).restarted(grants);
    let id = world.start().await;
    world.resume(&id).await;
    world.crash_after_start(&id);
    (world, id)
}

/// One call of a `once` tool, in doubt.
async fn in_doubt() -> (World, Report) {
    let (world, id) = crashed(json!([turn(&["ok"]), say("done")]), effectful()).await;
    let report = world.resume(&id).await;
    (world, report)
}

fn settle(outcome: &str) -> Value {
    json!({"decision": "settle", "outcome": outcome})
}

/// The last tool results that the model was sent.
fn told(world: &World) -> Vec<String> {
    let asked = world.model.asked();
    let history = &asked.last().unwrap().history;
    let results =
        history.iter().flat_map(|entry| &entry.message.parts).filter_map(|part| part.as_tool_result().map(|result| result.output.to_string()));
    results.collect()
}

#[tokio::test]
async fn h31_h35_w62_a_once_call_that_died_with_its_process_is_asked_about_and_not_made_again() {
    let (world, id) = crashed(json!([turn(&["ok", "ok"]), say("done")]), effectful()).await;
    let asked_before = world.model.asked().len();
    let report = world.resume(&id).await;
    assert!(matches!(report.rest, Rest::Paused));
    assert_eq!((report.state.status, calls(&report.state)), (ChainStatus::Paused, vec!["ok in_doubt".into(), "ok in_doubt".into()]));
    assert_eq!(world.ran().len(), 2, "once each, before the crash");
    assert_eq!(world.model.asked().len(), asked_before, "h35: no model call until it is settled");
    let pause = &pauses(&report.state)[0];
    assert_eq!((pause.kind, &pause.ask, pause.asks_approval()), (PauseKind::InDoubt, &Ask::Outcome, false));
    let facts = pause.context.as_ref().unwrap();
    assert_eq!((&facts["attempt"], &facts["held"]), (&json!(1), &json!(["fs write everything below /x"])));
    let started = world.journal.stamped(&id).into_iter().find(|event| matches!(event.event, Event::CallsStarted { .. })).unwrap();
    assert_eq!(facts["started_at"], json!(started.at));
    assert_eq!(facts["idempotency_key"], world.plugins.ran.lock().unwrap()[0].idempotency_key);
    // Taken up again, it waits for the same answers.
    let again = world.resume(&id).await;
    assert_eq!(pauses(&again.state), pauses(&report.state));
}

#[tokio::test]
async fn h31_h34_what_may_be_made_twice_is_made_again_with_the_same_key() {
    for effects in [Effects::ReadOnly, Effects::Idempotent] {
        let world = World::new(json!([turn(&["again"]), say("done")])).restarted(effectful());
        world.plugins.tools.lock().unwrap().push(tool("again", effects));
        let id = world.start().await;
        world.resume(&id).await;
        world.crash_after_start(&id);
        let report = world.resume(&id).await;
        assert!(matches!(report.rest, Rest::Completed), "{effects}");
        let ran = world.plugins.ran.lock().unwrap();
        let attempts: Vec<_> = ran.iter().map(|attempt| (attempt.attempt, &attempt.idempotency_key)).collect();
        assert_eq!(attempts, [(1, &ran[0].idempotency_key), (2, &ran[0].idempotency_key)], "{effects}");
    }
}

#[tokio::test]
async fn what_happened_is_the_result_in_the_word_of_who_said_so() {
    let (world, report) = in_doubt().await;
    let id = report.state.id;
    let pause = pauses(&world.journal.state(&id))[0].id.clone();
    let state = world.decide(&pause, json!({"decision": "settle", "outcome": "happened", "result": {"id": 7}})).await.unwrap();
    assert_eq!((calls(&state), state.pause(&pause).unwrap().status), (vec![r#"ok succeeded {"id":7}"#.into()], PauseStatus::Settled));
    assert_eq!(state.calls.values().next().unwrap().word_of, Some(alice()));
    assert!(matches!(world.resume(&id).await.rest, Rest::Completed));
    assert_eq!(world.ran().len(), 1);
    assert_eq!(told(&world), ["[the process that ran this call died; a person says that it happened, with this result]\n{\"id\":7}"]);

    let same = world.decide(&pause, json!({"decision": "settle", "outcome": "happened", "result": {"id": 7}})).await;
    assert!(same.is_ok(), "the identical decision again");
    let other = world.decide(&pause, settle("run-again")).await;
    assert!(matches!(other, Err(HostError::Refused(Refused::Already { .. }))));
}

#[tokio::test]
async fn run_again_makes_the_same_call_again_and_give_up_says_that_nobody_knows() {
    let (world, report) = in_doubt().await;
    let pause = pauses(&report.state)[0].id.clone();
    world.decide(&pause, settle("run-again")).await.unwrap();
    assert!(matches!(world.resume(&report.state.id).await.rest, Rest::Completed));
    assert_eq!(world.ran(), ["ok#1", "ok#2"]);
    let keys: Vec<_> = world.plugins.ran.lock().unwrap().iter().map(|attempt| attempt.idempotency_key.clone()).collect();
    assert_eq!(keys[0], keys[1]);

    let (world, report) = in_doubt().await;
    let pause = pauses(&report.state)[0].id.clone();
    world.decide(&pause, json!({"decision": "settle", "outcome": "give-up", "note": "the log is gone"})).await.unwrap();
    assert!(matches!(world.resume(&report.state.id).await.rest, Rest::Completed));
    assert_eq!(world.ran(), ["ok#1"]);
    assert!(told(&world)[0].contains("unknown-outcome") && told(&world)[0].contains("a person adds: the log is gone"), "{:?}", told(&world));
}

#[tokio::test]
async fn only_settle_decides_a_call_in_doubt_and_settle_decides_nothing_else() {
    let (world, report) = in_doubt().await;
    let pause = pauses(&report.state)[0].id.clone();
    for decision in [
        json!({"decision": "approve"}),
        json!({"decision": "deny"}),
        json!({"decision": "deny", "then": "stop"}),
        json!({"decision": "edit", "arguments": {}}),
        json!({"decision": "respond", "value": "x"}),
    ] {
        let refused = world.decide(&pause, decision.clone()).await;
        assert!(matches!(refused, Err(HostError::Refused(Refused::DoesNotFit(_)))), "{decision}");
    }
    let large = json!({"decision": "settle", "outcome": "happened", "result": "x".repeat(64 << 10)});
    assert!(matches!(world.decide(&pause, large).await, Err(HostError::Refused(Refused::DoesNotFit(_)))));

    for grants in [Grants::default(), Grants { rules: vec![rule("t__*", Verdict::Ask)], ..Grants::default() }] {
        let world = World::new(json!([turn(&["ask"]), say("done")])).restarted(grants);
        let report = world.run().await;
        for outcome in ["run-again", "give-up"] {
            let refused = world.decide(&pauses(&report.state)[0].id, settle(outcome)).await;
            assert!(matches!(refused, Err(HostError::Refused(Refused::DoesNotFit(_)))));
        }
    }
}

#[tokio::test]
async fn s05_siblings_of_a_call_in_doubt_run_to_their_end() {
    let mut world = World::new(json!([turn(&["ok", "ask", "boom"]), say("done")])).restarted(effectful());
    world.settings.parallel_calls = 1;
    let id = world.start().await;
    world.resume(&id).await;
    world.crash_after_start(&id);
    let report = world.resume(&id).await;
    let shown: Vec<_> = calls(&report.state).iter().map(|call| call.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(shown, ["ok in_doubt", "ask paused", "boom failed"]);
    let kinds: Vec<_> = pauses(&report.state).iter().map(|pause| pause.kind).collect();
    assert_eq!(kinds, [PauseKind::InDoubt, PauseKind::Tool]);
    let listed: Vec<_> = world.host.journal.pending(100).await.unwrap().into_iter().map(|row| row.pause.id).collect();
    assert_eq!(listed, pauses(&report.state).into_iter().map(|pause| pause.id).collect::<Vec<_>>(), "s24: one definition of what is pending");
}

#[tokio::test]
async fn a_message_is_refused_with_the_pause_named_or_takes_its_place() {
    let (world, id) = crashed(json!([turn(&["ok"]), say("as you say")]), effectful()).await;
    // Nobody has taken the chain up since: the message itself finds the call in doubt.
    let refused = world.host.say(&id, &alice(), "hello?", false, CancellationToken::new()).await;
    let open = pauses(&world.journal.state(&id));
    assert!(matches!(refused, Err(HostError::Waiting { pauses, .. }) if pauses == [open[0].id.clone()]));
    let said = world.host.say(&id, &alice(), "never mind", true, CancellationToken::new()).await.unwrap();
    let Said::Same(report) = said else { panic!() };
    assert_eq!(report.state.answer(), "as you say");
    assert!(calls(&report.state)[0].contains("unknown-outcome"));
    assert_eq!(report.state.pauses[0].status, PauseStatus::Superseded);
}

#[tokio::test]
async fn d09_stopping_a_chain_leaves_calls_in_doubt_with_an_honest_result() {
    let (world, report) = in_doubt().await;
    let state = world.host.cancel(&report.state.id, &alice(), None).await.unwrap();
    assert_eq!((state.status, state.pauses[0].status), (ChainStatus::Cancelled, PauseStatus::Cancelled));
    assert!(calls(&state)[0].starts_with("ok failed") && calls(&state)[0].contains("unknown-outcome"));

    // Before anybody took it up.
    let (world, id) = crashed(json!([turn(&["ok"]), say("done")]), effectful()).await;
    let state = world.host.cancel(&id, &alice(), None).await.unwrap();
    assert!(state.status == ChainStatus::Cancelled && calls(&state)[0].contains("unknown-outcome"));

    let mut world = World::new(json!([turn(&["ok", "ask"]), say("done")])).restarted(effectful());
    world.settings.parallel_calls = 1;
    let id = world.start().await;
    world.resume(&id).await;
    world.crash_after_start(&id);
    let asks = pauses(&world.resume(&id).await.state)[1].id.clone();
    let state = world.decide(&asks, json!({"decision": "deny", "then": "stop"})).await.unwrap();
    assert_eq!(state.status, ChainStatus::Rejected);
    assert!(calls(&state)[0].contains("unknown-outcome"));
}

#[tokio::test]
async fn an_approval_holds_over_the_crash_and_lapses_only_with_what_it_hangs_on() {
    let (rules, turns) = (|| vec![rule("t__*", Verdict::Ask)], json!([turn(&["ok"]), say("done")]));
    let world = World::new(turns).restarted(ruled(rules()));
    let id = world.start().await;
    let gate = pauses(&world.resume(&id).await.state)[0].id.clone();
    world.decide(&gate, json!({"decision": "approve"})).await.unwrap();
    world.resume(&id).await;
    world.crash_after_start(&id);
    let report = world.resume(&id).await;
    let doubt = &pauses(&report.state)[0];
    assert_eq!(doubt.call_digest, report.state.pauses[0].call_digest);
    assert_eq!(doubt.context.as_ref().unwrap()["approved"], true);
    world.decide(&doubt.id.clone(), settle("run-again")).await.unwrap();
    let kept = world.journal.stamped(&id).len() as u64;
    assert!(matches!(world.resume(&id).await.rest, Rest::Completed));
    assert!(world.plugins.ran.lock().unwrap().iter().all(|attempt| attempt.approved));

    // Denied since: what became of it is still asked, and it is not made again.
    world.crash_after(&id, kept);
    let denying = world.restarted(ruled(vec![rule("t__*", Verdict::Deny)]));
    let report = denying.resume(&id).await;
    assert!(calls(&report.state)[0].starts_with("ok denied"));
    world.crash_after(&id, kept - 2);
    let report = denying.resume(&id).await;
    assert_eq!(calls(&report.state), ["ok in_doubt"], "a rule says nothing of what happened");
}

#[tokio::test]
async fn who_may_settle_is_who_may_decide() {
    let bob = Actor("os:bob@host".into());
    let asking = Rule { approvers: vec![bob, alice()], quorum: 2.try_into().unwrap(), ..rule("t__*", Verdict::Allow) };
    let (world, id) = crashed(json!([turn(&["ok"]), say("done")]), ruled(vec![asking])).await;
    let pause = pauses(&world.resume(&id).await.state)[0].id.clone();
    let refused = world.decide_as("os:eve@host", &pause, settle("run-again")).await;
    assert!(matches!(refused, Err(HostError::Refused(Refused::NotEligible { .. }))));
    let state = world.decide_as("os:alice@host", &pause, settle("run-again")).await.unwrap();
    assert!(state.pause(&pause).unwrap().is_open(), "one of two");
    let state = world.decide_as("os:bob@host", &pause, settle("give-up")).await.unwrap();
    assert!(state.pause(&pause).unwrap().is_open(), "they do not say the same");
    let state = world.decide_as("os:bob@host", &pause, settle("run-again")).await.unwrap();
    assert_eq!(calls(&state), ["ok ready"]);

    let excluding = Rule { exclude_requester: true, ..rule("t__*", Verdict::Allow) };
    let (world, id) = crashed(json!([turn(&["ok"]), say("done")]), ruled(vec![excluding])).await;
    let pause = pauses(&world.resume(&id).await.state)[0].id.clone();
    assert!(matches!(world.decide(&pause, settle("give-up")).await, Err(HostError::Refused(Refused::Requester { .. }))));
}

#[tokio::test]
async fn a_chain_that_an_earlier_version_blocked_asks_when_it_is_taken_up() {
    let (world, id) = crashed(json!([turn(&["ok"]), say("done")]), effectful()).await;
    let events = world.journal.stamped(&id);
    let calls_then = vec![UnknownCall { call_id: "c0".into(), tool: "t__ok".into(), arguments: json!({"n": 0}), attempt: 1, held: vec![] }];
    let mut blocked = events.last().unwrap().clone();
    blocked.seq += 1;
    blocked.event = Event::ChainBlocked { blocked: Blocked::UnknownOutcome { calls: calls_then } };
    world.journal.push(&id, blocked);
    assert_eq!(world.journal.state(&id).status, ChainStatus::Blocked);
    let report = world.resume(&id).await;
    assert!(matches!(report.rest, Rest::Paused));
    assert_eq!((report.state.status, report.state.blocked.is_none()), (ChainStatus::Paused, true));
}

#[tokio::test]
async fn arguments_of_a_call_that_may_have_had_its_effect_are_not_edited() {
    let asking = |world: &World| world.plugins.tools.lock().unwrap().iter_mut().for_each(|tool| tool.effects = Effects::Idempotent);
    let world = World::new(json!([turn(&["ask"]), say("done")])).restarted(effectful());
    asking(&world);
    let id = world.start().await;
    world.resume(&id).await;
    world.crash_after_start(&id);
    let pause = pauses(&world.resume(&id).await.state)[0].id.clone();
    let refused = world.decide(&pause, json!({"decision": "edit", "arguments": {"n": 2}})).await;
    assert!(matches!(refused, Err(HostError::Refused(Refused::DoesNotFit(why))) if why.contains("unrecorded")));
    assert!(world.decide(&pause, json!({"decision": "approve"})).await.is_ok());
}

/// The chain after its plugin was asked about its call in doubt.
async fn asked_plugin(finding: Finding, reconcile: Reconcile) -> (World, Report) {
    let mut grants = effectful();
    let section = grants.plugins.remove("t").unwrap();
    grants.plugins.insert("t".into(), PluginGrants { reconcile, ..section });
    let (world, id) = crashed(json!([turn(&["ok"]), say("done")]), grants).await;
    world.plugins.find(move |_| finding.clone());
    let report = world.resume(&id).await;
    (world, report)
}

#[tokio::test]
async fn h35_a_plugins_word_is_shown_and_settles_nothing_unless_it_is_believed() {
    let found = || Finding::Happened(ToolResult::text("order 7"));
    let (world, report) = asked_plugin(found(), Reconcile::Show).await;
    assert_eq!(calls(&report.state), ["ok in_doubt"]);
    let facts = pauses(&report.state)[0].context.clone().unwrap();
    assert_eq!(facts["plugin"], json!({"says": "happened", "result": "order 7", "cut": false}));
    let looked = world.plugins.looked.lock().unwrap().clone();
    let look = &looked[0];
    assert_eq!((looked.len(), look.effects, look.attempt), (1, Effects::ReadOnly, 1));
    assert_eq!(look.idempotency_key, world.plugins.ran.lock().unwrap()[0].idempotency_key);
    assert!(look.held.reach.is_empty() && look.held.uses.is_empty(), "it can reach for nothing");

    let (world, report) = asked_plugin(found(), Reconcile::Believe).await;
    assert!(matches!(report.rest, Rest::Completed));
    assert_eq!(calls(&report.state), ["ok succeeded order 7"]);
    assert_eq!(report.state.calls.values().next().unwrap().word_of, Some(Actor("plugin:t".into())));
    assert!(told(&world)[0].contains("its plugin looked and says that it happened"));
    assert_eq!(world.ran().len(), 1);
}

#[tokio::test]
async fn a_believed_plugin_may_say_that_it_failed_or_never_happened_and_all_else_asks_a_person() {
    let failure = Failure { effect: Some(EffectState::Happened), ..Failure::new("conflict", "sold out") };
    let (_, report) = asked_plugin(Finding::Happened(ToolResult::Failure(failure)), Reconcile::Believe).await;
    assert!(calls(&report.state)[0].starts_with("ok failed") && calls(&report.state)[0].contains("sold out"));

    let (world, report) = asked_plugin(Finding::NotHappened, Reconcile::Believe).await;
    assert!(matches!(report.rest, Rest::Completed));
    assert_eq!(world.ran(), ["ok#1", "ok#2"]);

    for finding in [Finding::Unknown, Finding::Failed(Failure::new("out-of-time", "too slow"))] {
        let (world, report) = asked_plugin(finding, Reconcile::Believe).await;
        assert_eq!(calls(&report.state), ["ok in_doubt"]);
        assert_eq!(world.ran().len(), 1);
    }
    let (_, report) = asked_plugin(Finding::Failed(Failure::new("out-of-time", "too slow")), Reconcile::Show).await;
    let facts = pauses(&report.state)[0].context.clone().unwrap();
    assert_eq!(facts["plugin"], json!({"says": "nothing", "why": "out-of-time: too slow"}));
}

#[tokio::test]
async fn w63_other_bytes_are_not_asked_about_a_call_they_did_not_make() {
    let (world, id) = crashed(json!([turn(&["ok"]), say("done")]), effectful()).await;
    world.plugins.find(|_| Finding::NotHappened);
    world.plugins.tools.lock().unwrap().iter_mut().for_each(|tool| tool.plugin_digest = crate::digest::Digest::of_bytes(b"other"));
    let report = world.resume(&id).await;
    assert_eq!((calls(&report.state), world.plugins.looked.lock().unwrap().len()), (vec!["ok in_doubt".into()], 0));
    // To make it again takes the operator's word on the new bytes, and lets the old approval lapse.
    world.decide(&pauses(&report.state)[0].id, settle("run-again")).await.unwrap();
    assert!(matches!(world.resume(&id).await.rest, Rest::Blocked(Blocked::PluginChanged { .. })));
}

#[tokio::test]
async fn uses_that_were_counted_before_the_crash_are_among_the_facts() {
    let world = World::with(json!([turn(&["ask"]), say("done")]), effectful(), |attempt| {
        let mut outcome = match attempt.approved {
            true => super::twins::done("did it"),
            false => super::twins::pausing("approval", Ask::Approval),
        };
        outcome.uses = Uses { http_requests: 1, ..Uses::default() };
        Box::pin(async move { outcome })
    });
    let report = world.run().await;
    let id = report.state.id.clone();
    world.decide(&pauses(&report.state)[0].id, json!({"decision": "approve"})).await.unwrap();
    world.resume(&id).await;
    let events = world.journal.stamped(&id);
    let second = events.iter().filter(|event| matches!(event.event, Event::CallsStarted { .. })).nth(1).unwrap().seq;
    world.crash_after(&id, second);
    let pause = pauses(&world.resume(&id).await.state)[0].clone();
    let facts = pause.context.unwrap();
    assert_eq!((&facts["attempt"], &facts["recorded_uses"]["http_requests"]), (&json!(2), &json!(1)));
}

#[tokio::test]
async fn an_interrupt_lets_go_of_a_call_that_had_no_effect_by_the_count_of_its_uses() {
    let world = World::with(json!([turn(&["ok"]), say("done")]), effectful(), |attempt| {
        let (let_go, attempt) = (attempt.let_go.clone(), attempt.attempt);
        Box::pin(async move {
            if attempt > 1 {
                return super::twins::done("did it");
            }
            let_go.cancelled().await;
            let mut outcome = super::twins::outcome(crate::plugin::Ended::Result(ToolResult::failure("cancelled", "cancelled")));
            outcome.uses = Uses { http_requests: 2, ..Uses::default() };
            outcome
        })
    });
    let id = world.start().await;
    let interrupt = CancellationToken::new();
    let running = tokio::spawn({
        let (host, id, interrupt) = (world.host.clone(), id.clone(), interrupt.clone());
        async move { host.resume(&id, &alice(), Default::default(), interrupt).await }
    });
    super::life::until(|| world.ran().len() == 1).await;
    interrupt.cancel();
    assert!(matches!(running.await.unwrap().unwrap().rest, Rest::Interrupted));
    let state = world.journal.state(&id);
    let call = state.calls.values().next().unwrap();
    assert_eq!((calls(&state), call.lost, call.uses.http_requests), (vec!["ok ready".into()], false, 2));
    let report = world.resume(&id).await;
    assert_eq!(calls(&report.state), ["ok succeeded did it"], "nobody is asked");
}

#[tokio::test]
async fn a_call_whose_tool_is_no_more_is_asked_about_by_the_rules_for_its_name() {
    let naming = Rule { approvers: vec![Actor("os:bob@host".into())], ..rule("t__ok", Verdict::Allow) };
    let (world, id) = crashed(json!([turn(&["ok"]), say("done")]), ruled(vec![naming])).await;
    {
        let mut tools = world.plugins.tools.lock().unwrap();
        tools.retain(|tool| tool.tool != "ok");
        tools.iter_mut().for_each(|tool| tool.plugin_digest = crate::digest::Digest::of_bytes(b"other"));
    }
    let report = world.try_resume(&id, Resume { accept_plugin: true, ..Resume::default() }).await.unwrap();
    assert_eq!(calls(&report.state), ["ok in_doubt"]);
    let pause = pauses(&report.state)[0].clone();
    assert_eq!((pause.plugin.as_str(), pause.tool.as_str()), ("t", "t__ok"));
    assert!(matches!(world.decide(&pause.id, settle("run-again")).await, Err(HostError::Refused(Refused::NotEligible { .. }))));
    world.decide_as("os:bob@host", &pause.id, settle("run-again")).await.unwrap();
    let report = world.resume(&id).await;
    assert!(matches!(report.rest, Rest::Completed));
    assert!(calls(&report.state)[0].contains("not-found"), "there is nothing to make it again with");
}

#[tokio::test]
async fn a_fork_does_not_make_again_what_an_unrecorded_attempt_may_have_done() {
    let world = World::new(json!([turn(&["again"]), say("done")])).restarted(effectful());
    world.plugins.tools.lock().unwrap().push(tool("again", Effects::Idempotent));
    let id = world.start().await;
    world.resume(&id).await;
    world.crash_after_start(&id);
    world.resume(&id).await;
    let events = world.journal.stamped(&id);
    let recovered = events.iter().find(|event| matches!(event.event, Event::CallRecovered { .. })).unwrap().seq;
    let forked = world.host.fork(&id, Some(recovered), &alice()).await.unwrap();
    assert_eq!(forked.unknown.len(), 1, "under the fork's own key it would be another one");
}
