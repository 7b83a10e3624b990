//! Chains on real stores: the same chains leave the same trace on both, and a host that lost its hold changes nothing.

use std::sync::{Arc, Mutex};

use futures_util::future::FutureExt;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::twins::{World, alice, done, pauses, rule, say, turn};
use crate::capability::{Grants, Verdict};
use crate::chain::{ChainId, ChainStatus};
use crate::clock::Clock;
use crate::event::Stamped;
use crate::journal::postgres::tests::proxy::{Proxy, Way};
use crate::journal::tests::sample::Home;
use crate::journal::{Journal, JournalError, PostgresJournal};
use crate::plugin::Attempt;
use crate::runner::{HostError, Rest, Resume};

fn on(home: &Home, mut world: World) -> World {
    world.host.journal = home.open();
    world
}

/// As soon as what was dropped has let go of it.
async fn resumed(world: &World, id: &ChainId) -> Rest {
    for _ in 0..1000 {
        match world.try_resume(id, Resume::default()).await {
            Ok(report) => return report.rest,
            Err(HostError::Journal(JournalError::Held { .. })) => tokio::task::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    }
    panic!("a hold that was dropped is let go")
}

async fn answered(home: &Home) -> Vec<Stamped> {
    let world = on(home, World::new(json!([turn(&["ok", "ask", "pick"]), say("done")])));
    let report = world.run().await;
    let [ask, pick] = &pauses(&report.state)[..] else { panic!("two pauses") };
    world.decide(&ask.id, json!({"decision": "approve", "note": "fine"})).await.unwrap();
    world.decide(&pick.id, json!({"decision": "respond", "value": "one"})).await.unwrap();
    let report = world.resume(&report.state.id).await;
    world.decide(&pauses(&report.state)[0].id, json!({"decision": "respond", "value": "two"})).await.unwrap();
    let report = world.resume(&report.state.id).await;
    assert!(matches!(report.rest, Rest::Completed));
    world.host.journal.events(&report.state.id, 0).await.unwrap()
}

async fn denied_and_cancelled(home: &Home) -> Vec<Stamped> {
    let world = on(home, World::with_rules(json!([turn(&["ok", "boom", "ask"]), say("done")]), vec![rule("t__ok", Verdict::Ask)]));
    let report = world.run().await;
    world.decide(&pauses(&report.state)[0].id, json!({"decision": "deny", "note": "no"})).await.unwrap();
    let report = world.resume(&report.state.id).await;
    assert!(matches!(report.rest, Rest::Paused));
    world.host.cancel(&report.state.id, &alice(), Some("enough".into())).await.unwrap();
    world.host.journal.events(&report.state.id, 0).await.unwrap()
}

/// The first attempt never ends, and the future that ran it is dropped, as a process that dies drops everything.
async fn crashed(home: &Home) -> Vec<Stamped> {
    let behaviour = |attempt: &Attempt| match attempt.attempt {
        1 => std::future::pending().boxed(),
        _ => std::future::ready(done("at last")).boxed(),
    };
    let world = on(home, World::with(json!([turn(&["wait"]), say("done")]), Grants::default(), behaviour));
    let id = world.start().await;
    {
        let mut driving = Box::pin(world.resume(&id));
        while world.ran().is_empty() {
            tokio::select! {
                biased;
                _ = &mut driving => panic!("it waits"),
                () = tokio::task::yield_now() => {}
            }
        }
    }
    assert!(matches!(resumed(&world, &id).await, Rest::Completed));
    assert_eq!(world.ran(), ["wait#1", "wait#2"]);
    world.host.journal.events(&id, 0).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invariant_14_the_same_chains_leave_the_same_trace_on_both_stores() {
    let trace = async |home: fn() -> Home| [answered(&home()).await, denied_and_cancelled(&home()).await, crashed(&home()).await];
    let (sqlite, postgres) = (trace(Home::sqlite).await, trace(Home::postgres).await);
    assert!(sqlite.iter().all(|events| events.len() > 5));
    assert_eq!(sqlite, postgres);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h40_a_frozen_host_is_told_its_guests_are_interrupted_and_another_carries_the_chain_on() {
    let Home::Postgres(mut direct) = Home::postgres() else { unreachable!("it was asked for") };
    direct.lease = std::time::Duration::from_secs(1);
    let (proxy, through) = Proxy::before(&direct);
    let open = |address| -> Arc<dyn Journal> { Arc::new(PostgresJournal::new(address, Clock::system()).unwrap()) };
    let first: Arc<Mutex<Option<Attempt>>> = Arc::default();
    let seen = first.clone();
    let behaviour = move |attempt: &Attempt| {
        if attempt.attempt > 1 {
            return std::future::ready(done("at last")).boxed();
        }
        *seen.lock().unwrap() = Some(attempt.clone());
        std::future::pending().boxed()
    };
    let mut world = World::with(json!([turn(&["wait"]), say("done")]), Grants::default(), behaviour);
    world.host.clock = Clock::system();
    world.host.journal = open(through);
    let id = world.start().await;
    let frozen = async {
        while first.lock().unwrap().is_none() {
            tokio::task::yield_now().await;
        }
        proxy.set(Way::Silent);
    };
    let (driven, ()) = tokio::join!(world.try_resume(&id, Resume::default()), frozen);
    let error = driven.unwrap_err();
    assert!(matches!(error, HostError::Journal(JournalError::Lapsed { .. } | JournalError::Fenced { .. })), "{error:?}");
    let attempt = first.lock().unwrap().take().unwrap();
    assert!(attempt.cancel.is_cancelled() && attempt.lease.unwrap().is_over());

    world.host.journal = open(*direct);
    world.host.recent = Arc::default();
    let rest = loop {
        match world.try_resume(&id, Resume::default()).await {
            Ok(report) => break report,
            Err(HostError::Journal(JournalError::Held { .. })) => tokio::time::sleep(std::time::Duration::from_millis(20)).await,
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(rest.state.status, ChainStatus::Completed);
    assert_eq!(world.ran(), ["wait#1", "wait#2"]);
}

/// The guest was refused its effect since the lease was over, and says so as it would of any other refusal.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h40_what_a_call_says_when_its_lease_is_over_is_no_result_of_it() {
    let home = Home::postgres();
    let behaviour = |attempt: &Attempt| {
        if attempt.attempt == 1 {
            attempt.lease.as_ref().unwrap().end(false);
            return std::future::ready(done("refused")).boxed();
        }
        std::future::ready(done("at last")).boxed()
    };
    let mut world = World::with(json!([turn(&["wait"]), say("done")]), Grants::default(), behaviour);
    world.host.clock = Clock::system();
    let world = on(&home, world);
    let id = world.start().await;
    let error = world.try_resume(&id, Resume::default()).await.unwrap_err();
    assert!(matches!(error, HostError::Journal(JournalError::Lapsed { .. })), "{error:?}");
    let events = home.open().events(&id, 0).await.unwrap();
    assert!(events.iter().all(|event| !matches!(event.event, crate::event::Event::CallFinished { .. })), "{events:?}");
    world.host.recent.forget(&id);
    let rest = world.try_resume(&id, Resume::default()).await.unwrap();
    assert_eq!((rest.state.status, world.ran()), (ChainStatus::Completed, vec!["wait#1".to_owned(), "wait#2".to_owned()]));
}

/// H38: what a process starts it also runs, however busy the workers beside it are.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn h38_a_chain_that_was_just_started_is_adopted_by_no_worker() {
    for home in [Home::sqlite(), Home::postgres()] {
        let world = on(&home, World::new(json!([say("done")])));
        let worker = home.open();
        let stop = CancellationToken::new();
        let stolen = {
            let stop = stop.clone();
            tokio::spawn(async move {
                let mut stolen = 0;
                while !stop.is_cancelled() {
                    if let Some((_, hold)) = worker.claim(&Default::default()).await.unwrap() {
                        stolen += 1;
                        hold.let_go().await;
                    }
                    tokio::task::yield_now().await;
                }
                stolen
            })
        };
        for _ in 0..20 {
            let messages = vec![crate::chain::message::Message::text(crate::chain::message::Role::User, "go")];
            let prompt = crate::runner::Prompt { by: alice(), settings: world.settings.clone(), messages, continues: None, call: None };
            let report = world.host.run(prompt, CancellationToken::new()).await.unwrap();
            assert!(matches!(report.rest, Rest::Completed), "{:?}", report.rest);
        }
        stop.cancel();
        assert_eq!(stolen.await.unwrap(), 0);
    }
}
