//! What a plugin returned, checked, without any secret's value, and in the host's own words.

use std::fmt::Display;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::bindings::types;
use super::text::cut;
use super::vault::Vault;
use crate::call::arguments::read_json;
use crate::call::schema::Schema;
use crate::call::{Content, EffectState, Failure, ToolResult, kind};
use crate::pause::{Ask, Choice};
use crate::plugin::Asked;

/// Bytes of a failure's message.
pub const MESSAGE_BYTES_MAX: usize = 4 << 10;
/// Bytes of a pause's reason; more is cut.
pub const REASON_BYTES_MAX: usize = 4 << 10;
/// Bytes of a pause's key.
pub const KEY_BYTES_MAX: usize = 128;
/// Bytes of a pause's context as JSON.
pub const CONTEXT_BYTES_MAX: usize = 64 << 10;
/// Bytes of a pause's state.
pub const STATE_BYTES_MAX: usize = 64 << 10;
pub const CHOICES_MAX: usize = 64;
/// Bytes of one choice's value or label.
pub const CHOICE_BYTES_MAX: usize = 1 << 10;
const MEDIA_TYPE_BYTES_MAX: usize = 128;
/// Kinds that a plugin may give (`wit/plugin.wit`).
const PLUGIN_KINDS: [&str; 10] =
    ["invalid-input", "not-found", "denied", "auth-required", "timeout", "rate-limited", "unavailable", "too-large", "conflict", "failed"];

pub fn success(done: types::Success, schema: Option<&Schema>, output_bytes: u64, vault: &Vault) -> Result<ToolResult, Failure> {
    result(done, schema, output_bytes, vault).map_err(|failure| without_secrets(failure, vault))
}

/// What is wrong with something is told in its own words, so a secret may stand in them.
fn without_secrets(failure: Failure, vault: &Vault) -> Failure {
    Failure { message: vault.text(failure.message), ..failure }
}

fn result(done: types::Success, schema: Option<&Schema>, output_bytes: u64, vault: &Vault) -> Result<ToolResult, Failure> {
    let bytes: u64 = done.content.iter().map(|piece| size(&piece.body)).sum();
    if bytes > output_bytes {
        let message = format!("the result has {bytes} bytes, the limit is {output_bytes}");
        return Err(Failure::new(kind::TOO_LARGE, message));
    }
    let content: Vec<_> = done.content.into_iter().map(|piece| content(piece.body, vault)).collect::<Result<_, _>>()?;
    let mut structured = content.iter().filter_map(|piece| match piece {
        Content::Structured { value } => Some(value),
        _ => None,
    });
    let value = structured.next();
    if structured.next().is_some() {
        return Err(invalid("more than one structured piece"));
    }
    match (schema, value) {
        (Some(schema), Some(value)) => schema.check(value).map_err(|why| invalid(format!("it does not fit its output schema: {why}")))?,
        (Some(_), None) => return Err(invalid("the tool declares an output schema and gave no structured piece")),
        (None, _) => {}
    }
    Ok(ToolResult::Success { content })
}

fn size(body: &types::Body) -> u64 {
    let bytes = match body {
        types::Body::Text(text) | types::Body::Structured(text) => text.len(),
        types::Body::Blob(blob) => blob.data.len() + blob.media_type.len(),
    };
    bytes as u64
}

fn content(body: types::Body, vault: &Vault) -> Result<Content, Failure> {
    match body {
        types::Body::Text(text) => Ok(Content::Text { text: vault.text(text) }),
        types::Body::Structured(text) => Ok(Content::Structured { value: json("the structured piece", &text, vault)? }),
        types::Body::Blob(blob) if blob.media_type.len() > MEDIA_TYPE_BYTES_MAX => Err(invalid("a media type of more than 128 bytes")),
        types::Body::Blob(blob) if !is_media_type(&blob.media_type) => Err(invalid("a media type that is none, such as `image/png`")),
        types::Body::Blob(blob) => Ok(Content::Blob { media_type: vault.text(blob.media_type), data: STANDARD.encode(vault.bytes(blob.data)) }),
    }
}

/// `type/subtype`, and parameters in plain ASCII: it goes into requests to model providers.
fn is_media_type(text: &str) -> bool {
    let (essence, _) = text.split_once(';').unwrap_or((text, ""));
    let token = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte));
    essence.trim_end().split_once('/').is_some_and(|(kind, subtype)| token(kind) && token(subtype))
        && text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic())
}

pub fn failure(failed: types::Failure, vault: &Vault) -> Failure {
    let message = vault.text(failed.message);
    let (kind, message) = if PLUGIN_KINDS.contains(&failed.kind.as_str()) {
        (failed.kind, message)
    } else {
        (kind::FAILED.to_owned(), format!("{}: {message}", cut(&vault.text(failed.kind), 64)))
    };
    Failure {
        kind,
        message: cut(&message, MESSAGE_BYTES_MAX).into_owned(),
        retry_after_ms: failed.retry_after_ms,
        effect: Some(match failed.effect {
            types::EffectState::None => EffectState::None,
            types::EffectState::Maybe => EffectState::Maybe,
            types::EffectState::Happened => EffectState::Happened,
        }),
    }
}

pub fn asked(pause: types::Pause, vault: &Vault) -> Result<Asked, Failure> {
    question(pause, vault).map_err(|failure| without_secrets(failure, vault))
}

fn question(pause: types::Pause, vault: &Vault) -> Result<Asked, Failure> {
    if pause.key.len() > KEY_BYTES_MAX {
        return Err(invalid(format!("a pause key of {} bytes, at most {KEY_BYTES_MAX} fit", pause.key.len())));
    }
    if let Some(state) = pause.state.as_ref().filter(|state| state.len() > STATE_BYTES_MAX) {
        let message = format!("the pause saves {} bytes of state, the limit is {STATE_BYTES_MAX}", state.len());
        return Err(Failure::new(kind::TOO_LARGE, message));
    }
    let context = match pause.context {
        Some(text) if text.len() > CONTEXT_BYTES_MAX => {
            return Err(invalid(format!("a pause context of {} bytes, at most {CONTEXT_BYTES_MAX} fit", text.len())));
        }
        Some(text) => Some(json("the pause context", &text, vault)?),
        None => None,
    };
    Ok(Asked {
        key: vault.text(pause.key),
        reason: cut(&vault.text(pause.reason), REASON_BYTES_MAX).into_owned(),
        context,
        ask: ask(pause.ask, vault)?,
        state: pause.state.map(|state| vault.bytes(state)),
    })
}

fn ask(ask: types::Ask, vault: &Vault) -> Result<Ask, Failure> {
    match ask {
        types::Ask::Approval => Ok(Ask::Approval),
        types::Ask::Text => Ok(Ask::Text),
        types::Ask::Choice(options) => choices(options, vault),
        types::Ask::Form(schema) => Ok(Ask::Form { schema: answer_schema(&schema, vault)? }),
        types::Ask::Other(question) if question.kind.is_empty() || question.kind.len() > KEY_BYTES_MAX => {
            Err(invalid(format!("a question kind of {} bytes, 1 to {KEY_BYTES_MAX} fit", question.kind.len())))
        }
        types::Ask::Other(question) => Ok(Ask::Other { schema: answer_schema(&question.schema, vault)?, kind: vault.text(question.kind) }),
    }
}

fn choices(options: Vec<types::Choice>, vault: &Vault) -> Result<Ask, Failure> {
    if options.is_empty() || options.len() > CHOICES_MAX {
        return Err(invalid(format!("a question with {} choices, 1 to {CHOICES_MAX} fit", options.len())));
    }
    let mut seen = std::collections::HashSet::new();
    for option in &options {
        if option.value.len() > CHOICE_BYTES_MAX || option.label.as_ref().is_some_and(|label| label.len() > CHOICE_BYTES_MAX) {
            return Err(invalid(format!("a choice of more than {CHOICE_BYTES_MAX} bytes")));
        }
        if !seen.insert(option.value.as_str()) {
            return Err(invalid(format!("the choice `{}` stands twice", option.value)));
        }
    }
    let choice = |option: types::Choice| Choice { value: vault.text(option.value), label: option.label.map(|label| vault.text(label)) };
    Ok(Ask::Choice { options: options.into_iter().map(choice).collect() })
}

/// The schema of an answer: hostile input like any other, limited in size and depth by `Schema`.
fn answer_schema(text: &str, vault: &Vault) -> Result<Value, Failure> {
    let schema = json("the schema of the answer", text, vault)?;
    Schema::compile(&schema).map_err(|error| invalid(format!("the answer's {error}")))?;
    Ok(schema)
}

fn json(what: &str, text: &str, vault: &Vault) -> Result<Value, Failure> {
    read_json(text)
        .map(|value| vault.json(value))
        .map_err(|error| invalid(format!("{what} cannot be read: {}", error.to_string().trim_start_matches("arguments are "))))
}

fn invalid(why: impl Display) -> Failure {
    Failure::new(kind::INVALID_RESULT, format!("the plugin returned something that cannot be taken: {why}"))
}
