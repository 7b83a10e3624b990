//! A journal in a folder of its own, and chains that are written to it.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::journal::SqliteJournal;
use crate::journal::sqlite::schema::Place;
pub use crate::journal::tests::sample::{Chain, begun, clock, finished, key, opened, said, started, turn};

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
