//! What a form is taken for.

use super::*;
use crate::call::{CallKey, Effects};
use crate::capability::Uses;
use crate::capability::requirements::Requirements;
use crate::digest::Digest;
use crate::pause::{Choice, PauseId, PauseKind, PauseStatus, Settle, Settled};

fn pause(ask: Ask) -> Pause {
    Pause {
        id: PauseId("pa_1".into()),
        call: CallKey { turn: 1, ordinal: 0 },
        path: Vec::new(),
        call_id: "c".into(),
        kind: PauseKind::Tool,
        tool: "p__t".into(),
        plugin: "p".into(),
        effects: Effects::Once,
        arguments: json!({}).into(),
        key: "k".into(),
        reason: "why".into(),
        ask,
        context: None,
        state: None,
        opens: Vec::new(),
        holds: Vec::new(),
        shut: Vec::new(),
        because: Vec::new(),
        requirements: Requirements::default(),
        uses: Uses::default(),
        difference: None,
        call_digest: digest(),
        digest: digest(),
        opened_at: jiff::Timestamp::UNIX_EPOCH,
        status: PauseStatus::Open,
        votes: Vec::new(),
        decided: None,
    }
}

fn digest() -> Digest {
    Digest::of_bytes(b"seen")
}

/// The fields of `text`, `name=value` with `&` between; the digest comes along.
fn read(ask: &Ask, text: &str) -> Result<Decision, String> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('=')).map(|(name, value)| (name.to_owned(), value.to_owned()));
    let digest = ("digest".to_owned(), digest().to_string());
    decision(&pause(ask.clone()), &Given::of(pairs.chain([digest]).collect())?)
}

fn choice() -> Ask {
    Ask::Choice { options: vec![Choice { value: "red".into(), label: None }] }
}

#[test]
fn s03_nothing_but_a_whole_form_is_a_decision() {
    for text in [
        "",
        "decision=",
        "decision=true",
        "decision=Approve",
        "decision=yes",
        "decision=null",
        "decision=0",
        "approved=true",
        "decision=approve&decision=deny",
        "decision=approve&value=true",
        "decision=approve&note=n",
        "decision=approve&by=os:boss@host",
        "decision=deny&stop=no",
        "decision=deny&then=stop",
        "decision=edit",
        "decision=edit&arguments=",
        "decision=edit&arguments={}&tool=other",
        "decision=respond",
        "decision=respond&as=text",
        "decision=respond&as=text&result=",
        "decision=respond&result=x",
        "decision=respond&as=choice&choice=red",
        "decision=settle",
        "decision=settle&outcome=happened",
        "decision=settle&outcome=happened&result=x",
        "decision=settle&outcome=run-again&result=x",
        "decision=settle&outcome=maybe",
    ] {
        assert!(read(&Ask::Approval, text).is_err(), "{text} was taken for a decision");
    }
    let unsaid = Given::of(vec![("decision".into(), "approve".into())]).unwrap();
    assert!(decision(&pause(Ask::Approval), &unsaid).is_err(), "what was looked at is always said");
}

#[test]
fn each_form_is_the_decision_that_its_button_names() {
    let digest = || Some(digest());
    assert_eq!(read(&Ask::Approval, "decision=approve"), Ok(Decision::Approve { note: None, digest: digest() }));
    let denied = Decision::Deny { note: Some("keep\nit".into()), then: Some(crate::capability::Then::Stop), digest: digest() };
    assert_eq!(read(&Ask::Approval, "decision=deny&note=keep\r\nit&stop=yes"), Ok(denied));
    assert_eq!(read(&Ask::Approval, "decision=deny&note= "), Ok(Decision::Deny { note: None, then: None, digest: digest() }));
    let edited = Decision::Edit { arguments: json!({"a": 1}), note: None, digest: digest() };
    assert_eq!(read(&Ask::Approval, r#"decision=edit&arguments={"a": 1}"#), Ok(edited));
    let settled = Decision::Settle(Settle { outcome: Settled::Happened(json!([1])), note: None, digest: digest() });
    assert_eq!(read(&Ask::Outcome, "decision=settle&outcome=happened&as=json&result=[1]"), Ok(settled));
}

#[test]
fn an_answer_is_given_in_the_way_its_question_asks_for() {
    let value = |ask: &Ask, text: &str| match read(ask, &format!("decision=respond&{text}")) {
        Ok(Decision::Respond { value, .. }) => Some(value),
        Ok(other) => panic!("{other:?}"),
        Err(_) => None,
    };
    assert_eq!(value(&choice(), "as=choice&choice=red"), Some(json!("red")));
    assert_eq!((value(&choice(), "as=text&result=red"), value(&choice(), "as=choice")), (None, None));
    assert_eq!(value(&Ask::Text, "as=text&result=true"), Some(json!("true")), "a text stays one");
    assert_eq!(value(&Ask::Text, "as=json&result=true"), None);
    let form = Ask::Form { schema: json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}) };
    assert_eq!(value(&form, "as=form&value.n=3"), Some(json!({"n": 3})));
    assert_eq!(value(&form, r#"as=json&result={"n": 3}"#), Some(json!({"n": 3})));
    assert_eq!((value(&form, "as=form"), value(&form, "as=json&result={")), (None, None));
    assert_eq!(value(&form, r#"as=json&result={"n": 3, "n": 4}"#), None, "no key twice");
}
