//! Invariants 1, 2, 5, 6, 7, 8, 10 and 11 with processes that die at any write, in any order of steps.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use futures_util::future::FutureExt;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::memory::Side;
use super::properties::balanced;
use super::twins::{World, alice, done, effectful, pausing, rule, say, tool};
use crate::call::{CallStatus, Effects, Finding};
use crate::capability::{Grants, PluginGrants, Reconcile, Verdict};
use crate::chain::{ChainId, ChainStatus};
use crate::event::Event;
use crate::pause::{Ask, Decision, Pause, PauseKind, Settle, Settled};
use crate::plugin::Attempt;
use crate::runner::{Rest, Resume};
use crate::state::ChainState;
use crate::state::replay::replay;

/// Processes it may take to bring a chain to its end once nothing dies any more; each settles what it finds.
const PROCESSES_MAX: usize = 40;

#[derive(Clone, Debug)]
enum Step {
    Resume(Option<(Side, u64)>),
    Decide(Index, Value, Option<(Side, u64)>),
    Say(bool),
    Cancel,
}

fn turns() -> impl Strategy<Value = Value> {
    let name = select(vec!["t__pay", "t__pay", "t__put", "t__look", "t__ask", "t__gated", "t__none"]);
    let call = (name, 0..2_u8).prop_map(|(name, n)| json!({"id": "same", "name": name, "arguments": {"n": n}}));
    let turn = prop::collection::vec(call, 0..4).prop_map(|calls| json!({"tool_calls": calls}));
    prop::collection::vec(turn, 1..4).prop_map(|mut turns| {
        turns.extend([say("done"), say("done"), say("done")]);
        json!(turns)
    })
}

fn step() -> impl Strategy<Value = Step> {
    let crash = || prop::option::weighted(0.7, (select(vec![Side::Before, Side::After]), 1..7_u64));
    let decision = select(vec![
        json!({"decision": "approve"}),
        json!({"decision": "approve"}),
        json!({"decision": "deny"}),
        json!({"decision": "respond", "value": "x"}),
        json!({"decision": "edit", "arguments": {"n": 7}}),
        json!({"decision": "settle", "outcome": "happened", "result": "seen"}),
        json!({"decision": "settle", "outcome": "run-again"}),
        json!({"decision": "settle", "outcome": "give-up"}),
        json!({"decision": "deny", "then": "stop"}),
    ]);
    prop_oneof![
        8 => crash().prop_map(Step::Resume),
        8 => (any::<Index>(), decision, crash()).prop_map(|(index, decision, crash)| Step::Decide(index, decision, crash)),
        1 => any::<bool>().prop_map(Step::Say),
        1 => Just(Step::Cancel),
    ]
}

/// Every effect there was, as the outside saw it: idempotency key and attempt.
type Effected = Arc<Mutex<Vec<(String, u32)>>>;

fn world(turns: Value, reconcile: Reconcile) -> (World, Effected) {
    let seen = Effected::default();
    let outside = seen.clone();
    let world = World::with(turns, grants(reconcile), move |attempt: &Attempt| {
        let (outside, attempt) = (outside.clone(), attempt.clone());
        async move {
            // A sibling's write, and the death of the process, may come before and after.
            tokio::task::yield_now().await;
            if attempt.tool == "ask" && !attempt.approved {
                return pausing("approval", Ask::Approval);
            }
            if attempt.tool != "look" {
                outside.lock().unwrap().push((attempt.idempotency_key.clone(), attempt.attempt));
            }
            tokio::task::yield_now().await;
            done(&attempt.tool)
        }
        .boxed()
    });
    let tools = [("pay", Effects::Once), ("gated", Effects::Once), ("ask", Effects::Once), ("put", Effects::Idempotent), ("look", Effects::ReadOnly)];
    *world.plugins.tools.lock().unwrap() = tools.iter().map(|(name, effects)| tool(name, *effects)).collect();
    let outside = seen.clone();
    // An honest plugin: it looks at what is there.
    world.plugins.find(move |attempt| match outside.lock().unwrap().iter().any(|(key, _)| *key == attempt.idempotency_key) {
        true => Finding::Happened(crate::call::ToolResult::text("found")),
        false => Finding::NotHappened,
    });
    (world, seen)
}

fn grants(reconcile: Reconcile) -> Grants {
    let mut grants = effectful();
    let section = grants.plugins.remove("t").unwrap();
    grants.plugins.insert("t".into(), PluginGrants { reconcile, ..section });
    Grants { rules: vec![rule("t__gated", Verdict::Ask)], ..grants }
}

/// What it begins with, and the little that is certain of a chain whose steps die anywhere.
#[derive(Clone, Debug)]
struct Model {
    turns: Value,
    believed: bool,
    /// Cancelling is one step that dies nowhere: what has not ended by then completes no more.
    cancelled: bool,
}

impl ReferenceStateMachine for Model {
    type State = Self;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Self> {
        (turns(), any::<bool>()).prop_map(|(turns, believed)| Self { turns, believed, cancelled: false }).boxed()
    }

    fn transitions(_: &Self) -> BoxedStrategy<Step> {
        step().boxed()
    }

    fn apply(state: Self, step: &Step) -> Self {
        Self { cancelled: state.cancelled || matches!(step, Step::Cancel), ..state }
    }
}

/// Processes that die, and what is left of them.
struct Dying {
    runtime: tokio::runtime::Runtime,
    world: World,
    id: ChainId,
    effects: Effected,
    /// Its end, if it came before it was cancelled.
    ended: Option<ChainStatus>,
}

impl StateMachineTest for Dying {
    type SystemUnderTest = Self;
    type Reference = Model;

    fn init_test(model: &Model) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let (world, effects) = world(model.turns.clone(), if model.believed { Reconcile::Believe } else { Reconcile::Show });
        let id = runtime.block_on(world.start());
        Self { runtime, world, id, effects, ended: None }
    }

    fn apply(mut dying: Self, model: &Model, step: Step) -> Self {
        let before = dying.world.journal.state(&dying.id);
        dying.runtime.block_on(take(&dying.world, &dying.id, step));
        let after = dying.world.journal.state(&dying.id);
        if before.status.is_terminal() {
            assert_eq!(before, after, "10: terminal states never change");
        } else if after.status.is_terminal() && !model.cancelled {
            dying.ended = Some(after.status);
        }
        dying
    }

    fn check_invariants(dying: &Self, _: &Model) {
        let state = dying.world.journal.state(&dying.id);
        assert!(state.status != ChainStatus::Paused || state.open_pauses().next().is_some(), "h44");
    }

    fn teardown(dying: Self, model: Model) {
        dying.runtime.block_on(bring_to_its_end(&dying.world, &dying.id));
        check(&dying.world, &dying.id, &dying.effects.lock().unwrap());
        let status = dying.world.journal.state(&dying.id).status;
        match dying.ended {
            Some(ended) => assert_eq!(status, ended),
            None => assert!(!model.cancelled || status != ChainStatus::Completed, "what was cancelled completed"),
        }
    }
}

prop_state_machine! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn invariants_hold_whenever_processes_die(sequential 1..16 => Dying);
}

async fn take(world: &World, id: &ChainId, step: Step) {
    let crash = match &step {
        Step::Resume(crash) | Step::Decide(_, _, crash) => *crash,
        Step::Say(_) | Step::Cancel => None,
    };
    world.journal.die_at(crash);
    match step {
        Step::Resume(_) => drop(world.try_resume(id, Resume::default()).await),
        Step::Decide(index, decision, _) => {
            let pauses = world.journal.state(id).pauses;
            if !pauses.is_empty() {
                drop(world.decide(&index.get(&pauses).id.clone(), decision).await);
            }
        }
        Step::Say(superseding) if !world.journal.state(id).status.is_terminal() => {
            drop(world.host.say(id, &alice(), "more", superseding, CancellationToken::new()).await);
        }
        Step::Say(_) => {}
        Step::Cancel => drop(world.host.cancel(id, &alice(), None).await),
    }
    world.restart(id);
}

/// Nothing is stuck: people answer what is asked, and nothing dies any more.
async fn bring_to_its_end(world: &World, id: &ChainId) {
    for _ in 0..PROCESSES_MAX {
        let state = world.journal.state(id);
        if state.status.is_terminal() {
            return;
        }
        for pause in state.open_pauses() {
            world.decide(&pause.id, answer(pause)).await.expect("an open pause can be answered");
        }
        let rest = world.resume(id).await.rest;
        assert!(!matches!(rest, Rest::Blocked(_) | Rest::ModelAway(_) | Rest::Interrupted), "{rest:?}");
    }
    panic!("the chain is stuck: {:?}", world.journal.state(id));
}

fn answer(pause: &Pause) -> Value {
    match pause.kind {
        PauseKind::InDoubt => json!({"decision": "settle", "outcome": "give-up"}),
        _ => json!({"decision": "approve"}),
    }
}

fn check(world: &World, id: &ChainId, effects: &[(String, u32)]) {
    let mut state = ChainState::new(id.clone());
    // By idempotency key: which attempts were started, and how often a person said to make the call again.
    let (mut started, mut again): (HashMap<String, Vec<u32>>, HashMap<String, usize>) = Default::default();
    for stamped in &world.journal.stamped(id) {
        match &stamped.event {
            Event::CallsStarted { calls } => {
                for start in calls {
                    let call = &state.calls[&start.call];
                    assert_eq!(call.status, CallStatus::Ready, "5 and 6: only a ready call starts");
                    started.entry(call.idempotency_key(&state)).or_default().push(start.attempt);
                }
            }
            Event::PauseDecided { call, decision: Decision::Settle(Settle { outcome: Settled::RunAgain, .. }), .. } => {
                *again.entry(state.calls[call].idempotency_key(&state)).or_default() += 1;
            }
            Event::TurnReceived { .. } => assert!(state.calls.values().all(|call| call.status.is_final()), "7: no model call while a call is open"),
            _ => {}
        }
        state.apply(stamped);
    }
    assert_eq!(state, world.journal.state(id), "11");
    let replayed = world.host.with_rules(|rules| replay(id, &world.journal.stamped(id), rules));
    assert_eq!(replayed.faults, [], "the rules could have produced it");
    assert!(state.calls.values().all(|call| call.result.is_some()), "8: what was decided came to its end");
    for (key, attempt) in effects {
        assert!(started.get(key).is_some_and(|attempts| attempts.contains(attempt)), "2: an effect implies its start");
    }
    for call in state.calls.values() {
        let key = call.idempotency_key(&state);
        let made = effects.iter().filter(|(of, _)| *of == key).count();
        if state.tool(&call.tool).is_some_and(|tool| tool.effects == Effects::Once) {
            assert!(made <= 1 + again.get(&key).copied().unwrap_or_default(), "1: once, and once more for each time a person said so");
        }
        if call.status == CallStatus::Succeeded && call.word_of.is_none() && call.tool != "t__look" {
            assert!(made >= 1, "a result is of something that was made");
        }
    }
    for asked in world.model.asked() {
        balanced(&asked.history);
    }
}
