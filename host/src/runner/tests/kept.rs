//! A plugin that was replaced while a chain waited: the chain goes on with what people were asked about.

use serde_json::json;

use super::twins::*;
use crate::call::Effects;
use crate::capability::{Grants, Pin};
use crate::chain::{Blocked, ChainStatus, OnChange};
use crate::digest::Digest;
use crate::runner::{Rest, Resume};

async fn approved(settings: OnChange, grants: Grants) -> (World, crate::chain::ChainId) {
    let mut world = World::with(json!([turn(&["ask"]), turn(&["ok"]), say("done")]), grants, behave);
    world.settings.on_change = settings;
    *world.plugins.kept.lock().unwrap() = Some(Vec::new());
    let state = world.run().await.state;
    world.decide(&pauses(&state)[0].id, json!({"decision": "approve"})).await.unwrap();
    let changed = |name: &str| crate::call::ToolSpec { plugin_digest: Digest::of_bytes(b"t2"), ..tool(name, Effects::Once) };
    *world.plugins.tools.lock().unwrap() = vec![changed("ok")];
    world.restart(&state.id);
    (world, state.id)
}

#[tokio::test]
async fn w63_h67_a_changed_plugin_runs_as_it_was_when_people_were_asked() {
    let (world, id) = approved(OnChange::Keep, Grants::default()).await;
    assert_eq!(world.journal.kept_plugins(), 1);
    let report = world.resume(&id).await;
    assert!(matches!(report.rest, Rest::Completed));
    assert_eq!(calls(&report.state), [r#"ask succeeded did {"n":0}"#, r#"ok succeeded ok {"n":0}"#]);
    let ran: Vec<_> = world.plugins.ran.lock().unwrap().iter().map(|attempt| attempt.digest.clone()).collect();
    let asked_about = Some(Digest::of_bytes(b"t"));
    assert_eq!(ran, [asked_about.clone(), asked_about.clone(), asked_about], "though the new one has no such tool");
    assert_eq!(world.journal.kept_plugins(), 0, "no chain needs them any more");
}

#[tokio::test]
async fn h79_where_the_operator_wants_it_the_chain_is_blocked_and_nobody_holds_it() {
    let (world, id) = approved(OnChange::Block, Grants::default()).await;
    assert_eq!(world.journal.kept_plugins(), 0);
    for _ in 0..2 {
        let report = world.resume(&id).await;
        assert!(matches!(report.rest, Rest::Blocked(Blocked::PluginChanged { .. })), "{:?}", report.rest);
    }
    assert_eq!(world.ran(), ["ask#1"]);
}

#[tokio::test]
async fn the_operator_can_take_the_new_bytes_all_the_same() {
    let (world, id) = approved(OnChange::Keep, Grants::default()).await;
    let report = world.try_resume(&id, Resume { accept_plugin: true, ..Resume::default() }).await.unwrap();
    assert!(calls(&report.state)[0].contains("not-found"), "the new one has no such tool");
    let later: Vec<_> = world.plugins.ran.lock().unwrap()[1..].iter().map(|attempt| (attempt.tool.clone(), attempt.digest.clone())).collect();
    assert_eq!(later, [("ok".to_owned(), Some(Digest::of_bytes(b"t2")))], "nothing ran on the bytes from before");
}

#[tokio::test]
async fn kept_bytes_hold_what_their_digest_is_granted_and_nothing_once_the_section_names_another() {
    let pinned = |digest: &[u8]| {
        let mut grants = effectful();
        grants.plugins.get_mut("t").unwrap().digest = Pin::Exact(Digest::of_bytes(digest));
        grants
    };
    let (world, id) = approved(OnChange::Keep, pinned(b"t")).await;
    let report = world.resume(&id).await;
    assert_eq!(report.state.status, ChainStatus::Completed);
    assert!(world.plugins.ran.lock().unwrap()[1].held.fs.len() == 1);

    let (world, id) = approved(OnChange::Keep, pinned(b"t")).await;
    let world = world.restarted(pinned(b"t2"));
    let report = world.resume(&id).await;
    // What the approval hung on is another thing without its grants.
    assert_eq!((report.state.status, world.ran()), (ChainStatus::Paused, vec!["ask#1".to_owned()]));
    world.decide(&pauses(&report.state)[0].id, json!({"decision": "approve"})).await.unwrap();
    world.resume(&id).await;
    assert!(world.plugins.ran.lock().unwrap()[1..].iter().all(|attempt| attempt.held.fs.is_empty()));
}

#[tokio::test]
async fn a_paused_chain_that_is_cancelled_needs_no_bytes() {
    let mut world = World::new(json!([turn(&["ask"]), say("done")]));
    world.settings.on_change = OnChange::Keep;
    *world.plugins.kept.lock().unwrap() = Some(Vec::new());
    let id = world.run().await.state.id;
    assert_eq!(world.journal.kept_plugins(), 1);
    world.host.cancel(&id, &alice(), None).await.unwrap();
    assert_eq!(world.journal.kept_plugins(), 0);
}
