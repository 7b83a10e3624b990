//! Reads of a request what a handler needs, each slip a problem in words: JSON as strictly as every door, small queries.

use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::report::escape;
use crate::server::State;
use crate::server::problem::Problem;

/// The text of a JSON body; the type keeps forms of other pages out, which need no leave to be sent.
pub struct Text(pub String);

/// A JSON body of one shape: no key twice, none that is unknown.
pub struct Body<T>(pub T);

/// A query of one shape.
pub struct Asked<T>(pub T);

/// An answer.
pub struct Json<T>(pub T);

impl FromRequest<State> for Text {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &State) -> Result<Self, Problem> {
        let media = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if !media.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json") {
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "no-json", "the body must be `application/json`"));
        }
        let bytes = Bytes::from_request(request, state).await.map_err(unread)?;
        String::from_utf8(bytes.into()).map(Self).map_err(|_| Problem::bad_request("the body is not UTF-8"))
    }
}

fn unread(rejection: BytesRejection) -> Problem {
    match rejection.into_response().status() {
        StatusCode::PAYLOAD_TOO_LARGE => Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", "the body is larger than this server takes"),
        _ => Problem::bad_request("the body could not be read"),
    }
}

impl<T: DeserializeOwned> FromRequest<State> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &State) -> Result<Self, Problem> {
        let Text(text) = Text::from_request(request, state).await?;
        shaped(value(&text)?).map(Self)
    }
}

/// serde takes a list for an object; nobody else does.
pub fn shaped<T: DeserializeOwned>(value: Value) -> Result<T, Problem> {
    if !value.is_object() {
        return Err(Problem::does_not_fit("the body must be a JSON object"));
    }
    serde_json::from_value(value).map_err(|error| Problem::does_not_fit(error.to_string()))
}

/// Strict, as every door reads JSON.
pub fn value(text: &str) -> Result<Value, Problem> {
    crate::call::arguments::read_json(text).map_err(|error| Problem::bad_request(error.to_string()))
}

impl<T: DeserializeOwned> FromRequestParts<State> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, Problem> {
        let read = Query::<T>::from_request_parts(parts, state).await;
        read.map(|Query(asked)| Self(asked)).map_err(|error: QueryRejection| Problem::bad_request(error.body_text()))
    }
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        // What plugins and models say stays what it is, and nothing in it is invisible to who reads it raw.
        match serde_json::to_string(&self.0) {
            Ok(text) => ([(header::CONTENT_TYPE, "application/json")], escape::json(&text)).into_response(),
            Err(_) => Problem::internal().into_response(),
        }
    }
}
