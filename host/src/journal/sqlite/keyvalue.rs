//! Values that plugins keep, in a table beside the journal. Every statement names plugin and chain; a value that all
//! chains of a plugin share has the empty chain, which is no chain's id.

use rusqlite::{Connection, OptionalExtension, params};

use super::write::{Refused, signed, unsigned};
use crate::capability::keyvalue::{Bucket, Change, KvError, Page, Quota, incremented};
use crate::chain::ChainId;
use crate::journal::JournalError;

/// A change made ready for the writer.
pub struct Changing {
    pub bucket: Bucket,
    pub change: Change,
    pub quota: Quota,
}

impl Changing {
    pub fn bytes(&self) -> usize {
        match &self.change {
            Change::Set(pairs) => pairs.iter().map(|(key, value)| key.len() + value.len()).sum(),
            Change::Delete(_) | Change::Increment { .. } => 0,
        }
    }

    pub fn write(&self, connection: &Connection) -> Result<u64, Refused> {
        let done = match &self.change {
            Change::Set(pairs) => {
                pairs.iter().try_for_each(|(key, value)| set(connection, &self.bucket, key, value))?;
                0
            }
            Change::Delete(keys) => {
                keys.iter().try_for_each(|key| delete(connection, &self.bucket, key))?;
                return Ok(0);
            }
            Change::Increment { key, by } => {
                let number = incremented(get(connection, &self.bucket, key)?.as_deref(), *by)?;
                set(connection, &self.bucket, key, number.to_string().as_bytes())?;
                number
            }
        };
        let (bytes, keys) = usage(connection, &self.bucket)?;
        self.quota.admit(bytes, keys)?;
        Ok(done)
    }
}

/// What these plugins kept for a chain that ended: nobody can ask for it any more. What a plugin's chains share stays.
pub fn forget(connection: &Connection, chain: &ChainId, plugins: &[String]) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached("DELETE FROM keyvalue WHERE plugin = ?1 AND chain = ?2")?;
    plugins.iter().try_for_each(|plugin| statement.execute(params![plugin, chain.0]).map(drop))
}

impl From<KvError> for Refused {
    fn from(error: KvError) -> Self {
        Self::Journal(JournalError::Values(error))
    }
}

pub fn get_all(connection: &Connection, bucket: &Bucket, keys: &[String]) -> rusqlite::Result<Vec<Option<Vec<u8>>>> {
    keys.iter().map(|key| get(connection, bucket, key)).collect()
}

fn get(connection: &Connection, bucket: &Bucket, key: &str) -> rusqlite::Result<Option<Vec<u8>>> {
    let mut statement = connection.prepare_cached("SELECT value FROM keyvalue WHERE plugin = ?1 AND chain = ?2 AND key = ?3")?;
    statement.query_row(params![bucket.plugin(), chain(bucket), key], |row| row.get(0)).optional()
}

/// Numbers count inside one bucket: a cursor tells a guest nothing of others.
pub fn list(connection: &Connection, bucket: &Bucket, after: Option<u64>, limit: usize) -> rusqlite::Result<Page> {
    let mut statement =
        connection.prepare_cached("SELECT number, key FROM keyvalue WHERE plugin = ?1 AND chain = ?2 AND number > ?3 ORDER BY number LIMIT ?4")?;
    let after = i64::try_from(after.unwrap_or(0)).unwrap_or(i64::MAX);
    // One more than fits tells whether there is another page.
    let limit_and_one = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let rows = statement.query_map(params![bucket.plugin(), chain(bucket), after, limit_and_one], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut rows: Vec<(i64, String)> = rows.collect::<rusqlite::Result<_>>()?;
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| more).map(|(number, _)| unsigned(*number));
    Ok(Page { keys: rows.into_iter().map(|(_, key)| key).collect(), next })
}

fn set(connection: &Connection, bucket: &Bucket, key: &str, value: &[u8]) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO keyvalue (plugin, chain, number, key, value, bytes)
         VALUES (?1, ?2, (SELECT COALESCE(MAX(number), 0) + 1 FROM keyvalue WHERE plugin = ?1 AND chain = ?2), ?3, ?4, ?5)
         ON CONFLICT (plugin, chain, key) DO UPDATE SET value = ?4, bytes = ?5",
    )?;
    let bytes = signed((key.len() + value.len()) as u64);
    statement.execute(params![bucket.plugin(), chain(bucket), key, value, bytes]).map(drop)
}

fn delete(connection: &Connection, bucket: &Bucket, key: &str) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached("DELETE FROM keyvalue WHERE plugin = ?1 AND chain = ?2 AND key = ?3")?;
    statement.execute(params![bucket.plugin(), chain(bucket), key]).map(drop)
}

fn usage(connection: &Connection, bucket: &Bucket) -> rusqlite::Result<(u64, u64)> {
    let mut statement = connection.prepare_cached("SELECT COALESCE(SUM(bytes), 0), COUNT(*) FROM keyvalue WHERE plugin = ?1 AND chain = ?2")?;
    statement.query_row(params![bucket.plugin(), chain(bucket)], |row| Ok((unsigned(row.get(0)?), unsigned(row.get(1)?))))
}

fn chain(bucket: &Bucket) -> &str {
    bucket.chain().map_or("", |chain| &chain.0)
}
