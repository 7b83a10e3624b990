//! What the server or the way to it says: whether trying again may help, and words that an operator can act on.

use std::error::Error as _;
use std::time::Duration;

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use super::address::Address;
use crate::journal::JournalError;

/// Why a piece of work was not done on a connection.
#[derive(Debug)]
pub enum Failure {
    Postgres(Error),
    /// No answer in time: what was asked may have been done.
    Silent,
    /// The journal's own word; another try would hear the same.
    Refused(JournalError),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Postgres(error)
    }
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        Self::Refused(error)
    }
}

impl Failure {
    /// The connection is of no more use, and whether what was asked on it was done is not known.
    pub fn is_lost(&self) -> bool {
        match self {
            Self::Postgres(error) => error.code().is_none_or(ends_connection),
            Self::Silent => true,
            Self::Refused(_) => false,
        }
    }

    fn may_pass(&self) -> bool {
        match self {
            Self::Postgres(error) => match error.code() {
                Some(code) => ends_connection(code) || is_short_of(code) || is_race(code),
                // Closed, or an error of the network below; what is left of them is how we were told to connect.
                None => error.is_closed() || error.source().is_some_and(|source| source.is::<std::io::Error>()),
            },
            Self::Silent => true,
            Self::Refused(_) => false,
        }
    }

    pub fn told(self, address: &Address) -> JournalError {
        let path = address.to_string();
        let away = |message: String| JournalError::Away { path: path.clone(), message };
        match self {
            Self::Refused(error) => error,
            Self::Silent => away("the server does not answer".to_owned()),
            Self::Postgres(error) => match error.code() {
                None if error.is_closed() => away("the server closed the connection".to_owned()),
                None => match error.source() {
                    Some(source) if source.is::<std::io::Error>() => away(format!("cannot be reached ({source})")),
                    Some(source) => JournalError::Unusable { path, message: lacking(&source.to_string()) },
                    None => JournalError::Unusable { path, message: error.to_string() },
                },
                Some(code) if is_race(code) || is_wait(code) => JournalError::Busy { path },
                Some(code) if ends_connection(code) || is_short_of(code) => away(words(&error)),
                Some(code) => JournalError::Unusable { path, message: format!("{}{}", words(&error), to_do(code)) },
            },
        }
    }
}

/// Before a connection there is: the one thing that is often left out.
fn lacking(text: &str) -> String {
    match text {
        "password missing" => "the server asks for a password; put it into PGPASSWORD or into the URL".to_owned(),
        text => text.to_owned(),
    }
}

fn words(error: &Error) -> String {
    error.as_db_error().map(|error| error.message().to_owned()).unwrap_or_else(|| error.to_string())
}

fn to_do(code: &SqlState) -> &'static str {
    match *code {
        SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => "; mend user and password in the URL, or set PGPASSWORD",
        SqlState::INVALID_CATALOG_NAME => "; make it with `createdb`, or name another database",
        SqlState::INSUFFICIENT_PRIVILEGE => "; its user needs `GRANT CREATE ON DATABASE`, or to own the schema `pausegate`",
        SqlState::READ_ONLY_SQL_TRANSACTION => "; name the server that takes writes",
        _ => "",
    }
}

fn class(code: &SqlState) -> &str {
    code.code().get(..2).unwrap_or_default()
}

/// The server said goodbye, or is not ready yet.
fn ends_connection(code: &SqlState) -> bool {
    let goodbye = [SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN, SqlState::CANNOT_CONNECT_NOW, SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT];
    class(code) == "08" || goodbye.contains(code)
}

/// Memory, disk or connections.
fn is_short_of(code: &SqlState) -> bool {
    class(code) == "53" || class(code) == "58"
}

fn is_race(code: &SqlState) -> bool {
    [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED].contains(code)
}

/// Longer than `statement_timeout` or `lock_timeout` allow.
fn is_wait(code: &SqlState) -> bool {
    [SqlState::QUERY_CANCELED, SqlState::LOCK_NOT_AVAILABLE].contains(code)
}

/// What stands in a table and is not what this program writes there.
pub fn damaged(address: &Address, what: impl std::fmt::Display) -> Failure {
    Failure::Refused(JournalError::Unusable { path: address.to_string(), message: format!("is damaged ({what})") })
}

/// Tries again for a while, with longer and longer waits: a restart of the server takes seconds.
#[derive(Default)]
pub struct Patience(usize);

const WAITS: [Duration; 6] = [
    Duration::from_millis(50),
    Duration::from_millis(200),
    Duration::from_millis(500),
    Duration::from_millis(1000),
    Duration::from_millis(2000),
    Duration::from_millis(4000),
];

impl Patience {
    /// Returns after a wait where another try may help, else what to tell.
    pub async fn after(&mut self, failure: Failure, address: &Address) -> Result<(), JournalError> {
        let Some(wait) = WAITS.get(self.0).filter(|_| failure.may_pass()) else { return Err(failure.told(address)) };
        self.0 += 1;
        tokio::time::sleep(*wait).await;
        Ok(())
    }
}
