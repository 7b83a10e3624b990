//! Plugins' bytes, and which chains need them.

use rusqlite::{Connection, OptionalExtension, params};

use crate::chain::ChainId;
use crate::digest::Digest;
use crate::journal::kept::SPARE_MAX;

/// A change made ready for the writer.
pub enum Keeping {
    Need { chain: ChainId, plugins: Vec<Digest> },
    Keep { digest: Digest, bytes: Vec<u8> },
}

impl Keeping {
    pub fn bytes(&self) -> usize {
        match self {
            Self::Need { .. } => 0,
            Self::Keep { bytes, .. } => bytes.len(),
        }
    }

    pub fn write(&self, connection: &Connection) -> rusqlite::Result<()> {
        match self {
            Self::Need { chain, plugins } => need(connection, chain, plugins),
            Self::Keep { digest, bytes } => {
                let sql = "INSERT INTO plugin (digest, bytes) SELECT ?1, ?2
                           WHERE EXISTS (SELECT 1 FROM plugin_need WHERE plugin = ?1) ON CONFLICT DO NOTHING";
                connection.prepare_cached(sql)?.execute(params![digest.to_string(), bytes]).map(drop)
            }
        }
    }
}

fn need(connection: &Connection, chain: &ChainId, plugins: &[Digest]) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM plugin_need WHERE chain = ?1")?.execute([&chain.0])?;
    for plugin in plugins {
        let sql = "INSERT INTO plugin_need (chain, plugin) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
        connection.prepare_cached(sql)?.execute(params![chain.0, plugin.to_string()])?;
    }
    sweep(connection)
}

/// What no chain needs goes, once there is more of it than may stay.
pub fn sweep(connection: &Connection) -> rusqlite::Result<()> {
    let sql = "WITH spare AS (SELECT digest FROM plugin WHERE digest NOT IN (SELECT plugin FROM plugin_need))
               DELETE FROM plugin WHERE digest IN (SELECT digest FROM spare) AND (SELECT count(*) FROM spare) > ?1";
    connection.prepare_cached(sql)?.execute([SPARE_MAX]).map(drop)
}

/// Those that are not kept.
pub fn missing(connection: &Connection, plugins: Vec<Digest>) -> rusqlite::Result<Vec<Digest>> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM plugin WHERE digest = ?1")?;
    let mut missing = Vec::new();
    for plugin in plugins {
        if !statement.exists([plugin.to_string()])? {
            missing.push(plugin);
        }
    }
    Ok(missing)
}

pub fn get(connection: &Connection, plugin: &Digest) -> rusqlite::Result<Option<Vec<u8>>> {
    connection.prepare_cached("SELECT bytes FROM plugin WHERE digest = ?1")?.query_row([plugin.to_string()], |row| row.get(0)).optional()
}
