//! Pauses: what waits for people, and their answers.

use axum::extract::{Path, State as Of};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::body::{Asked, Json, Text, value};
use super::chains::Listed;
use crate::chain::{Actor, ChainId};
use crate::digest::Digest;
use crate::journal::PendingRow;
use crate::pause::{Decision, Pause, PauseId};
use crate::report;
use crate::runner;
use crate::server::State;
use crate::server::access::Identity;
use crate::server::problem::Problem;
use crate::server::view::may_decide;

pub async fn list(Of(state): Of<State>, identity: Identity, Asked(asked): Asked<Listed>) -> Result<Json<Vec<Value>>, Problem> {
    let now = state.clock().now();
    let rows = state.pauses(&identity, asked.limit()?).await?;
    Ok(Json(rows.iter().map(|row| listed(&identity, row, now)).collect()))
}

pub async fn show(Of(state): Of<State>, identity: Identity, Path(id): Path<String>) -> Result<Response, Problem> {
    let (chain, pause) = state.pause(&identity, &id).await?;
    let mut value = shown(&identity, &pause, &chain.id, &chain.started_by, state.clock().now());
    (value["chain_status"], value["title"]) = (json!(chain.status), json!(chain.title));
    // Of one, not in lists: the grants file is read for it.
    value["standing_line"] = json!(state.standing_line(&chain, &pause).await);
    Ok((etag(&pause.digest), Json(value)).into_response())
}

/// `If-Match` carries the digest of what the decider looked at.
pub async fn decide(
    Of(state): Of<State>,
    identity: Identity,
    Path(id): Path<String>,
    headers: HeaderMap,
    text: Result<Text, Problem>,
) -> Result<Response, Problem> {
    let decided = async {
        identity.needs(crate::server::access::Scope::Approve)?;
        let tag = headers.get(header::IF_MATCH).ok_or_else(missing)?;
        let decision = Decision::of_value(value(&text?.0)?).map_err(Problem::does_not_fit)?;
        let seen = seen(tag)?;
        if decision.digest().is_some_and(|digest| *digest != seen) {
            return Err(differs("`digest` in the body is not the one of `If-Match`"));
        }
        state.decide(&identity, &id, decision.about(seen)).await
    };
    let done = state.counted(decided, |done| status(done, &id).as_u16()).await?;
    Ok((status(&done, &id), Json(answer(&done, &id))).into_response())
}

/// 202 while more people have to say the same.
fn status(done: &runner::Decision, id: &str) -> StatusCode {
    let is_open = done.state.pause(&PauseId(id.to_owned())).is_some_and(Pause::is_open);
    if is_open { StatusCode::ACCEPTED } else { StatusCode::OK }
}

fn answer(done: &runner::Decision, id: &str) -> Value {
    report::decision::as_json(done, done.state.pause(&PauseId(id.to_owned())))
}

fn missing() -> Problem {
    let detail = "`If-Match` is missing: it carries the digest of the pause that was looked at, as its `ETag` has it";
    Problem::new(StatusCode::PRECONDITION_REQUIRED, "digest-missing", detail)
}

/// The digest in `If-Match`: one, in quotes, as `ETag` gave it.
fn seen(tag: &HeaderValue) -> Result<Digest, Problem> {
    let text = tag.to_str().ok().and_then(|text| text.trim().strip_prefix('"')?.strip_suffix('"'));
    text.and_then(|text| text.parse().ok()).ok_or_else(|| differs("`If-Match` is no digest in quotes"))
}

fn differs(detail: &str) -> Problem {
    Problem::new(StatusCode::PRECONDITION_FAILED, "digest-differs", detail)
}

fn etag(digest: &Digest) -> [(HeaderName, HeaderValue); 1] {
    [(header::ETAG, HeaderValue::from_str(&format!("\"{digest}\"")).unwrap_or(HeaderValue::from_static("")))]
}

fn listed(identity: &Identity, row: &PendingRow, now: Timestamp) -> Value {
    let mut value = shown(identity, &row.pause, &row.chain, &row.started_by, now);
    (value["chain_status"], value["title"]) = (json!(row.chain_status), json!(row.title));
    value
}

/// As `pending --json` has it, with what this person may answer in place of commands to type.
fn shown(identity: &Identity, pause: &Pause, chain: &ChainId, started_by: &Actor, now: Timestamp) -> Value {
    let mut value = report::pause::as_json(pause, chain, now);
    if let Some(members) = value.as_object_mut() {
        members.shift_remove("next");
    }
    let may_decide = pause.is_open() && may_decide(identity, pause, started_by, now);
    value["started_by"] = json!(started_by);
    value["decisions"] = json!(if may_decide { pause.offers() } else { &[] });
    value
}
