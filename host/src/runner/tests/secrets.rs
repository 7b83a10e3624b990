//! Values of secrets that somebody writes all the same.

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::twins::{World, alice, pauses, rule, say};
use crate::capability::secret::{Secret, Slot, Source};
use crate::capability::{Grants, HttpGrant, Pin, PluginGrants, Verdict, When};
use crate::chain::message::{Message, Role};
use crate::runner::Prompt;

const VALUE: &str = "hunter2-hunter2-hunter2";

#[tokio::test]
async fn h69_a_secrets_value_is_never_written_down_whoever_writes_it() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("key");
    std::fs::write(&path, VALUE).unwrap();
    let secret = |name: &str, path: &std::path::Path| Secret {
        name: name.into(),
        source: Source::File(path.to_owned()),
        slot: Slot::Header("authorization".into()),
        format: "{}".into(),
    };
    let line = |secret| HttpGrant {
        url: "https://a.test/**".into(),
        methods: vec!["GET".into()],
        private: false,
        secret: Some(secret),
        when: When::Always,
        on_missing: Default::default(),
        tools: Default::default(),
        line: 3,
    };
    // One that cannot be read does not stand in the way of one that can.
    let http = vec![line(secret("GONE", &home.path().join("gone"))), line(secret("KEY", &path))];
    let section = PluginGrants { http, ..PluginGrants::holding_nothing(Pin::Any, 2) };
    // The grants are another plugin's: whose value it is makes no difference.
    let grants = Grants { plugins: [("other".to_owned(), section)].into(), rules: vec![rule("t__ok", Verdict::Ask)], ..Grants::default() };

    let turn = json!({"text": format!("I use {VALUE}"), "tool_calls": [
        {"id": VALUE, "name": "t__ok", "arguments": {"path": format!("/x?k={VALUE}"), (VALUE): 1}},
        {"id": "b", "name": format!("t__{VALUE}"), "arguments": format!("no JSON {VALUE}")},
        {"id": "c", "name": "t__ok", "arguments": {"path": "/c"}}]});
    let world = World::new(json!([turn, say(&format!("done with {VALUE}")), say("more")])).restarted(grants);
    let messages = vec![Message::text(Role::User, format!("the key is {VALUE}"))];
    let settings = crate::chain::Settings { system: Some(format!("keep {VALUE}")), ..world.settings.clone() };
    let id = world.host.start(Prompt { by: alice(), settings, messages, continues: None, call: None }).await.unwrap();
    let state = world.resume(&id).await.state;
    let open = pauses(&state);
    assert_eq!(*open[0].arguments, json!({"path": "/x?k=[secret KEY]", "[secret KEY]": 1}));
    let note = json!({"decision": "approve", "note": format!("ok {VALUE}")});
    world.decide(&open[0].id, note).await.unwrap();
    let edit = json!({"decision": "edit", "arguments": {"path": VALUE}});
    world.decide(&open[1].id, edit.clone()).await.unwrap();
    world.decide(&open[1].id, edit).await.expect("the same once more");
    world.resume(&id).await;
    let fork = world.host.fork(&id, None, &alice()).await.unwrap().state.id;
    world.host.say(&fork, &alice(), &format!("and {VALUE}?"), false, CancellationToken::new()).await.unwrap();

    for chain in [&id, &fork] {
        let written = serde_json::to_string(&world.journal.stamped(chain)).unwrap();
        assert!(!written.contains(VALUE) && written.contains("[secret KEY]"), "{written}");
    }
    assert!(world.model.asked().iter().all(|asked| !format!("{:?}", asked.history).contains(VALUE)));
    assert!(world.plugins.ran.lock().unwrap().iter().all(|attempt| !attempt.arguments.contains(VALUE)));
}
