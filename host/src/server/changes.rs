//! Live changes: tells those who listen which chain or pause to look at again, whichever process changed it.
//!
//! While somebody listens, lists are compared with how they were: at once after a change of this process, now and then
//! for those of others. A change is a hint and holds nothing to decide by. Of the last ones some are kept: whoever comes
//! back with `Last-Event-ID` gets what was missed, or is told to read everything again.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State as Of;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::{Notify, watch};

use super::State;
use super::access::Identity;
use super::problem::Problem;
use crate::chain::{Actor, ChainId, ChainStatus};
use crate::clock::{Clock, since_boot};
use crate::event::Stamped;
use crate::journal::JournalError;
use crate::pause::{Pause, PauseId};
use crate::plugin::Watcher;
use crate::runner::{Host, Observer};
use crate::state::ChainState;

/// Between two looks for changes of other processes.
const LOOK: Duration = Duration::from_millis(500);
/// Between two looks after changes of this one: a turn's events are one change.
const BREATH: Duration = Duration::from_millis(30);
/// So many times as long as a look took.
const IDLE_SHARE: u32 = 5;
/// After the last listener went: it may be on its way back.
const GRACE: Duration = Duration::from_secs(60);
/// Changes kept for those who come back.
const KEPT_MAX: usize = 1024;
const SUBSCRIBERS_MAX: usize = 128;
/// So that a proxy keeps the connection, and a listener who may not listen any more is let go.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Rows looked at: the newest chains, the oldest pauses.
const ROWS: u32 = 1000;
const LAST_EVENT_ID: &str = "last-event-id";

#[derive(Clone)]
pub struct Changes(Arc<Inner>);

struct Inner {
    /// Tells these numbers from those of another process.
    name: String,
    poked: Notify,
    subscribers: AtomicUsize,
    feed: Mutex<Feed>,
    /// The number of the last change; `None` until somebody has looked.
    last: watch::Sender<Option<u64>>,
}

#[derive(Default)]
struct Feed {
    last: u64,
    kept: VecDeque<Arc<Change>>,
}

/// One line of news, and who may hear it.
#[derive(Debug)]
struct Change {
    number: u64,
    news: News,
}

#[derive(Clone, Debug, PartialEq)]
enum News {
    Chain {
        id: ChainId,
        status: ChainStatus,
        open_pauses: u32,
        updated_at: Timestamp,
        started_by: Actor,
    },
    Opened {
        pause: Box<Pause>,
        chain: ChainId,
        started_by: Actor,
    },
    Voted {
        pause: Box<Pause>,
        chain: ChainId,
        started_by: Actor,
    },
    /// Decided, expired, cancelled, superseded: the pause itself says which.
    Closed {
        pause: Box<Pause>,
        chain: ChainId,
        started_by: Actor,
    },
}

impl Default for Changes {
    fn default() -> Self {
        let (last, _) = watch::channel(None);
        let name = Clock::nonce().to_lowercase();
        Self(Arc::new(Inner { name, poked: Notify::new(), subscribers: AtomicUsize::new(0), feed: Mutex::default(), last }))
    }
}

impl Changes {
    /// Something may have changed.
    pub fn poke(&self) {
        self.0.poked.notify_one();
    }

    pub fn subscribers(&self) -> usize {
        self.0.subscribers.load(Ordering::Relaxed)
    }

    /// Looks for changes while somebody listens. Ends with the process that it is spawned in.
    pub async fn watch(self, host: Host) {
        loop {
            while self.subscribers() == 0 {
                self.0.poked.notified().await;
            }
            self.follow(&host).await;
            // What happens while nobody looks is not told: older numbers mean nothing from here on.
            self.feed().kept.clear();
            self.0.last.send_replace(None);
        }
    }

    /// Until nobody has listened for a while.
    async fn follow(&self, host: &Host) {
        let mut known: Option<Lists> = None;
        let mut alone = Duration::ZERO;
        while alone < GRACE {
            let began = since_boot();
            // A journal that is away is looked at again.
            if let Ok(found) = Lists::read(host).await {
                let news = known.as_ref().map(|known| found.since(known)).unwrap_or_default();
                known = Some(found);
                self.tell(news);
            }
            // Long lists are looked at less often: most of the time is for others.
            let took = since_boot().saturating_sub(began);
            tokio::time::sleep(BREATH.max(took * IDLE_SHARE)).await;
            tokio::time::timeout(LOOK, self.0.poked.notified()).await.ok();
            alone = if self.subscribers() == 0 { alone + LOOK } else { Duration::ZERO };
        }
    }

    fn tell(&self, news: Vec<News>) {
        let mut feed = self.feed();
        for news in news {
            feed.last += 1;
            let number = feed.last;
            feed.kept.push_back(Arc::new(Change { number, news }));
            if feed.kept.len() > KEPT_MAX {
                feed.kept.pop_front();
            }
        }
        let last = feed.last;
        drop(feed);
        self.0.last.send_if_modified(|told| told.replace(last) != Some(last));
    }

    /// The changes after `number`; `None` where some are not kept any more.
    fn after(&self, number: u64) -> Option<Vec<Arc<Change>>> {
        let feed = self.feed();
        let first = feed.kept.front().map_or(feed.last + 1, |change| change.number);
        let is_whole = number <= feed.last && number + 1 >= first;
        is_whole.then(|| feed.kept.iter().filter(|change| change.number > number).cloned().collect())
    }

    fn feed(&self) -> MutexGuard<'_, Feed> {
        self.0.feed.lock().expect("no panic under this lock")
    }
}

/// How lists are at one moment.
struct Lists {
    chains: HashMap<ChainId, News>,
    pauses: HashMap<PauseId, (ChainId, Actor, Pause)>,
}

impl Lists {
    async fn read(host: &Host) -> Result<Self, JournalError> {
        let chain = |row: crate::journal::ChainRow| {
            let news = News::Chain {
                id: row.id.clone(),
                status: row.status,
                open_pauses: row.open_pauses,
                updated_at: row.updated_at,
                started_by: row.started_by,
            };
            (row.id, news)
        };
        let pauses = host.journal.pending(ROWS).await?;
        let chains = host.journal.chains(ROWS).await?.into_iter().map(chain).collect();
        Ok(Self { chains, pauses: pauses.into_iter().map(|row| (row.pause.id.clone(), (row.chain, row.started_by, row.pause))).collect() })
    }

    /// Pauses first: who hears that a chain changed finds its pauses told.
    fn since(&self, before: &Self) -> Vec<News> {
        let mut news = Vec::new();
        for (id, (chain, started_by, pause)) in &self.pauses {
            let told = || (Box::new(pause.clone()), chain.clone(), started_by.clone());
            match before.pauses.get(id) {
                None => {
                    let (pause, chain, started_by) = told();
                    news.push(News::Opened { pause, chain, started_by });
                }
                Some((.., known)) if known.votes != pause.votes => {
                    let (pause, chain, started_by) = told();
                    news.push(News::Voted { pause, chain, started_by });
                }
                Some(_) => {}
            }
        }
        // Where a list is full, one that is not in it may only have been pushed out.
        let is_whole = self.pauses.len() < ROWS as usize;
        let closed = before.pauses.iter().filter(|(id, _)| is_whole && !self.pauses.contains_key(*id));
        news.extend(closed.map(|(_, (chain, started_by, pause))| News::Closed {
            pause: Box::new(pause.clone()),
            chain: chain.clone(),
            started_by: started_by.clone(),
        }));
        news.extend(self.chains.iter().filter(|(id, row)| before.chains.get(*id) != Some(row)).map(|(_, row)| row.clone()));
        news
    }
}

impl News {
    fn may_hear(&self, state: &State, identity: &Identity) -> bool {
        match self {
            Self::Chain { started_by, .. } => identity.may(super::access::Scope::Read) || state.is_own(identity, started_by),
            Self::Opened { pause, started_by, .. } | Self::Voted { pause, started_by, .. } | Self::Closed { pause, started_by, .. } => {
                state.knows_pause(identity, pause, started_by)
            }
        }
    }

    fn name_and_data(&self) -> (&'static str, Value) {
        match self {
            Self::Chain { id, status, open_pauses, updated_at, .. } => {
                ("chain", json!({"id": id, "status": status, "open_pauses": open_pauses, "updated_at": updated_at}))
            }
            Self::Opened { pause, chain, .. } => ("pause_opened", json!({"id": pause.id, "chain": chain})),
            Self::Voted { pause, chain, .. } => ("pause_voted", json!({"id": pause.id, "chain": chain})),
            Self::Closed { pause, chain, .. } => ("pause_closed", json!({"id": pause.id, "chain": chain})),
        }
    }
}

/// `GET /api/v1/changes`: server-sent events. The first is `hello` or, for who comes back too late, `reset`; lists that are
/// read after it miss nothing.
pub async fn stream(Of(state): Of<State>, identity: Identity, headers: HeaderMap) -> Result<Response, Problem> {
    let seat = Seat::take(&state).ok_or_else(|| Problem::unavailable("too-many-subscribers", "too many clients listen already"))?;
    state.changes.poke();
    let came_back = headers.get(LAST_EVENT_ID).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let heard = Heard { told: state.changes.0.last.subscribe(), state, identity, seat, at: None, came_back };
    let frames = futures_util::stream::unfold(heard, |mut heard| async move { heard.next().await.map(|frame| (Ok::<_, Infallible>(frame), heard)) });
    let mut response = Body::from_stream(frames).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

/// One of the places there are for listeners.
struct Seat(Changes);

impl Seat {
    fn take(state: &State) -> Option<Self> {
        let taken = &state.changes.0.subscribers;
        let more = |seats: usize| (seats < SUBSCRIBERS_MAX).then_some(seats + 1);
        taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok().map(|_| Self(state.changes.clone()))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.0.subscribers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How far one listener has come.
struct Heard {
    told: watch::Receiver<Option<u64>>,
    state: State,
    identity: Identity,
    seat: Seat,
    at: Option<u64>,
    came_back: Option<String>,
}

impl Heard {
    /// `None` at the end: of the server, or of the right to listen.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            let last = *self.told.borrow_and_update();
            let frames = last.and_then(|last| self.frames(last));
            if let Some(frames) = frames {
                return Some(frames.into());
            }
            tokio::select! {
                () = self.state.stop.cancelled() => return None,
                changed = self.told.changed() => changed.ok()?,
                () = tokio::time::sleep(HEARTBEAT) => {
                    return self.may_still_listen().then(|| Bytes::from_static(b": still here\n\n"));
                }
            }
        }
    }

    /// What there is to say by now; `None` where that is nothing.
    fn frames(&mut self, last: u64) -> Option<String> {
        let changes = &self.seat.0;
        let Some(at) = self.at else {
            let back = self.came_back.as_deref().and_then(|id| id.strip_prefix(&changes.0.name)?.strip_prefix('-')?.parse().ok());
            return Some(match (back, &self.came_back) {
                (Some(number), _) if changes.after(number).is_some() => {
                    self.at = Some(number);
                    self.frame(number, "hello", &json!({}))
                }
                (_, Some(_)) => self.start(last, "reset"),
                (_, None) => self.start(last, "hello"),
            });
        };
        if at == last {
            return None;
        }
        let Some(missed) = changes.after(at) else { return Some(self.start(last, "reset")) };
        let mut frames = String::new();
        for change in missed {
            self.at = Some(change.number);
            if change.news.may_hear(&self.state, &self.identity) {
                let (name, data) = change.news.name_and_data();
                frames += &self.frame(change.number, name, &data);
            }
        }
        (!frames.is_empty()).then_some(frames)
    }

    fn start(&mut self, last: u64, name: &str) -> String {
        self.at = Some(last);
        self.frame(last, name, &json!({}))
    }

    fn frame(&self, number: u64, name: &str, data: &Value) -> String {
        format!("id: {}-{number}\nevent: {name}\ndata: {data}\n\n", self.seat.0.0.name)
    }

    /// Its token may be revoked by now, or may less.
    fn may_still_listen(&self) -> bool {
        let (tokens, now) = (self.state.tokens.list().unwrap_or_default(), self.state.clock().now());
        tokens.iter().any(|token| token.name == self.identity.name && token.scopes == self.identity.scopes && !token.is_over(now))
    }
}

/// Hears the runner for those who listen, and passes on what it hears.
pub struct Poking<O> {
    pub changes: Changes,
    pub observer: Arc<O>,
}

impl<O: Observer> Watcher for Poking<O> {
    fn log(&self, call_id: &str, level: &'static str, message: &str) {
        self.observer.log(call_id, level, message);
    }

    fn progress(&self, call_id: &str, done: f64, total: Option<f64>, message: &str) {
        self.observer.progress(call_id, done, total, message);
    }
}

impl<O: Observer> Observer for Poking<O> {
    fn event(&self, chain: &ChainState, event: &Stamped) {
        self.observer.event(chain, event);
        self.changes.poke();
    }

    fn waiting(&self, chain: &ChainState, calls: usize) {
        self.observer.waiting(chain, calls);
    }

    fn text(&self, chain: &ChainId, piece: &str) {
        self.observer.text(chain, piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(number: u32, open_pauses: u32) -> (ChainId, News) {
        let id = ChainId(format!("ch_{number}"));
        let (status, updated_at, started_by) = (ChainStatus::Paused, Timestamp::UNIX_EPOCH, Actor("token:a".into()));
        (id.clone(), News::Chain { id, status, open_pauses, updated_at, started_by })
    }

    #[test]
    fn only_what_is_other_than_it_was_is_told() {
        let lists =
            |chains: &[(u32, u32)]| Lists { chains: chains.iter().map(|(number, open)| chain(*number, *open)).collect(), pauses: HashMap::new() };
        assert_eq!(lists(&[(1, 1), (2, 0)]).since(&lists(&[(1, 1), (2, 0)])), []);
        assert_eq!(lists(&[(1, 2), (2, 0)]).since(&lists(&[(1, 1), (2, 0)])), [chain(1, 2).1]);
        assert_eq!(lists(&[(1, 1), (2, 0)]).since(&lists(&[(1, 1)])), [chain(2, 0).1]);
    }

    #[test]
    fn who_comes_back_gets_what_was_missed_or_is_told_that_it_is_gone() {
        let changes = Changes::default();
        changes.tell((0..5).map(|number| chain(number, 0).1).collect());
        let numbers = |after| changes.after(after).map(|missed| missed.iter().map(|change| change.number).collect::<Vec<_>>());
        assert_eq!((numbers(3), numbers(5)), (Some(vec![4, 5]), Some(vec![])));
        assert_eq!(numbers(6), None, "a number that was never told");
        changes.tell((0..KEPT_MAX as u32).map(|number| chain(number, 0).1).collect());
        assert_eq!((numbers(4), numbers(5).map(|missed| missed.len())), (None, Some(KEPT_MAX)));
    }
}
