//! Chains that calls of other chains start: each pause is its own chain's, each effect is had once, and each call that
//! started one gets one result, whoever dies when.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::twins::{World, alice, pauses, rule, say, turn};
use crate::call::{CallStatus, ToolResult};
use crate::capability::{Children, Grants, Then, Verdict};
use crate::chain::{ChainId, ChainStatus};
use crate::model::script::Script;
use crate::model::{Model, ModelError, Reply, Request};
use crate::pause::{Pause, PauseStatus};
use crate::runner::{HostError, Rest, Resume};
use crate::state::child::ANSWER_BYTES_MAX;
use crate::state::{Call, ChainState};

/// Says the turns that belong to the chain's first message.
struct ByPrompt(HashMap<String, Script>);

impl Model for ByPrompt {
    fn name(&self) -> &str {
        "by-prompt"
    }

    fn respond<'a>(&'a self, request: Request<'a>, on_text: &'a (dyn Fn(&str) + Send + Sync)) -> BoxFuture<'a, Result<Reply, ModelError>> {
        let prompt = request.history[0].message.joined_text();
        self.0.get(&prompt).unwrap_or_else(|| panic!("no turns for `{prompt}`")).respond(request, on_text)
    }
}

/// `turns` by prompt; the first chain's is `go`.
pub fn with_turns(mut world: World, turns: Value) -> World {
    let script = |(prompt, turns): (String, Value)| (prompt.clone(), Script::of(&prompt, serde_json::from_value(turns).unwrap()));
    let model: Arc<dyn Model> = Arc::new(ByPrompt(serde_json::from_value::<HashMap<_, _>>(turns).unwrap().into_iter().map(script).collect()));
    world.host.models = Arc::new(move |_| Ok(model.clone()));
    world
}

pub fn world_under(turns: Value, grants: Grants) -> World {
    with_turns(World::with(json!([]), grants, super::twins::behave), turns)
}

fn world(turns: Value) -> World {
    world_under(turns, grants(Children::default()))
}

pub fn grants(children: Children) -> Grants {
    Grants { children: Some(children), ..Grants::default() }
}

pub fn deep() -> Children {
    Children { depth: 2, ..Children::default() }
}

/// One turn that starts a chain for each of these arguments.
fn start(arguments: &[Value]) -> Value {
    let calls = arguments.iter().enumerate().map(|(n, arguments)| json!({"id": format!("c{n}"), "name": "chain", "arguments": arguments}));
    json!({"tool_calls": calls.collect::<Vec<_>>()})
}

pub fn prompts(prompts: &[&str]) -> Value {
    start(&prompts.iter().map(|prompt| json!({"prompt": prompt})).collect::<Vec<_>>())
}

/// `tool status words` of each call, in order.
fn calls(state: &ChainState) -> Vec<String> {
    let words = |result: &ToolResult| result.exception().unwrap_or_else(|| result.for_model());
    let told =
        |call: &Call| format!("{} {} {}", call.tool.trim_start_matches("t__"), call.status, call.result.as_deref().map(words).unwrap_or_default());
    state.calls.values().map(|call| told(call).trim_end().to_owned()).collect()
}

impl World {
    /// Chains that the calls of this one started, in the order asked.
    pub fn children(&self, id: &ChainId) -> Vec<ChainState> {
        let state = self.journal.state(id);
        state.calls.values().filter_map(|call| call.child.as_ref()).map(|child| self.journal.state(child)).collect()
    }

    async fn approve(&self, pause: &Pause) {
        self.decide(&pause.id, json!({"decision": "approve"})).await.unwrap();
    }
}

#[tokio::test]
async fn a_child_answers_the_call_that_started_it_and_knows_nothing_but_its_prompt() {
    let turns = json!({"go": [turn(&["ok"]), prompts(&["count"]), say("done")], "count": [turn(&["ok"]), say("there are 3")]});
    let world = world(turns);
    let report = world.run().await;
    assert!(matches!(report.rest, Rest::Completed), "{:?}", report.rest);
    assert_eq!(calls(&report.state)[1], "chain succeeded there are 3");
    let child = &world.children(&report.state.id)[0];
    assert_eq!((child.status, child.messages.len(), &child.started_by), (ChainStatus::Completed, 1, &alice()));
    assert_eq!(child.path(), std::slice::from_ref(&report.state.id));
    assert!(!child.tools.iter().any(|tool| tool.name == "chain"), "no deeper than the operator lets it");
    assert_eq!(world.ran(), ["ok#1", "ok#1"]);
}

#[tokio::test]
async fn without_a_section_no_tool_starts_a_chain() {
    let world = with_turns(World::new(json!([])), json!({"go": [prompts(&["x"]), say("done")]}));
    let report = world.run().await;
    assert!(!report.state.tools.iter().any(|tool| tool.name == "chain"));
    assert_eq!(calls(&report.state), ["chain failed not-found: there is no tool `chain`"]);

    // Turned off between the model's word and the start.
    let world = world_under(json!({"go": [prompts(&["x"]), say("done")]}), Grants { rules: vec![rule("chain", Verdict::Ask)], ..grants(deep()) });
    let asked = world.run().await.state;
    world.approve(&pauses(&asked)[0]).await;
    let off = with_turns(world.restarted(Grants::default()), json!({"go": [prompts(&["x"]), say("done")]}));
    let report = off.resume(&asked.id).await;
    assert!(calls(&report.state)[0].contains("no section `[children]`"), "{:?}", calls(&report.state));
    assert!(world.children(&asked.id).is_empty());
}

#[tokio::test]
async fn h06_two_children_that_pause_are_answered_in_either_order() {
    for order in [[0, 1], [1, 0]] {
        let turns = json!({
            "go": [prompts(&["a", "b"]), say("both")],
            "a": [turn(&["ask"]), say("a is done")],
            "b": [turn(&["ask"]), say("b is done")],
        });
        let world = world(turns);
        let report = world.run().await;
        assert!(matches!(report.rest, Rest::Waiting), "{:?}", report.rest);
        assert_eq!((report.state.status, report.below.len()), (ChainStatus::Waiting, 2));
        let open: Vec<_> = report.below.iter().flat_map(pauses).collect();
        assert_eq!(open.iter().map(|pause| pause.path.clone()).collect::<Vec<_>>(), [[report.state.id.clone()], [report.state.id.clone()]]);
        for at in order {
            world.approve(&open[at]).await;
            let other = other_answered(&world, &report.state.id, at).await;
            assert!(other, "the one that was answered went on, and no other");
        }
        let state = world.journal.state(&report.state.id);
        assert_eq!(
            (state.status, calls(&state)),
            (ChainStatus::Completed, vec!["chain succeeded a is done".into(), "chain succeeded b is done".into()])
        );
        assert_eq!(world.ran(), ["ask#1", "ask#1", "ask#2", "ask#2"]);
    }
}

async fn other_answered(world: &World, id: &ChainId, at: usize) -> bool {
    world.resume(id).await;
    let children = world.children(id);
    children[at].status == ChainStatus::Completed && [ChainStatus::Paused, ChainStatus::Completed].contains(&children[1 - at].status)
}

#[tokio::test]
async fn h10_an_answer_goes_to_the_chain_that_asked_wherever_it_is_given() {
    let world = world(json!({"go": [prompts(&["a"]), say("done")], "a": [turn(&["ask"]), say("asked")]}));
    let report = world.run().await;
    let rows = world.host.journal.pending(10).await.unwrap();
    let [row] = &rows[..] else { panic!("one queue") };
    assert_eq!((&row.pause.path[..], row.chain == report.state.id), (&[report.state.id.clone()][..], false));
    // By the pause's id alone, and carried on from the root.
    world.approve(&row.pause).await;
    let report = world.resume(&report.state.id).await;
    assert!(matches!(report.rest, Rest::Completed));
    assert_eq!(calls(&report.state), ["chain succeeded asked"]);
    assert_eq!(calls(&world.children(&report.state.id)[0]), [r#"ask succeeded did {"n":0}"#]);
}

#[tokio::test]
async fn h25_what_a_child_did_before_its_pause_is_not_done_again() {
    let world = world(json!({"go": [prompts(&["a"]), say("done")], "a": [turn(&["ok", "ask"]), turn(&["ok"]), say("end")]}));
    let report = world.run().await;
    let open = pauses(&report.below[0]);
    let other =
        with_turns(world.restarted(grants(Children::default())), json!({"go": [say("x"), say("done")], "a": [say("x"), turn(&["ok"]), say("end")]}));
    other.approve(&open[0]).await;
    let report = other.resume(&report.state.id).await;
    assert_eq!(calls(&report.state), ["chain succeeded end"]);
    assert_eq!(world.ran(), ["ok#1", "ask#1", "ask#2", "ok#1"]);
}

#[tokio::test]
async fn h26_a_gated_call_two_levels_down_runs_once_when_it_is_approved() {
    let turns = json!({
        "go": [prompts(&["child"]), say("root")],
        "child": [prompts(&["grandchild"]), say("middle")],
        "grandchild": [turn(&["ok"]), say("leaf")],
    });
    let world = world_under(turns, Grants { rules: vec![rule("t__ok", Verdict::Ask)], ..grants(deep()) });
    let report = world.run().await;
    let [child, grandchild] = &report.below[..] else { panic!("two chains wait below: {:?}", report.below.len()) };
    let open = pauses(grandchild);
    assert_eq!(open[0].path, [report.state.id.clone(), child.id.clone()]);
    assert_eq!((world.ran().len(), child.status), (0, ChainStatus::Waiting));
    world.resume(&report.state.id).await;
    assert_eq!(world.ran().len(), 0, "nobody answered yet");
    world.approve(&open[0]).await;
    let report = world.resume(&report.state.id).await;
    assert_eq!(calls(&report.state), ["chain succeeded middle"]);
    assert_eq!(world.ran(), ["ok#1"]);
    world.try_resume(&report.state.id, Resume::default()).await.unwrap_err();
    assert_eq!(world.ran(), ["ok#1"]);
}

#[tokio::test]
async fn h28_a_child_is_asked_about_and_refused_as_its_parent_is_and_has_no_tool_that_it_has_not() {
    let turns = json!({
        "go": [start(&[json!({"prompt": "a", "tools": ["t__ok", "t__ask"]})]), say("done")],
        "a": [turn(&["ok", "boom", "ask", "pick"]), say("end")],
    });
    let rules = vec![rule("t__ok", Verdict::Ask), rule("t__ask", Verdict::Deny)];
    let narrowed = Children { tools: vec!["t__*".into()], ..Children::default() };
    let mut world = world_under(turns, Grants { rules, ..grants(narrowed) });
    world.settings.only = vec![vec!["chain".into(), "t__ok".into(), "t__ask".into(), "t__boom".into()]];
    let report = world.run().await;
    let child = &report.below[0];
    assert_eq!(child.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["t__ask", "t__ok"]);
    assert!(child.tools.iter().all(|tool| report.state.tools.contains(tool)), "of the parent's own catalogue");
    let told = calls(child);
    assert_eq!(told[0], "ok paused");
    assert!(
        told[1].starts_with("boom failed not-found") && told[2].starts_with("ask denied") && told[3].starts_with("pick failed not-found"),
        "{told:?}"
    );
    assert_eq!(world.ran().len(), 0);
    // A denial is told to the child's model, and the parent hears what the child says.
    world.decide(&pauses(child)[0].id, json!({"decision": "deny", "note": "no"})).await.unwrap();
    let report = world.resume(&report.state.id).await;
    assert_eq!((calls(&report.state), world.ran().len()), (vec!["chain succeeded end".to_owned()], 0));
}

#[tokio::test]
async fn who_started_the_parent_is_the_requester_of_its_children() {
    let asking = crate::capability::Rule { exclude_requester: true, ..rule("t__ok", Verdict::Ask) };
    let turns = json!({"go": [prompts(&["a"]), say("done")], "a": [turn(&["ok"]), say("end")]});
    let world = world_under(turns, Grants { rules: vec![asking], ..grants(Children::default()) });
    let report = world.run().await;
    let pause = &pauses(&report.below[0])[0].id;
    assert!(world.decide(pause, json!({"decision": "approve"})).await.is_err());
    world.decide_as("os:bob@host", pause, json!({"decision": "approve"})).await.unwrap();
    assert!(matches!(world.resume(&report.state.id).await.rest, Rest::Completed));
}

#[tokio::test]
async fn a_gate_before_a_child_shows_its_prompt_and_starts_nothing() {
    let turns = json!({"go": [prompts(&["a"]), say("done")], "b": [say("edited")]});
    let world = world_under(turns, Grants { rules: vec![rule("chain", Verdict::Ask)], ..grants(Children::default()) });
    let state = world.run().await.state;
    let open = pauses(&state);
    assert_eq!((&*open[0].arguments, state.status), (&json!({"prompt": "a"}), ChainStatus::Paused));
    world.decide(&open[0].id, json!({"decision": "edit", "arguments": {"prompt": "b"}})).await.unwrap();
    let report = world.resume(&state.id).await;
    assert_eq!(calls(&report.state), ["chain succeeded edited"]);

    // What an approval hangs on is also what the operator lets children have.
    let state = world.run().await.state;
    world.approve(&pauses(&state)[0]).await;
    let wider = Grants { rules: vec![rule("chain", Verdict::Ask)], ..grants(Children { turns: 21, ..Children::default() }) };
    let other = with_turns(world.restarted(wider), json!({"go": [say("never")]}));
    let report = other.resume(&state.id).await;
    assert!(matches!(report.rest, Rest::Paused), "it is asked anew: {:?}", report.rest);
    assert!(world.children(&state.id).is_empty());
}

/// limit: children.depth, children.chains, children.turns, capability/children::ASKED_TOOLS_MAX
#[tokio::test]
async fn what_is_over_a_limit_is_refused_to_the_model_and_what_is_just_under_is_not() {
    let three = |first: &str| json!({"go": [prompts(&[first, first, first]), say("done")], "a": [say("x")]});
    let told = async |turns: Value, children: Children| calls(&world_under(turns, grants(children)).run().await.state);
    let told_of_three = told(three("a"), Children { chains: 2, ..Children::default() }).await;
    let over = "chain failed too-large: a chain may start 2 others, and this one has; do the rest here";
    assert_eq!(told_of_three, ["chain succeeded x", "chain succeeded x", over]);
    // Those of earlier turns count.
    let later = json!({"go": [prompts(&["a", "a"]), prompts(&["a"]), say("done")], "a": [say("x")]});
    assert_eq!(told(later, Children { chains: 2, ..Children::default() }).await[2], over);

    let family = json!({"go": [prompts(&["a"]), say("done")], "a": [prompts(&["b"]), say("x")], "b": [prompts(&["c"]), say("y")]});
    let world = world_under(family, grants(deep()));
    let root = world.run().await.state;
    let child = &world.children(&root.id)[0];
    let grandchild = &world.children(&child.id)[0];
    assert_eq!((calls(child), calls(grandchild)[0].as_str()), (vec!["chain succeeded y".into()], "chain failed not-found: there is no tool `chain`"));

    for (turns, rests) in [(1, ChainStatus::Blocked), (2, ChainStatus::Completed)] {
        let world = world_under(
            json!({"go": [prompts(&["a"]), say("done")], "a": [turn(&["ok"]), say("x")]}),
            grants(Children { turns, ..Children::default() }),
        );
        let root = world.run().await.state;
        let child = &world.children(&root.id)[0];
        assert_eq!((child.status, child.settings.max_turns), (rests, turns));
        if rests == ChainStatus::Blocked {
            let fixes = Resume { max_turns: Some(2), ..Resume::default() };
            world.try_resume(&child.id, fixes).await.unwrap();
            assert!(matches!(world.resume(&root.id).await.rest, Rest::Completed));
        }
    }

    let asked = |tools: Vec<&str>| json!({"go": [start(&[json!({"prompt": "a", "tools": tools})]), say("done")], "a": [say("x")]});
    assert_eq!(told(asked(vec!["t__ok"; 64]), Children::default()).await, ["chain succeeded x"]);
    assert!(told(asked(vec!["t__ok"; 65]), Children::default()).await[0].starts_with("chain failed invalid-input"));
    let unknown = told(asked(vec!["t__ok", "t__rm"]), Children { tools: vec!["t__o*".into()], ..Children::default() }).await;
    assert_eq!(unknown, ["chain failed invalid-input: `t__rm` fits no tool that the chain may have; it may have t__ok"]);
}

/// limit: state/child::ANSWER_BYTES_MAX
#[tokio::test]
async fn an_answer_over_the_limit_is_cut_visibly() {
    for (bytes, cut) in [(ANSWER_BYTES_MAX, false), (ANSWER_BYTES_MAX + 1, true)] {
        let world = world(json!({"go": [prompts(&["a"]), say("done")], "a": [say(&"x".repeat(bytes))]}));
        let state = world.run().await.state;
        let told = &calls(&state)[0];
        assert_eq!(told.contains("… (1 more bytes; `inspect` of ch_"), cut);
    }
}

#[tokio::test]
async fn however_a_child_ends_its_call_has_one_honest_result() {
    let turns = json!({"go": [prompts(&["a"]), say("done")], "a": [turn(&["ask"])]});
    let failed = world(json!({"go": [prompts(&["a"]), say("done")], "a": [turn(&["ok"])]}));
    let report = failed.run().await;
    assert!(calls(&report.state)[0].starts_with("chain failed failed: the chain ch_"), "{:?}", calls(&report.state));

    let denied = world(turns.clone());
    let report = denied.run().await;
    denied.decide(&pauses(&report.below[0])[0].id, json!({"decision": "deny", "then": "stop", "note": "enough"})).await.unwrap();
    let state = denied.journal.state(&report.state.id);
    assert_eq!(state.status, ChainStatus::Runnable, "the end of the child and the parent's result are one write");
    assert!(
        calls(&state)[0].contains("denied: the chain ch_") && calls(&state)[0].contains("stopped by os:alice@host: enough"),
        "{:?}",
        calls(&state)
    );
    assert!(matches!(denied.resume(&state.id).await.rest, Rest::Completed), "the parent's model hears of it and goes on");

    let cancelled = world(turns);
    let report = cancelled.run().await;
    cancelled.host.cancel(&report.below[0].id, &alice(), None).await.unwrap();
    let report = cancelled.resume(&report.state.id).await;
    assert!(calls(&report.state)[0].starts_with("chain failed cancelled: the chain ch_"), "{:?}", calls(&report.state));
}

#[tokio::test]
async fn cancelling_a_chain_cancels_all_below_it() {
    let turns = json!({
        "go": [prompts(&["a", "b"]), say("never")],
        "a": [prompts(&["leaf"]), say("never")],
        "b": [turn(&["ask"])],
        "leaf": [turn(&["ask"])],
    });
    let world = world_under(turns, grants(deep()));
    let report = world.run().await;
    let open: Vec<_> = report.below.iter().flat_map(pauses).collect();
    assert_eq!(open.len(), 2);
    let state = world.host.cancel(&report.state.id, &alice(), Some("wrong".into())).await.unwrap();
    assert_eq!(state.status, ChainStatus::Cancelled);
    assert!(state.calls.values().all(|call| call.status == CallStatus::Cancelled), "{:?}", calls(&state));
    for below in &report.below {
        let state = world.journal.state(&below.id);
        assert_eq!(state.status, ChainStatus::Cancelled);
        assert!(state.pauses.iter().all(|pause| pause.status == PauseStatus::Cancelled));
    }
    assert!(world.host.journal.pending(10).await.unwrap().is_empty());
    assert!(world.decide(&open[0].id, json!({"decision": "approve"})).await.is_err());
    assert_eq!(world.ran(), ["ask#1", "ask#1"]);
}

/// The sibling's rule stops the chain; the child is stopped by whoever carries the chain on.
#[tokio::test]
async fn a_denial_that_stops_a_chain_stops_its_children() {
    let mixed = json!({"tool_calls": [{"id": "a", "name": "chain", "arguments": {"prompt": "a"}}, {"id": "b", "name": "t__ok", "arguments": {}}]});
    let turns = json!({"go": [mixed, say("never")], "a": [turn(&["ask"])]});
    let gate = crate::capability::Rule { on_deny: Then::Stop, ..rule("t__ok", Verdict::Ask) };
    let world = world_under(turns, Grants { rules: vec![gate], ..grants(Children::default()) });
    let report = world.run().await;
    assert!(matches!(report.rest, Rest::Paused));
    assert_eq!(report.below.len(), 1, "the child was driven beside the open question");
    let state = world.decide(&pauses(&report.state)[0].id, json!({"decision": "deny"})).await.unwrap();
    assert_eq!(state.status, ChainStatus::Runnable);
    let report = world.resume(&state.id).await;
    assert!(matches!(report.rest, Rest::Rejected), "{:?}", report.rest);
    assert_eq!(world.children(&state.id)[0].status, ChainStatus::Cancelled);
}

#[tokio::test]
async fn a_message_to_a_chain_that_waits_for_a_child_is_refused_with_the_child_named() {
    let world = world(json!({"go": [prompts(&["a"]), say("never")], "a": [turn(&["ask"])]}));
    let report = world.run().await;
    for superseding in [false, true] {
        let refused = world.host.say(&report.state.id, &alice(), "more", superseding, CancellationToken::new()).await;
        assert!(matches!(&refused, Err(HostError::HasChild { child, .. }) if *child == report.below[0].id), "{refused:?}");
    }
}

#[tokio::test]
async fn a_fork_takes_no_child_along_and_does_not_start_it_again() {
    let world = world(json!({"go": [prompts(&["a"]), say("done")], "a": [turn(&["ok", "ask"]), say("end")]}));
    let report = world.run().await;
    let forked = world.host.fork(&report.state.id, None, &alice()).await.unwrap();
    assert_eq!(forked.unknown.len(), 1);
    assert!(calls(&forked.state)[0].starts_with("chain failed unknown-outcome"), "{:?}", calls(&forked.state));
    assert!(matches!(world.resume(&forked.state.id).await.rest, Rest::Completed));
    assert_eq!(world.ran(), ["ok#1", "ask#1"]);
    // A fork of the child is a chain of its own, and its end is no result of the parent's.
    let alone = world.host.fork(&report.below[0].id, None, &alice()).await.unwrap();
    assert_eq!((alone.state.parent, world.journal.state(&report.state.id).status), (None, ChainStatus::Waiting));
    world.approve(&pauses(&report.below[0])[0]).await;
    assert!(matches!(world.resume(&report.state.id).await.rest, Rest::Completed));
}

#[tokio::test]
async fn an_interrupt_reaches_the_child_and_the_chain_goes_on_later() {
    let turns = json!({"go": [prompts(&["a"]), say("done")], "a": [turn(&["wait"]), say("end")]});
    let world = world(turns);
    let id = world.start().await;
    let interrupt = CancellationToken::new();
    let stopping = async {
        while world.ran().is_empty() {
            tokio::task::yield_now().await;
        }
        interrupt.cancel();
    };
    let by = alice();
    let (report, ()) = tokio::join!(world.host.resume(&id, &by, Resume::default(), interrupt.clone()), stopping);
    assert!(matches!(report.unwrap().rest, Rest::Interrupted));
    let child = &world.children(&id)[0];
    assert_eq!((world.journal.state(&id).status, child.status), (ChainStatus::Waiting, ChainStatus::Runnable));
}
