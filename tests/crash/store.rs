//! The journal of a trial as its tests look at it, and what they know of leases in PostgreSQL.

use std::time::{Duration, Instant};

use pausegate::chain::ChainId;
use pausegate::clock::Clock;
use pausegate::journal::postgres::address::Address;
use pausegate::journal::{Journal, PostgresJournal, SqliteJournal};
use pausegate::state::ChainState;
use tokio_postgres::NoTls;

use crate::e2e::TestEnvironment;
use crate::postgres;

/// Short, so that what was frozen is soon too late; long enough for a busy machine to renew it.
const LEASE_SECONDS: u64 = 2;
/// For the server to see that a client is gone.
const GONE: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    Sqlite,
    Postgres,
}

/// An environment with its journal in one store; a database goes with it.
pub struct Place {
    pub store: Store,
    pub env: TestEnvironment,
}

impl Place {
    pub fn new(store: Store) -> Self {
        let env = match store {
            Store::Sqlite => TestEnvironment::new(),
            Store::Postgres => TestEnvironment::at(format!("{}&lease={LEASE_SECONDS}", postgres::shared().database())),
        };
        Self { store, env }
    }

    /// `None` where no process has made a journal yet.
    pub fn look<T>(&self, look: impl AsyncFnOnce(&dyn Journal) -> T) -> Option<T> {
        let runtime = runtime();
        match self.env.journal() {
            None => {
                let path = self.env.path("home/.local/state/pausegate/journal.db");
                let there = path.is_file();
                there.then(|| runtime.block_on(async { look(&SqliteJournal::open(&path, Clock::system()).unwrap()).await }))
            }
            Some(url) => {
                let address = Address::parse(url, None).unwrap();
                Some(runtime.block_on(async { look(&PostgresJournal::new(address, Clock::system()).unwrap()).await }))
            }
        }
    }

    /// Every chain as it stands.
    pub fn states(&self) -> Vec<ChainState> {
        let states = self.look(async |journal| {
            let mut states = Vec::new();
            for row in journal.chains(100).await.unwrap() {
                states.push(ChainState::fold(row.id.clone(), &journal.events(&row.id, 0).await.unwrap()));
            }
            states
        });
        states.unwrap_or_default()
    }

    /// As if the time had passed that whoever is dead still had: nobody alive holds anything.
    pub fn leases_of_the_dead_end(&self) {
        self.sql(
            "DO $$ BEGIN IF to_regclass('pausegate.chain') IS NOT NULL THEN
                 UPDATE pausegate.chain SET lease_until = clock_timestamp() WHERE lease_until IS NOT NULL;
             END IF; END $$",
        );
    }

    /// Returns when the leases of a process that is frozen are over, by the database's clock. What it still has to write finds
    /// others there.
    pub fn leases_are_over(&self, process: u32) {
        let holder = format!("pid {process} on %");
        self.sql(&format!(
            "DO $$ BEGIN IF to_regclass('pausegate.chain') IS NOT NULL THEN
                 PERFORM pg_sleep(greatest(0, extract(epoch FROM max(lease_until) - clock_timestamp())) + 0.005)
                 FROM pausegate.chain WHERE holder LIKE '{holder}';
             END IF; END $$"
        ));
    }

    /// Chains that a process holds, its lease over or not.
    pub fn held_by(&self, process: u32) -> i64 {
        self.count(&format!("SELECT count(*) FROM pausegate.chain WHERE holder LIKE 'pid {process} on %'"))
    }

    /// Returns when what the dead had sent is done, whatever it was: nobody is connected but those that are frozen.
    pub fn is_quiet(&self, frozen: &[u32]) {
        let names: Vec<_> = frozen.iter().map(|process| format!("'pausegate {process}', ")).collect();
        let others = format!(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
             AND backend_type = 'client backend' AND application_name NOT IN ({}'')",
            names.concat()
        );
        let began = Instant::now();
        while self.count(&others) > 0 {
            assert!(began.elapsed() < GONE, "the server has not seen that a client is gone");
            std::thread::yield_now();
        }
    }

    /// Nothing in a file.
    fn count(&self, sql: &str) -> i64 {
        self.client(async |client| client.query_one(sql, &[]).await.unwrap().get(0)).unwrap_or(0)
    }

    fn sql(&self, sql: &str) {
        self.client(async |client| client.batch_execute(sql).await.unwrap());
    }

    fn client<T>(&self, work: impl AsyncFnOnce(&tokio_postgres::Client) -> T) -> Option<T> {
        let url = plain(self.env.journal()?);
        Some(runtime().block_on(async {
            let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
            let driving = tokio::spawn(connection);
            let done = work(&client).await;
            driving.abort();
            done
        }))
    }
}

impl Drop for Place {
    /// Thousands of databases would fill the disk.
    fn drop(&mut self) {
        if let Some(url) = self.env.journal() {
            postgres::shared().drop_database(url);
        }
    }
}

/// How the tables of a chain are not the fold of its events.
pub async fn difference(journal: &dyn Journal, chain: &ChainId) -> Option<String> {
    journal.difference(chain).await.unwrap()
}

/// Without what is ours of the URL.
fn plain(url: &str) -> String {
    url.split("&lease").next().unwrap().to_owned()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}
