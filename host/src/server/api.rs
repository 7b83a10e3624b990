//! The HTTP API, `/api/v1`. Its document is `openapi.json`, which a test holds to the routes below.

use axum::Router;
use axum::extract::State as Of;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};

use super::State;
use super::access::{Identity, Scope};
use super::metrics::Now;
use super::problem::Problem;
use crate::report::age;

mod body;
mod chains;
mod pauses;
mod plugins;
mod start;

/// OpenAPI 3.1.
const DOCUMENT: &str = include_str!("api/openapi.json");
/// Rows of a list.
const LIST_MAX: u32 = 1000;

#[rustfmt::skip]
pub fn routes() -> Router<State> {
    Router::new()
        .route("/api/v1/openapi.json", get(document))
        .route("/api/v1/chains", get(chains::list).post(start::start))
        .route("/api/v1/chains/{id}", get(chains::show))
        .route("/api/v1/chains/{id}/events", get(chains::events))
        .route("/api/v1/chains/{id}/resume", post(chains::resume))
        .route("/api/v1/chains/{id}/say", post(chains::say))
        .route("/api/v1/chains/{id}/cancel", post(chains::cancel))
        .route("/api/v1/chains/{id}/fork", post(chains::fork))
        .route("/api/v1/pauses", get(pauses::list))
        .route("/api/v1/pauses/{id}", get(pauses::show))
        .route("/api/v1/pauses/{id}/decision", post(pauses::decide))
        .route("/api/v1/tools", get(plugins::tools))
        .route("/api/v1/plugins", get(plugins::plugins))
        .route("/api/v1/changes", get(super::changes::stream))
        .route("/metrics", get(metrics))
}

/// For everybody: it says nothing of this server that its source does not.
async fn document() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT)
}

async fn metrics(Of(state): Of<State>, identity: Identity) -> Result<Response, Problem> {
    identity.needs(Scope::Read)?;
    let open = state.host.journal.pending(LIST_MAX).await?;
    let oldest_pause = open.first().map_or(0, |row| age::seconds(row.pause.opened_at, state.clock().now()));
    let text = state.metrics.text(&Now { open_pauses: open.len(), oldest_pause, subscribers: state.changes.subscribers() });
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response())
}
