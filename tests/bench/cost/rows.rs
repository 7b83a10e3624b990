//! The rows of a chain's journal, and a bare program that writes them in as many transactions.

use std::path::Path;

use pausegate::call::CallKey;
use pausegate::chain::ChainId;
use pausegate::clock::Clock;
use pausegate::event::Stamped;
use pausegate::journal::record::{Hash, NO_HASH, Record, time_text};
use pausegate::journal::{CallRow, ChainRow, SqliteJournal};
use pausegate::state::ChainState;
use rusqlite::{Connection, params};

use crate::measure::{Spent, spent};

/// All rows of one append, as they stand in the tables.
pub struct Transaction {
    events: Vec<Row>,
    pub chain: ChainRow,
    started_at: String,
    updated_at: String,
    calls: Vec<CallRow>,
    is_promise: bool,
}

struct Row {
    record: Record,
    prev: Hash,
    hash: Hash,
}

/// Events of one append share their moment, to the nanosecond.
pub fn of(chain: &ChainId, events: &[Stamped]) -> Vec<Transaction> {
    let (mut state, mut hash) = (ChainState::new(chain.clone()), NO_HASH);
    events.chunk_by(|a, b| a.at == b.at).map(|append| transaction(&mut state, &mut hash, append)).collect()
}

fn transaction(state: &mut ChainState, hash: &mut Hash, append: &[Stamped]) -> Transaction {
    let mut events = Vec::new();
    for event in append {
        state.apply(event);
        let record = Record::of(event);
        let prev = std::mem::replace(hash, record.hash(&state.id, hash));
        events.push(Row { record, prev, hash: *hash });
    }
    let mut keys: Vec<CallKey> = append.iter().flat_map(|stamped| stamped.event.calls()).collect();
    keys.sort_unstable();
    keys.dedup();
    Transaction {
        events,
        chain: ChainRow::of(state),
        started_at: time_text(state.started_at),
        updated_at: time_text(state.updated_at),
        calls: keys.iter().map(|key| CallRow::of(&state.calls[key])).collect(),
        is_promise: append.iter().any(|stamped| stamped.event.is_promise()),
    }
}

impl Transaction {
    pub fn payload_bytes(&self) -> u64 {
        self.events.iter().map(|row| row.record.payload.len() as u64).sum()
    }

    pub fn leads_to(&self, state: &ChainState) -> bool {
        self.chain == ChainRow::of(state)
    }
}

/// Writes them into a fresh database with the journal's tables, as durably as the journal does.
pub fn write(folder: &Path, transactions: &[Transaction]) -> anyhow::Result<Spent> {
    let path = folder.join("rows.db");
    drop(SqliteJournal::open(&path, Clock::system())?);
    let connection = Connection::open(&path)?;
    connection.set_prepared_statement_cache_capacity(32);
    let (spent, written) = spent(|| transactions.iter().try_fold("", |level, transaction| transaction.write(&connection, level)));
    written?;
    Ok(spent)
}

impl Transaction {
    /// Returns the durability that is set now; `set` is the one before.
    fn write(&self, connection: &Connection, set: &'static str) -> rusqlite::Result<&'static str> {
        let level = if self.is_promise { "FULL" } else { "NORMAL" };
        if level != set {
            connection.pragma_update(None, "synchronous", level)?;
        }
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        self.events.iter().try_for_each(|row| self.write_event(connection, row))?;
        self.write_chain(connection)?;
        self.calls.iter().try_for_each(|row| self.write_call(connection, row))?;
        connection.prepare_cached("COMMIT")?.execute([])?;
        Ok(level)
    }

    fn write_event(&self, connection: &Connection, row: &Row) -> rusqlite::Result<()> {
        let sql = "INSERT INTO event (chain, seq, at, kind, payload, epoch, prev_hash, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        let Record { seq, at, kind, payload, epoch } = &row.record;
        let values = params![self.chain.id.0, seq.cast_signed(), at, kind, payload, epoch.cast_signed(), row.prev, row.hash];
        connection.prepare_cached(sql)?.execute(values).map(drop)
    }

    fn write_chain(&self, connection: &Connection) -> rusqlite::Result<()> {
        let sql = "INSERT INTO chain (id, head, head_hash, epoch, status, detail, title, model, turns, calls, open_pauses, \
                   started_by, started_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) \
                   ON CONFLICT (id) DO UPDATE SET head = ?2, head_hash = ?3, epoch = ?4, status = ?5, detail = ?6, title = ?7, \
                   model = ?8, turns = ?9, calls = ?10, open_pauses = ?11, started_by = ?12, started_at = ?13, updated_at = ?14";
        let (row, last) = (&self.chain, self.events.last().expect("an append has events"));
        let values = params![
            row.id.0,
            last.record.seq.cast_signed(),
            last.hash,
            last.record.epoch.cast_signed(),
            row.status.as_str(),
            row.detail,
            row.title,
            row.model,
            row.turns,
            row.calls,
            row.open_pauses,
            row.started_by.0,
            self.started_at,
            self.updated_at
        ];
        connection.prepare_cached(sql)?.execute(values).map(drop)
    }

    fn write_call(&self, connection: &Connection, row: &CallRow) -> rusqlite::Result<()> {
        let sql = "INSERT INTO call (chain, turn, ordinal, id, tool, status, attempts) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
                   ON CONFLICT (chain, turn, ordinal) DO UPDATE SET id = ?4, tool = ?5, status = ?6, attempts = ?7";
        let CallKey { turn, ordinal } = row.call;
        let values = params![self.chain.id.0, turn, ordinal, row.id, row.tool, row.status.as_str(), row.attempts];
        connection.prepare_cached(sql)?.execute(values).map(drop)
    }
}
