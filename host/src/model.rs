//! Language models: one request in, one response out, text streamed on the way.
//!
//! Adapters know wire formats and nothing of chains. A response is kept twice: as parts, and as the provider's own
//! message, which goes back unchanged where that provider demands it.

use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::call::ToolSpec;
use crate::counted::counted;
use crate::event::{Usage, Verbatim};

mod anthropic;
mod frames;
mod gemini;
mod history;
mod merge;
mod ollama;
mod open;
mod openai;
mod patience;
pub mod record;
mod remote;
mod responses;
pub mod script;
#[cfg(test)]
mod testing;
pub mod twin;

pub use crate::call::AskedCall;
pub use crate::event::Entry;
pub use open::{open, open_telling, open_with};
pub use patience::Patience;
pub use record::record;
pub use remote::{Waiting, install_tls};

/// What the runner needs of a model; `script:` is one of them.
pub trait Model: Send + Sync {
    /// As given to `--model`.
    fn name(&self) -> &str;

    /// Whether it reads `Request::history`; for one that does not, none is put together.
    fn reads_history(&self) -> bool {
        true
    }

    /// Asks for the next response. Retries of what may be retried happen inside; `on_text` hears text as it streams,
    /// each piece once, also over retries.
    fn respond<'a>(&'a self, request: Request<'a>, on_text: &'a (dyn Fn(&str) + Send + Sync)) -> BoxFuture<'a, Result<Reply, ModelError>>;
}

/// One model call.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Model calls this chain made before; a script takes its turn from it.
    pub calls_before: u32,
    pub system: Option<&'a str>,
    /// Oldest first. Every tool call in it has one result, in the order asked.
    pub history: &'a [Entry],
    pub tools: &'a [ToolSpec],
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// Text and reasoning, in order, without the tool calls.
    pub text: String,
    pub reasoning: String,
    pub calls: Vec<AskedCall>,
    pub verbatim: Option<Verbatim>,
    pub usage: Option<Usage>,
}

#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    #[error("no model is named; give `--model NAME` or set `PAUSEGATE_MODEL`")]
    NotChosen,
    #[error("`{0}` is not a model that this version knows; it knows {known}", known = open::KNOWN)]
    Unknown(String),
    #[error("{variable} is not set; model `{model}` needs it")]
    MissingKey { model: String, variable: &'static str },
    /// The value may hold a password and is not shown.
    #[error("{variable} cannot be used: {message}")]
    BadSetting { variable: &'static str, message: String },
    /// 400, 401, 403, quota: trying again would change nothing.
    #[error("{provider} refused the request ({status}): {message}")]
    Refused { provider: &'static str, status: u16, message: String },
    /// Away after all retries.
    #[error("{provider} did not answer after {}: {message}", counted(attempts, "attempt", "attempts"))]
    Unavailable { provider: &'static str, attempts: u32, message: String },
    /// HTML, half a stream, JSON of another shape.
    #[error("{provider} sent an answer that cannot be read: {message}")]
    Garbled { provider: &'static str, message: String },
    /// Not there, or not readable: it may be there again later.
    #[error("script `{path}` cannot be read: {message}")]
    ScriptAway { path: String, message: String },
    /// What stands in the file is no script.
    #[error("script `{path}`: {message}")]
    Script { path: String, message: String },
    /// It says no more: the chain asked for a turn that was never recorded.
    #[error("script `{path}`: turn {turn} is asked for, the script has {turns}")]
    ScriptEnded { path: String, turn: u64, turns: usize },
    /// The file that turns are kept in; nothing was asked, or the answer was given all the same.
    #[error("`{path}` cannot be recorded into: {message}")]
    Record { path: String, message: String },
}

/// Characters of a provider's answer in an error message.
const EXCERPT_CHARS: usize = 400;

/// Reads `value` as text for an error message, limited.
pub fn excerpt(value: &Value) -> String {
    excerpt_text(&value.to_string())
}

/// One line of `text`, limited, without what could steer a terminal.
fn excerpt_text(text: &str) -> String {
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = clean.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(EXCERPT_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
