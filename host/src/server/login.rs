//! A browser's way in: a link with a one-time code shows a button, the button makes a session of the code.
//!
//! Nothing changes by GET: a mail scanner that follows the link uses nothing up.

use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Query, State as Of};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Form, Router};
use maud::{DOCTYPE, Markup, html};
use serde::Deserialize;

use super::State;
use super::access::{self, COOKIE};
use super::listen::Peer;
use super::problem::Problem;
use super::tokens::SESSION_LASTS;

pub fn routes() -> Router<State> {
    Router::new().route("/login", get(ask).post(log_in)).route("/logout", post(log_out))
}

#[derive(Deserialize)]
struct Code {
    #[serde(default)]
    code: String,
}

/// The link that a code makes.
pub fn link(base: &str, code: &str) -> String {
    format!("{}/login?code={code}", base.trim_end_matches('/'))
}

async fn ask(code: Result<Query<Code>, QueryRejection>) -> Response {
    let code = code.map(|Query(code)| code.code).unwrap_or_default();
    let body = html! {
        @if code.is_empty() {
            p { "This page needs a link of your own. The operator makes it with " code { "pausegate token login NAME" } "." }
        } @else {
            form method="post" action="/login" {
                input type="hidden" name="code" value=(code);
                p { button type="submit" autofocus { "Log in" } }
            }
            p { "The link works once. The session lasts " (SESSION_LASTS.as_secs() / 3600) " hours." }
        }
    };
    Html(page("Log in", &body).into_string()).into_response()
}

async fn log_in(Of(state): Of<State>, peer: Option<axum::Extension<Peer>>, form: Result<Form<Code>, FormRejection>) -> Response {
    let code = form.map(|Form(code)| code.code).unwrap_or_default();
    let peer = peer.map(|peer| peer.0.0.ip());
    let tokens = state.clone();
    // The store's lock may be waited for.
    let session = tokio::task::spawn_blocking(move || tokens.tokens.log_in(&code)).await;
    match session {
        Ok(Ok(Some(session))) => ([(header::SET_COOKIE, set_cookie(&session, &state, SESSION_LASTS.as_secs()))], Redirect::to("/")).into_response(),
        Ok(Ok(None)) => refused(&state.failures.count(peer, &state.metrics)),
        Ok(Err(error)) => Problem::from(error).into_response(),
        Err(_) => Problem::internal().into_response(),
    }
}

/// By the session itself: it needs no right to end it.
async fn log_out(Of(state): Of<State>, headers: HeaderMap) -> Response {
    if let Some(session) = access::cookie(&headers).map(str::to_owned) {
        let tokens = state.clone();
        match tokio::task::spawn_blocking(move || tokens.tokens.log_out(&session)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Problem::from(error).into_response(),
            Err(_) => return Problem::internal().into_response(),
        }
    }
    ([(header::SET_COOKIE, set_cookie("", &state, 0))], Redirect::to("/login")).into_response()
}

fn set_cookie(session: &str, state: &State, seconds: u64) -> HeaderValue {
    let secure = if state.origins.secure { "; Secure" } else { "" };
    let text = format!("{COOKIE}={session}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}");
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static(""))
}

fn refused(problem: &Problem) -> Response {
    let body = html! {
        p { "This link was used before, or its time is over." }
        p { "Ask the operator for a new one: " code { "pausegate token login NAME" } "." }
    };
    let status = if problem.status == StatusCode::TOO_MANY_REQUESTS { problem.status } else { StatusCode::UNAUTHORIZED };
    (status, Html(page("Not logged in", &body).into_string())).into_response()
}

fn page(title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · Pausegate" }
            }
            body { main { h1 { (title) } (body) } }
        }
    }
}
