//! Starting a chain, once for each `Idempotency-Key`.
//!
//! A key's chain is settled before the chain is written: whoever comes again, also after a crash in between, or at another
//! server on the same journal, gets the id that was settled then, and a chain is begun under an id but once.

use std::time::Duration;

use axum::extract::State as Of;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::body::{Json, Text, shaped, value};
use crate::capability::keyvalue::{Bucket, Change, KvError, Quota};
use crate::capability::pattern::tool_matches;
use crate::chain::message::{Message, Role};
use crate::chain::{ChainId, Settings};
use crate::digest::Digest;
use crate::runner::Prompt;
use crate::server::State;
use crate::server::access::{Identity, Scope};
use crate::server::problem::Problem;

const KEY: HeaderName = HeaderName::from_static("idempotency-key");
const KEY_BYTES_MAX: usize = 255;
/// Keys remembered; the oldest go first.
const KEYS: Quota = Quota { bytes: 8 << 20, keys: 20_000 };
/// Taken out at a time where there is no room.
const FORGOTTEN: usize = 256;
/// For another server that settles the same key just now.
const LOOKS: u32 = 20;
const LOOK: Duration = Duration::from_millis(50);
const PATTERNS_MAX: usize = 64;
const TURNS_MAX: u32 = 1000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    prompt: String,
    model: Option<String>,
    system: Option<String>,
    #[serde(default)]
    only: Vec<String>,
    max_turns: Option<u32>,
}

/// What a key stands for.
#[derive(Serialize, Deserialize)]
struct Settled {
    chain: ChainId,
    /// Of the body, so that another request under the same key is told so.
    asked: Digest,
}

pub async fn start(Of(state): Of<State>, identity: Identity, headers: HeaderMap, Text(text): Text) -> Result<Response, Problem> {
    identity.needs(Scope::Run)?;
    let value = value(&text)?;
    let digest = Digest::of_json("pausegate-request/1", &value);
    let asked: Asked = shaped(value)?;
    let settings = asked.settings(&state)?;
    let key = headers.get(&KEY).map(|key| key_of(&identity, key)).transpose()?;
    let messages = vec![Message::text(Role::User, asked.prompt)];
    let prompt = Prompt { by: identity.actor.clone(), settings, messages, continues: None, call: None };
    let own = state.clone();
    let begin = async move {
        let id = ChainId(own.clock().id("ch_"));
        let id = match key {
            Some(key) => settled(&own, &key, Settled { chain: id, asked: digest }).await?,
            None => id,
        };
        own.host.start_as(&id, prompt).await.map_err(Problem::from)?;
        Ok::<_, Problem>(id)
    };
    let id = state.finish(begin).await??;
    state.changes.poke();
    let location = HeaderValue::from_str(&format!("/api/v1/chains/{id}")).map_err(|_| Problem::internal())?;
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(json!({"id": id}))).into_response())
}

impl Asked {
    fn settings(&self, state: &State) -> Result<Settings, Problem> {
        if self.prompt.trim().is_empty() {
            return Err(Problem::does_not_fit("`prompt` is empty"));
        }
        let mut settings = state.settings.clone();
        if let Some(model) = &self.model {
            settings.model = Some(model.clone());
        }
        match &settings.model {
            None => return Err(Problem::does_not_fit("`model` is missing, and the server has none of its own")),
            Some(model) => listed(state, model)?,
        }
        settings.system = self.system.clone().or(settings.system);
        if let Some(max_turns) = self.max_turns {
            if !(1..=TURNS_MAX).contains(&max_turns) {
                return Err(Problem::does_not_fit(format!("`max_turns` goes from 1 to {TURNS_MAX}")));
            }
            settings.max_turns = max_turns;
        }
        self.narrow(&mut settings, state)?;
        Ok(settings)
    }

    /// A pattern that fits no tool is a slip: what was meant would be missing without a word.
    fn narrow(&self, settings: &mut Settings, state: &State) -> Result<(), Problem> {
        if self.only.len() > PATTERNS_MAX {
            return Err(Problem::does_not_fit(format!("`only` has {} patterns, the limit is {PATTERNS_MAX}", self.only.len())));
        }
        let tools = state.host.catalog();
        if let Some(lost) = self.only.iter().find(|pattern| !tools.iter().any(|tool| tool_matches(pattern, &tool.name))) {
            return Err(Problem::does_not_fit(format!("`{lost}` in `only` fits no tool")));
        }
        if !self.only.is_empty() {
            settings.only.push(self.only.clone());
        }
        Ok(())
    }
}

/// A script is a file, and any model costs money: the operator lists them.
pub fn listed(state: &State, model: &str) -> Result<(), Problem> {
    match state.models.iter().any(|listed| listed == model) {
        true => Ok(()),
        false => Err(Problem::does_not_fit("this server asks no model of that name").with("models", json!(state.models))),
    }
}

/// One person's key says nothing of another's.
fn key_of(identity: &Identity, key: &HeaderValue) -> Result<String, Problem> {
    let text = key.to_str().ok().filter(|text| !text.is_empty() && text.len() <= KEY_BYTES_MAX);
    let text = text.ok_or_else(|| Problem::bad_request(format!("`Idempotency-Key` is 1 to {KEY_BYTES_MAX} printable characters")))?;
    Ok(Digest::of_json("pausegate-idempotency/1", &json!([identity.actor, text])).hex())
}

/// The chain that `key` stands for: `wanted`, unless another was settled before.
async fn settled(state: &State, key: &str, wanted: Settled) -> Result<ChainId, Problem> {
    let bucket = Bucket::of_host("idempotency");
    let _one = state.settling.lock().await;
    let check = |found: Settled| match found.asked == wanted.asked {
        true => Ok(found.chain),
        false => Err(Problem::does_not_fit("this `Idempotency-Key` was used for another request")),
    };
    if let Some(found) = look(state, &bucket, key).await? {
        return check(found);
    }
    // The count tells which of two servers is first; the other waits for its word, unless it died before it said it.
    let count = || Change::Increment { key: format!("n{key}"), by: 1 };
    if change(state, &bucket, count).await? > 1 {
        for _ in 0..LOOKS {
            if let Some(found) = look(state, &bucket, key).await? {
                return check(found);
            }
            tokio::time::sleep(LOOK).await;
        }
    }
    let text = serde_json::to_vec(&wanted).map_err(|_| Problem::internal())?;
    change(state, &bucket, || Change::Set(vec![(format!("k{key}"), text.clone())])).await?;
    let found = look(state, &bucket, key).await?.ok_or_else(Problem::internal)?;
    check(found)
}

async fn look(state: &State, bucket: &Bucket, key: &str) -> Result<Option<Settled>, Problem> {
    let found = state.host.journal.get(bucket, vec![format!("k{key}")]).await.map_err(|_| away())?;
    Ok(found.into_iter().flatten().next().and_then(|text| serde_json::from_slice(&text).ok()))
}

/// Makes room once where there is none.
async fn change(state: &State, bucket: &Bucket, change: impl Fn() -> Change) -> Result<u64, Problem> {
    let journal = &state.host.journal;
    match journal.change(bucket, change(), KEYS).await {
        Err(KvError::OverQuota(_)) => {
            let oldest = journal.list(bucket, None, FORGOTTEN).await.map_err(|_| away())?;
            journal.change(bucket, Change::Delete(oldest.keys), KEYS).await.map_err(|_| away())?;
            journal.change(bucket, change(), KEYS).await.map_err(|_| away())
        }
        done => done.map_err(|_| away()),
    }
}

fn away() -> Problem {
    Problem::unavailable("journal-away", "the journal cannot be used just now; try again")
}
