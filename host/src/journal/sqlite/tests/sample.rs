//! A journal in a folder of its own, and chains that are written to it.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::json;

use crate::call::{CallKey, CallStatus, Effects, ToolResult};
use crate::capability::Uses;
use crate::capability::judge::Requirements;
use crate::chain::message::{Message, Role};
use crate::chain::{Actor, ChainId, Epoch, Seq, Settings};
use crate::clock::Clock;
use crate::digest::Digest;
use crate::event::{Event, Origin, Requested, Stamped, Started};
use crate::journal::sqlite::schema::Place;
use crate::journal::{Append, Journal, JournalError, SqliteJournal};
use crate::pause::{Ask, Decision, Pause, PauseId, PauseKind, PauseStatus};
use crate::state::ChainState;

/// Tells another process of a test where the journal is.
const PATH: &str = "PAUSEGATE_TEST_JOURNAL";

/// A temporary folder, removed when dropped.
pub struct Home(tempfile::TempDir);

impl Home {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> PathBuf {
        self.0.path().join("state/journal.db")
    }

    pub fn open(&self) -> SqliteJournal {
        SqliteJournal::open(&self.path(), clock()).unwrap()
    }

    /// Waits hardly at all for others, and fills the disk at `pages_max`.
    pub fn open_hasty(&self, pages_max: Option<u32>) -> SqliteJournal {
        let place = Place { wait: Duration::from_millis(10), pages_max, ..Place::new(&self.path()) };
        SqliteJournal::open_place(place, clock()).unwrap()
    }

    /// Runs the test `name` in another process, where it finds this journal by [`Home::of_parent`].
    pub fn spawn(&self, name: &str) -> Child {
        Command::new(std::env::current_exe().unwrap())
            .args([&*format!("journal::sqlite::tests::{name}"), "--exact", "--nocapture"])
            .env(PATH, self.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// What `wanted` found in the output of that process; it is killed at once then (SIGKILL: nothing of its runs on).
    pub fn until_killed<T>(&self, name: &str, wanted: impl Fn(&str) -> Option<T>) -> T {
        let mut child = self.spawn(name);
        let found = wait_for(&mut child, wanted);
        child.kill().unwrap();
        child.wait().unwrap();
        found
    }

    /// In that process: the journal of the test that started it.
    pub fn of_parent() -> Option<SqliteJournal> {
        let path = std::env::var_os(PATH)?;
        Some(SqliteJournal::open(path.as_ref(), clock()).unwrap())
    }

    /// The database as another program sees it.
    pub fn sql(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.path()).unwrap()
    }
}

pub fn wait_for<T>(child: &mut Child, wanted: impl Fn(&str) -> Option<T>) -> T {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.map_while(Result::ok).find_map(|line| wanted(&line)).expect("the other process ended before")
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
    pub async fn started(journal: &SqliteJournal, id: &str) -> Self {
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
    pub async fn write(&mut self, journal: &SqliteJournal, events: Vec<Event>) -> Result<Seq, JournalError> {
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
        arguments: Some(json!({"path": "/a"})),
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
    Event::CallFinished { call, status, result, word_of: None, uses: Uses::default(), refusals: Vec::new() }
}

pub fn pause(id: &str, call: CallKey) -> Pause {
    Pause {
        id: PauseId(id.to_owned()),
        call,
        call_id: format!("call_{}_{}", call.turn, call.ordinal),
        kind: PauseKind::Gate,
        tool: "files__delete".into(),
        plugin: "files".into(),
        effects: Effects::Once,
        arguments: json!({"path": "/a"}),
        key: String::new(),
        reason: "grants.toml:31 asks".into(),
        ask: Ask::Approval,
        context: None,
        state: None,
        opens: Vec::new(),
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
    Event::PauseOpened { pause: pause(id, call) }
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
