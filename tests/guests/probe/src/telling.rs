//! A call that has effects and asks questions in any order, and does all of it again from the start at each attempt.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use pausegate_sdk::http::{self as sdk_http, Response};
use pausegate_sdk::{Call, Failure, Question, Result, tool};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::values::said;

/// One of these.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Telling {
    /// Sends `body` to this URL.
    post: Option<String>,
    #[serde(default)]
    body: String,
    /// Sends the number of the attempt to this URL, so each attempt sends another.
    post_attempt: Option<String>,
    /// Sends the time and something random to this URL.
    post_chance: Option<String>,
    get: Option<String>,
    /// Adds one to this key.
    increment: Option<String>,
    value: Option<String>,
    /// Writes this file.
    write: Option<String>,
    ask: Option<String>,
}

/// Takes the steps one after the other; a line for each. `save` counts the attempts in saved state.
#[tool]
pub(crate) fn retold(call: &Call, steps: Vec<Telling>, #[serde(default)] save: bool) -> Result<String> {
    if save {
        call.save(&(call.state::<u32>()?.unwrap_or(0) + 1))?;
    }
    let lines: Result<Vec<String>> = steps.into_iter().map(|step| tell(call, step)).collect();
    Ok(lines?.join("\n"))
}

fn tell(call: &Call, step: Telling) -> Result<String> {
    Ok(match step {
        Telling { post: Some(url), body, .. } => answer(sdk_http::post(url, body).send()),
        Telling { post_attempt: Some(url), .. } => answer(sdk_http::post(url, call.attempt().to_string()).send()),
        Telling { post_chance: Some(url), .. } => answer(sdk_http::post(url, chance()).send()),
        Telling { get: Some(url), .. } => answer(sdk_http::get(url).send()),
        Telling { increment: Some(key), .. } => said("increment", &key, "", 1),
        Telling { value: Some(key), .. } => said("get", &key, "", 0),
        Telling { write: Some(path), .. } => fs::write(path, "x").map_or_else(|error| format!("error: {:?}", error.kind()), |()| "ok".to_owned()),
        Telling { ask: Some(key), .. } => call.ask(&key, Question::text("And now?"))?,
        _ => "nothing".to_owned(),
    })
}

/// Both as this attempt has them.
fn chance() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let drawn = bindings::wasi::random::random::get_random_bytes(16);
    format!("{} {drawn:?} {}", now.as_nanos(), bindings::wasi::random::random::get_random_u64())
}

fn answer(sent: std::result::Result<Response, Failure>) -> String {
    match sent {
        Ok(response) => format!("{} {}", response.status, response.text()),
        Err(error) => format!("error: {}", error.kind().as_str()),
    }
}

mod bindings {
    wit_bindgen::generate!({
        path: "../../../wit",
        inline: "package probe:chance; world imports { import wasi:random/random@0.2.12; }",
        world: "probe:chance/imports",
        generate_all,
    });
}
