//! Forks: what comes along from another chain, and what does not.

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::twins::{World, alice, calls, done, pauses, rule, say, turn};
use crate::call::kind;
use crate::capability::{Access, ForTools, FsGrant, Grants, Pin, PluginGrants, Uses, Verdict, When};
use crate::chain::{Actor, ChainStatus, Fork, Seq};
use crate::event::{Event, Stamped};
use crate::pause::Ask;
use crate::runner::{HostError, Rest, Said};
use crate::state::ChainState;

/// The number of the first event that is one of those meant.
fn first(events: &[Stamped], meant: impl Fn(&Event) -> bool) -> Seq {
    events.iter().find(|stamped| meant(&stamped.event)).expect("there is one").seq
}

#[tokio::test]
async fn h78_a_fork_from_before_the_gate_asks_again() {
    let world = World::with_rules(json!([turn(&["ok"]), say("done")]), vec![rule("t__ok", Verdict::Ask)]);
    let id = world.run().await.state.id;
    let pause = pauses(&world.journal.state(&id))[0].clone();
    world.decide(&pause.id, json!({"decision": "approve"})).await.unwrap();
    world.resume(&id).await;
    let events = world.journal.stamped(&id);
    let decided = first(&events, |event| matches!(event, Event::PauseDecided { .. }));

    for seq in [decided - 1, decided] {
        let forked = world.host.fork(&id, Some(seq), &alice()).await.unwrap();
        let state = world.resume(&forked.state.id).await.state;
        assert_eq!(state.forked, Some(Fork { chain: id.clone(), seq }));
        let [again] = &pauses(&state)[..] else { panic!("it asks") };
        assert_ne!((&again.id, &again.call_id, &again.digest), (&pause.id, &pause.call_id, &pause.digest));
        assert_eq!(again.arguments, pause.arguments);
        // The old pause's decision is no answer to the new one.
        assert!(world.decide(&again.id, json!({"decision": "approve", "digest": pause.digest})).await.is_err());
    }
    assert_eq!(world.ran(), ["ok#1"], "in the first chain alone");
    assert_eq!(world.journal.stamped(&id), events, "which is untouched");
}

#[tokio::test]
async fn results_are_kept_and_what_had_none_is_asked_anew() {
    let world = World::with_rules(json!([turn(&["ok"]), turn(&["ok", "boom", "ask"]), say("done")]), vec![rule("t__never", Verdict::Deny)]);
    let id = world.run().await.state.id;
    let before = world.journal.state(&id);
    assert_eq!(world.ran(), ["ok#1", "ok#1", "boom#1", "ask#1"]);

    let forked = world.host.fork(&id, None, &Actor("os:bob@host".into())).await.unwrap().state;
    assert_eq!((forked.started_by.0.as_str(), forked.model_calls, forked.status), ("os:bob@host", 2, ChainStatus::Runnable));
    let state = world.resume(&forked.id).await.state;
    assert_eq!(world.ran(), ["ok#1", "ok#1", "boom#1", "ask#1", "ask#1"]);
    assert_eq!(calls(&state), calls(&before));
    assert!(state.calls.values().zip(before.calls.values()).all(|(new, old)| new.id.starts_with("tc_") && new.id != old.id));
    world.decide(&pauses(&state)[0].id, json!({"decision": "approve"})).await.unwrap();
    assert!(matches!(world.resume(&forked.id).await.rest, Rest::Completed));
    let asked = world.model.asked().pop().unwrap();
    assert_eq!((asked.calls_before, asked.history.len()), (2, 5), "the model goes on where it was, with all that was said");
    assert_eq!(world.journal.state(&id).status, ChainStatus::Paused);
}

#[tokio::test]
async fn an_ended_chain_is_forked_from_any_point() {
    let world = World::new(json!([turn(&["ok"]), say("the answer"), say("more")]));
    let id = world.run().await.state.id;
    let forked = world.host.fork(&id, None, &alice()).await.unwrap().state;
    assert_eq!(forked.status, ChainStatus::Runnable);
    let Said::Same(report) = world.host.say(&forked.id, &alice(), "and?", false, CancellationToken::new()).await.unwrap() else {
        panic!("the same chain")
    };
    assert_eq!(report.state.answer(), "more");
    let forked = world.host.fork(&id, None, &alice()).await.unwrap().state;
    let report = world.resume(&forked.id).await;
    assert_eq!((report.state.status, report.state.answer()), (ChainStatus::Completed, "the answer".to_owned()));

    let head = world.journal.state(&id).seq;
    for (seq, fits) in [(1, true), (head, true), (head + 1, false), (0, false)] {
        let forked = world.host.fork(&id, Some(seq), &alice()).await;
        assert_eq!(forked.is_ok(), fits, "{seq}");
        if !fits {
            assert!(matches!(forked, Err(HostError::NoEvent { .. })));
        }
    }
    assert_eq!(world.ran(), ["ok#1"]);
}

#[tokio::test]
async fn a_cancelled_chain_and_messages_between_its_turns_come_along() {
    let world = World::new(json!([say("one"), turn(&["ask"]), say("two")]));
    let id = world.run().await.state.id;
    let fork = world.host.fork(&id, None, &alice()).await.unwrap().state.id;
    world.host.say(&fork, &alice(), "more", false, CancellationToken::new()).await.unwrap();
    world.host.cancel(&fork, &alice(), None).await.unwrap();

    let again = world.host.fork(&fork, None, &alice()).await.unwrap().state;
    assert_eq!((again.stop.is_none(), calls(&again)), (true, calls(&world.journal.state(&fork))));
    world.resume(&again.id).await;
    let texts: Vec<_> = world.model.asked().pop().unwrap().history.iter().map(|entry| entry.message.joined_text()).collect();
    assert_eq!(texts, ["go", "one", "more", "", ""]);
}

/// Grants under which every call of `t` holds an effectful line.
fn effectful() -> Grants {
    let line = FsGrant {
        path: "/tmp/x".into(),
        mount: "/x".into(),
        access: Access::Write,
        when: When::Always,
        on_missing: Default::default(),
        tools: ForTools::default(),
        one_file: false,
        quota: None,
        line: 2,
    };
    let section = PluginGrants { fs: vec![line], ..PluginGrants::holding_nothing(Pin::Any, 1) };
    Grants { plugins: [("t".to_owned(), section)].into(), ..Grants::default() }
}

fn unknown(state: &ChainState) -> Vec<bool> {
    state
        .calls
        .values()
        .map(|call| call.result.as_ref().and_then(|result| result.as_failure()).is_some_and(|failure| failure.kind == kind::UNKNOWN_OUTCOME))
        .collect()
}

#[tokio::test]
async fn a_call_that_had_started_with_an_effectful_grant_is_not_run_for_the_fork() {
    let world = World::new(json!([turn(&["ok"]), say("done")])).restarted(effectful());
    let id = world.run().await.state.id;
    let started = first(&world.journal.stamped(&id), |event| matches!(event, Event::CallsStarted { .. }));
    let forked = world.host.fork(&id, Some(started), &alice()).await.unwrap();
    assert_eq!((forked.unknown.len(), unknown(&forked.state)), (1, vec![true]));
    assert!(matches!(world.resume(&forked.state.id).await.rest, Rest::Completed));
    assert_eq!(world.ran(), ["ok#1"]);

    // One that had not started yet has done nothing, and runs.
    let forked = world.host.fork(&id, Some(started - 1), &alice()).await.unwrap();
    assert_eq!(unknown(&forked.state), [false]);
    world.resume(&forked.state.id).await;
    assert_eq!(world.ran(), ["ok#1", "ok#1"]);
}

#[tokio::test]
async fn a_call_that_paused_after_an_effect_is_not_run_for_the_fork() {
    use futures_util::FutureExt;
    let behaviour = |attempt: &crate::plugin::Attempt| {
        let ended = match attempt.attempt {
            1 => crate::plugin::AttemptOutcome { uses: Uses { fs_writes: 1, ..Uses::default() }, ..super::twins::pausing("q", Ask::Text) },
            _ => done("did it"),
        };
        async move { ended }.boxed()
    };
    let world = World::with(json!([turn(&["ok"]), say("done")]), effectful(), behaviour);
    let id = world.run().await.state.id;
    let forked = world.host.fork(&id, None, &alice()).await.unwrap();
    assert_eq!(unknown(&forked.state), [true]);
    assert!(pauses(&forked.state).is_empty());
    world.resume(&forked.state.id).await;
    assert_eq!(world.ran(), ["ok#1"]);
}

#[tokio::test]
async fn a_finished_call_keeps_the_arguments_it_ran_with_and_an_open_one_the_models() {
    let world = World::with_rules(json!([turn(&["ok", "ok"]), say("done")]), vec![rule("t__ok", Verdict::Ask)]);
    let id = world.run().await.state.id;
    for pause in pauses(&world.journal.state(&id)) {
        world.decide(&pause.id, json!({"decision": "edit", "arguments": {"n": 7}})).await.unwrap();
    }
    world.resume(&id).await;
    let finished = first(&world.journal.stamped(&id), |event| matches!(event, Event::CallFinished { .. }));
    let state = world.host.fork(&id, Some(finished), &alice()).await.unwrap().state;
    let arguments: Vec<_> = state.calls.values().map(|call| (call.edited_by.is_some(), call.arguments.as_deref().unwrap())).collect();
    assert_eq!(arguments, [(true, &json!({"n": 7})), (false, &json!({"n": 1}))]);
    assert_eq!(pauses(&state).len(), 1, "today's rules ask");
}

#[tokio::test]
async fn a_fork_of_a_fork_and_a_tool_called_by_a_person_go_on() {
    let world = World::new(json!([]));
    let call = crate::call::AskedCall { id: None, name: "t__ask".into(), arguments: "{}".into() };
    let settings = crate::chain::Settings::default();
    let prompt = crate::runner::Prompt { by: alice(), settings, messages: Vec::new(), continues: None, call: Some(call) };
    let id = world.host.start(prompt).await.unwrap();
    world.resume(&id).await;
    let fork = world.host.fork(&id, None, &alice()).await.unwrap().state.id;
    world.resume(&fork).await;
    let fork = world.host.fork(&fork, None, &alice()).await.unwrap().state.id;
    let state = world.resume(&fork).await.state;
    world.decide(&pauses(&state)[0].id, json!({"decision": "approve"})).await.unwrap();
    assert!(matches!(world.resume(&fork).await.rest, Rest::Completed));
}
