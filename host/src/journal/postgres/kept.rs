//! Plugins' bytes, and which chains need them.

use super::fault::Failure;
use super::pool::Session;
use crate::chain::ChainId;
use crate::digest::Digest;
use crate::journal::kept::SPARE_MAX;

/// Of the advisory lock under which needs change: bytes are dropped only where no need of them is being written.
const LOCK: i64 = 0x5047_6a6c_0000_0002;

pub async fn need(session: &mut Session, chain: &ChainId, plugins: &[Digest]) -> Result<Vec<Digest>, Failure> {
    session.client.batch_execute("BEGIN").await?;
    let needed = needed(session, chain, plugins).await;
    session.client.batch_execute(if needed.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
    needed
}

async fn needed(session: &mut Session, chain: &ChainId, plugins: &[Digest]) -> Result<Vec<Digest>, Failure> {
    session.rows("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
    session.rows("DELETE FROM plugin_need WHERE chain = $1", &[&chain.0]).await?;
    let mut missing = Vec::new();
    for plugin in plugins {
        let digest = plugin.to_string();
        session.rows("INSERT INTO plugin_need (chain, plugin) VALUES ($1, $2) ON CONFLICT DO NOTHING", &[&chain.0, &digest]).await?;
        if session.rows("SELECT 1 FROM plugin WHERE digest = $1", &[&digest]).await?.is_empty() {
            missing.push(plugin.clone());
        }
    }
    sweep(session).await?;
    Ok(missing)
}

/// What no chain needs goes, once there is more of it than may stay.
async fn sweep(session: &mut Session) -> Result<(), Failure> {
    let sql = "WITH spare AS (SELECT digest FROM plugin WHERE digest NOT IN (SELECT plugin FROM plugin_need))
               DELETE FROM plugin WHERE digest IN (SELECT digest FROM spare) AND (SELECT count(*) FROM spare) > $1";
    session.rows(sql, &[&i64::from(SPARE_MAX)]).await.map(drop)
}

pub async fn keep(session: &mut Session, digest: &Digest, bytes: &[u8]) -> Result<(), Failure> {
    let sql = "INSERT INTO plugin (digest, bytes) SELECT $1, $2
               WHERE EXISTS (SELECT 1 FROM plugin_need WHERE plugin = $1) ON CONFLICT DO NOTHING";
    session.rows(sql, &[&digest.to_string(), &bytes]).await.map(drop)
}

pub async fn get(session: &mut Session, plugin: &Digest) -> Result<Option<Vec<u8>>, Failure> {
    let rows = session.rows("SELECT bytes FROM plugin WHERE digest = $1", &[&plugin.to_string()]).await?;
    Ok(rows.first().map(|row| row.try_get(0)).transpose()?)
}
