//! Pages of heads and records for an audit: nothing is checked, and what is no text is given back as far as it is.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::write::{signed, unsigned};
use crate::chain::{ChainId, Seq};
use crate::journal::record::{Hash, Record, Stored};
use crate::journal::records::{HEADS_MAX, Head, PAGE_BYTES_MAX, RECORDS_MAX};

/// A chain whose row was taken away still has its events, and is found by them.
const NEXT: &str = "SELECT min(id) FROM (SELECT min(id) AS id FROM chain WHERE id > ?1 AND head > 0
    UNION ALL SELECT min(chain) FROM event WHERE chain > ?1)";

pub fn heads(connection: &Connection, after: Option<&ChainId>) -> rusqlite::Result<Vec<Head>> {
    let moment = connection.unchecked_transaction()?;
    let mut next = moment.prepare_cached(NEXT)?;
    let mut heads: Vec<Head> = Vec::new();
    let mut last = after.map(|chain| chain.0.clone()).unwrap_or_default();
    while heads.len() < HEADS_MAX {
        let Some(chain) = next.query_row([&last], |row| row.get::<_, Option<String>>(0))? else { break };
        heads.extend(head(&moment, &chain)?);
        last = chain;
    }
    Ok(heads)
}

pub fn head(connection: &Connection, chain: &str) -> rusqlite::Result<Option<Head>> {
    let read = |row: &Row<'_>| Ok(Head { chain: ChainId(chain.to_owned()), seq: unsigned(row.get(0)?), hash: hash(row.get(1)?) });
    let named = connection.prepare_cached("SELECT head, head_hash FROM chain WHERE id = ?1 AND head > 0")?.query_row([chain], read).optional()?;
    if named.is_some() {
        return Ok(named);
    }
    connection.prepare_cached("SELECT seq, hash FROM event WHERE chain = ?1 ORDER BY seq DESC LIMIT 1")?.query_row([chain], read).optional()
}

/// What is no hash is none that fits.
fn hash(bytes: Vec<u8>) -> Hash {
    bytes.try_into().unwrap_or_default()
}

/// Read off the first events: no row says it.
pub fn continued(connection: &Connection) -> rusqlite::Result<Vec<(ChainId, ChainId)>> {
    let sql = format!("SELECT chain.id, {PARENT} FROM chain JOIN event ON event.chain = chain.id AND event.seq = 1 WHERE {PARENT} IS NOT NULL");
    let mut statement = connection.prepare(&sql)?;
    let pairs = statement.query_map([], |row| Ok((ChainId(row.get(0)?), ChainId(row.get(1)?))))?;
    pairs.collect()
}

/// Of a first event, the chain that it carries on; a payload that is no JSON names none.
const PARENT: &str = "CASE WHEN json_valid(event.payload) THEN json_extract(event.payload, '$.continues') END";

pub fn records(connection: &Connection, chain: &ChainId, after: Seq) -> rusqlite::Result<Vec<Stored>> {
    let sql = "SELECT seq, at, kind, payload, epoch, prev_hash, hash FROM event WHERE chain = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![chain.0, signed(after), RECORDS_MAX as i64])?;
    let (mut page, mut bytes) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let stored = stored(row)?;
        bytes += stored.record.payload.len();
        page.push(stored);
        if bytes >= PAGE_BYTES_MAX {
            break;
        }
    }
    Ok(page)
}

fn stored(row: &Row<'_>) -> rusqlite::Result<Stored> {
    let record = Record { seq: unsigned(row.get(0)?), at: text(row, 1)?, kind: text(row, 2)?, payload: text(row, 3)?, epoch: unsigned(row.get(4)?) };
    Ok(Stored { record, prev_hash: row.get(5)?, hash: row.get(6)? })
}

/// Bytes that are no UTF-8 were never written by us: what they are read as does not have the hash.
fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    Ok(String::from_utf8_lossy(row.get_ref(column)?.as_bytes()?).into_owned())
}
