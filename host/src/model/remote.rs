//! A model behind HTTP: one request, a stream back, tried again where that may help.
//!
//! Promises: text is heard once (after the first piece nothing is retried); a whole answer or an error, never half of
//! one; the key stands in no error.

use std::sync::{Arc, Once};

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use serde_json::Value;
use url::Url;

use super::frames::{Frames, Framing};
use super::patience::{self, Patience};
use super::{Model, ModelError, Reply, Request};

/// All bytes of one response.
pub const RESPONSE_BYTES_MAX: usize = 32 << 20;
/// Tool calls of one response; each becomes a row and a result.
pub const CALLS_MAX: usize = 1024;
/// Kept of an answer that is no stream, for its error message.
const HEAD_BYTES_MAX: usize = 64 << 10;

/// What a provider's format says.
pub trait Wire: Send + Sync {
    /// For error messages.
    fn provider(&self) -> &'static str;
    fn framing(&self) -> Framing {
        Framing::ServerSentEvents
    }
    fn body(&self, request: &Request<'_>) -> Value;
    fn reading(&self) -> Box<dyn Reading>;
}

/// One response as it comes in.
pub trait Reading: Send {
    /// Takes one frame and gives the text that was heard in it.
    fn take(&mut self, frame: &Value) -> Result<String, Fault>;
    fn stage(&self) -> Stage;
    /// Asked once nothing is missing.
    fn reply(&mut self) -> Result<Reply, Fault>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Open,
    /// All said, though more may come (token counts).
    Complete,
    /// Nothing more comes.
    Ended,
}

/// Why one attempt gave no answer.
#[derive(Debug)]
pub enum Fault {
    /// Another try would change nothing.
    Refused {
        status: u16,
        message: String,
    },
    Away {
        message: String,
        wait: Option<std::time::Duration>,
    },
    /// The stream ended or fell silent before the answer did.
    Broken(String),
    Garbled(String),
}

pub struct Remote {
    pub name: String,
    pub url: Url,
    pub headers: HeaderMap,
    /// Struck out of error messages.
    pub secret: Option<String>,
    pub wire: Box<dyn Wire>,
    pub client: reqwest::Client,
    pub patience: Patience,
    pub waiting: Option<Arc<Waiting>>,
}

/// Hears why the provider is asked again, and after how long; called before the wait.
pub type Waiting = dyn Fn(&ModelError, std::time::Duration) + Send + Sync;

impl Model for Remote {
    fn name(&self) -> &str {
        &self.name
    }

    fn respond<'a>(&'a self, request: Request<'a>, on_text: &'a (dyn Fn(&str) + Send + Sync)) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let body = Bytes::from(self.wire.body(&request).to_string());
            let mut delays = self.patience.delays();
            let mut attempts = 0;
            loop {
                attempts += 1;
                let mut heard = false;
                let fault = match self.attempt(body.clone(), on_text, &mut heard).await {
                    Ok(reply) => return Ok(reply),
                    Err(fault) => fault,
                };
                let wait = if heard { None } else { self.wait(&fault, &mut delays) };
                match wait {
                    Some(wait) => {
                        if let Some(tell) = &self.waiting {
                            tell(&self.error(fault, attempts), wait);
                        }
                        tokio::time::sleep(wait).await;
                    }
                    None => return Err(self.error(fault, attempts)),
                }
            }
        })
    }
}

impl Remote {
    async fn attempt(&self, body: Bytes, on_text: &(dyn Fn(&str) + Send + Sync), heard: &mut bool) -> Result<Reply, Fault> {
        let request = self.client.post(self.url.clone()).headers(self.headers.clone()).header(CONTENT_TYPE, "application/json").body(body);
        let response = request.send().await.map_err(|error| Fault::Away { message: causes(error), wait: None })?;
        let (status, headers) = (response.status(), response.headers().clone());
        let mut bytes = response.bytes_stream();
        if !status.is_success() {
            let body = head(&mut bytes).await;
            return Err(patience::fault(status, &headers, &String::from_utf8_lossy(&body)));
        }
        let mut reading = self.wire.reading();
        let mut frames = Frames::new(self.wire.framing());
        let mut seen = Seen::default();
        let mut hear = |reading: &mut Box<dyn Reading>, frame: &str| -> Result<(), Fault> {
            let text = take(reading.as_mut(), frame)?;
            if !text.is_empty() {
                *heard = true;
                on_text(&text);
            }
            Ok(())
        };
        while reading.stage() != Stage::Ended {
            match bytes.next().await {
                Some(Ok(chunk)) => {
                    seen.add(&chunk)?;
                    for frame in frames.push(&chunk)? {
                        seen.frames += 1;
                        hear(&mut reading, &frame)?;
                    }
                }
                Some(Err(_)) if reading.stage() == Stage::Complete => break,
                Some(Err(error)) => return Err(Fault::Broken(format!("the stream broke off: {}", causes(error)))),
                None => {
                    if let Some(frame) = frames.end()? {
                        seen.frames += 1;
                        hear(&mut reading, &frame).map_err(|fault| seen.at_end(fault))?;
                    }
                    break;
                }
            }
        }
        match reading.stage() {
            Stage::Open if seen.frames == 0 => Err(seen.no_stream()),
            Stage::Open => Err(Fault::Broken("the stream broke off before the answer was whole".into())),
            Stage::Complete | Stage::Ended => reading.reply(),
        }
    }

    /// How long until the next attempt; `None` where there is none.
    fn wait(&self, fault: &Fault, delays: &mut impl Iterator<Item = std::time::Duration>) -> Option<std::time::Duration> {
        match fault {
            Fault::Refused { .. } | Fault::Garbled(_) => None,
            Fault::Broken(_) => delays.next(),
            Fault::Away { wait: Some(wait), .. } if *wait > self.patience.retry_after_max => None,
            Fault::Away { wait, .. } => delays.next().map(|delay| delay.max(wait.unwrap_or_default())),
        }
    }

    fn error(&self, fault: Fault, attempts: u32) -> ModelError {
        let provider = self.wire.provider();
        let scrub = |message: String| match &self.secret {
            Some(secret) => message.replace(secret.as_str(), "[key]"),
            None => message,
        };
        match fault {
            Fault::Refused { status, message } => ModelError::Refused { provider, status, message: scrub(message) },
            Fault::Away { message, wait: Some(wait) } if wait > self.patience.retry_after_max => {
                let message = format!("{} (to be asked again after {} s)", scrub(message), wait.as_secs());
                ModelError::Unavailable { provider, attempts, message }
            }
            Fault::Away { message, .. } => ModelError::Unavailable { provider, attempts, message: scrub(message) },
            Fault::Broken(message) | Fault::Garbled(message) => ModelError::Garbled { provider, message: scrub(message) },
        }
    }
}

/// What has come in of a response.
#[derive(Default)]
struct Seen {
    bytes: usize,
    frames: usize,
    /// The beginning, in case it is no stream.
    head: Vec<u8>,
}

impl Seen {
    fn add(&mut self, chunk: &[u8]) -> Result<(), Fault> {
        self.bytes += chunk.len();
        if self.bytes > RESPONSE_BYTES_MAX {
            return Err(Fault::Garbled(format!("an answer of more than {RESPONSE_BYTES_MAX} bytes")));
        }
        let room = HEAD_BYTES_MAX.saturating_sub(self.head.len()).min(chunk.len());
        self.head.extend_from_slice(&chunk[..room]);
        Ok(())
    }

    /// HTML of a proxy, an error object, an answer that was not streamed, nothing at all.
    fn no_stream(&self) -> Fault {
        let text = String::from_utf8_lossy(&self.head);
        if self.bytes == 0 {
            return Fault::Broken("the answer is empty".into());
        }
        // Servers keep a connection alive with comments until the model begins.
        if [":", "event:", "id:", "retry:"].iter().any(|field| text.starts_with(field)) {
            return Fault::Broken("the stream broke off before the answer began".into());
        }
        match serde_json::from_str::<Value>(&text).ok().as_ref().and_then(patience::error_message) {
            Some(message) => Fault::Garbled(format!("an error in place of a stream: {}", super::excerpt_text(message))),
            None => Fault::Garbled(format!("no event stream: {}", super::excerpt_text(&text))),
        }
    }

    /// A last frame that cannot be read is half a frame, unless it is the only one.
    fn at_end(&self, fault: Fault) -> Fault {
        match fault {
            Fault::Garbled(_) if self.frames > 1 => Fault::Broken("the stream broke off inside an event".into()),
            fault => fault,
        }
    }
}

fn take(reading: &mut dyn Reading, frame: &str) -> Result<String, Fault> {
    // OpenAI's end mark is the one frame that is no JSON.
    if frame.trim() == "[DONE]" {
        return reading.take(&Value::Null);
    }
    let value = serde_json::from_str(frame).map_err(|error| Fault::Garbled(format!("no JSON ({error}): {}", super::excerpt_text(frame))))?;
    reading.take(&value)
}

/// The beginning of a body, as far as it comes.
async fn head(bytes: &mut (impl futures_util::Stream<Item = reqwest::Result<Bytes>> + Unpin)) -> Vec<u8> {
    let mut head = Vec::new();
    while let Some(Ok(chunk)) = bytes.next().await {
        head.extend_from_slice(&chunk[..chunk.len().min(HEAD_BYTES_MAX - head.len())]);
        if head.len() == HEAD_BYTES_MAX {
            break;
        }
    }
    head
}

/// An HTTP error with its causes; without the address, which may hold a password.
fn causes(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        cause = error.source();
    }
    text
}

/// A client that follows no redirect: headers with a key would go along.
pub fn client(patience: &Patience) -> Result<reqwest::Client, reqwest::Error> {
    install_tls();
    reqwest::Client::builder()
        .user_agent(concat!("pausegate/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(patience.connect_max)
        .read_timeout(patience.silence_max)
        .build()
}

/// Makes ring the process's TLS provider, once; another that was there before stays.
pub fn install_tls() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| _ = rustls::crypto::ring::default_provider().install_default());
}
