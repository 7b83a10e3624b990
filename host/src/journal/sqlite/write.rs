//! The statements of one append, one take and one release, inside a transaction that the writer opened.

use rusqlite::{Connection, OptionalExtension, params};

use super::tails::Tails;
use super::{keyvalue, outbox};
use crate::call::CallKey;
use crate::chain::{ChainId, Epoch, Seq};
use crate::journal::entry::{Entry, Position};
use crate::journal::projection::{PauseProjection, Projection};
use crate::journal::record::{Hash, NO_HASH, Record, time_text};
use crate::journal::{ChainRow, JournalError};

/// Refused by what the journal says now, or by SQLite.
pub enum Refused {
    Journal(JournalError),
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for Refused {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl Entry {
    pub fn write(&self, connection: &Connection, tails: &mut Tails) -> Result<Seq, Refused> {
        let (prev, hashes) = match self.advance_known(connection, tails)? {
            Some(advanced) => advanced,
            None => self.advance(connection, tails)?,
        };
        write_events(connection, &self.chain, &self.records, prev, &hashes)?;
        write_rows(connection, &self.rows)?;
        keyvalue::forget(connection, &self.chain, &self.ends_for)?;
        outbox::write(connection, &self.told, self.now)?;
        Ok(self.head())
    }

    /// Moves the chain's row on from where this process left it; `None` where it left it elsewhere, or others moved it.
    fn advance_known(&self, connection: &Connection, tails: &mut Tails) -> rusqlite::Result<Option<(Hash, Vec<Hash>)>> {
        let Some(tail) = tails.before(self) else { return Ok(None) };
        let hashes = self.hashes(&tail.at.hash);
        let to = Position { head: self.head(), hash: last(&hashes), epoch: tail.at.epoch };
        let same_status = tail.status == self.rows.chain.status;
        if !move_chain(connection, &self.rows.chain, same_status, &tail.at, &to)? {
            return Ok(None);
        }
        tail.status = self.rows.chain.status;
        let from = std::mem::replace(&mut tail.at, to);
        Ok(Some((from.hash, hashes)))
    }

    /// Looks at the row first, and writes all of it.
    fn advance(&self, connection: &Connection, tails: &mut Tails) -> Result<(Hash, Vec<Hash>), Refused> {
        let at = Position::read(connection, &self.chain)?;
        if let Some(refusal) = self.refusal(&at) {
            return Err(Refused::Journal(refusal));
        }
        let hashes = self.hashes(&at.hash);
        let to = Position { head: self.head(), hash: last(&hashes), epoch: at.epoch };
        write_chain(connection, &self.rows.chain, &to)?;
        tails.keep(&self.rows.chain, to);
        Ok((at.hash, hashes))
    }
}

fn last(hashes: &[Hash]) -> Hash {
    *hashes.last().expect("an append has events")
}

impl Position {
    pub fn read(connection: &Connection, chain: &ChainId) -> rusqlite::Result<Self> {
        let mut statement = connection.prepare_cached("SELECT head, head_hash, epoch FROM chain WHERE id = ?1")?;
        let found = statement.query_row([&chain.0], |row| Ok(Self { head: unsigned(row.get(0)?), hash: row.get(1)?, epoch: unsigned(row.get(2)?) }));
        Ok(found.optional()?.unwrap_or(Self::START))
    }
}

fn write_events(connection: &Connection, chain: &ChainId, records: &[Record], mut prev: Hash, hashes: &[Hash]) -> rusqlite::Result<()> {
    let mut statement = connection
        .prepare_cached("INSERT INTO event (chain, seq, at, kind, payload, epoch, prev_hash, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?;
    for (record, hash) in records.iter().zip(hashes) {
        let Record { seq, at, kind, payload, epoch } = record;
        statement.execute(params![chain.0, signed(*seq), at, kind, payload, signed(*epoch), prev, hash])?;
        prev = *hash;
    }
    Ok(())
}

/// The holder stays as it is: it is not the fold's to say.
pub fn write_chain(connection: &Connection, row: &ChainRow, at: &Position) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO chain (id, head, head_hash, epoch, status, detail, title, model, turns, calls, open_pauses,
                 started_by, started_at, updated_at, place)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
             ON CONFLICT (id) DO UPDATE SET head = ?2, head_hash = ?3, epoch = ?4, status = ?5, detail = ?6, title = ?7,
                 model = ?8, turns = ?9, calls = ?10, open_pauses = ?11, started_by = ?12, started_at = ?13, updated_at = ?14, place = ?15",
        )?
        .execute(params![
            row.id.0,
            signed(at.head),
            at.hash,
            signed(at.epoch),
            row.status.as_str(),
            row.detail,
            row.title,
            row.model,
            row.turns,
            row.calls,
            row.open_pauses,
            row.started_by.0,
            time_text(row.started_at),
            time_text(row.updated_at),
            row.place
        ])?;
    Ok(())
}

/// Only what changes from append to append, and only where the row still stands at `from`: what is indexed stays
/// untouched, so that its pages need not be written. The status is, as long as it stays the same.
fn move_chain(connection: &Connection, row: &ChainRow, same_status: bool, from: &Position, to: &Position) -> rusqlite::Result<bool> {
    let sql = match same_status {
        true => {
            "UPDATE chain SET head = ?1, head_hash = ?2, detail = ?4, turns = ?5, calls = ?6, open_pauses = ?7, updated_at = ?8
             WHERE id = ?9 AND head = ?10 AND head_hash = ?11 AND epoch = ?12 AND status = ?3"
        }
        false => {
            "UPDATE chain SET head = ?1, head_hash = ?2, status = ?3, detail = ?4, turns = ?5, calls = ?6, open_pauses = ?7,
                 updated_at = ?8
             WHERE id = ?9 AND head = ?10 AND head_hash = ?11 AND epoch = ?12"
        }
    };
    let moved = connection.prepare_cached(sql)?.execute(params![
        signed(to.head),
        to.hash,
        row.status.as_str(),
        row.detail,
        row.turns,
        row.calls,
        row.open_pauses,
        time_text(row.updated_at),
        row.id.0,
        signed(from.head),
        from.hash,
        signed(from.epoch)
    ])?;
    Ok(moved == 1)
}

pub fn write_rows(connection: &Connection, rows: &Projection) -> rusqlite::Result<()> {
    let chain = &rows.chain.id.0;
    let mut statement = connection.prepare_cached(
        "INSERT INTO call (chain, turn, ordinal, id, tool, status, attempts) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
         ON CONFLICT (chain, turn, ordinal) DO UPDATE SET id = ?4, tool = ?5, status = ?6, attempts = ?7",
    )?;
    for row in &rows.calls {
        let CallKey { turn, ordinal } = row.call;
        statement.execute(params![chain, turn, ordinal, row.id, row.tool, row.status.as_str(), row.attempts])?;
    }
    for PauseProjection { row, opened_at, open } in &rows.pauses {
        connection
            .prepare_cached(
                "INSERT INTO pause (id, chain, status, opened_at, open) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (id) DO UPDATE SET status = ?3, opened_at = ?4, open = ?5",
            )?
            .execute(params![row.id.0, chain, row.status.as_str(), time_text(*opened_at), open])?;
    }
    Ok(())
}

/// A new epoch for a new holder. A chain without events gets a row that no list shows until its first event.
pub fn take(connection: &Connection, chain: &ChainId, holder: &str) -> rusqlite::Result<Epoch> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO chain (id, head, head_hash, epoch, holder, status, detail, title, turns, calls, open_pauses,
             started_by, started_at, updated_at)
         VALUES (?1, 0, ?2, 1, ?3, 'runnable', '', '', 0, 0, 0, '', '', '')
         ON CONFLICT (id) DO UPDATE SET epoch = epoch + 1, holder = ?3
         RETURNING epoch",
    )?;
    statement.query_row(params![chain.0, NO_HASH, holder], |row| row.get(0).map(unsigned))
}

/// Only what is still ours: whoever took the chain since has another epoch.
pub fn release(connection: &Connection, chain: &ChainId, epoch: Epoch) -> rusqlite::Result<()> {
    let ours = params![chain.0, signed(epoch)];
    connection.prepare_cached("UPDATE chain SET holder = NULL WHERE id = ?1 AND epoch = ?2")?.execute(ours)?;
    connection.prepare_cached("DELETE FROM chain WHERE id = ?1 AND epoch = ?2 AND head = 0")?.execute(ours)?;
    Ok(())
}

/// SQLite's integers are signed. Positions and epochs count single events and takes: they stay far below 2^63.
pub fn signed(number: u64) -> i64 {
    i64::try_from(number).expect("a count of events fits")
}

pub fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}
