//! A store of either kind for one test, and chains that are written to it.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::json;
use tempfile::TempDir;

use super::server;
use crate::call::{CallKey, CallStatus, Effects, ToolResult};
use crate::capability::Uses;
use crate::capability::judge::Requirements;
use crate::chain::message::{Message, Role};
use crate::chain::{Actor, ChainId, Epoch, Seq, Settings};
use crate::clock::Clock;
use crate::digest::Digest;
use crate::event::{Event, Origin, Requested, Stamped, Started};
use crate::journal::postgres::address::Address;
use crate::journal::{Append, Journal, JournalError, PostgresJournal, SqliteJournal};
use crate::notice::Audience;
use crate::pause::{Ask, Decision, Pause, PauseId, PauseKind, PauseStatus};
use crate::state::ChainState;

/// Where a test's journals are; the file is removed when dropped, the database ends with its server.
pub enum Home {
    Sqlite(TempDir),
    Postgres(Box<Address>),
}

/// What tests ask of a journal besides.
pub trait Tested: Journal {
    /// One line for each chain whose projections are not the fold of its events.
    fn differences(&self) -> BoxFuture<'_, Result<Vec<String>, JournalError>>;
}

impl Tested for SqliteJournal {
    fn differences(&self) -> BoxFuture<'_, Result<Vec<String>, JournalError>> {
        self.projection_differences().boxed()
    }
}

impl Tested for PostgresJournal {
    fn differences(&self) -> BoxFuture<'_, Result<Vec<String>, JournalError>> {
        self.projection_differences().boxed()
    }
}

impl Home {
    pub fn sqlite() -> Self {
        Self::Sqlite(tempfile::tempdir().unwrap())
    }

    pub fn postgres() -> Self {
        Self::Postgres(Box::new(Address::parse(&server::shared().database(), None).unwrap()))
    }

    /// A journal as another process would open it.
    pub fn open(&self) -> Arc<dyn Tested> {
        self.telling(Audience::default())
    }

    /// The same, with somebody who hears of what is written.
    pub fn telling(&self, audience: Audience) -> Arc<dyn Tested> {
        match self {
            Self::Sqlite(folder) => Arc::new(SqliteJournal::open(&folder.path().join("journal.db"), clock()).unwrap().telling(audience)),
            Self::Postgres(address) => Arc::new(PostgresJournal::new((**address).clone(), clock()).unwrap().telling(audience)),
        }
    }

    /// The tables as another program sees them.
    pub async fn execute(&self, sql: &str) {
        let place = if matches!(self, Self::Postgres(_)) { "SET search_path = pausegate; " } else { "" };
        self.program(&format!("{place}{sql}")).await;
    }

    /// The database as another program sees it.
    pub async fn program(&self, sql: &str) {
        match self {
            Self::Sqlite(folder) => rusqlite::Connection::open(folder.path().join("journal.db")).unwrap().execute_batch(sql).unwrap(),
            Self::Postgres(address) => {
                let (client, connection) = address.config.connect(tokio_postgres::NoTls).await.unwrap();
                let driving = tokio::spawn(connection);
                client.batch_execute(sql).await.unwrap();
                driving.abort();
            }
        }
    }
}

pub fn clock() -> Clock {
    Clock::fixed("2026-01-02T03:04:05Z".parse().unwrap())
}

/// A chain and the state its writer knows.
#[derive(Clone)]
pub struct Chain {
    pub id: ChainId,
    pub state: ChainState,
    pub epoch: Option<Epoch>,
}

impl Chain {
    pub fn new(id: &str) -> Self {
        let id = ChainId(id.to_owned());
        Self { state: ChainState::new(id.clone()), id, epoch: None }
    }

    /// A chain with its first event written.
    pub async fn started(journal: &dyn Journal, id: &str) -> Self {
        let mut chain = Self::new(id);
        chain.write(journal, vec![started(id)]).await.unwrap();
        chain
    }

    pub fn stamp(&self, events: Vec<Event>) -> Vec<Stamped> {
        let start: jiff::Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        let stamp = |(event, seq): (Event, Seq)| Stamped {
            seq,
            at: start + jiff::SignedDuration::from_millis(seq.cast_signed()),
            epoch: self.epoch.unwrap_or_default(),
            event,
        };
        events.into_iter().zip(self.state.seq + 1..).map(stamp).collect()
    }

    /// Appends after what this writer knows; it learns of its own events only where they were written.
    pub async fn write(&mut self, journal: &dyn Journal, events: Vec<Event>) -> Result<Seq, JournalError> {
        let events = self.stamp(events);
        let mut state = self.state.clone();
        events.iter().for_each(|event| state.apply(event));
        let append = Append { chain: &self.id, after: self.state.seq, epoch: self.epoch, events: &events, state: &state };
        let seq = journal.append(append).await?;
        self.state = state;
        Ok(seq)
    }
}

pub fn started(prompt: &str) -> Event {
    Event::ChainStarted {
        started_by: Actor("os:alice@host".into()),
        settings: Settings::default(),
        tools: Vec::new(),
        messages: vec![Message::text(Role::User, prompt)],
        continues: None,
        forked: None,
        parent: None,
    }
}

pub fn said(text: &str) -> Event {
    Event::MessageAdded { by: Actor("os:alice@host".into()), message: Message::text(Role::User, text) }
}

pub fn key(turn: u32, ordinal: u32) -> CallKey {
    CallKey { turn, ordinal }
}

pub fn turn(number: u32, calls: u32) -> Event {
    let call = |ordinal| Requested {
        call: key(number, ordinal),
        id: format!("call_{number}_{ordinal}"),
        provider_id: None,
        tool: format!("{}__delete", if ordinal % 2 == 0 { "files" } else { "other" }),
        text: r#"{"path":"/a"}"#.into(),
        arguments: Some(json!({"path": "/a"}).into()),
    };
    let calls = (0..calls).map(call).collect();
    Event::TurnReceived { turn: number, origin: Origin::Model, parts: Vec::new(), verbatim: None, usage: None, calls }
}

pub fn begun(call: CallKey, attempt: u32) -> Event {
    let held = vec!["fs write everything below /build".to_owned()];
    let started = Started { call, attempt, digest: digest(), effects: Effects::Once, held, approved: false };
    Event::CallsStarted { calls: vec![started] }
}

pub fn finished(call: CallKey, status: CallStatus) -> Event {
    let result = ToolResult::text("done");
    Event::CallFinished { call, status, result: result.into(), word_of: None, uses: Uses::default(), refusals: Vec::new() }
}

pub fn pause(id: &str, call: CallKey) -> Pause {
    Pause {
        id: PauseId(id.to_owned()),
        call,
        path: Vec::new(),
        call_id: format!("call_{}_{}", call.turn, call.ordinal),
        kind: PauseKind::Gate,
        tool: "files__delete".into(),
        plugin: "files".into(),
        effects: Effects::Once,
        arguments: json!({"path": "/a"}).into(),
        key: String::new(),
        reason: "grants.toml:31 asks".into(),
        ask: Ask::Approval,
        context: None,
        state: None,
        opens: Vec::new(),
        holds: Vec::new(),
        shut: Vec::new(),
        because: Vec::new(),
        requirements: Requirements::default(),
        uses: Uses::default(),
        difference: None,
        call_digest: digest(),
        digest: digest(),
        opened_at: "2026-01-02T03:04:05Z".parse().unwrap(),
        status: PauseStatus::Open,
        votes: Vec::new(),
        decided: None,
    }
}

pub fn opened(id: &str, call: CallKey) -> Event {
    Event::pause_opened(pause(id, call))
}

pub fn approved(id: &str, call: CallKey, by: &str) -> Event {
    Event::PauseDecided {
        pause: PauseId(id.to_owned()),
        call,
        by: Actor(by.to_owned()),
        decision: Decision::Approve { note: None, digest: None },
        status: PauseStatus::Approved,
    }
}

pub fn digest() -> Digest {
    Digest::of_bytes(b"wasm")
}
