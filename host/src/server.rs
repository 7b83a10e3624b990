//! `serve`: the HTTP API and the page, over [`crate::runner::Host`].
//!
//! Reads, decides and starts; chains are carried on by workers, which may stand beside it in the same process. A request
//! goes through `listen` (bounded connections), `origin` (which names and pages may ask), [`bounded`] (how many, how
//! long), `access` (who asks), and then to its handler, which may do nothing that `Host` does not offer. A handler that
//! changes something finishes it whether or not its client still waits.

use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State as Of};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::chain;
use crate::clock::Clock;
use crate::config::Channel;
use crate::notify::slack::{self, Interactions};
use crate::runner::Host;

pub mod access;
mod api;
pub mod changes;
pub mod listen;
pub mod login;
pub mod metrics;
pub mod origin;
mod page;
pub mod problem;
mod standing;
pub mod tokens;
mod view;

use access::Failures;
use changes::Changes;
use metrics::Metrics;
use origin::Origins;
use problem::Problem;
pub use standing::Operator;
use tokens::Tokens;

/// Requests answered at the same time; the next one is told to come again.
const REQUESTS_MAX: usize = 256;
/// Chains that `resume` and `say` carry on at the same time.
const DRIVEN_MAX: u32 = 64;
/// For one request, its body included; the answer of a stream may go on.
const ANSWERED_WITHIN: Duration = Duration::from_secs(30);
/// Of a request.
pub const BODY_BYTES_MAX: usize = 2 << 20;

/// What every request is answered from. Cheap to clone.
#[derive(Clone)]
pub struct State(Arc<Inner>);

pub struct Inner {
    pub host: Host,
    pub tokens: Tokens,
    pub origins: Origins,
    /// What chains start with; their models are among `models`.
    pub settings: chain::Settings,
    /// Models that a client may name; it costs money, and a script is a file.
    pub models: Vec<String>,
    pub failures: Failures,
    pub metrics: Metrics,
    /// Buttons in Slack, where a channel has them.
    clicks: Option<Arc<Interactions>>,
    pub changes: Changes,
    pub operator: Operator,
    /// Cancelled when the server ends.
    pub stop: CancellationToken,
    requests: Semaphore,
    /// Chains that are carried on because somebody asked for just that.
    driven: Arc<Semaphore>,
    /// Held while a key of a start is settled.
    settling: Mutex<()>,
}

/// What the operator set.
pub struct Serving {
    pub host: Host,
    pub tokens: Tokens,
    pub settings: chain::Settings,
    pub models: Vec<String>,
    pub public: Option<Url>,
    /// Some of them have buttons.
    pub channels: Vec<Channel>,
    pub changes: Changes,
    pub operator: Operator,
    pub stop: CancellationToken,
}

impl Deref for State {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl State {
    pub fn new(serving: Serving, listen: SocketAddr) -> Self {
        Self(Arc::new(Inner {
            origins: Origins::new(listen, serving.public.as_ref()),
            clicks: Interactions::new(serving.host.clone(), &serving.channels).map(Arc::new),
            host: serving.host,
            tokens: serving.tokens,
            settings: serving.settings,
            models: serving.models,
            failures: Failures::default(),
            metrics: Metrics::default(),
            changes: serving.changes,
            operator: serving.operator,
            stop: serving.stop,
            requests: Semaphore::new(REQUESTS_MAX),
            driven: Arc::new(Semaphore::new(DRIVEN_MAX as usize)),
            settling: Mutex::new(()),
        }))
    }

    pub fn clock(&self) -> &Clock {
        &self.host.clock
    }

    /// Room for one more chain that is carried on beside the workers.
    fn room(&self) -> Result<OwnedSemaphorePermit, Problem> {
        let room = Arc::clone(&self.driven).try_acquire_owned();
        room.map_err(|_| Problem::unavailable("too-many-chains", "too many chains are carried on at once; try again"))
    }

    /// Does `work` to its end, though the client may go away meanwhile.
    pub async fn finish<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> Result<T, Problem> {
        tokio::spawn(work).await.map_err(|_| Problem::internal())
    }
}

/// Serves on `listener` until the state's `stop`, then lets requests under way end.
pub async fn serve(listener: TcpListener, state: State) {
    let (stop, driven) = (state.stop.clone(), Arc::clone(&state.driven));
    let watching = tokio::spawn(state.changes.clone().watch(state.host.clone()));
    listen::listen(listener, router(state), stop).await;
    watching.abort();
    // The interrupt has told them to end in order.
    drop(driven.acquire_many(DRIVEN_MAX).await);
}

pub fn router(state: State) -> Router {
    let router = Router::new().route("/healthz", get(healthy)).route("/readyz", get(ready));
    let router = router.merge(login::routes()).merge(api::routes()).merge(page::routes()).merge(slack::routes(state.clicks.clone()));
    let router = router.fallback(async || Problem::unknown("page")).method_not_allowed_fallback(async || {
        Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", "this page does not take that method")
    });
    // The last one is the first to see a request.
    router
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(from_fn_with_state(state.clone(), bounded))
        .layer(from_fn_with_state(state.clone(), origin::check))
        .layer(from_fn(page::dress))
        .with_state(state)
}

/// A layer: how many requests at once, and how long each may take.
async fn bounded(Of(state): Of<State>, request: Request, next: Next) -> Response {
    let response = match state.requests.try_acquire() {
        Err(_) => Problem::unavailable("too-many-requests", "too many requests at once; try again").into_response(),
        Ok(_permit) => match tokio::time::timeout(ANSWERED_WITHIN, next.run(request)).await {
            Ok(response) => response,
            Err(_) => Problem::unavailable("too-slow", "the request took too long; what it began may go on").into_response(),
        },
    };
    state.metrics.request(response.status().as_u16());
    response
}

/// The process is there.
async fn healthy() -> &'static str {
    "ok\n"
}

/// It can answer: the journal and the token store can be read.
async fn ready(Of(state): Of<State>) -> Result<&'static str, Problem> {
    if state.stop.is_cancelled() {
        return Err(Problem::unavailable("ending", "the server ends"));
    }
    state.host.journal.newest_chain().await?;
    state.tokens.by_text("")?;
    Ok("ready\n")
}
