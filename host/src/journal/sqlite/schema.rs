//! Tables of the SQLite journal, their version, and how a connection to them is opened.
//!
//! `event` is the journal; `keyvalue` is what plugins keep; `outbox` is what is to be told; `plugin` is what chains keep of
//! plugins, for those in `plugin_need`; `chain`, `call` and `pause` are projections that can be rebuilt, but for `epoch` and
//! `holder`, which belong to whoever holds the chain.

use std::fs::{DirBuilder, File, OpenOptions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::fault;
use crate::journal::JournalError;

/// In the file's header: tells a journal from any other database. `PGjl`.
const APPLICATION: i32 = 0x5047_6a6c;

/// One step per version; step N leads from version N to N + 1. A released step never changes.
pub const MIGRATIONS: [&str; 5] = [
    "
    CREATE TABLE event (
        chain TEXT NOT NULL,
        seq INTEGER NOT NULL,
        at TEXT NOT NULL,
        kind TEXT NOT NULL,
        payload TEXT NOT NULL,
        epoch INTEGER NOT NULL,
        prev_hash BLOB NOT NULL,
        hash BLOB NOT NULL,
        UNIQUE (chain, seq)
    ) STRICT;
    CREATE TABLE chain (
        id TEXT NOT NULL PRIMARY KEY,
        head INTEGER NOT NULL,
        head_hash BLOB NOT NULL,
        epoch INTEGER NOT NULL,
        holder TEXT,
        status TEXT NOT NULL,
        detail TEXT NOT NULL,
        title TEXT NOT NULL,
        model TEXT,
        turns INTEGER NOT NULL,
        calls INTEGER NOT NULL,
        open_pauses INTEGER NOT NULL,
        started_by TEXT NOT NULL,
        started_at TEXT NOT NULL,
        updated_at TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX chain_by_start ON chain (started_at, id);
    CREATE TABLE call (
        chain TEXT NOT NULL,
        turn INTEGER NOT NULL,
        ordinal INTEGER NOT NULL,
        id TEXT NOT NULL,
        tool TEXT NOT NULL,
        status TEXT NOT NULL,
        attempts INTEGER NOT NULL,
        PRIMARY KEY (chain, turn, ordinal)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE pause (
        id TEXT NOT NULL PRIMARY KEY,
        chain TEXT NOT NULL,
        status TEXT NOT NULL,
        opened_at TEXT NOT NULL,
        open TEXT
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX pause_open ON pause (opened_at, id) WHERE status = 'open';
    CREATE INDEX pause_by_chain ON pause (chain);
",
    "
    CREATE TABLE keyvalue (
        plugin TEXT NOT NULL,
        chain TEXT NOT NULL,
        number INTEGER NOT NULL,
        key TEXT NOT NULL,
        value BLOB NOT NULL,
        bytes INTEGER NOT NULL,
        UNIQUE (plugin, chain, key),
        UNIQUE (plugin, chain, number)
    ) STRICT;
    CREATE INDEX keyvalue_usage ON keyvalue (plugin, chain, bytes);
",
    "
    ALTER TABLE chain ADD COLUMN place TEXT;
    CREATE INDEX chain_runnable ON chain (id) WHERE status = 'runnable';
",
    "
    CREATE TABLE outbox (
        id TEXT NOT NULL PRIMARY KEY,
        channel TEXT NOT NULL,
        what TEXT NOT NULL,
        chain TEXT NOT NULL,
        while_open TEXT,
        every INTEGER,
        number INTEGER NOT NULL,
        body TEXT NOT NULL,
        due INTEGER NOT NULL,
        tries INTEGER NOT NULL,
        why TEXT,
        parked INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX outbox_due ON outbox (due, id) WHERE parked = 0;
",
    "
    CREATE TABLE plugin (
        digest TEXT NOT NULL PRIMARY KEY,
        bytes BLOB NOT NULL
    ) STRICT;
    CREATE TABLE plugin_need (
        chain TEXT NOT NULL,
        plugin TEXT NOT NULL,
        PRIMARY KEY (chain, plugin)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX plugin_needed ON plugin_need (plugin);
",
];
pub const VERSION: u32 = MIGRATIONS.len() as u32;

/// Tries to turn on WAL while other processes open the same new file: SQLite does not wait for that by itself.
const WAL_TRIES: u32 = 50;
const WAL_PAUSE: Duration = Duration::from_millis(20);
/// The WAL file is cut back to this after a burst.
const WAL_BYTES_MAX: u32 = 16 << 20;
/// More than the statements there are, so that none is prepared twice.
const STATEMENTS_MAX: usize = 48;

/// Where the journal is, and how long it is waited for.
#[derive(Clone, Debug)]
pub struct Place {
    pub path: PathBuf,
    /// For another process's transaction to end. Ours take milliseconds; a copy or a backup may take seconds.
    pub wait: Duration,
    /// Pages the file may have: a full disk, for tests.
    pub pages_max: Option<u32>,
}

impl Place {
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), wait: Duration::from_secs(5), pages_max: None }
    }

    /// A connection to read and write with; makes the folder (0700), the file (0600) and the tables where missing.
    pub fn open(&self) -> Result<Connection, JournalError> {
        self.create_file()?;
        let mut connection = self.connect()?;
        let told = |error| fault::sqlite(&self.path, &error);
        // A copy made with `VACUUM INTO` has lost the mode.
        self.turn_on_wal(&connection)?;
        if version(&connection).map_err(told)? < VERSION {
            migrate(&mut connection).map_err(told)?;
        }
        if let Some(pages) = self.pages_max {
            connection.pragma_update(None, "max_page_count", pages).map_err(told)?;
        }
        connection.pragma_update(None, "journal_size_limit", WAL_BYTES_MAX).map_err(told)?;
        Ok(connection)
    }

    /// A connection to a journal that is there; creates nothing. `None` where there is no file yet.
    pub fn open_existing(&self) -> Result<Option<Connection>, JournalError> {
        match std::fs::metadata(&self.path) {
            Ok(_) => {
                let mut connection = self.connect_to_read()?;
                let told = |error| fault::sqlite(&self.path, &error);
                match version(&connection).map_err(told)? {
                    // Made by a process that died before its first transaction.
                    0 => Ok(None),
                    VERSION => Ok(Some(connection)),
                    _ => migrate(&mut connection).map_err(told).map(|()| Some(connection)),
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(fault::io(&self.path, &error)),
        }
    }

    /// A journal in WAL mode is read with the help of files beside it. Where they cannot be made, on a medium or a copy
    /// that only reads, it is read as it stands: nobody else can be writing it.
    fn connect_to_read(&self) -> Result<Connection, JournalError> {
        let unwritable = match self.connect() {
            Err(error @ JournalError::Unusable { .. }) if is_unwritable(&self.path) => error,
            connected => return connected,
        };
        self.connect_as_it_stands().unwrap_or(Err(unwritable))
    }

    /// `None` where SQLite does not open it even so.
    pub fn connect_as_it_stands(&self) -> Option<Result<Connection, JournalError>> {
        let log = std::fs::metadata(with_ending(&self.path, "-wal"));
        if log.is_ok_and(|log| log.len() > 0) {
            let message = "cannot be read where nothing can be written, since its last writes are still in the `-wal` file beside it; \
                           copy both to a folder that can be written";
            return Some(Err(fault::unusable(&self.path, message)));
        }
        let escaped = percent_encoding::percent_encode(self.path.as_os_str().as_bytes(), percent_encoding::NON_ALPHANUMERIC);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(format!("file:{escaped}?immutable=1"), flags).ok()?;
        Some(self.looked_at(connection))
    }

    /// Looks at what the file is before anything is written to it.
    fn connect(&self) -> Result<Connection, JournalError> {
        // A pipe would be waited for, and a device would be taken for an empty file.
        if !std::fs::metadata(&self.path).map_err(|error| fault::io(&self.path, &error))?.is_file() {
            return Err(fault::unusable(&self.path, "is no regular file"));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags).map_err(|error| fault::sqlite(&self.path, &error))?;
        self.looked_at(connection)
    }

    fn looked_at(&self, connection: Connection) -> Result<Connection, JournalError> {
        let told = |error| fault::sqlite(&self.path, &error);
        connection.busy_timeout(self.wait).map_err(told)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
        let (found, application, is_empty) = header(&connection).map_err(told)?;
        let is_new = found == 0 && application == 0 && is_empty;
        if application != APPLICATION && !is_new {
            return Err(fault::unusable(&self.path, "is a database of another program, not a journal"));
        }
        if found > VERSION {
            return Err(JournalError::Newer { path: self.path.display().to_string(), found, known: VERSION });
        }
        Ok(connection)
    }

    /// SQLite gives `-wal` and `-shm` the permissions of the file itself.
    fn create_file(&self) -> Result<(), JournalError> {
        if self.path.exists() {
            return Ok(());
        }
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| fault::io_told(&self.path, &error, format!("its folder cannot be made ({error})")))?;
        let made = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.path);
        // SQLite syncs the file; its name in the folder is ours to sync.
        let synced = made.and_then(|_| File::open(folder)?.sync_all());
        synced.map_err(|error| fault::io_told(&self.path, &error, format!("cannot be made ({error})")))
    }

    fn turn_on_wal(&self, connection: &Connection) -> Result<(), JournalError> {
        for tried in 1.. {
            match connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get::<_, String>(0)) {
                Ok(mode) if mode == "wal" => break,
                Ok(_) => return Err(fault::unusable(&self.path, "is on a file system that cannot hold a write-ahead log")),
                Err(error) if tried < WAL_TRIES && fault::is_busy(&error) => std::thread::sleep(WAL_PAUSE),
                Err(error) => return Err(fault::sqlite(&self.path, &error)),
            }
        }
        Ok(())
    }
}

/// The file or its folder: SQLite needs both to write.
fn is_unwritable(path: &Path) -> bool {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    [path, folder].iter().any(|place| rustix::fs::access(*place, rustix::fs::Access::WRITE_OK).is_err())
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut text = path.as_os_str().to_owned();
    text.push(ending);
    text.into()
}

pub fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Version, application and whether there is no table, of one moment: another process may be making the tables.
fn header(connection: &Connection) -> rusqlite::Result<(u32, i32, bool)> {
    let moment = connection.unchecked_transaction()?;
    let application = moment.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let is_empty = moment.query_row("SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))?;
    Ok((version(&moment)?, application, is_empty))
}

/// All steps in one transaction, counted from the version found under its lock: of two that open an old journal at
/// once, one migrates it.
fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = version(&transaction)?;
    for step in MIGRATIONS.iter().skip(found as usize) {
        transaction.execute_batch(step)?;
    }
    if found < VERSION {
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()
}
