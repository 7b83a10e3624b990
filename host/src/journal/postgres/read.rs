//! Queries: lists, ids by their start, and the events of a chain.

use serde::de::DeserializeOwned;
use tokio_postgres::Row;

use super::address::Address;
use super::fault::{Failure, damaged};
use super::pool::Session;
use super::write::{signed, unsigned};
use crate::call::CallKey;
use crate::chain::{Actor, ChainId, ChainStatus, Seq};
use crate::clock::Clock;
use crate::event::Stamped;
use crate::journal::projection::{PauseProjection, Projection};
use crate::journal::record::{NO_HASH, Record, Stored};
use crate::journal::stored;
use crate::journal::{CallRow, Candidate, ChainRow, JournalError, PauseRow, PendingRow};
use crate::pause::PauseId;

const CHAINS: &str = "SELECT id, status, detail, title, model, turns, calls, open_pauses, started_by, started_at, updated_at, place,
                          CASE WHEN lease_until > clock_timestamp() THEN holder END
                      FROM chain WHERE head > 0 ORDER BY started_at DESC, id DESC LIMIT $1";
const CHAIN: &str = "SELECT id, status, detail, title, model, turns, calls, open_pauses, started_by, started_at, updated_at, place, NULL
                     FROM chain WHERE id = $1";
/// All of one moment: the row's head, and beside it what there is of events.
const EVENTS: &str = "SELECT row.head, e.seq, e.at, e.kind, e.payload, e.epoch, e.prev_hash, e.hash
                      FROM (SELECT COALESCE((SELECT head FROM chain WHERE id = $1), 0) AS head) row
                      LEFT JOIN event e ON e.chain = $1 AND e.seq > $2 ORDER BY e.seq";
const PENDING: &str = "SELECT pause.open, chain.id, chain.started_by, chain.status, chain.title,
                           chain.lease_until > clock_timestamp() AND chain.holder IS NOT NULL
                       FROM pause JOIN chain ON chain.id = pause.chain
                       WHERE pause.status = 'open' ORDER BY pause.opened_at, pause.id LIMIT $1";

/// Events of a chain after `after`, oldest first, of one moment, each checked to be what was written there.
pub async fn events(session: &mut Session, chain: &ChainId, after: Seq) -> Result<Vec<Stamped>, Failure> {
    // The event before them says which hash the first builds on.
    let (head, mut found) = rows(session, chain, after.saturating_sub(1)).await?;
    let before = (after > 0 && found.first().is_some_and(|first| first.record.seq == after)).then(|| found.remove(0));
    let hash = before.map_or(NO_HASH.to_vec(), |before| before.hash);
    Ok(stored::read_on(chain, after, &hash, head, &found)?)
}

/// All records of a chain, oldest first.
pub async fn records(session: &mut Session, chain: &ChainId) -> Result<Vec<Stored>, Failure> {
    rows(session, chain, 0).await.map(|(_, stored)| stored)
}

async fn rows(session: &mut Session, chain: &ChainId, after: Seq) -> Result<(Seq, Vec<Stored>), Failure> {
    let rows = session.rows(EVENTS, &[&chain.0, &signed(after)]).await?;
    let head = rows.first().map_or(Ok(0), |row| row.try_get(0).map(unsigned))?;
    let mut found = Vec::with_capacity(rows.len());
    for row in rows {
        let Some(seq) = row.try_get::<_, Option<i64>>(1)? else { continue };
        let record =
            Record { seq: unsigned(seq), at: row.try_get(2)?, kind: row.try_get(3)?, payload: row.try_get(4)?, epoch: unsigned(row.try_get(5)?) };
        found.push(Stored { record, prev_hash: row.try_get(6)?, hash: row.try_get(7)? });
    }
    Ok((head, found))
}

pub async fn head(session: &mut Session, chain: &ChainId) -> Result<Seq, Failure> {
    let rows = session.rows("SELECT head FROM chain WHERE id = $1", &[&chain.0]).await?;
    Ok(rows.first().map_or(Ok(0), |row| row.try_get(0).map(unsigned))?)
}

/// Of the server's clock, seen from the middle of the question.
pub async fn clock_ahead(session: &mut Session, clock: &Clock) -> Result<Option<jiff::SignedDuration>, Failure> {
    let before = clock.machine();
    let rows = session.rows("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint", &[]).await?;
    let after = clock.machine();
    let middle = before + after.duration_since(before) / 2;
    let theirs = rows.first().map(|row| row.try_get::<_, i64>(0)).transpose()?;
    Ok(theirs.map(|theirs| jiff::SignedDuration::from_millis(theirs - middle.as_millisecond())))
}

/// Newest first.
pub async fn chains(session: &mut Session, address: &Address, limit: u32) -> Result<Vec<ChainRow>, Failure> {
    let rows = session.rows(CHAINS, &[&i64::from(limit)]).await?;
    let row = |row: &Row| {
        let mut chain = chain_row(row, address)?;
        chain.held_by = row.try_get::<_, Option<String>>(12)?.filter(|_| !chain.status.is_terminal());
        if chain.held_by.is_some() {
            chain.status = ChainStatus::Running;
        }
        Ok(chain)
    };
    rows.iter().map(row).collect()
}

pub async fn newest_chain(session: &mut Session) -> Result<Option<ChainId>, Failure> {
    let rows = session.rows("SELECT id FROM chain WHERE head > 0 ORDER BY started_at DESC, id DESC LIMIT 1", &[]).await?;
    Ok(rows.first().map(|row| row.try_get(0).map(ChainId)).transpose()?)
}

/// Paused or blocked, by id.
pub async fn waiting(session: &mut Session, after: &str, places: &[String], limit: u32) -> Result<Vec<ChainId>, Failure> {
    let sql = "SELECT id FROM chain WHERE status IN ('paused', 'blocked') AND id > $1 AND (place IS NULL OR place = ANY ($2::text[]))
               ORDER BY id LIMIT $3";
    let rows = session.rows(sql, &[&after, &places, &i64::from(limit)]).await?;
    rows.iter().map(|row| Ok(ChainId(row.try_get(0)?))).collect()
}

/// Oldest first. A pause that this program cannot read is left out here; reading its chain tells why.
pub async fn pending(session: &mut Session, address: &Address, limit: u32) -> Result<Vec<PendingRow>, Failure> {
    let mut found = Vec::new();
    for row in session.rows(PENDING, &[&i64::from(limit)]).await? {
        let Ok(pause) = serde_json::from_str(row.try_get::<_, Option<&str>>(0)?.unwrap_or_default()) else { continue };
        let status: ChainStatus = word(&row, 3, address)?;
        let held: Option<bool> = row.try_get(5)?;
        let chain_status = if held == Some(true) && !status.is_terminal() { ChainStatus::Running } else { status };
        let (chain, started_by) = (ChainId(row.try_get(1)?), Actor(row.try_get(2)?));
        found.push(PendingRow { pause, chain, started_by, chain_status, title: row.try_get(4)? });
    }
    Ok(found)
}

/// The one id that starts with `prefix`; a whole id wins over longer ones that start with it.
pub async fn find_chain(session: &mut Session, prefix: &str) -> Result<ChainId, Failure> {
    let sql = "SELECT min(id), count(*), NULL::text FROM chain WHERE head > 0 AND id >= $1 AND id < $2";
    find(session, "chain", "ch_", sql, prefix).await.map(|(id, _)| ChainId(id))
}

pub async fn find_pause(session: &mut Session, prefix: &str) -> Result<(ChainId, PauseId), Failure> {
    let sql = "SELECT min(id), count(*), (array_agg(chain ORDER BY id))[1] FROM (SELECT id, chain FROM pause WHERE id >= $1 AND id < $2) found";
    let (id, chain) = find(session, "pause", "pa_", sql, prefix).await?;
    Ok((ChainId(chain.unwrap_or_default()), PauseId(id)))
}

async fn find(session: &mut Session, what: &'static str, mark: &str, sql: &'static str, prefix: &str) -> Result<(String, Option<String>), Failure> {
    let unknown = || JournalError::Unknown { what, prefix: prefix.to_owned() };
    if !prefix.starts_with(mark) || prefix.contains('\0') {
        return Err(unknown().into());
    }
    // The last code point there is: every id that goes on after the prefix stands before it.
    let end = format!("{prefix}\u{10FFFF}");
    let rows = session.rows(sql, &[&prefix, &end]).await?;
    let row = rows.first().ok_or_else(unknown)?;
    let (first, count): (Option<String>, i64) = (row.try_get(0)?, row.try_get(1)?);
    match first {
        None => Err(unknown().into()),
        Some(id) if count == 1 || id == prefix => Ok((id, row.try_get(2)?)),
        Some(_) => {
            let candidates = candidates(session, what, prefix, &end).await?;
            Err(JournalError::Ambiguous { what, prefix: prefix.to_owned(), count: unsigned(count) as usize, candidates }.into())
        }
    }
}

async fn candidates(session: &mut Session, what: &str, prefix: &str, end: &str) -> Result<Vec<Candidate>, Failure> {
    let sql = match what {
        "chain" => "SELECT id, status, title FROM chain WHERE head > 0 AND id >= $1 AND id < $2 ORDER BY id DESC LIMIT $3",
        // Those that wait first: of others there is nothing to decide.
        _ => {
            "SELECT pause.id, pause.status, chain.id || ' ' || chain.title FROM pause JOIN chain ON chain.id = pause.chain
             WHERE pause.id >= $1 AND pause.id < $2 ORDER BY (pause.status = 'open') DESC, pause.id DESC LIMIT $3"
        }
    };
    let rows = session.rows(sql, &[&prefix, &end, &i64::from(Candidate::MAX)]).await?;
    rows.iter().map(|row| Ok(Candidate::of(row.try_get(0)?, row.try_get(1)?, row.try_get(2)?))).collect()
}

/// What the tables say about one chain; `None` where they have no row for it.
pub async fn projection(session: &mut Session, address: &Address, chain: &ChainId) -> Result<Option<Projection>, Failure> {
    let Some(row) = session.rows(CHAIN, &[&chain.0]).await?.pop() else { return Ok(None) };
    let sql = "SELECT turn, ordinal, id, tool, status, attempts FROM call WHERE chain = $1 ORDER BY turn, ordinal";
    let mut calls = Vec::new();
    for row in session.rows(sql, &[&chain.0]).await? {
        let call = CallKey { turn: small(&row, 0)?, ordinal: small(&row, 1)? };
        calls.push(CallRow { call, id: row.try_get(2)?, tool: row.try_get(3)?, status: word(&row, 4, address)?, attempts: small(&row, 5)? });
    }
    let mut pauses = Vec::new();
    for row in session.rows("SELECT id, status, opened_at, open FROM pause WHERE chain = $1 ORDER BY id", &[&chain.0]).await? {
        let pause = PauseRow { id: PauseId(row.try_get(0)?), status: word(&row, 1, address)? };
        pauses.push(PauseProjection { row: pause, opened_at: time(&row, 2, address)?, open: row.try_get(3)? });
    }
    Ok(Some(Projection { chain: chain_row(&row, address)?, calls, pauses }))
}

fn chain_row(row: &Row, address: &Address) -> Result<ChainRow, Failure> {
    Ok(ChainRow {
        id: ChainId(row.try_get(0)?),
        status: word(row, 1, address)?,
        detail: row.try_get(2)?,
        title: row.try_get(3)?,
        model: row.try_get(4)?,
        turns: small(row, 5)?,
        calls: small(row, 6)?,
        open_pauses: small(row, 7)?,
        started_by: Actor(row.try_get(8)?),
        started_at: time(row, 9, address)?,
        updated_at: time(row, 10, address)?,
        place: row.try_get(11)?,
        held_by: None,
    })
}

fn small(row: &Row, column: usize) -> Result<u32, Failure> {
    Ok(u32::try_from(row.try_get::<_, i64>(column)?).unwrap_or(u32::MAX))
}

/// One of the words that an enum is stored as.
fn word<T: DeserializeOwned>(row: &Row, column: usize, address: &Address) -> Result<T, Failure> {
    let text: String = row.try_get(column)?;
    serde_json::from_value(text.into()).map_err(|error| damaged(address, error))
}

fn time(row: &Row, column: usize, address: &Address) -> Result<jiff::Timestamp, Failure> {
    row.try_get::<_, &str>(column)?.parse().map_err(|error| damaged(address, error))
}
