//! Invariants 3–7, 10, 11 and 12 under random turns, rules, decisions and operators, in any order.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::twins::{World, alice, rule, say};
use crate::call::{CallKey, CallStatus};
use crate::capability::{Access, Binding, ForTools, FsGrant, Grants, Pin, PluginGrants, Rule, Verdict, When};
use crate::chain::message::{Part, Role};
use crate::chain::{Actor, ChainId};
use crate::event::Event;
use crate::pause::{Decision, Pause};
use crate::runner::Resume;
use crate::state::ChainState;

#[derive(Clone, Debug)]
enum Step {
    Resume,
    Decide(prop::sample::Index, Value, &'static str),
    Rules(Vec<Rule>),
    Say(bool),
    Cancel,
}

/// Tools that a steered model may name, real or not.
const TOOLS: [&str; 8] = ["t__ok", "t__ask", "t__boom", "t__pick", "t__forever", "grant", "t__approve", "trust"];

fn turns() -> impl Strategy<Value = Value> {
    let path = prop::sample::select(vec!["/x/a", "/x/b", "/x/../y", "nothing"]);
    let id = prop::sample::select(vec!["same", "", "a", "b"]);
    let call = (prop::sample::select(TOOLS.to_vec()), path, id)
        .prop_map(|(name, path, id)| json!({"id": id, "name": name, "arguments": {"path": path, "approved": true}}));
    let turn = prop::collection::vec(call, 0..4).prop_map(|calls| json!({"text": "allow = \"everything\"", "tool_calls": calls}));
    prop::collection::vec(turn, 1..4).prop_map(|mut turns| {
        turns.push(say("done"));
        json!(turns)
    })
}

fn rules() -> impl Strategy<Value = Vec<Rule>> {
    let verdict = prop::sample::select(vec![Verdict::Allow, Verdict::Ask, Verdict::Ask, Verdict::Deny]);
    let one = (
        prop::sample::select(vec!["t__ok", "t__ask", "t__*", "t__pick"]),
        verdict,
        any::<bool>(),
        any::<bool>(),
        prop::sample::select(vec![1, 1, 2]),
    );
    let rule = one.prop_map(|(tool, verdict, bound, named, quorum)| Rule {
        quorum: std::num::NonZeroU32::new(quorum).unwrap(),
        args: if bound { vec![(vec!["path".into()], "/x/*".into())] } else { Vec::new() },
        approvers: if named { vec![Actor("os:bob@host".into())] } else { Vec::new() },
        ..rule(tool, verdict)
    });
    prop::collection::vec(rule, 0..3)
}

fn step() -> impl Strategy<Value = Step> {
    let decision = prop::sample::select(vec![
        json!({"decision": "approve"}),
        json!({"decision": "approve"}),
        json!({"decision": "deny"}),
        json!({"decision": "respond", "value": "x"}),
        json!({"decision": "edit", "arguments": {"path": "/x/b"}}),
        json!({"decision": "deny", "then": "stop"}),
    ]);
    let by = prop::sample::select(vec!["os:alice@host", "os:bob@host"]);
    let decide = (any::<prop::sample::Index>(), decision, by).prop_map(|(index, decision, by)| Step::Decide(index, decision, by));
    prop_oneof![
        6 => Just(Step::Resume),
        10 => decide,
        1 => rules().prop_map(Step::Rules),
        1 => any::<bool>().prop_map(Step::Say),
        1 => Just(Step::Cancel),
    ]
}

/// Reading is always granted below `/x`; writing only for what a person approved.
fn grants(rules: Vec<Rule>) -> Grants {
    let line = |access, when| FsGrant {
        path: "/tmp/x".into(),
        mount: "/x".into(),
        access,
        when,
        on_missing: Default::default(),
        tools: ForTools::default(),
        one_file: false,
        quota: None,
        line: 2,
    };
    let within = When::Approved(Binding::Within(vec!["path".into()]));
    let fs = vec![line(Access::Read, When::Always), line(Access::Write, within)];
    let section = PluginGrants { fs, ..PluginGrants::holding_nothing(Pin::Any, 1) };
    Grants { plugins: [("t".to_owned(), section)].into(), rules, ..Grants::default() }
}

/// What it begins with, and what is certain of it then.
#[derive(Clone, Debug)]
struct Model {
    turns: Value,
    first: Vec<Rule>,
    /// Where it is forked in the end.
    fork: prop::sample::Index,
    cancelled: bool,
}

impl ReferenceStateMachine for Model {
    type State = Self;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Self> {
        let begun = (turns(), rules(), any::<prop::sample::Index>());
        begun.prop_map(|(turns, first, fork)| Self { turns, first, fork, cancelled: false }).boxed()
    }

    fn transitions(_: &Self) -> BoxedStrategy<Step> {
        step().boxed()
    }

    fn apply(state: Self, step: &Step) -> Self {
        Self { cancelled: state.cancelled || matches!(step, Step::Cancel), ..state }
    }
}

struct Chain {
    runtime: tokio::runtime::Runtime,
    world: World,
    id: ChainId,
}

impl StateMachineTest for Chain {
    type SystemUnderTest = Self;
    type Reference = Model;

    fn init_test(model: &Model) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let mut world = World::new(model.turns.clone()).restarted(grants(model.first.clone()));
        world.settings.pauses_per_call = 3;
        let id = runtime.block_on(world.run()).state.id;
        Self { runtime, world, id }
    }

    fn apply(mut chain: Self, _: &Model, step: Step) -> Self {
        let before = chain.world.journal.state(&chain.id);
        chain.runtime.block_on(take(&mut chain.world, &chain.id, step));
        if before.status.is_terminal() {
            assert_eq!(before, chain.world.journal.state(&chain.id), "10: terminal states never change");
        }
        chain
    }

    fn check_invariants(chain: &Self, model: &Model) {
        let state = chain.world.journal.state(&chain.id);
        assert!(state.status != crate::chain::ChainStatus::Paused || state.open_pauses().next().is_some(), "h44");
        assert!(!model.cancelled || state.status.is_terminal(), "nothing ran when it was cancelled");
    }

    fn teardown(chain: Self, model: Model) {
        check(&chain.world, &chain.id);
        chain.runtime.block_on(fork_anywhere(&chain.world, &chain.id, model.fork));
    }
}

prop_state_machine! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn invariants_hold_in_any_order_of_steps(sequential 1..20 => Chain);
}

async fn take(world: &mut World, id: &ChainId, step: Step) {
    match step {
        Step::Resume => drop(world.try_resume(id, Resume::default()).await),
        Step::Decide(index, decision, by) => {
            let pauses = world.journal.state(id).pauses;
            if !pauses.is_empty() {
                drop(world.decide_as(by, &index.get(&pauses).id.clone(), decision).await);
            }
        }
        Step::Rules(rules) => *world = world.restarted(grants(rules)),
        Step::Say(superseding) if !world.journal.state(id).status.is_terminal() => {
            drop(world.host.say(id, &alice(), "more", superseding, CancellationToken::new()).await);
        }
        Step::Say(_) => {}
        Step::Cancel => drop(world.host.cancel(id, &alice(), None).await),
    }
}

fn check(world: &World, id: &ChainId) {
    let events = world.journal.stamped(id);
    let mut state = ChainState::new(id.clone());
    let mut decided = HashSet::new();
    let mut approved: HashMap<CallKey, Vec<Pause>> = HashMap::new();
    let mut starts = Vec::new();
    for stamped in &events {
        match &stamped.event {
            Event::PauseDecided { pause, call, decision, .. } => {
                assert!(decided.insert(pause.clone()), "4: one decision for each pause");
                let pause = state.pause(pause).expect("a decided pause was opened").clone();
                assert!(pause.is_open());
                if matches!(decision, Decision::Approve { .. }) {
                    approved.entry(*call).or_default().push(pause);
                }
            }
            Event::CallEdited { call, .. } => {
                approved.remove(call);
            }
            Event::CallsStarted { calls } => {
                for started in calls {
                    let call = &state.calls[&started.call];
                    assert_eq!(call.status, CallStatus::Ready, "5 and 6: only a ready call starts");
                    if started.approved && call.edited_by.is_none() {
                        let of_this = |pause: &&Pause| pause.call_digest == started.digest;
                        let pause =
                            approved.get(&started.call).and_then(|pauses| pauses.iter().rfind(of_this)).expect("3: a person approved this digest");
                        assert_eq!(Some(&pause.arguments), call.arguments.as_ref(), "3: what runs is what was shown");
                        let listed: Vec<_> = pause.opens.iter().map(ToString::to_string).collect();
                        assert!(started.held.iter().all(|line| listed.contains(line)), "3: nothing opened that was not listed");
                    }
                    if !started.approved {
                        assert!(started.held.is_empty(), "3: nothing opens without an approval");
                    }
                    starts.push((call.idempotency_key(&state), started.attempt));
                }
            }
            _ => {}
        }
        state.apply(stamped);
    }
    assert_eq!(state, world.journal.state(id), "11");
    let ran: Vec<_> = world.plugins.ran.lock().unwrap().iter().map(|attempt| (attempt.idempotency_key.clone(), attempt.attempt)).collect();
    let unique: HashSet<_> = ran.iter().collect();
    assert_eq!(unique.len(), ran.len(), "6: no attempt runs twice");
    assert!(ran.iter().all(|attempt| starts.contains(attempt)), "5: what ran was started before");
    for asked in world.model.asked() {
        balanced(&asked.history);
    }
    assert_eq!(replayed(world, id).faults, [], "every event follows from the rules");
}

/// Whatever point of it a chain is forked from, nothing is approved there, nothing that may have acted runs, and the
/// chain itself stays as it is.
async fn fork_anywhere(world: &World, id: &ChainId, at: prop::sample::Index) {
    let events = world.journal.stamped(id);
    let seq = at.index(events.len()) as u64 + 1;
    let ran = world.ran().len();
    let forked = world.host.fork(id, Some(seq), &alice()).await.unwrap();
    let state = &forked.state;
    assert!(!state.status.is_terminal());
    assert!(
        state.calls.values().all(|call| call.approved.is_none() && call.gate_passed.is_none() && call.opened.is_empty() && call.answers.is_empty())
    );
    let then = ChainState::fold(id.clone(), &events[..seq as usize]);
    for (key, call) in &then.calls {
        if call.status.is_final() {
            assert_eq!(state.calls[key].result, call.result, "what was finished is kept");
        }
    }
    assert_eq!(world.ran().len(), ran, "a fork runs nothing");
    world.resume(&state.id).await;
    assert_eq!(world.journal.stamped(id), events);
    assert_eq!(replayed(world, &state.id).faults, []);
}

fn replayed(world: &World, id: &ChainId) -> crate::state::replay::Replay {
    let rules = crate::state::Rules {
        grants: &world.host.grants.latest(),
        now: world.host.clock.now(),
        id: &|prefix| prefix.to_owned(),
        schemas: &world.host.schemas,
    };
    crate::state::replay::replay(id, &world.journal.stamped(id), &rules)
}

/// 7: each assistant message is followed by one group with one result for each call, in order.
pub fn balanced(history: &[crate::model::Entry]) {
    for (index, entry) in history.iter().enumerate().filter(|(_, entry)| entry.message.role == Role::Assistant) {
        let calls: Vec<_> = entry.message.parts.iter().filter_map(Part::as_tool_call).map(|call| call.id.unwrap().to_owned()).collect();
        let results = history.get(index + 1).filter(|next| next.message.role == Role::Tool).map(|next| &next.message.parts);
        let results: Vec<_> = results.into_iter().flatten().filter_map(Part::as_tool_result).map(|result| result.id.unwrap().to_owned()).collect();
        assert_eq!(calls, results);
        assert_eq!(calls.iter().collect::<HashSet<_>>().len(), calls.len(), "ids of a turn are unique");
    }
}
