//! A few connections, made when they are needed and kept for the next who needs one.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, Connection, Row, SimpleQueryMessage, Socket, Statement};

use super::address::Address;
use super::fault::Failure;
use super::schema;
use super::tls::{Connector, Private};
use crate::clock::Clock;
use crate::journal::JournalError;

/// Connections of one process at the same time; whoever comes then waits for one.
const CONNECTIONS_MAX: usize = 8;
/// Name, network, TLS and password together.
const CONNECT: Duration = Duration::from_secs(5);
/// A piece of work on a connection. More than the server's own limits below, so that it says first what is wrong.
const ANSWER: Duration = Duration::from_secs(15);
/// As the server holds this program's statements to; a migration is one of them.
const SETTINGS: &str = "SET search_path = pausegate; SET statement_timeout = '10s'; SET lock_timeout = '5s'; \
                        SET idle_in_transaction_session_timeout = '15s'; SET client_min_messages = warning";

/// Answers with microseconds since 1970.
const BEGIN: &str = "SET synchronous_commit = on; SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

pub type Wire = Connection<Socket, Private<Socket>>;
pub type Param<'a> = &'a (dyn ToSql + Sync);

pub struct Pool {
    pub address: Address,
    /// Follows the server's with each connection.
    clock: Clock,
    connector: Connector,
    idle: Mutex<Vec<Session>>,
    permits: Arc<Semaphore>,
    /// The tables are there, of this version.
    ready: AtomicBool,
}

/// A connection in one hand.
pub struct Session {
    pub client: Client,
    statements: HashMap<&'static str, Statement>,
    /// Commits do not wait for the disk.
    relaxed: bool,
    permit: Option<OwnedSemaphorePermit>,
}

impl Pool {
    pub fn new(address: Address, clock: Clock) -> Result<Self, JournalError> {
        let connector = Connector::new(address.tls.as_ref());
        let connector = connector.map_err(|message| JournalError::Unusable { path: address.to_string(), message })?;
        let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        Ok(Self { address, clock, connector, idle: Mutex::default(), permits, ready: AtomicBool::new(false) })
    }

    /// `None` where there are no tables yet: reading creates nothing.
    pub async fn to_read(&self) -> Result<Option<Session>, Failure> {
        let session = self.session(None).await?;
        if self.ready.load(Ordering::Acquire) {
            return Ok(Some(session));
        }
        match schema::version(&session, &self.address).await? {
            None => {
                self.keep(session);
                return Ok(None);
            }
            Some(schema::VERSION) => {}
            Some(_) => schema::migrate(&session, &self.address).await?,
        }
        self.ready.store(true, Ordering::Release);
        Ok(Some(session))
    }

    /// Where it is for a promise, what is committed on it is on disk when the server says so.
    pub async fn to_write(&self, promise: bool) -> Result<Session, Failure> {
        let mut session = self.session(Some(!promise)).await?;
        if !self.ready.load(Ordering::Acquire) {
            schema::migrate(&session, &self.address).await?;
            self.ready.store(true, Ordering::Release);
        }
        if session.relaxed == promise {
            let level = if promise { "SET synchronous_commit = on" } else { "SET synchronous_commit = off" };
            session.client.batch_execute(level).await?;
            session.relaxed = !promise;
        }
        Ok(session)
    }

    pub fn keep(&self, mut session: Session) {
        session.permit = None;
        if !session.client.is_closed() {
            self.idle.lock().expect("no panic under this lock").push(session);
        }
    }

    /// One whose commits are as `relaxed` as wanted, where there is one.
    async fn session(&self, relaxed: Option<bool>) -> Result<Session, Failure> {
        let permit = Arc::clone(&self.permits).acquire_owned().await.expect("never closed");
        let idle = {
            let mut idle = self.idle.lock().expect("no panic under this lock");
            idle.retain(|session| !session.client.is_closed());
            let fitting = idle.iter().position(|session| relaxed.is_none_or(|relaxed| relaxed == session.relaxed));
            match fitting {
                Some(at) => Some(idle.swap_remove(at)),
                None => idle.pop(),
            }
        };
        if let Some(mut session) = idle {
            session.permit = Some(permit);
            return Ok(session);
        }
        let (client, mut wire) = self.connect().await?;
        tokio::spawn(async move { while heard(&mut wire).await.is_some() {} });
        client.batch_execute(SETTINGS).await?;
        self.begin(&client).await?;
        Ok(Session { client, statements: HashMap::new(), relaxed: false, permit: Some(permit) })
    }

    /// What the server does by itself is as strong as it can be asked for, or stronger; said once to be sure. What time it is,
    /// the server says: of many hosts one may be wrong by hours.
    async fn begin(&self, client: &Client) -> Result<(), Failure> {
        let answers = client.simple_query(BEGIN).await?;
        let micros = answers.iter().find_map(|answer| match answer {
            SimpleQueryMessage::Row(row) => row.get(0)?.parse().ok(),
            _ => None,
        });
        if let Some(theirs) = micros.and_then(|micros| Timestamp::from_microsecond(micros).ok()) {
            self.clock.follow(theirs);
        }
        Ok(())
    }

    /// A connection that nobody drives yet.
    pub async fn connect(&self) -> Result<(Client, Wire), Failure> {
        let connecting = self.address.config.connect(self.connector.clone());
        Ok(tokio::time::timeout(CONNECT, connecting).await.map_err(|_| Failure::Silent)??)
    }
}

/// Drives the connection up to its next message; `None` at its end.
pub async fn heard(wire: &mut Wire) -> Option<AsyncMessage> {
    std::future::poll_fn(|cx| wire.poll_message(cx)).await?.ok()
}

impl Session {
    /// Prepared once per connection.
    pub async fn rows(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<Vec<Row>, Failure> {
        let statement = match self.statements.get(sql) {
            Some(statement) => statement.clone(),
            None => self.statements.entry(sql).or_insert(self.client.prepare(sql).await?).clone(),
        };
        Ok(self.client.query(&statement, params).await?)
    }
}

/// Within the time that any work may take.
pub async fn answered<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    tokio::time::timeout(ANSWER, work).await.unwrap_or(Err(Failure::Silent))
}
