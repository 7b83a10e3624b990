use pausegate_sdk::{Ask, Call, Plugin as _, Result, TestCall};
use serde_json::json;

use super::{Address, Exported, Json, Plan, approve, choose, form, other, text, trip};

/// Asks by `tool`, answers, and returns what was asked and what came of it.
fn answered<T>(tool: impl Fn(&TestCall) -> Result<T>, answer: impl serde::Serialize) -> (Ask, T) {
    let call = Call::test("survey");
    let Err(stop) = tool(&call) else { panic!("not asked") };
    let ask = stop.pause().unwrap().ask.clone();
    (ask, tool(&call.answering(&stop, answer)).unwrap())
}

#[test]
fn every_kind_of_question_is_asked_and_answered() {
    let (ask, said) = answered(|call| approve(call, "Go".into()), true);
    assert_eq!((ask, &*said), (Ask::Approval, "approved: Go"));

    let (ask, said) = answered(|call| choose(call, "Colour?".into(), vec!["red".into(), "green".into()]), "green");
    assert!(matches!(ask, Ask::Choice(choices) if choices.len() == 2));
    assert_eq!(said, "green");

    let (ask, said) = answered(|call| text(call, "Name?".into()), "Ada");
    assert_eq!((ask, &*said), (Ask::Text, "Ada"));

    let address = json!({ "street": "High Street 4", "city": "Ely" });
    let (ask, said) = answered(|call| form(call, "a box".into()), address);
    assert!(matches!(ask, Ask::Form(schema) if schema.contains("Street and number.")));
    assert_eq!(said, Json(Address { street: "High Street 4".into(), city: "Ely".into(), remark: None }));

    let (ask, said) = answered(|call| other(call, "soup".into()), 4);
    assert!(matches!(ask, Ask::Other(question) if question.kind == "survey:stars"));
    assert_eq!(said, "soup: 4 of 5");
}

#[test]
fn a_trip_takes_three_answers() {
    let places = || vec!["Rome".into(), "Oslo".into()];
    let mut call = Call::test("trip");
    for (key, answer) in [("place", json!("Oslo")), ("wishes", json!("ships")), ("final", json!(true))] {
        let stop = trip(&call, places()).unwrap_err();
        assert_eq!(stop.pause().unwrap().key, key);
        call = call.answering(&stop, answer);
    }
    let Json(plan) = trip(&call, places()).unwrap();
    assert_eq!(plan, Plan { place: Some("Oslo".into()), wishes: Some("ships".into()) });
}

#[test]
fn it_wants_nothing() {
    assert_eq!(Exported::catalog().unwrap().wants, []);
}
