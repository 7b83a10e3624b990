//! How the database is: its own check of its files, whether it can be written to, and who left chains behind.

use rusqlite::{Connection, OptionalExtension};

use super::schema;
use crate::chain::ChainId;
use crate::journal::records::Health;

/// Of SQLite's own check; one is enough to know.
const PROBLEMS_MAX: u32 = 8;
/// Chains that are listed as left behind.
const DEAD_MAX: u32 = 100;

pub fn health(connection: &mut Connection, is_held: impl Fn(&ChainId) -> bool) -> rusqlite::Result<Health> {
    // Takes the right to write and gives it back.
    connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK")?;
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, u32>(0)).map(u64::from);
    Ok(Health {
        version: schema::version(connection)?,
        bytes: number("page_count")? * number("page_size")?,
        problems: problems(connection)?,
        newest: newest(connection)?,
        dead: dead(connection, is_held)?,
    })
}

fn problems(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(&format!("PRAGMA quick_check({PROBLEMS_MAX})"))?;
    let lines = statement.query_map([], |row| row.get(0))?;
    Ok(lines.collect::<rusqlite::Result<Vec<String>>>()?.into_iter().filter(|line| line != "ok").collect())
}

fn newest(connection: &Connection) -> rusqlite::Result<Option<jiff::Timestamp>> {
    let newest: Option<String> = connection.query_row("SELECT max(updated_at) FROM chain", [], |row| row.get(0)).optional()?.flatten();
    Ok(newest.and_then(|text| text.parse().ok()))
}

/// A holder in a row, and nobody who holds the lock.
fn dead(connection: &Connection, is_held: impl Fn(&ChainId) -> bool) -> rusqlite::Result<Vec<(ChainId, String)>> {
    let mut statement = connection.prepare(
        "SELECT id, holder FROM chain WHERE holder IS NOT NULL AND status NOT IN ('completed', 'rejected', 'failed', 'cancelled')
         ORDER BY id LIMIT ?1",
    )?;
    let rows = statement.query_map([DEAD_MAX], |row| Ok((ChainId(row.get(0)?), row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<Vec<_>>>()?.into_iter().filter(|(chain, _)| !is_held(chain)).collect())
}
