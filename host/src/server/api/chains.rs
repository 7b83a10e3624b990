//! Chains: what they did, and what a person does to them.

use axum::extract::{Path, State as Of};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::LIST_MAX;
use super::body::{Asked, Body, Json};
use super::start::listed;
use crate::chain::{ChainId, ChainStatus, Seq};
use crate::journal::ChainRow;
use crate::runner::{Resume, TakenUp};
use crate::server::State;
use crate::server::access::{Identity, Scope};
use crate::server::problem::Problem;
use crate::state::ChainState;

/// Events of one page.
const EVENTS_MAX: u32 = 500;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listed {
    limit: Option<u32>,
}

impl Listed {
    pub fn limit(&self) -> Result<u32, Problem> {
        bounded(self.limit, LIST_MAX)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paged {
    after: Option<Seq>,
    limit: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fixes {
    #[serde(default)]
    accept_plugin: bool,
    max_turns: Option<u32>,
    model: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Said {
    message: String,
    #[serde(default)]
    supersede: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noted {
    note: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    at: Option<Seq>,
}

pub fn bounded(given: Option<u32>, max: u32) -> Result<u32, Problem> {
    match given.unwrap_or(max.min(100)) {
        limit if (1..=max).contains(&limit) => Ok(limit),
        limit => Err(Problem::bad_request(format!("`limit` is {limit}; it goes from 1 to {max}"))),
    }
}

pub async fn list(Of(state): Of<State>, identity: Identity, Asked(asked): Asked<Listed>) -> Result<Json<Vec<ChainRow>>, Problem> {
    Ok(Json(state.chains(&identity, asked.limit()?).await?))
}

pub async fn show(Of(state): Of<State>, identity: Identity, Path(id): Path<String>) -> Result<Json<Value>, Problem> {
    let chain = state.chain(&identity, &id).await?;
    let held_by = state.held_by(&chain).await?;
    let mut value = serde_json::to_value(&chain).map_err(|_| Problem::internal())?;
    value["answer"] = json!(chain.answer());
    if held_by.is_some() {
        value["status"] = json!(ChainStatus::Running);
    }
    value["held_by"] = json!(held_by);
    Ok(Json(value))
}

pub async fn events(Of(state): Of<State>, identity: Identity, Path(id): Path<String>, Asked(paged): Asked<Paged>) -> Result<Json<Value>, Problem> {
    let limit = bounded(paged.limit, EVENTS_MAX)? as usize;
    // Numbers beyond those that the store can have name no event.
    let after = paged.after.unwrap_or_default().min(i64::MAX.unsigned_abs());
    let chain = state.chain(&identity, &id).await?;
    let mut events = state.host.journal.events(&chain.id, after).await?;
    events.truncate(limit);
    let last = events.last().map_or(chain.seq, |event| event.seq);
    Ok(Json(json!({"events": events, "next": (last < chain.seq).then_some(last)})))
}

pub async fn resume(
    Of(state): Of<State>,
    identity: Identity,
    Path(id): Path<String>,
    Body(fixes): Body<Fixes>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    identity.needs(Scope::Run)?;
    if fixes.accept_plugin {
        // Other bytes than those that were looked at are the operator's to take on.
        identity.needs(Scope::Admin)?;
    }
    if let Some(model) = &fixes.model {
        listed(&state, model)?;
    }
    let chain = state.chain(&identity, &id).await?;
    let room = state.room()?;
    let (host, by) = (state.host.clone(), identity.actor.clone());
    let fixes = Resume { accept_plugin: fixes.accept_plugin, max_turns: fixes.max_turns, model: fixes.model };
    let taken = state.finish(async move { host.take_up(&chain.id, &by, fixes).await }).await??;
    Ok((StatusCode::ACCEPTED, Json(driven(&state, room, taken))))
}

pub async fn say(
    Of(state): Of<State>,
    identity: Identity,
    Path(id): Path<String>,
    Body(said): Body<Said>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    identity.needs(Scope::Run)?;
    if said.message.trim().is_empty() {
        return Err(Problem::does_not_fit("the message is empty"));
    }
    let chain = state.chain(&identity, &id).await?;
    let room = state.room()?;
    let (host, by, stop) = (state.host.clone(), identity.actor.clone(), state.stop.clone());
    let telling = async move { host.tell(&chain.id, &by, &said.message, said.supersede, &stop).await };
    let taken = state.finish(telling).await??;
    Ok((StatusCode::ACCEPTED, Json(driven(&state, room, taken))))
}

pub async fn cancel(
    Of(state): Of<State>,
    identity: Identity,
    Path(id): Path<String>,
    Body(noted): Body<Noted>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    identity.needs(Scope::Run)?;
    let chain = state.chain(&identity, &id).await?;
    let (host, by) = (state.host.clone(), identity.actor.clone());
    let cancelled = state.finish(async move { host.cancel(&chain.id, &by, noted.note).await }).await??;
    state.changes.poke();
    let status = if cancelled.status.is_terminal() { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok((status, Json(stands(&cancelled))))
}

pub async fn fork(
    Of(state): Of<State>,
    identity: Identity,
    Path(id): Path<String>,
    Body(point): Body<Point>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    identity.needs(Scope::Run)?;
    let chain = state.chain(&identity, &id).await?;
    let (host, by) = (state.host.clone(), identity.actor.clone());
    let forked = state.finish(async move { host.fork(&chain.id, point.at, &by).await }).await??;
    state.changes.poke();
    let unknown: Vec<_> = forked.unknown.iter().filter_map(|key| forked.state.calls.get(key)).map(|call| &call.id).collect();
    let mut value = stands(&forked.state);
    (value["forked"], value["unknown"]) = (json!(forked.state.forked), json!(unknown));
    Ok((StatusCode::CREATED, Json(value)))
}

/// Carries the chain on beside the answer.
fn driven(state: &State, room: tokio::sync::OwnedSemaphorePermit, taken: TakenUp) -> Value {
    let value = stands(taken.state());
    let (stop, changes) = (state.stop.clone(), state.changes.clone());
    tokio::spawn(async move {
        // What it came to is in the journal; a chain that could not go on is there to be resumed.
        let _rest = taken.drive(stop).await;
        changes.poke();
        drop(room);
    });
    value
}

fn stands(state: &ChainState) -> Value {
    let id: &ChainId = &state.id;
    json!({"id": id, "status": state.status, "open_pauses": state.open_pauses().map(|pause| &pause.id).collect::<Vec<_>>()})
}
