//! The page for people: what waits for them.

use axum::Router;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::get;
use maud::{DOCTYPE, html};

use super::State;
use super::access::Identity;
use super::problem::Problem;

pub fn routes() -> Router<State> {
    Router::new().route("/", get(queue))
}

async fn queue(identity: Result<Identity, Problem>) -> Response {
    let identity = match identity {
        Ok(identity) => identity,
        Err(problem) if problem.status == StatusCode::UNAUTHORIZED => return Redirect::to("/login").into_response(),
        Err(problem) => return problem.into_response(),
    };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head { meta charset="utf-8"; title { "Pausegate" } }
            body { main { h1 { "Pausegate" } p { "You are " (identity.name) "." } } }
        }
    };
    Html(page.into_string()).into_response()
}
