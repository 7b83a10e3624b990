//! The table of decisions, through the only door.

use std::task::{Context, Waker};

use serde_json::{Value, json};

use super::memory::Side;
use super::twins::{World, alice, calls, pauses, rule, say, turn};
use crate::capability::judge::Requirements;
use crate::capability::{Access, Binding, ForTools, FsGrant, Grants, Pin, PluginGrants, Rule, Then, Verdict, When};
use crate::chain::{Actor, ChainStatus};
use crate::journal::JournalError;
use crate::pause::{PauseKind, PauseStatus};
use crate::runner::{HostError, Rest};
use crate::state::decide::Refused;

pub fn refused(result: Result<impl std::fmt::Debug, HostError>) -> Refused {
    match result {
        Err(HostError::Refused(refused)) => refused,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

async fn paused(turns: Value, rules: Vec<Rule>) -> (World, crate::state::ChainState) {
    let world = World::with_rules(turns, rules);
    let report = world.run().await;
    assert!(matches!(report.rest, Rest::Paused), "{:?}", report.rest);
    (world, report.state)
}

#[tokio::test]
async fn h16_h17_h23_a_denied_call_has_a_result_and_its_sibling_runs() {
    let (world, state) = paused(json!([turn(&["ask", "ask"]), say("done")]), vec![]).await;
    let open = pauses(&state);
    world.decide(&open[0].id, json!({"decision": "approve"})).await.unwrap();
    world.decide(&open[1].id, json!({"decision": "deny", "note": "not that one"})).await.unwrap();
    let report = world.resume(&state.id).await;
    assert_eq!(
        calls(&report.state),
        [r#"ask succeeded did {"n":0}"#, r#"ask denied {"error":{"kind":"denied","message":"a person denied this call: not that one"}}"#]
    );
    assert_eq!(world.ran(), ["ask#1", "ask#1", "ask#2"]);
    assert!(matches!(report.rest, Rest::Completed), "w59: a denial does not end the chain");
}

#[tokio::test]
async fn a_decided_pause_tells_who_decided_and_the_same_again_is_fine() {
    let (world, state) = paused(json!([turn(&["ask"]), say("done")]), vec![]).await;
    let id = &pauses(&state)[0].id;
    world.decide_as("os:bob@host", id, json!({"decision": "approve"})).await.unwrap();
    world.decide(id, json!({"decision": "approve"})).await.unwrap();
    let lost = refused(world.decide(id, json!({"decision": "deny"})).await);
    assert!(matches!(&lost, Refused::Already { decided, .. } if decided.by == Actor("os:bob@host".into())), "{lost}");
}

#[tokio::test]
async fn s06_of_racing_deciders_one_wins_and_all_others_are_told() {
    let (world, state) = paused(json!([turn(&["ask"]), say("done")]), vec![]).await;
    let id = pauses(&state)[0].id.clone();
    let decide = |n: usize| {
        let (host, id) = (world.host.clone(), id.clone());
        let decision = if n.is_multiple_of(2) { json!({"decision": "approve"}) } else { json!({"decision": "deny"}) };
        tokio::spawn(async move {
            let by = Actor(format!("os:p{n}@host"));
            host.decide(&id, &by, &crate::pause::Decision::read(&decision.to_string()).unwrap()).await
        })
    };
    let racing: Vec<_> = (0..64).map(decide).collect();
    let mut won = 0;
    for task in racing {
        match task.await.unwrap() {
            Ok(decision) => won += u32::from(decision.before.is_none()),
            Err(error) => assert!(matches!(refused(Err::<(), _>(error)), Refused::Already { .. })),
        }
    }
    assert_eq!(won, 1);
    world.resume(&state.id).await;
    assert!(world.ran().len() <= 2);
}

#[tokio::test]
async fn many_decisions_at_once_about_one_chain_are_written_together_and_each_is_answered_for_itself() {
    let (world, state) = paused(json!([turn(&["ask"; 60]), say("done")]), vec![]).await;
    // A second write would be the process's death.
    world.journal.die_at(Some((Side::Before, 2)));
    let open = pauses(&state);
    let both = [json!({"decision": "deny"}), json!({"decision": "respond", "value": 7}), json!({"decision": "edit", "arguments": {"n": 1}})];
    let all = open.iter().map(|pause| (pause, json!({"decision": "approve"}))).chain(both.into_iter().map(|other| (&open[5], other)));
    let decided = futures_util::future::join_all(all.map(|(pause, decision)| world.decide(&pause.id, decision))).await;
    let (stand, refusals) = decided.split_at(60);
    assert!(stand.iter().all(Result::is_ok));
    assert!(refusals.iter().all(|refusal| matches!(refusal, Err(HostError::Refused(Refused::Already { .. })))));
    assert_eq!(pauses(&world.journal.state(&state.id)).len(), 0);
    world.restart(&state.id);
    let ran = world.resume(&state.id).await.state;
    assert!(ran.calls.values().all(|call| call.attempts == 2));
}

#[tokio::test]
async fn whoever_goes_away_does_not_keep_others_from_deciding() {
    let (world, state) = paused(json!([turn(&["ask", "ask"]), say("done")]), vec![]).await;
    let open = pauses(&state);
    {
        let mut gone = std::pin::pin!(world.decide(&open[0].id, json!({"decision": "approve"})));
        assert!(gone.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    let state = world.decide(&open[1].id, json!({"decision": "approve"})).await.unwrap();
    assert_eq!(pauses(&state).len(), 0, "what was asked for is written");
}

#[tokio::test]
async fn a_journal_that_fails_says_so_to_each_of_many_deciders_and_serves_them_afterwards() {
    let (world, state) = paused(json!([turn(&["ask"; 8]), say("done")]), vec![]).await;
    let open = pauses(&state);
    let approve_all = async || futures_util::future::join_all(open.iter().map(|pause| world.decide(&pause.id, json!({"decision": "approve"})))).await;
    world.journal.die_at(Some((Side::Before, 1)));
    let failed = approve_all().await;
    assert!(failed.iter().all(|failure| matches!(failure, Err(HostError::Journal(JournalError::Unusable { .. })))));
    world.journal.die_at(None);
    assert!(approve_all().await.iter().all(Result::is_ok));
}

#[tokio::test]
async fn a_decision_that_does_not_fit_the_question_is_refused() {
    let (world, state) = paused(json!([turn(&["pick", "ask"]), say("done")]), vec![]).await;
    let open = pauses(&state);
    let (text, approval) = (&open[0].id, &open[1].id);
    for (pause, decision) in [
        (text, json!({"decision": "approve"})),
        (text, json!({"decision": "respond", "value": 1})),
        (text, json!({"decision": "edit", "arguments": {}})),
        (approval, json!({"decision": "edit", "arguments": {"n": "x"}})),
        (approval, json!({"decision": "edit", "arguments": []})),
    ] {
        assert!(matches!(refused(world.decide(pause, decision.clone()).await), Refused::DoesNotFit(_)), "{decision}");
    }
    assert_eq!(world.journal.state(&state.id).open_pauses().count(), 2);
}

#[tokio::test]
async fn d01_d02_a_response_opens_nothing_and_a_gates_answer_is_not_the_plugins() {
    let (world, state) = paused(json!([turn(&["pick", "ask"]), say("done")]), vec![rule("t__ask", Verdict::Ask)]).await;
    let open = pauses(&state);
    assert_eq!(open.iter().map(|pause| pause.kind).collect::<Vec<_>>(), [PauseKind::Tool, PauseKind::Gate]);
    let text = open.iter().find(|pause| pause.kind == PauseKind::Tool).unwrap();
    let gate = open.iter().find(|pause| pause.kind == PauseKind::Gate).unwrap();
    world.decide(&text.id, json!({"decision": "respond", "value": "red"})).await.unwrap();
    world.decide(&gate.id, json!({"decision": "approve"})).await.unwrap();
    world.resume(&state.id).await;
    let ran = world.plugins.ran.lock().unwrap();
    let pick = ran.iter().rfind(|attempt| attempt.tool == "pick").unwrap();
    assert!(!pick.approved && pick.answers.len() == 1);
    let ask = ran.iter().rfind(|attempt| attempt.tool == "ask").unwrap();
    assert!(ask.approved && ask.answers.is_empty(), "one question for one thing");
    assert_eq!(ran.iter().filter(|attempt| attempt.tool == "ask").count(), 1);
}

#[tokio::test]
async fn s16_h49_an_edit_replaces_the_arguments_and_keeps_the_models_words() {
    let (world, state) = paused(json!([turn(&["ask"]), say("done")]), vec![]).await;
    let pause = &pauses(&state)[0];
    world.decide(&pause.id, json!({"decision": "edit", "arguments": {"path": "/b", "n": 7.0}})).await.unwrap();
    let report = world.resume(&state.id).await;
    let call = report.state.calls.values().next().unwrap();
    assert_eq!(call.text, r#"{"n":0}"#);
    assert_eq!(call.edited_by, Some(alice()));
    assert_eq!(calls(&report.state), [r#"ask succeeded did {"n":7,"path":"/b"}"#], "the edit is the editor's approval");
    let ran = world.plugins.ran.lock().unwrap();
    assert_ne!(ran[0].idempotency_key, ran[1].idempotency_key);
    assert!(ran[1].answers.is_empty() && ran[1].state.is_none());
    let told = world.model.asked()[1].history.last().unwrap().message.parts[0].as_tool_result().unwrap().output.to_owned();
    assert!(told.starts_with(r#"[a person changed the arguments of this call to {"n":7,"path":"/b"}]"#), "{told}");
    let asked = world.model.asked()[1].history[1].message.parts[0].as_tool_call().unwrap().arguments.clone();
    assert_eq!(asked, json!({"n": 0}));
}

#[tokio::test]
async fn an_edit_goes_through_the_rules_again() {
    let denied = Rule { args: vec![(vec!["path".into()], "/keep/**".into())], ..rule("t__ask", Verdict::Deny) };
    let others =
        Rule { args: vec![(vec!["path".into()], "/pay/**".into())], approvers: vec![Actor("os:boss@host".into())], ..rule("t__ask", Verdict::Ask) };
    // Absent arguments match every deny pattern, so the call names a harmless path.
    let call = json!({"tool_calls": [{"id": "a", "name": "t__ask", "arguments": {"path": "/ok/x"}}]});
    let (world, state) = paused(json!([call, say("done")]), vec![denied, others]).await;
    let id = pauses(&state)[0].id.clone();
    let refusal = refused(world.decide(&id, json!({"decision": "edit", "arguments": {"path": "/keep/x"}})).await);
    assert!(refusal.to_string().contains("rules deny"), "{refusal}");
    let state = world.decide(&id, json!({"decision": "edit", "arguments": {"path": "/pay/x"}})).await.unwrap();
    let open = pauses(&state);
    assert_eq!(
        open[0].requirements,
        Requirements { approvers: vec![vec![Actor("os:boss@host".into())]], on_deny: Then::Continue, ..Requirements::default() }
    );
    assert!(matches!(refused(world.decide(&open[0].id, json!({"decision": "approve"})).await), Refused::NotEligible { .. }));
    world.decide_as("os:boss@host", &open[0].id, json!({"decision": "approve"})).await.unwrap();
    let report = world.resume(&state.id).await;
    assert_eq!(calls(&report.state), [r#"ask succeeded did {"path":"/pay/x"}"#]);
}

#[tokio::test]
async fn a_person_may_give_the_result_in_the_tools_place() {
    let (world, state) = paused(json!([turn(&["ask"]), say("done")]), vec![]).await;
    world.decide(&pauses(&state)[0].id, json!({"decision": "respond", "value": {"deleted": 0}})).await.unwrap();
    let report = world.resume(&state.id).await;
    assert_eq!(calls(&report.state), [r#"ask answered {"deleted":0}"#]);
    assert_eq!(world.ran(), ["ask#1"]);
}

#[tokio::test]
async fn h53_h54_only_an_approver_of_every_matching_rule_decides() {
    let named = |name: &str| Rule { approvers: vec![Actor(name.into())], ..rule("t__*", Verdict::Ask) };
    let both = Rule { approvers: vec![Actor("os:alice@host".into()), Actor("os:bob@host".into())], ..rule("t__ask", Verdict::Ask) };
    let (world, state) = paused(json!([turn(&["ask"]), say("done")]), vec![both, named("os:bob@host")]).await;
    let id = &pauses(&state)[0].id;
    for decision in [json!({"decision": "approve"}), json!({"decision": "deny"}), json!({"decision": "respond", "value": 1})] {
        assert!(matches!(refused(world.decide(id, decision).await), Refused::NotEligible { .. }));
    }
    world.decide_as("os:bob@host", id, json!({"decision": "approve"})).await.unwrap();
}

#[tokio::test]
async fn a_stale_digest_is_refused() {
    let (world, state) = paused(json!([turn(&["ask", "ask"]), say("done")]), vec![]).await;
    let open = pauses(&state);
    let stale = refused(world.decide(&open[0].id, json!({"decision": "approve", "digest": open[1].digest})).await);
    assert!(matches!(stale, Refused::DigestDiffers { .. }));
    world.decide(&open[0].id, json!({"decision": "approve", "digest": open[0].digest})).await.unwrap();
}

#[tokio::test]
async fn d09_s11_deny_with_stop_rejects_the_chain_and_loses_nothing() {
    let stopping = Rule { on_deny: Then::Stop, ..rule("t__ask", Verdict::Ask) };
    for (rules, decision) in [(vec![], json!({"decision": "deny", "then": "stop"})), (vec![stopping], json!({"decision": "deny"}))] {
        let (world, state) = paused(json!([turn(&["ask", "ok", "ask"]), say("never")]), rules).await;
        let state = world.decide(&pauses(&state)[0].id, decision).await.unwrap();
        assert_eq!(state.status, ChainStatus::Rejected);
        let statuses: Vec<_> = state.calls.values().map(|call| call.status.as_str()).collect();
        assert_eq!(statuses, ["denied", "succeeded", "cancelled"]);
        assert_eq!(state.pauses.iter().map(|pause| pause.status).collect::<Vec<_>>(), [PauseStatus::Denied, PauseStatus::Cancelled]);
        assert!(matches!(world.try_resume(&state.id, Default::default()).await, Err(HostError::Ended { .. })));
        assert_eq!(world.model.asked().len(), 1);
    }
}

#[tokio::test]
async fn a_stop_of_the_rules_cannot_be_turned_into_continue() {
    let stopping = Rule { on_deny: Then::Stop, ..rule("t__ask", Verdict::Ask) };
    let (world, state) = paused(json!([turn(&["ask"]), say("never")]), vec![stopping]).await;
    let refusal = refused(world.decide(&pauses(&state)[0].id, json!({"decision": "deny", "then": "continue"})).await);
    assert!(matches!(refusal, Refused::DoesNotFit(_)));
}

#[tokio::test]
async fn what_an_approval_opens_is_listed_and_held_by_that_call_alone() {
    let line = FsGrant {
        path: "/tmp/x".into(),
        mount: "/x".into(),
        access: Access::Write,
        when: When::Approved(Binding::Within(vec!["path".into()])),
        on_missing: Default::default(),
        tools: ForTools::default(),
        one_file: false,
        quota: None,
        line: 2,
    };
    let section = PluginGrants { fs: vec![line], ..PluginGrants::holding_nothing(Pin::Any, 1) };
    let grants = Grants { plugins: [("t".to_owned(), section)].into(), ..Grants::default() };
    let call = |id: &str, tool: &str, path: &str| json!({"id": id, "name": tool, "arguments": {"path": path}});
    let turns = json!([{"tool_calls": [call("a", "t__ask", "/x/a"), call("b", "t__ok", "/x/b")]}, say("done")]);
    let world = World::new(turns).restarted(grants);
    let state = world.run().await.state;
    let pause = &pauses(&state)[0];
    assert_eq!(pause.opens.iter().map(ToString::to_string).collect::<Vec<_>>(), ["fs write /x/a, exactly this entry"]);
    world.decide(&pause.id, json!({"decision": "approve"})).await.unwrap();
    world.resume(&state.id).await;
    let ran = world.plugins.ran.lock().unwrap();
    let held: Vec<_> = ran.iter().map(|attempt| (attempt.tool.as_str(), attempt.attempt, attempt.held.effectful().len())).collect();
    assert_eq!(held, [("ask", 1, 0), ("ok", 1, 0), ("ask", 2, 1)]);
}
