//! A browser's way in: a link with a one-time code shows a button, the button makes a session of the code.
//!
//! Nothing changes by GET: a mail scanner that follows the link uses nothing up.

use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Query, State as Of};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Form, Router};
use maud::{Markup, html};
use serde::Deserialize;

use super::State;
use super::access::{self, COOKIE};
use super::listen::Peer;
use super::page::frame;
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
            (invitation())
        } @else {
            form method="post" action="/login" {
                input type="hidden" name="code" value=(code);
                p { button.yes type="submit" autofocus { "Log in" } }
            }
            p.sub { "The link works once. The session lasts " (SESSION_LASTS.as_secs() / 3600) " hours." }
        }
    };
    Html(frame::bare("Log in", &body).into_string()).into_response()
}

/// How somebody who is not known gets in.
pub fn invitation() -> Markup {
    html! {
        p { "This page needs a link of your own. The operator makes one, on the machine where this runs:" }
        pre { "pausegate token login NAME" }
        p.sub { "Open it here; it logs this browser in." }
    }
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
    let is_limited = problem.status == StatusCode::TOO_MANY_REQUESTS;
    let body = html! {
        @if is_limited {
            p { "Too many wrong links came from this address. Wait a minute." }
        } @else {
            p { "This link was used before, or its time is over." }
        }
        (invitation())
    };
    let status = if is_limited { problem.status } else { StatusCode::UNAUTHORIZED };
    (status, Html(frame::bare("Not logged in", &body).into_string())).into_response()
}
