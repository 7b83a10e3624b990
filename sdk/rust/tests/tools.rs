//! What a plugin's author is promised: schemas, arguments, questions, failures.

use std::time::Duration;

use pausegate_sdk::{
    Body, Call, Content, Effect, Effects, Failure, Json, Kind, Outcome, Plugin as _, Question, Reconcile as _, Result, STATE_BYTES_MAX, Stop,
    Success, Tool, Verdict, Want, attempt, kv, tool,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Adds two numbers.
///
/// Exactly.
#[tool(effects = "read-only", name = "add-up", title = "Addition")]
fn add(
    /// The first.
    a: u8,
    #[schemars(range(max = 10))] b: Option<u8>,
    #[serde(default)] negate: bool,
) -> anyhow::Result<Json<Sum>> {
    let sum = i16::from(a) + i16::from(b.unwrap_or(0));
    Ok(Json(Sum { sum: if negate { -sum } else { sum } }))
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i16,
}

/// Swallows its question, and asks another.
#[tool]
fn stubborn(call: &Call) -> Result<String> {
    let first = call.ask("first", Question::text("First?"));
    let second = call.ask("second", Question::text("Second?"));
    let approval = call.ask_approval("Third?");
    let key = |stop: Option<Stop>| stop.and_then(|stop| Some(stop.pause()?.key.clone()));
    call.save(&"kept")?;
    Ok(format!("{:?} {:?} {:?}", key(first.err()), key(second.err()), key(approval.err())))
}

/// Asks two things of one kind.
#[tool]
fn two(call: &Call) -> Result<()> {
    call.ask("one", Question::approval("One?"))?;
    call.ask("two", Question::approval("Two?"))?;
    Ok(())
}

/// Fails in the words of a helper.
#[tool]
fn fails(how: String) -> Result<Vec<Content>> {
    fn helper(how: &str) -> anyhow::Result<()> {
        match how {
            "io" => Err(std::fs::read("/there/is/no/such/file").expect_err("is there").into()),
            "own" => Err(Failure::new(Kind::RateLimited, "too fast").retry_after(Duration::from_secs(2)).effect(Effect::Maybe).into()),
            _ => anyhow::bail!("just so"),
        }
    }
    helper(&how).map_err(|error| error.context("while helping"))?;
    Ok(vec![])
}

pausegate_sdk::export! {
    tools: [add, stubborn, two, fails],
    wants: [Want::fs("/build", "write", "keeps results")],
    reconcile: found,
}

/// What became of a call, by its key.
fn found(call: &Call) -> Result<Verdict> {
    match call.idempotency_key() {
        "key_test" => Verdict::happened("it is there"),
        _ => Ok(Verdict::Unknown),
    }
}

#[test]
fn what_became_of_a_call_is_a_function_like_any_other() {
    let told = Exported::reconcile(&Call::test("fails")).unwrap();
    assert_eq!(told, Verdict::Happened(Ok(Success { content: vec![Content::text("it is there")], meta: vec![] })));
}

fn failure(outcome: Outcome) -> (String, String) {
    match outcome {
        Outcome::Failed(failure) => (failure.kind, failure.message),
        other => panic!("not a failure: {other:?}"),
    }
}

fn key(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::Pause(pause) => &pause.key,
        other => panic!("not a pause: {other:?}"),
    }
}

#[test]
fn a_function_is_described_by_its_signature_and_comments() {
    let spec = add::spec();
    assert_eq!((spec.name.as_str(), spec.title.as_deref()), ("add-up", Some("Addition")));
    assert_eq!(spec.description, "Adds two numbers.\n\nExactly.");
    assert_eq!(spec.effects, Effects::ReadOnly);
    let schema: Value = serde_json::from_str(&spec.input_schema).unwrap();
    let expected = json!({
        "type": "object",
        "properties": {
            "a": { "description": "The first.", "type": "integer", "format": "uint8", "minimum": 0, "maximum": 255 },
            "b": { "type": ["integer", "null"], "format": "uint8", "minimum": 0, "maximum": 10 },
            "negate": { "type": "boolean", "default": false },
        },
        "required": ["a"],
        "additionalProperties": false,
    });
    assert_eq!(schema, expected);
    let schema: Value = serde_json::from_str(spec.output_schema.as_deref().unwrap()).unwrap();
    assert_eq!(schema["properties"]["sum"]["type"], "integer");
}

#[test]
fn a_tool_is_once_and_without_output_schema_unless_it_says_so() {
    assert_eq!(stubborn::spec().effects, Effects::Once);
    assert_eq!(stubborn::spec().output_schema, None);
    let nothing = json!({ "type": "object", "additionalProperties": false });
    assert_eq!(serde_json::from_str::<Value>(&stubborn::spec().input_schema).unwrap(), nothing);
}

#[test]
fn arguments_reach_the_function_and_its_result_the_host() {
    let call = Call::test("add-up").arguments(json!({ "a": 3, "b": 4 })).into_call();
    match Exported::attempt(call) {
        Outcome::Done(success) => assert_eq!(success.content[0].body, Body::Structured(r#"{"sum":7}"#.into())),
        other => panic!("{other:?}"),
    }
}

#[test]
fn arguments_that_do_not_fit_are_named() {
    let check = |arguments: Value, message: &str| {
        let outcome = Exported::attempt(Call::test("add-up").arguments(arguments).into_call());
        assert_eq!(failure(outcome), ("invalid-input".into(), message.into()));
    };
    check(json!({}), "missing field `a`");
    check(json!({ "a": "3" }), "`a`: invalid type: string \"3\", expected u8");
    check(json!({ "a": 3, "c": 1 }), "unknown field `c`, expected one of `a`, `b`, `negate`");
}

#[test]
fn an_unknown_tool_is_not_found() {
    let outcome = Exported::attempt(Call::test("subtract").into_call());
    assert_eq!(failure(outcome), ("not-found".into(), "no tool named `subtract`".into()));
}

#[test]
fn s01_a_swallowed_question_still_ends_the_attempt() {
    match Exported::attempt(Call::test("stubborn").approved().into_call()) {
        Outcome::Pause(pause) => {
            assert_eq!(pause.key, "first");
            assert_eq!(pause.state.as_deref(), Some(&br#""kept""#[..]));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn after_a_question_every_other_is_the_same_one() {
    let said = stubborn(&Call::test("stubborn").approved()).unwrap();
    assert_eq!(said, r#"Some("first") Some("first") Some("first")"#);
}

#[test]
fn one_approval_answers_one_question() {
    let call = Call::test("two");
    let stop = two(&call).unwrap_err();
    let outcome = attempt::<two>(call.answering(&stop, true).into_call());
    assert_eq!(key(&outcome), "two");
}

#[test]
fn an_approval_of_one_thing_is_none_of_another() {
    let call = Call::test("delete");
    let stop = call.ask_approval("Delete a").unwrap_err();
    let call = call.answering(&stop, true);
    call.ask_approval("Delete a").unwrap();
    assert_eq!(call.ask_approval("Delete b").unwrap_err().pause().unwrap().reason, "Delete b");
}

#[test]
fn s02_a_yes_to_one_question_is_none_to_another() {
    let first = Call::test("delete").ask_approval("Delete a").unwrap_err();
    // As the host has it: a yes to a question of the call approves its arguments.
    let call = Call::test("delete").answering(&first, true).approved();
    call.ask_approval("Delete a").unwrap();
    let second = call.ask_approval("Delete b").unwrap_err();
    assert_eq!(second.pause().unwrap().reason, "Delete b");
}

#[test]
fn s03_nothing_but_true_is_a_yes() {
    let stop = Call::test("delete").ask_approval("Delete a").unwrap_err();
    for value in [json!(false), json!("true"), json!(1), json!({}), json!(null)] {
        assert!(Call::test("delete").answering(&stop, &value).ask_approval("Delete a").is_err(), "{value}");
    }
    Call::test("delete").answering(&stop, true).ask_approval("Delete a").unwrap();
}

#[test]
fn an_approved_call_is_not_asked_again() {
    Call::test("delete").approved().ask_approval("Delete a").unwrap();
    // A question of its own is no approval of the call.
    assert!(Call::test("delete").approved().ask("sure", Question::approval("Sure?")).is_err());
}

#[test]
fn an_answer_to_another_question_is_none() {
    let colours = Question::choice("Colour?", ["red", "green"]);
    let call = || Call::test("paint").answer("colour", &colours, "red");
    assert_eq!(call().ask("colour", colours.clone()).unwrap(), "red");
    assert!(call().ask("colour", Question::choice("Colour?", ["red", "blue"])).is_err());
    assert!(call().ask("colour", Question::text("Colour?")).is_err());
    assert!(call().ask("shade", colours.clone()).is_err());
}

#[test]
fn the_newest_answer_counts() {
    let name = Question::text("Name?");
    let call = Call::test("greet").answer("name", &name, "Ada").answer("name", &name, "Grace");
    assert_eq!(call.ask("name", name).unwrap(), "Grace");
}

#[test]
fn a_refused_approval_is_asked_again() {
    let call = Call::test("delete");
    let stop = call.ask_approval("Delete a").unwrap_err();
    assert!(call.answering(&stop, false).ask_approval("Delete a").is_err());
}

#[test]
fn a_form_comes_back_as_its_type() {
    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    struct Address {
        street: String,
        number: u16,
    }
    let call = Call::test("send");
    let form = || Question::form::<Address>("Where to?").context(json!({ "parcel": 7 }));
    let stop = call.ask("address", form()).unwrap_err();
    assert_eq!(stop.pause().unwrap().context.as_deref(), Some(r#"{"parcel":7}"#));
    let call = call.answering(&stop, json!({ "street": "High Street", "number": 4 }));
    assert_eq!(call.ask("address", form()).unwrap(), Address { street: "High Street".into(), number: 4 });
    let call = Call::test("send").answer("address", &form(), json!({ "street": 1 }));
    let stop = call.ask("address", form()).unwrap_err();
    assert_eq!(stop.failure().unwrap().kind(), Kind::InvalidInput);
}

#[test]
fn saved_state_comes_back_until_saved_anew() {
    let call = Call::test("count");
    assert_eq!(call.state::<u32>().unwrap(), None);
    call.save(&3).unwrap();
    let stop = call.ask("a", Question::text("A?")).unwrap_err();
    let call = call.answering(&stop, "a");
    assert_eq!((call.attempt(), call.state::<u32>().unwrap()), (2, Some(3)));
    let stop = call.ask("b", Question::text("B?")).unwrap_err();
    assert_eq!(call.answering(&stop, "b").state::<u32>().unwrap(), Some(3));
}

#[test]
fn state_over_the_limit_is_refused() {
    let call = Call::test("hoard");
    // Two bytes are the quotes.
    call.save(&"x".repeat(STATE_BYTES_MAX - 2)).unwrap();
    let stop = call.save(&"x".repeat(STATE_BYTES_MAX - 1)).unwrap_err();
    let failure = stop.failure().unwrap();
    assert_eq!(failure.kind(), Kind::TooLarge);
    assert_eq!(failure.message(), "the state to save is 65537 bytes, at most 65536 are kept");
}

#[test]
fn errors_keep_their_kind_through_anyhow() {
    let run = |how: &str| attempt::<fails>(Call::test("fails").arguments(json!({ "how": how })).into_call());
    assert_eq!(failure(run("io")).0, "not-found");
    assert_eq!(failure(run("so")), ("failed".into(), "while helping: just so".into()));
    match run("own") {
        Outcome::Failed(failure) => {
            assert_eq!((failure.kind.as_str(), failure.retry_after_ms), ("rate-limited", Some(2000)));
            assert_eq!((failure.message.as_str(), failure.effect), ("while helping: too fast", Effect::Maybe));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_catalog_holds_tools_and_wants() {
    let catalog = Exported::catalog().unwrap();
    let names: Vec<_> = catalog.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["add-up", "stubborn", "two", "fails"]);
    // Read as JSON: the order of keys depends on who else builds serde_json.
    let scope: Value = serde_json::from_str(&catalog.wants[0].scope).unwrap();
    assert_eq!(scope, json!({"mount": "/build", "access": "write"}));
}

#[test]
fn an_argument_is_read_by_its_name() {
    let call = Call::test("any").arguments(json!({"count": 3}));
    assert_eq!(call.argument::<u32>("count").unwrap(), 3);
    for wrong in [call.argument::<String>("count").map(drop), call.argument::<u32>("none").map(drop)] {
        assert!(wrong.unwrap_err().failure().is_some());
    }
}

#[test]
fn kept_values_are_listed_in_order_until_they_are_taken_away() {
    kv::set("b", "2").unwrap();
    kv::set("a", [0xff]).unwrap();
    assert_eq!(kv::keys().unwrap(), ["a", "b"]);
    assert_eq!((kv::get("a").unwrap(), kv::get_text("b").unwrap().as_deref()), (Some(vec![0xff]), Some("2")));
    assert_eq!(kv::get_text("a").unwrap_err().kind(), Kind::Failed);
    kv::delete("a").unwrap();
    assert_eq!((kv::exists("a").unwrap(), kv::exists("b").unwrap(), kv::get("a").unwrap()), (false, true, None));
}
