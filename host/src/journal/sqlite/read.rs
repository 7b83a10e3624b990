//! Queries, each on a connection that only reads: lists, ids by their start, and the events of a chain.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as WordError, StrDeserializer};

use super::write::{signed, unsigned};
use crate::call::CallKey;
use crate::chain::{Actor, ChainId, ChainStatus, Seq};
use crate::event::Stamped;
use crate::journal::entry::Position;
use crate::journal::projection::{PauseProjection, Projection};
use crate::journal::record::{NO_HASH, Record, Stored};
use crate::journal::stored;
use crate::journal::{CallRow, Candidate, ChainRow, JournalError, PauseRow, PendingRow, Wanted};
use crate::pause::PauseId;

/// Chains tried for one claim: others may be quicker with some of them.
const CLAIMS_MAX: usize = 16;
const CHAIN_COLUMNS: &str = "id, status, detail, title, model, turns, calls, open_pauses, started_by, started_at, updated_at, place, holder";

/// Events of a chain after `after`, oldest first, of one moment, each checked to be what was written there.
pub fn events(connection: &Connection, chain: &ChainId, after: Seq) -> rusqlite::Result<Result<Vec<Stamped>, JournalError>> {
    let moment = connection.unchecked_transaction()?;
    // The event before them says which hash the first builds on.
    let mut stored = rows(&moment, chain, after.saturating_sub(1))?;
    let head = head(&moment, chain)?;
    let before = (after > 0 && stored.first().is_some_and(|first| first.record.seq == after)).then(|| stored.remove(0));
    let hash = before.map_or(NO_HASH.to_vec(), |before| before.hash);
    Ok(stored::read_on(chain, after, &hash, head, &stored))
}

/// All records of a chain, oldest first.
pub fn records(connection: &Connection, chain: &ChainId) -> rusqlite::Result<Vec<Stored>> {
    rows(connection, chain, 0)
}

fn rows(connection: &Connection, chain: &ChainId, after: Seq) -> rusqlite::Result<Vec<Stored>> {
    let sql = "SELECT seq, at, kind, payload, epoch, prev_hash, hash FROM event WHERE chain = ?1 AND seq > ?2 ORDER BY seq";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(params![chain.0, signed(after)], |row| {
        let record = Record { seq: unsigned(row.get(0)?), at: row.get(1)?, kind: row.get(2)?, payload: row.get(3)?, epoch: unsigned(row.get(4)?) };
        Ok(Stored { record, prev_hash: row.get(5)?, hash: row.get(6)? })
    })?;
    rows.collect()
}

pub fn head(connection: &Connection, chain: &ChainId) -> rusqlite::Result<Seq> {
    Position::read(connection, chain).map(|at| at.head)
}

/// Who the row says holds a chain; true only as long as the lock is held.
pub fn holder(connection: &Connection, chain: &ChainId) -> rusqlite::Result<Option<String>> {
    let mut statement = connection.prepare_cached("SELECT holder FROM chain WHERE id = ?1")?;
    statement.query_row([&chain.0], |row| row.get(0)).optional().map(Option::flatten)
}

/// Newest first. `is_held` looks at the lock, and only where the row names a holder.
pub fn chains(connection: &Connection, limit: u32, is_held: impl Fn(&ChainId) -> bool) -> rusqlite::Result<Vec<ChainRow>> {
    let mut statement =
        connection.prepare_cached(&format!("SELECT {CHAIN_COLUMNS} FROM chain WHERE head > 0 ORDER BY started_at DESC, id DESC LIMIT ?1"))?;
    let rows = statement.query_map([limit], |row| {
        let mut chain = chain_row(row)?;
        let holder: Option<String> = row.get(12)?;
        chain.held_by = holder.filter(|_| !chain.status.is_terminal() && is_held(&chain.id));
        if chain.held_by.is_some() {
            chain.status = ChainStatus::Running;
        }
        Ok(chain)
    })?;
    rows.collect()
}

/// The oldest chains that can go on, that nobody holds and that may be run in `wanted`.
pub fn runnable(connection: &Connection, wanted: &Wanted, is_held: impl Fn(&ChainId) -> bool) -> rusqlite::Result<Vec<ChainId>> {
    let mut statement = connection.prepare_cached(
        "SELECT id, place, holder IS NOT NULL FROM chain INDEXED BY chain_runnable WHERE status = 'runnable' AND head > 0 ORDER BY id",
    )?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while found.len() < CLAIMS_MAX
        && let Some(row) = rows.next()?
    {
        let (chain, place, held) = (ChainId(row.get(0)?), row.get::<_, Option<String>>(1)?, row.get::<_, bool>(2)?);
        let may_run = place.is_none_or(|place| wanted.places.contains(&place)) && !wanted.but.contains(&chain);
        if may_run && !(held && is_held(&chain)) {
            found.push(chain);
        }
    }
    Ok(found)
}

/// Paused or blocked, by id.
pub fn waiting(connection: &Connection, after: &str, places: &[String], limit: u32) -> rusqlite::Result<Vec<ChainId>> {
    let sql = "SELECT id, place FROM chain WHERE status IN ('paused', 'blocked') AND id > ?1 ORDER BY id";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([after])?;
    let mut found = Vec::new();
    while found.len() < limit as usize
        && let Some(row) = rows.next()?
    {
        if row.get::<_, Option<String>>(1)?.is_none_or(|place| places.contains(&place)) {
            found.push(ChainId(row.get(0)?));
        }
    }
    Ok(found)
}

pub fn is_runnable(connection: &Connection, chain: &ChainId) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM chain WHERE id = ?1 AND status = 'runnable' AND head > 0";
    connection.prepare_cached(sql)?.exists([&chain.0])
}

pub fn newest_chain(connection: &Connection) -> rusqlite::Result<Option<ChainId>> {
    let sql = "SELECT id FROM chain WHERE head > 0 ORDER BY started_at DESC, id DESC LIMIT 1";
    connection.query_row(sql, [], |row| row.get(0).map(ChainId)).optional()
}

/// Oldest first. A pause that this program cannot read is left out here; reading its chain tells why.
pub fn pending(connection: &Connection, limit: u32, is_held: impl Fn(&ChainId) -> bool) -> rusqlite::Result<Vec<PendingRow>> {
    let mut statement = connection.prepare_cached(
        "SELECT pause.open, chain.id, chain.started_by, chain.status, chain.title, chain.holder
         FROM pause JOIN chain ON chain.id = pause.chain
         WHERE pause.status = 'open' ORDER BY pause.opened_at, pause.id LIMIT ?1",
    )?;
    let mut looked = HashMap::new();
    let mut rows = statement.query([limit])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let Ok(pause) = serde_json::from_str(row.get_ref(0)?.as_str().unwrap_or_default()) else { continue };
        let chain = ChainId(row.get(1)?);
        let mut chain_status: ChainStatus = word(row, 3)?;
        let holder: Option<String> = row.get(5)?;
        if holder.is_some() && !chain_status.is_terminal() && *looked.entry(chain.clone()).or_insert_with(|| is_held(&chain)) {
            chain_status = ChainStatus::Running;
        }
        found.push(PendingRow { pause, chain, started_by: Actor(row.get(2)?), chain_status, title: row.get(4)? });
    }
    Ok(found)
}

/// The one id that starts with `prefix`; a whole id wins over longer ones that start with it.
pub fn find_chain(connection: &Connection, prefix: &str) -> rusqlite::Result<Result<ChainId, JournalError>> {
    let found = find(connection, "chain", "chain WHERE head > 0 AND", prefix, "ch_")?;
    Ok(found.map(ChainId))
}

pub fn find_pause(connection: &Connection, prefix: &str) -> rusqlite::Result<Result<(ChainId, PauseId), JournalError>> {
    match find(connection, "pause", "pause WHERE", prefix, "pa_")? {
        Ok(id) => {
            let mut statement = connection.prepare_cached("SELECT chain FROM pause WHERE id = ?1")?;
            let chain = statement.query_row([&id], |row| row.get(0))?;
            Ok(Ok((ChainId(chain), PauseId(id))))
        }
        Err(error) => Ok(Err(error)),
    }
}

fn find(connection: &Connection, what: &'static str, from: &str, prefix: &str, mark: &str) -> rusqlite::Result<Result<String, JournalError>> {
    let unknown = || JournalError::Unknown { what, prefix: prefix.to_owned() };
    if !prefix.starts_with(mark) {
        return Ok(Err(unknown()));
    }
    // The last code point there is: every id that goes on after the prefix stands before it.
    let end = format!("{prefix}\u{10FFFF}");
    let sql = format!("SELECT min(id), count(*) FROM {from} id >= ?1 AND id < ?2");
    let (first, count): (Option<String>, i64) = connection.prepare_cached(&sql)?.query_row([prefix, &end], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(match first {
        None => Err(unknown()),
        Some(id) if count == 1 || id == prefix => Ok(id),
        Some(_) => {
            let candidates = candidates(connection, what, prefix, &end)?;
            Err(JournalError::Ambiguous { what, prefix: prefix.to_owned(), count: unsigned(count) as usize, candidates })
        }
    })
}

fn candidates(connection: &Connection, what: &str, prefix: &str, end: &str) -> rusqlite::Result<Vec<Candidate>> {
    let sql = match what {
        "chain" => "SELECT id, status, title FROM chain WHERE head > 0 AND id >= ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3",
        // Those that wait first: of others there is nothing to decide.
        _ => {
            "SELECT pause.id, pause.status, chain.id || ' ' || chain.title FROM pause JOIN chain ON chain.id = pause.chain
              WHERE pause.id >= ?1 AND pause.id < ?2 ORDER BY pause.status = 'open' DESC, pause.id DESC LIMIT ?3"
        }
    };
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement
        .query_map((prefix, end, Candidate::MAX), |row| Ok(Candidate::of(row.get(0)?, &row.get::<_, String>(1)?, &row.get::<_, String>(2)?)))?;
    rows.collect()
}

/// What the tables say about one chain; `None` where they have no row for it.
pub fn projection(connection: &Connection, chain: &ChainId) -> rusqlite::Result<Option<Projection>> {
    let sql = format!("SELECT {CHAIN_COLUMNS} FROM chain WHERE id = ?1");
    let Some(row) = connection.query_row(&sql, [&chain.0], chain_row).optional()? else { return Ok(None) };
    let mut calls = connection.prepare("SELECT turn, ordinal, id, tool, status, attempts FROM call WHERE chain = ?1 ORDER BY turn, ordinal")?;
    let calls = calls.query_map([&chain.0], |row| {
        let call = CallKey { turn: row.get(0)?, ordinal: row.get(1)? };
        Ok(CallRow { call, id: row.get(2)?, tool: row.get(3)?, status: word(row, 4)?, attempts: row.get(5)? })
    })?;
    let mut pauses = connection.prepare("SELECT id, status, opened_at, open FROM pause WHERE chain = ?1 ORDER BY id")?;
    let pauses = pauses.query_map([&chain.0], |row| {
        let pause = PauseRow { id: PauseId(row.get(0)?), status: word(row, 1)? };
        Ok(PauseProjection { row: pause, opened_at: time(row, 2)?, open: row.get(3)? })
    })?;
    Ok(Some(Projection { chain: row, calls: calls.collect::<Result<_, _>>()?, pauses: pauses.collect::<Result<_, _>>()? }))
}

fn chain_row(row: &Row<'_>) -> rusqlite::Result<ChainRow> {
    Ok(ChainRow {
        id: ChainId(row.get(0)?),
        status: word(row, 1)?,
        detail: row.get(2)?,
        title: row.get(3)?,
        model: row.get(4)?,
        turns: row.get(5)?,
        calls: row.get(6)?,
        open_pauses: row.get(7)?,
        started_by: Actor(row.get(8)?),
        started_at: time(row, 9)?,
        updated_at: time(row, 10)?,
        place: row.get(11)?,
        held_by: None,
    })
}

/// One of the words that an enum is stored as.
fn word<'de, T: Deserialize<'de>>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    let reader: StrDeserializer<'_, WordError> = text.as_str().into_deserializer();
    T::deserialize(reader).map_err(|error| damaged(column, error))
}

fn time(row: &Row<'_>, column: usize) -> rusqlite::Result<jiff::Timestamp> {
    row.get_ref(column)?.as_str()?.parse().map_err(|error| damaged(column, error))
}

fn damaged(column: usize, error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
}
