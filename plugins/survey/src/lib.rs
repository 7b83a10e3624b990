//! Every kind of question, to try pauses with. Touches nothing outside.

use pausegate_sdk::{Call, Json, Question, Result, progress, tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Asks for a yes.
#[tool(effects = "read-only")]
fn approve(
    call: &Call,
    /// What the person is asked to approve.
    reason: String,
) -> Result<String> {
    call.ask_approval(&*reason)?;
    Ok(format!("approved: {reason}"))
}

/// Asks for one of several answers.
#[tool(effects = "read-only")]
fn choose(
    call: &Call,
    /// The question.
    reason: String,
    /// The answers to choose from.
    #[schemars(length(min = 1))]
    choices: Vec<String>,
) -> Result<String> {
    call.ask("choice", Question::choice(reason, choices))
}

/// Asks for free text.
#[tool(effects = "read-only")]
fn text(
    call: &Call,
    /// The question.
    reason: String,
) -> Result<String> {
    call.ask("text", Question::text(reason))
}

/// Where something is to be delivered.
#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Address {
    /// Street and number.
    street: String,
    /// The town.
    city: String,
    /// Something for the courier.
    remark: Option<String>,
}

/// Asks for an address by a form.
#[tool(effects = "read-only")]
fn form(
    call: &Call,
    /// What is to be delivered.
    parcel: String,
) -> Result<Json<Address>> {
    let question = Question::form::<Address>(format!("Where does {parcel} go?"));
    let address = call.ask("address", question.context(json!({ "parcel": parcel })))?;
    Ok(Json(address))
}

/// Asks for a rating, a kind of question that the contract has no case for.
#[tool(effects = "read-only")]
fn other(
    call: &Call,
    /// What is to be rated.
    subject: String,
) -> Result<String> {
    let stars = json!({ "type": "integer", "minimum": 1, "maximum": 5 });
    let rating: Value = call.ask("stars", Question::other(format!("Rate {subject}"), "survey:stars", stars))?;
    Ok(format!("{subject}: {rating} of 5"))
}

/// What `trip` learned so far.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Plan {
    place: Option<String>,
    wishes: Option<String>,
}

/// Plans a trip in three questions: where to, what to see, and whether that is it.
#[tool(effects = "read-only")]
fn trip(
    call: &Call,
    /// The places to choose from.
    places: Vec<String>,
) -> Result<Json<Plan>> {
    let mut plan: Plan = call.state()?.unwrap_or_default();
    if plan.place.is_none() {
        progress(0.0, 3.0, "where to");
        plan.place = Some(call.ask("place", Question::choice("Where to?", places))?);
        call.save(&plan)?;
    }
    if plan.wishes.is_none() {
        progress(1.0, 3.0, "what to see");
        plan.wishes = Some(call.ask("wishes", Question::text("What do you want to see there?"))?);
        call.save(&plan)?;
    }
    progress(2.0, 3.0, "whether that is it");
    call.ask("final", Question::approval("Is that the plan?").context(json!(plan)))?;
    Ok(Json(plan))
}

pausegate_sdk::export! {
    tools: [approve, choose, text, form, other, trip],
}

#[cfg(test)]
mod tests;
