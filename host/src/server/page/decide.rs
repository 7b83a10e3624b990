//! A form becomes a decision, of the closed shapes that every door takes, and goes to the one door there is.

use axum::extract::{Path, State as Of};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde_json::{Value, json};

use super::fields::{Form, PREFIX};
use super::forms::Slip;
use super::given::{Given, Sent};
use super::pause::whole;
use super::seen::Seen;
use crate::call::arguments::read_json;
use crate::pause::{Ask, Decision, Pause};
use crate::server::State;
use crate::server::access::Identity;
use crate::server::problem::Problem;

const DECISIONS: [&str; 5] = ["approve", "deny", "edit", "respond", "settle"];

pub async fn decide(Of(state): Of<State>, who: Identity, Path(id): Path<String>, sent: Sent) -> Result<Response, Problem> {
    let given = Given::read(sent)?;
    let seen = Seen::read(&state, &who, &id).await?;
    let decision = decision(&seen.pause, &given).map_err(Problem::does_not_fit);
    let decided = state.counted(async { state.decide(&who, &id, decision?).await }, |_| StatusCode::OK.as_u16()).await;
    match decided {
        // What it is now is shown by a page of its own: loading that again decides nothing.
        Ok(_) => Ok(Redirect::to(&format!("/pauses/{id}")).into_response()),
        Err(problem) => refused(&state, &who, &id, given, problem).await,
    }
}

/// The pause as it is now, with what was tried.
async fn refused(state: &State, who: &Identity, id: &str, given: Given, problem: Problem) -> Result<Response, Problem> {
    let Some(title) = title(&problem) else { return Err(problem) };
    let seen = Seen::read(state, who, id).await?;
    let slip = Slip { title, message: problem.detail, given };
    Ok((problem.status, whole(who, &seen, Some(&slip))).into_response())
}

fn title(problem: &Problem) -> Option<&'static str> {
    match problem.status {
        StatusCode::CONFLICT => Some("It was decided before; nothing was changed"),
        StatusCode::GONE => Some("It is not asked any more; nothing was changed"),
        StatusCode::PRECONDITION_FAILED => Some("This changed since you looked; nothing was decided. Here is how it is now"),
        StatusCode::UNPROCESSABLE_ENTITY => Some("That does not fit; nothing was decided"),
        StatusCode::FORBIDDEN => Some("This is not yours to decide; nothing was changed"),
        StatusCode::SERVICE_UNAVAILABLE => Some("That could not be written just now; nothing was decided. Try again"),
        _ => None,
    }
}

/// No default: what is missing, unknown or twice is no decision.
fn decision(pause: &Pause, given: &Given) -> Result<Decision, String> {
    let name = given.get("decision").filter(|name| DECISIONS.contains(name)).ok_or("the form names no decision")?;
    let digest = given.get("digest").ok_or("the form does not say what was looked at")?;
    let mut said = json!({"decision": name, "digest": digest});
    let own: &[&str] = match name {
        "deny" => &["note", "stop"],
        "edit" => &["arguments"],
        "respond" => &["as", "result", "choice", "value"],
        "settle" => &["outcome", "result", "as", "note"],
        _ => &[],
    };
    given.has_only(&[&["decision", "digest"], own].concat(), (name == "respond").then_some(PREFIX))?;
    if let Some(note) = given.text("note").filter(|note| !note.trim().is_empty()) {
        said["note"] = note.into();
    }
    match name {
        "deny" => match given.get("stop") {
            None => {}
            Some("yes") => said["then"] = "stop".into(),
            Some(_) => return Err("`stop` is neither there nor `yes`".to_owned()),
        },
        "edit" => said["arguments"] = json_of(given, "arguments")?,
        "respond" => said["value"] = answer(pause, given)?,
        "settle" => {
            let outcome = given.get("outcome").ok_or("the form does not say what became of it")?;
            said["outcome"] = outcome.into();
            if outcome == "happened" {
                said["result"] = result(given)?;
            } else if given.get("result").is_some() {
                return Err("a result goes with what happened alone".to_owned());
            }
        }
        _ => {}
    }
    serde_json::from_value(said).map_err(|error| error.to_string())
}

/// Given in the way that its question asks for: a text is no choice, and a choice no result.
fn answer(pause: &Pause, given: &Given) -> Result<Value, String> {
    match (given.get("as"), &pause.ask) {
        (Some("choice"), Ask::Choice { .. }) => given.get("choice").map(Value::from).ok_or_else(|| "nothing was chosen".to_owned()),
        (Some("text"), Ask::Text) | (Some("text" | "json"), Ask::Approval) => result(given),
        (Some("json"), Ask::Form { .. } | Ask::Other { .. }) => result(given),
        (Some("form"), Ask::Form { schema } | Ask::Other { schema, .. }) => Form::of(schema).ok_or("its answer is given as JSON")?.read(given),
        _ => Err("the form does not answer this question".to_owned()),
    }
}

fn result(given: &Given) -> Result<Value, String> {
    match given.get("as") {
        Some("text") => given.text("result").filter(|text| !text.is_empty()).map(Value::from).ok_or_else(|| "nothing was typed".to_owned()),
        Some("json") => json_of(given, "result"),
        _ => Err("the form does not say whether it is text or JSON".to_owned()),
    }
}

fn json_of(given: &Given, name: &str) -> Result<Value, String> {
    read_json(given.get(name).unwrap_or_default()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
