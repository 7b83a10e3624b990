//! A click on a button in Slack: signed by Slack, by somebody whom the operator joined to a person, about a pause as it was
//! shown. It ends at `Host::decide`, which says whether that person may.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use sha2::Sha256;
use url::Url;

use super::SEPARATOR;
use crate::capability::Secret;
use crate::chain::Actor;
use crate::config::notify::{Channel, Receiver};
use crate::digest::Digest;
use crate::notify::send::{Post, Sender};
use crate::pause::{Decision, PauseId};
use crate::plugin::{ReadSecret, Resolve, SystemResolver, SystemSecrets};
use crate::report::escape;
use crate::runner::Host;

/// Seconds that a signature is good for, before and after.
const FRESH_SECONDS: i64 = 300;
/// Of one interaction; Slack's own are a few KiB.
const BODY_BYTES_MAX: usize = 64 << 10;
/// Where alone an answer for the person who clicked is sent.
const ANSWERS: &str = "hooks.slack.com";

/// What hearing clicks needs.
pub struct Interactions {
    host: Host,
    /// Of the channels with buttons.
    signing_secrets: Vec<Secret>,
    secrets: Arc<dyn ReadSecret>,
    resolver: Arc<dyn Resolve>,
}

/// `POST /slack/interactions`; no route where no channel has buttons.
pub fn routes<S: Clone + Send + Sync + 'static>(interactions: Option<Arc<Interactions>>) -> Router<S> {
    let Some(interactions) = interactions else { return Router::new() };
    Router::new().route("/slack/interactions", post(hear)).layer(DefaultBodyLimit::max(BODY_BYTES_MAX)).with_state(interactions)
}

/// Slack wants an answer within three seconds; what became of it is sent to whoever clicked, after that.
async fn hear(State(interactions): State<Arc<Interactions>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let (timestamp, signature) = (header("x-slack-request-timestamp"), header("x-slack-signature"));
    match interactions.heard(timestamp, signature, &body).await {
        Err(refused) => refused.status(),
        Ok(None) => StatusCode::OK,
        Ok(Some(said)) => {
            tokio::spawn(async move { interactions.answer(said).await });
            StatusCode::OK
        }
    }
}

/// Why a request is no click.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoClick {
    #[error("its signature is not Slack's, or not fresh")]
    Unsigned,
    #[error("it is no interaction that was offered")]
    Malformed,
}

/// For the person who clicked.
#[derive(Debug, PartialEq, Eq)]
pub struct Said {
    pub text: String,
    to: Option<Url>,
}

impl NoClick {
    fn status(self) -> StatusCode {
        match self {
            Self::Unsigned => StatusCode::UNAUTHORIZED,
            Self::Malformed => StatusCode::BAD_REQUEST,
        }
    }
}

impl Interactions {
    /// `None` where no channel offers buttons.
    pub fn new(host: Host, channels: &[Channel]) -> Option<Self> {
        let secret = |channel: &Channel| if let Receiver::Slack { signing_secret, .. } = &channel.to { signing_secret.clone() } else { None };
        let signing_secrets: Vec<_> = channels.iter().filter_map(secret).collect();
        let interactions = Self { host, signing_secrets, secrets: Arc::new(SystemSecrets), resolver: Arc::new(SystemResolver) };
        (!interactions.signing_secrets.is_empty()).then_some(interactions)
    }

    /// Decides what was clicked; `None` for a button that only shows.
    pub async fn heard(&self, timestamp: &str, signature: &str, body: &[u8]) -> Result<Option<Said>, NoClick> {
        let now = self.host.clock.now();
        let known = self.signing_secrets.iter().filter_map(|secret| self.secrets.read(secret).ok());
        if !known.fold(false, |signed, secret| is_signed(&secret, timestamp, signature, body, now) | signed) {
            return Err(NoClick::Unsigned);
        }
        let click = Click::read(body).ok_or(NoClick::Malformed)?;
        let Some((pause, decision)) = click.wish else { return Ok(None) };
        Ok(Some(Said { text: self.decided(&click.by, &pause, &decision).await, to: click.answer_to }))
    }

    async fn decided(&self, by: &Actor, pause: &PauseId, decision: &Decision) -> String {
        // Whoever is in the workspace can click: somebody of ours is whom the operator says.
        let grants = self.host.grants.settled().await;
        if grants.people.person(by) == by.0 {
            return format!("Not decided: the operator's `[people]` joins nobody to {by}.");
        }
        match self.host.decide(pause, by, decision).await {
            Ok(done) => match done.state.pause(pause).filter(|pause| pause.is_open()) {
                Some(open) => format!("Your vote counts: {} of {} people.", open.votes_most(), open.requirements.quorum),
                None => format!("{pause}: {} by {by}.", decision.name()),
            },
            Err(error) => format!("Not decided: {}.", escape::line(&error.to_string())),
        }
    }

    /// Best effort: what was decided is in the journal.
    async fn answer(&self, said: Said) {
        let Some(url) = said.to else { return };
        let body = json!({"response_type": "ephemeral", "replace_original": false, "text": marks_written_out(&said.text)}).to_string();
        let post = Post { url: &url, private: false, headers: BTreeMap::new(), body };
        Sender { resolver: &*self.resolver }.post(post).await.ok();
    }
}

/// Slack's v0 signature over the time and the body; the comparison takes the same time wherever they differ.
fn is_signed(secret: &SecretString, timestamp: &str, signature: &str, body: &[u8], now: Timestamp) -> bool {
    let fresh = timestamp.parse::<i64>().is_ok_and(|seconds| now.as_second().abs_diff(seconds) <= FRESH_SECONDS.unsigned_abs());
    let Some(given) = signature.strip_prefix("v0=").and_then(|digits| hex::decode(digits).ok()) else { return false };
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.expose_secret().as_bytes()).expect("any length is a key");
    mac.update(b"v0:");
    mac.update(timestamp.as_bytes());
    mac.update(b":");
    mac.update(body);
    mac.verify_slice(&given).is_ok() && fresh
}

struct Click {
    by: Actor,
    /// `None` for a button that only shows.
    wish: Option<(PauseId, Decision)>,
    answer_to: Option<Url>,
}

impl Click {
    /// One action of one user, in the form field that Slack sends.
    fn read(body: &[u8]) -> Option<Self> {
        let payload = url::form_urlencoded::parse(body).find(|(name, _)| name == "payload")?.1;
        let payload: Value = serde_json::from_str(&payload).ok()?;
        if payload["type"] != "block_actions" {
            return None;
        }
        let user = payload["user"]["id"].as_str().filter(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric()))?;
        let [action] = payload["actions"].as_array()?.as_slice() else { return None };
        let wish = match action["action_id"].as_str()? {
            "look" => None,
            wished @ ("approve" | "deny") => {
                let (pause, digest) = action["value"].as_str()?.split_once(SEPARATOR)?;
                let digest: Option<Digest> = Some(serde_json::from_value(digest.into()).ok()?);
                let note = None;
                let decision = if wished == "approve" { Decision::Approve { note, digest } } else { Decision::Deny { note, then: None, digest } };
                Some((PauseId(pause.to_owned()), decision))
            }
            _ => return None,
        };
        let answer_to = payload["response_url"].as_str().and_then(|url| url.parse::<Url>().ok());
        let answer_to = answer_to.filter(|url| url.scheme() == "https" && url.host_str() == Some(ANSWERS) && url.port().is_none());
        Some(Self { by: Actor(format!("slack:{user}")), wish, answer_to })
    }
}

fn marks_written_out(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests;
