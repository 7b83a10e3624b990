//! A chain and those below it, whoever dies at which write, on twins and on real stores, in one process and in many.

use std::sync::{Arc, Mutex};

use futures_util::future::FutureExt;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

use super::children::{deep, grants, prompts, with_turns, world_under};
use super::memory::Side;
use super::twins::{World, alice, done, effectful, pauses, pausing, say, tool, turn};
use crate::call::{CallStatus, Effects};
use crate::capability::Grants;
use crate::chain::{ChainId, ChainStatus};
use crate::event::{Event, Stamped};
use crate::journal::tests::sample::Home;
use crate::pause::{Ask, PauseKind};
use crate::plugin::Attempt;
use crate::runner::{Rest, Resume};
use crate::state::ChainState;
use crate::state::replay::replay;

const FAMILY: &str = "t__pay t__ask";

/// Root, two children, one grandchild; `t__pay` is had once wherever it is, `t__ask` asks first.
fn family() -> Value {
    let calls = json!({"tool_calls": FAMILY.split(' ').map(|tool| json!({"id": "same", "name": tool, "arguments": {"n": 1}})).collect::<Vec<_>>()});
    json!({
        "go": [calls, prompts(&["a", "b"]), say("root")],
        "a": [calls, prompts(&["leaf"]), say("a")],
        "b": [calls, say("b")],
        "leaf": [calls, say("leaf")],
    })
}

type Effected = Arc<Mutex<Vec<String>>>;

fn dying() -> (World, Effected) {
    let seen = Effected::default();
    let outside = seen.clone();
    let grants = Grants { children: Some(deep()), ..effectful() };
    let world = World::with(json!([]), grants, move |attempt: &Attempt| {
        let (outside, attempt) = (outside.clone(), attempt.clone());
        async move {
            tokio::task::yield_now().await;
            if attempt.tool == "ask" && !attempt.approved {
                return pausing("approval", Ask::Approval);
            }
            outside.lock().unwrap().push(attempt.idempotency_key.clone());
            tokio::task::yield_now().await;
            done(&attempt.tool)
        }
        .boxed()
    });
    *world.plugins.tools.lock().unwrap() = ["pay", "ask"].map(|name| tool(name, Effects::Once)).into();
    (with_turns(world, family()), seen)
}

/// Any process may die at any of its writes; others answer what is asked and carry the root on.
async fn brought_to_its_end(world: &World, root: &ChainId) {
    for _ in 0..60 {
        for row in world.host.journal.pending(100).await.unwrap() {
            let answer = match row.pause.kind {
                PauseKind::InDoubt => json!({"decision": "settle", "outcome": "give-up"}),
                _ => json!({"decision": "approve"}),
            };
            world.decide(&row.pause.id, answer).await.unwrap();
        }
        if world.journal.state(root).status.is_terminal() {
            return;
        }
        world.resume(root).await;
    }
    panic!("stuck: {:?}", world.journal.state(root));
}

fn all_below(world: &World, id: &ChainId) -> Vec<ChainState> {
    let children = world.children(id);
    let below: Vec<_> = children.iter().flat_map(|child| all_below(world, &child.id)).collect();
    children.into_iter().chain(below).collect()
}

/// Of every chain there is, whoever died.
fn check(world: &World, root: &ChainId, effects: &[String]) {
    let below = all_below(world, root);
    assert_eq!(world.journal.ids().len(), below.len() + 1, "no chain stands outside of the family");
    for state in [world.journal.state(root)].iter().chain(&below) {
        let replayed = world.host.with_rules(|rules| replay(&state.id, &world.journal.stamped(&state.id), rules));
        assert_eq!(replayed.faults, [], "the rules could have produced it");
        assert!(state.status.is_terminal(), "nothing below goes on when the root has ended: {} is {}", state.id, state.status);
        for call in state.calls.values() {
            assert!(call.result.is_some(), "each call has its result");
            let key = call.idempotency_key(state);
            assert!(effects.iter().filter(|made| **made == key).count() <= 1, "an effect is had once");
            if let Some(child) = &call.child {
                let started = world
                    .journal
                    .stamped(&state.id)
                    .iter()
                    .filter(|at| matches!(&at.event, Event::ChildStarted { call: of, .. } if *of == call.key))
                    .count();
                let child = world.journal.state(child);
                assert_eq!((started, child.parent.as_ref().map(|parent| parent.call)), (1, Some(call.key)), "one chain for one call");
                assert!(child.tools.iter().all(|tool| state.tools.contains(tool)), "no more than its parent");
                assert_eq!(call.status == CallStatus::Succeeded, child.status == ChainStatus::Completed);
            }
        }
    }
}

#[tokio::test]
async fn a_family_comes_to_its_end_wherever_a_process_dies() {
    for side in [Side::Before, Side::After] {
        for append in 1..40 {
            let (world, seen) = dying();
            let root = world.start().await;
            world.journal.die_at(Some((side, append)));
            world.try_resume(&root, Resume::default()).await.ok();
            restart(&world);
            brought_to_its_end(&world, &root).await;
            assert_eq!(world.journal.state(&root).status, ChainStatus::Completed, "{side:?} {append}");
            check(&world, &root, &seen.lock().unwrap());
        }
    }
}

fn restart(world: &World) {
    world.journal.die_at(None);
    world.journal.forget_holders();
    for id in world.journal.ids() {
        world.forget(&id);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Resume(Index),
    Decide(Index, Value),
    Cancel(Index),
}

fn steps() -> impl Strategy<Value = Vec<(Step, Option<(Side, u64)>)>> {
    let decision = select(vec![
        json!({"decision": "approve"}),
        json!({"decision": "approve"}),
        json!({"decision": "deny"}),
        json!({"decision": "deny", "then": "stop"}),
        json!({"decision": "settle", "outcome": "give-up"}),
    ]);
    let step = prop_oneof![
        6 => any::<Index>().prop_map(Step::Resume),
        8 => (any::<Index>(), decision).prop_map(|(index, decision)| Step::Decide(index, decision)),
        1 => any::<Index>().prop_map(Step::Cancel),
    ];
    prop::collection::vec((step, prop::option::weighted(0.6, (select(vec![Side::Before, Side::After]), 1..9_u64))), 1..16)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn the_invariants_hold_for_a_family_whoever_dies_decides_and_cancels(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (world, seen) = dying();
            let root = world.start().await;
            for (step, death) in steps {
                world.journal.die_at(death);
                let ids = world.journal.ids();
                match step {
                    Step::Resume(index) => drop(world.try_resume(&index.get(&ids).clone(), Resume::default()).await),
                    Step::Cancel(index) => drop(world.host.cancel(&index.get(&ids).clone(), &alice(), None).await),
                    Step::Decide(index, decision) => {
                        let open: Vec<_> = ids.iter().flat_map(|id| pauses(&world.journal.state(id))).collect();
                        if !open.is_empty() {
                            drop(world.decide(&index.get(&open).id.clone(), decision).await);
                        }
                    }
                }
                restart(&world);
                for state in world.journal.ids().iter().map(|id| world.journal.state(id)) {
                    assert!(state.status != ChainStatus::Paused || state.open_pauses().next().is_some(), "h44");
                    assert!(state.status != ChainStatus::Waiting || state.children().next().is_some());
                    assert!(!state.status.is_terminal() || state.children().next().is_none(), "a chain ends after its children");
                }
            }
            brought_to_its_end(&world, &root).await;
            check(&world, &root, &seen.lock().unwrap());
        });
    }
}

/// What stands in the journal of the same family, by any store.
async fn traced(home: &Home) -> Vec<Vec<Stamped>> {
    let mut world = world_under(family_of_twins(), grants(deep()));
    world.host.journal = home.open();
    let report = world.run().await;
    let open: Vec<_> = report.below.iter().flat_map(pauses).collect();
    assert_eq!(open.len(), 2);
    world.decide(&open[1].id, json!({"decision": "approve"})).await.unwrap();
    world.resume(&report.state.id).await;
    world.decide(&open[0].id, json!({"decision": "deny", "then": "stop"})).await.unwrap();
    assert!(matches!(world.resume(&report.state.id).await.rest, Rest::Completed));
    let mut traces = Vec::new();
    for id in [&report.state].into_iter().chain(&report.below).map(|state| &state.id) {
        traces.push(world.host.journal.events(id, 0).await.unwrap());
    }
    assert_eq!(home.open().differences().await.unwrap(), Vec::<String>::new());
    traces
}

fn family_of_twins() -> Value {
    json!({
        "go": [prompts(&["a", "b"]), say("root")],
        "a": [turn(&["ok"]), prompts(&["leaf"]), say("a")],
        "b": [turn(&["ask"]), say("b")],
        "leaf": [turn(&["ask"]), say("leaf")],
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invariant_14_a_family_leaves_the_same_trace_on_both_stores() {
    let (sqlite, postgres) = (traced(&Home::sqlite()).await, traced(&Home::postgres()).await);
    assert_eq!(sqlite.len(), 4);
    assert_eq!(sqlite, postgres);
}

/// No process drives the whole family: each chain is claimed as it can go on, and the parent with its child's end.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn workers_carry_a_family_on_chain_by_chain() {
    for home in [Home::sqlite(), Home::postgres()] {
        let mut world = world_under(family_of_twins(), grants(deep()));
        world.host.journal = home.open();
        let root = world.start().await;
        for pauses in [2, 0] {
            super::work::once_through(&world, &home).await;
            let open = world.host.journal.pending(10).await.unwrap();
            assert_eq!(open.len(), pauses);
            for row in open {
                world.decide(&row.pause.id, json!({"decision": "approve"})).await.unwrap();
            }
        }
        let rows = world.host.journal.chains(10).await.unwrap();
        assert!(rows.len() == 4 && rows.iter().all(|row| row.status == ChainStatus::Completed), "{rows:?}");
        assert!(rows.iter().any(|row| row.id == root));
        let mut ran = world.ran();
        ran.sort();
        assert_eq!(ran, ["ask#1", "ask#1", "ask#2", "ask#2", "ok#1"]);
        let differences = home.open().differences().await.unwrap();
        assert_eq!(differences, Vec::<String>::new());
    }
}
