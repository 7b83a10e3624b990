//! Tables of the PostgreSQL journal, in a schema of their own, and their version.
//!
//! As in SQLite, `event` is the journal, `keyvalue` is what plugins keep, `outbox` is what is to be told, `plugin` is what chains
//! keep of plugins, and `chain`, `call` and `pause` are projections that can be rebuilt, but for `epoch` and the lease, which
//! belong to whoever holds the chain. Ids and times are
//! compared byte by byte, whatever the database's collation. What is no part of an index changes from append to append.

use super::address::Address;
use super::fault::Failure;
use super::pool::Session;
use crate::journal::JournalError;

/// One step per version; step N leads from version N to N + 1. A released step never changes.
pub const MIGRATIONS: [&str; 3] = [
    r#"
    CREATE TABLE event (
        chain text COLLATE "C" NOT NULL,
        seq bigint NOT NULL,
        at text NOT NULL,
        kind text NOT NULL,
        payload text NOT NULL,
        epoch bigint NOT NULL,
        prev_hash bytea NOT NULL,
        hash bytea NOT NULL,
        PRIMARY KEY (chain, seq)
    );
    CREATE TABLE chain (
        id text COLLATE "C" PRIMARY KEY,
        head bigint NOT NULL,
        head_hash bytea NOT NULL,
        epoch bigint NOT NULL,
        holder text,
        token text,
        lease_until timestamptz,
        place text,
        status text NOT NULL,
        detail text NOT NULL,
        title text NOT NULL,
        model text,
        turns bigint NOT NULL,
        calls bigint NOT NULL,
        open_pauses bigint NOT NULL,
        started_by text NOT NULL,
        started_at text COLLATE "C" NOT NULL,
        updated_at text COLLATE "C" NOT NULL
    ) WITH (fillfactor = 70);
    CREATE INDEX chain_by_start ON chain (started_at, id) WHERE head > 0;
    CREATE INDEX chain_runnable ON chain (id) WHERE status = 'runnable';
    CREATE INDEX chain_waiting ON chain (id) WHERE status IN ('paused', 'blocked');
    CREATE TABLE call (
        chain text COLLATE "C" NOT NULL,
        turn bigint NOT NULL,
        ordinal bigint NOT NULL,
        id text NOT NULL,
        tool text NOT NULL,
        status text NOT NULL,
        attempts bigint NOT NULL,
        PRIMARY KEY (chain, turn, ordinal)
    ) WITH (fillfactor = 80);
    CREATE TABLE pause (
        id text COLLATE "C" PRIMARY KEY,
        chain text COLLATE "C" NOT NULL,
        status text NOT NULL,
        opened_at text COLLATE "C" NOT NULL,
        open text
    );
    CREATE INDEX pause_open ON pause (opened_at, id) WHERE status = 'open';
    CREATE INDEX pause_by_chain ON pause (chain);
    CREATE TABLE keyvalue (
        plugin text COLLATE "C" NOT NULL,
        chain text COLLATE "C" NOT NULL,
        number bigint NOT NULL,
        key bytea NOT NULL,
        value bytea NOT NULL,
        bytes bigint NOT NULL,
        PRIMARY KEY (plugin, chain, key),
        UNIQUE (plugin, chain, number)
    );
"#,
    r#"
    CREATE TABLE outbox (
        id text COLLATE "C" PRIMARY KEY,
        channel text COLLATE "C" NOT NULL,
        what text NOT NULL,
        chain text COLLATE "C" NOT NULL,
        while_open text COLLATE "C",
        every bigint,
        number bigint NOT NULL,
        body text NOT NULL,
        due bigint NOT NULL,
        tries bigint NOT NULL,
        why text,
        parked boolean NOT NULL
    );
    CREATE INDEX outbox_due ON outbox (due, id) WHERE NOT parked;
"#,
    r#"
    CREATE TABLE plugin (
        digest text COLLATE "C" PRIMARY KEY,
        bytes bytea NOT NULL
    );
    CREATE TABLE plugin_need (
        chain text COLLATE "C" NOT NULL,
        plugin text COLLATE "C" NOT NULL,
        PRIMARY KEY (chain, plugin)
    );
    CREATE INDEX plugin_needed ON plugin_need (plugin);
"#,
];
pub const VERSION: u32 = MIGRATIONS.len() as u32;

/// Of the advisory lock under which the tables are made and changed: `PGjl` and a number.
const LOCK: i64 = 0x5047_6a6c_0000_0001;
/// `server_version_num` of the oldest server that the tests run on.
const SERVER_MIN: i64 = 150_000;

/// `None` where there are no tables yet.
pub async fn version(session: &Session, address: &Address) -> Result<Option<u32>, Failure> {
    let sql = "SELECT current_setting('server_version_num')::bigint, current_setting('server_encoding'),
               to_regclass('pausegate.version') IS NOT NULL";
    let row = session.client.query_typed(sql, &[]).await?.pop();
    let row = row.ok_or_else(|| super::fault::damaged(address, "the server says nothing of itself"))?;
    let (server, encoding, is_there): (i64, String, bool) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    let unusable = |message: String| Failure::Refused(JournalError::Unusable { path: address.to_string(), message });
    if server < SERVER_MIN {
        return Err(unusable(format!("is PostgreSQL {}; {} or a later one is needed", server / 10_000, SERVER_MIN / 10_000)));
    }
    if encoding != "UTF8" {
        return Err(unusable(format!("its encoding is {encoding}; make the database with `createdb --encoding UTF8 --template template0`")));
    }
    if !is_there {
        return Ok(None);
    }
    let row = session.client.query_typed("SELECT number FROM pausegate.version", &[]).await?.pop();
    let found: i64 = row.ok_or_else(|| super::fault::damaged(address, "its version is gone"))?.try_get(0)?;
    let found = u32::try_from(found).unwrap_or(u32::MAX);
    if found > VERSION {
        return Err(Failure::Refused(JournalError::Newer { path: address.to_string(), found, known: VERSION }));
    }
    Ok(Some(found))
}

/// All steps in one transaction under one lock, counted from the version found under it: of two that open an old
/// journal at once, one migrates it.
pub async fn migrate(session: &Session, address: &Address) -> Result<(), Failure> {
    let migrated = async {
        session.client.batch_execute(&format!("BEGIN; SELECT pg_advisory_xact_lock({LOCK})")).await?;
        let found = version(session, address).await?;
        if found.is_none() {
            session.client.batch_execute("CREATE SCHEMA IF NOT EXISTS pausegate; CREATE TABLE version (number bigint NOT NULL)").await?;
        }
        for step in MIGRATIONS.iter().skip(found.unwrap_or(0) as usize) {
            session.client.batch_execute(step).await?;
        }
        let noted = format!("DELETE FROM version; INSERT INTO version (number) VALUES ({VERSION}); COMMIT");
        Ok(session.client.batch_execute(&noted).await?)
    };
    match migrated.await {
        Ok(()) => Ok(()),
        Err(failure) => {
            session.client.batch_execute("ROLLBACK").await.ok();
            Err(failure)
        }
    }
}
