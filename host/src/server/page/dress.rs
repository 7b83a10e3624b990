//! Problems as pages, for browsers: what happened and what to do next.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use maud::{Markup, html};

use super::frame;
use crate::report::escape;
use crate::server::login;
use crate::server::problem::Problem;

/// A layer, outside of all others: whoever asks for HTML gets it, whatever went wrong.
pub async fn dress(request: Request, next: Next) -> Response {
    let is_page = asks_for_page(request.headers()) && !request.uri().path().starts_with("/api/");
    let (is_get, path) = (request.method() == Method::GET, request.uri().path().to_owned());
    let comes_from_elsewhere = request.headers().get("sec-fetch-site").is_some_and(|site| site == "cross-site" || site == "same-site");
    let mut response = next.run(request).await;
    let Some(problem) = response.extensions_mut().remove::<Problem>().filter(|_| is_page) else { return response };
    let page = match (problem.status, is_get) {
        // A link in a mail or a chat: the session's cookie comes with steps inside this site alone.
        (StatusCode::UNAUTHORIZED, true) if comes_from_elsewhere => {
            *response.status_mut() = StatusCode::OK;
            frame::passing(&path)
        }
        (StatusCode::UNAUTHORIZED, true) => frame::bare("Log in", &login::invitation()),
        (StatusCode::UNAUTHORIZED, false) => frame::bare("Not logged in", &session_over()),
        _ => frame::bare(title(&problem), &told(&problem)),
    };
    let (mut parts, _) = response.into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    Response::from_parts(parts, Body::from(page.into_string()))
}

fn asks_for_page(headers: &HeaderMap) -> bool {
    headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).is_some_and(|accept| accept.contains("text/html"))
}

fn session_over() -> Markup {
    html! {
        p { "The session is over, so nothing was done." }
        (login::invitation())
    }
}

fn title(problem: &Problem) -> &'static str {
    match problem.status {
        StatusCode::NOT_FOUND => "Not here",
        StatusCode::FORBIDDEN => "Not allowed",
        StatusCode::SERVICE_UNAVAILABLE => "Not just now",
        StatusCode::TOO_MANY_REQUESTS => "Too many tries",
        status if status.is_server_error() => "Something went wrong",
        _ => "That cannot be done",
    }
}

fn told(problem: &Problem) -> Markup {
    let next = match problem.status {
        StatusCode::NOT_FOUND => "It may have been archived, or it is not for your token to see.",
        StatusCode::FORBIDDEN => "Nothing was changed. The operator says who may do what.",
        StatusCode::SERVICE_UNAVAILABLE => "Nothing was changed that you were not told of. Try again in a moment.",
        _ => "Nothing was changed.",
    };
    html! {
        p { (said(&sentence(&problem.detail))) }
        p { (next) }
        p { a href="/" { "To what waits" } }
    }
}

/// What went wrong, with what stands between backticks set as code.
pub fn said(message: &str) -> Markup {
    let message = escape::message(message);
    let parts: Vec<_> = message.split('`').collect();
    // One mark too many is somebody's own.
    if parts.len() % 2 == 0 {
        return html! { (message) };
    }
    html! { @for (place, part) in parts.iter().enumerate() { @if place % 2 == 1 { code { (part) } } @else { (part) } } }
}

/// The detail as a person reads it; an id in front stays what it is.
pub fn sentence(detail: &str) -> String {
    let is_word = detail.split(' ').next().is_some_and(|first| first.chars().all(char::is_alphabetic));
    let mut letters = detail.chars();
    let first = letters.next().map(|first| if is_word { first.to_uppercase().to_string() } else { first.to_string() }).unwrap_or_default();
    let end = if detail.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detail_reads_as_a_sentence_and_ids_stay_ids() {
        assert_eq!(sentence("the journal is busy; try again"), "The journal is busy; try again.");
        assert_eq!(sentence("pa_1 was already decided"), "pa_1 was already decided.");
        assert_eq!(sentence("`city` is missing."), "`city` is missing.");
        assert_eq!(sentence(""), ".");
    }

    #[test]
    fn what_stands_between_backticks_is_code() {
        assert_eq!(said("`<city>` is not `a`.").into_string(), "<code>&lt;city&gt;</code> is not <code>a</code>.");
        assert_eq!(said("a ` alone").into_string(), "a ` alone");
    }
}
