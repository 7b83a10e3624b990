//! What those who look after a journal ask of it: chains taken out, lists written anew, how the database is.

use serde_json::Value;

use super::address::Address;
use super::fault::Failure;
use super::pool::Session;
use super::write::{plain, position, signed};
use super::{read, schema};
use crate::chain::ChainId;
use crate::journal::JournalError;
use crate::journal::carrying::Carrying;
use crate::journal::entry::Position;
use crate::journal::projection::Projection;
use crate::journal::record::time_text;
use crate::journal::records::{Head, Health, Rebuilt};
use crate::journal::stored;
use crate::state::ChainState;

/// Chains that are listed as left behind.
const DEAD_MAX: i64 = 100;
/// Taken out in one transaction: others write in between.
const CHAINS_MAX: usize = 64;

/// Read off the first events: no row says it. Few carry another on, and only theirs are looked into.
pub async fn continued(session: &mut Session) -> Result<Vec<(ChainId, ChainId)>, Failure> {
    let sql = "SELECT chain.id, event.payload FROM chain JOIN event ON event.chain = chain.id AND event.seq = 1
               WHERE position('\"continues\":' IN event.payload) > 0";
    let mut pairs = Vec::new();
    for row in session.rows(sql, &[]).await? {
        let first: Option<Value> = serde_json::from_str(row.try_get::<_, &str>(1)?).ok();
        if let Some(parent) = first.as_ref().and_then(|first| first["continues"].as_str()) {
            pairs.push((ChainId(row.try_get(0)?), ChainId(parent.to_owned())));
        }
    }
    Ok(pairs)
}

/// The last of `heads` first: what carries another on has to go before it.
pub async fn remove(session: &mut Session, heads: &[Head]) -> Result<Vec<ChainId>, Failure> {
    let mut removed = Vec::new();
    for some in heads.rchunks(CHAINS_MAX) {
        // No chain begins while it is looked whether one carries these on.
        session.client.batch_execute("BEGIN; LOCK TABLE chain IN SHARE ROW EXCLUSIVE MODE").await?;
        let done = remove_some(session, some).await;
        session.client.batch_execute(if done.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
        removed.extend(done?);
    }
    Ok(removed)
}

async fn remove_some(session: &mut Session, heads: &[Head]) -> Result<Vec<ChainId>, Failure> {
    let mut carrying = Carrying::of(continued(session).await?);
    let mut removed = Vec::new();
    for head in heads.iter().rev() {
        if !carrying.is_needed(&head.chain) && remove_one(session, head).await? {
            carrying.remove(&head.chain);
            removed.push(head.chain.clone());
        }
    }
    Ok(removed)
}

async fn remove_one(session: &mut Session, head: &Head) -> Result<bool, Failure> {
    let sql = "DELETE FROM chain WHERE id = $1 AND head = $2 AND head_hash = $3 AND status IN ('completed', 'rejected', 'failed', 'cancelled')
               RETURNING id";
    if session.rows(sql, &[&head.chain.0, &signed(head.seq), &head.hash.as_slice()]).await?.is_empty() {
        return Ok(false);
    }
    for sql in [
        "DELETE FROM event WHERE chain = $1",
        "DELETE FROM call WHERE chain = $1",
        "DELETE FROM pause WHERE chain = $1",
        "DELETE FROM keyvalue WHERE chain = $1",
        "DELETE FROM outbox WHERE chain = $1",
        "DELETE FROM plugin_need WHERE chain = $1",
    ] {
        session.rows(sql, &[&head.chain.0]).await?;
    }
    Ok(true)
}

/// One transaction per chain, under its row's lock. Holders and epochs stay.
pub async fn rebuild(session: &mut Session) -> Result<Rebuilt, Failure> {
    let mut rebuilt = Rebuilt::default();
    for row in session.rows("SELECT DISTINCT chain FROM event ORDER BY chain", &[]).await? {
        let chain = ChainId(row.try_get(0)?);
        session.client.batch_execute("BEGIN").await?;
        let done = rebuild_one(session, &chain).await;
        session.client.batch_execute(if done.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
        match done {
            Ok(()) => rebuilt.chains += 1,
            Err(Failure::Refused(error)) => rebuilt.unreadable.push(error),
            Err(failure) => return Err(failure),
        }
    }
    Ok(rebuilt)
}

async fn rebuild_one(session: &mut Session, chain: &ChainId) -> Result<(), Failure> {
    session.rows("SELECT 1 FROM chain WHERE id = $1 FOR UPDATE", &[&chain.0]).await?;
    let records = read::records(session, chain).await?;
    let state = ChainState::fold(chain.clone(), &stored::checked(chain, &records)?);
    let rows = Projection::all(&state);
    let written = records.iter().map(|stored| stored.record.epoch).max().unwrap_or_default();
    let epoch = position(session, chain).await?.unwrap_or(Position::START).epoch.max(written);
    // As stored, not computed: a rebuild must not make a changed event look right.
    let hash = records.last().map(|stored| stored.hash.clone()).unwrap_or_default();
    session.rows("DELETE FROM call WHERE chain = $1", &[&chain.0]).await?;
    session.rows("DELETE FROM pause WHERE chain = $1", &[&chain.0]).await?;
    let sql = "INSERT INTO chain (id, head, head_hash, epoch, status, detail, title, model, turns, calls, open_pauses, started_by, started_at,
                   updated_at, place)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
               ON CONFLICT (id) DO UPDATE SET head = $2, head_hash = $3, epoch = $4, status = $5, detail = $6, title = $7, model = $8,
                   turns = $9, calls = $10, open_pauses = $11, started_by = $12, started_at = $13, updated_at = $14, place = $15";
    let row = &rows.chain;
    let (detail, title, model, by) = (plain(&row.detail), plain(&row.title), row.model.as_deref().map(plain), plain(&row.started_by.0));
    let counts = [row.turns, row.calls, row.open_pauses].map(i64::from);
    let (started, updated, status) = (time_text(row.started_at), time_text(row.updated_at), row.status.as_str());
    let params: [super::pool::Param<'_>; 15] = [
        &chain.0,
        &signed(state.seq),
        &hash,
        &signed(epoch),
        &status,
        &detail,
        &title,
        &model,
        &counts[0],
        &counts[1],
        &counts[2],
        &by,
        &started,
        &updated,
        &row.place,
    ];
    session.rows(sql, &params).await?;
    for call in &rows.calls {
        let sql = "INSERT INTO call (chain, turn, ordinal, id, tool, status, attempts) VALUES ($1, $2, $3, $4, $5, $6, $7)";
        let (turn, ordinal, attempts) = (i64::from(call.call.turn), i64::from(call.call.ordinal), i64::from(call.attempts));
        session.rows(sql, &[&chain.0, &turn, &ordinal, &plain(&call.id), &plain(&call.tool), &call.status.as_str(), &attempts]).await?;
    }
    for pause in &rows.pauses {
        let sql = "INSERT INTO pause (id, chain, status, opened_at, open) VALUES ($1, $2, $3, $4, $5)";
        session.rows(sql, &[&pause.row.id.0, &chain.0, &pause.row.status.as_str(), &time_text(pause.opened_at), &pause.open]).await?;
    }
    Ok(())
}

/// The server checks its files by itself; whether it takes writes is asked.
pub async fn health(session: &mut Session, address: &Address) -> Result<Health, Failure> {
    let sql = "SELECT (SELECT COALESCE(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c WHERE c.relnamespace = 'pausegate'::regnamespace AND c.relkind = 'r'),
                   pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean, (SELECT max(updated_at) FROM chain)";
    let rows = session.rows(sql, &[]).await?;
    let row = rows.first().ok_or_else(|| super::fault::damaged(address, "the server says nothing of itself"))?;
    let (bytes, reads_only, newest): (i64, bool, Option<&str>) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    if reads_only {
        let message = "only reads; name the server that takes writes".to_owned();
        return Err(JournalError::Unusable { path: address.to_string(), message }.into());
    }
    let newest = newest.and_then(|text| text.parse().ok());
    let dead = "SELECT id, holder FROM chain WHERE holder IS NOT NULL AND lease_until < clock_timestamp()
                    AND status NOT IN ('completed', 'rejected', 'failed', 'cancelled') ORDER BY id LIMIT $1";
    let dead = session.rows(dead, &[&DEAD_MAX]).await?;
    let dead = dead.iter().map(|row| Ok((ChainId(row.try_get(0)?), row.try_get(1)?))).collect::<Result<_, Failure>>()?;
    Ok(Health { version: schema::VERSION, bytes: super::write::unsigned(bytes), problems: Vec::new(), newest, dead })
}
