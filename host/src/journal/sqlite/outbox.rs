//! Notices in the file. Times are milliseconds since 1970 by the clock of this machine, which all its processes share.

use jiff::Timestamp;
use rusqlite::{Connection, Row, params, params_from_iter};

use crate::journal::outbox::{CLAIMED_MAX, Claimed, PARKED_LASTS, PARKED_MAX, Queued, Settled, Told, Which};
use crate::notice::REMINDERS_MAX;

/// Due notices looked at in one claim for those whose pause is over.
const TIDIED_MAX: usize = 64;

/// For the writer, so that those who deliver do not make those who decide wait for the file.
pub enum Noticing {
    Claim { channels: Vec<String>, now: Timestamp, hold: std::time::Duration },
    Settle { claimed: Claimed, settled: Settled, now: Timestamp },
}

impl Noticing {
    /// What was claimed.
    pub fn write(&self, connection: &Connection) -> rusqlite::Result<Vec<Claimed>> {
        match self {
            Self::Claim { channels, now, hold } => claim(connection, channels, *now, *hold),
            Self::Settle { claimed, settled, now } => settle(connection, claimed, settled, *now).map(|()| Vec::new()),
        }
    }
}

/// In the transaction of the events that they tell of.
pub fn write(connection: &Connection, told: &[Told], now: Timestamp) -> rusqlite::Result<()> {
    for Told { notice, body } in told {
        connection
            .prepare_cached(
                "INSERT INTO outbox (id, channel, what, chain, while_open, every, number, body, due, tries, parked)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1, ?7, ?8, 0, 0) ON CONFLICT (id) DO NOTHING",
            )?
            .execute(params![
                notice.id,
                notice.channel,
                notice.facts.what.as_str(),
                notice.facts.chain.0,
                notice.while_open.as_ref().map(|pause| &pause.0),
                notice.every_seconds.map(seconds),
                body,
                now.as_millisecond().saturating_add(seconds(notice.after_seconds).saturating_mul(1000)),
            ])?;
    }
    Ok(())
}

/// A look without the right to write, since most looks find nothing.
pub fn is_due(connection: &Connection, now: Timestamp) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM outbox WHERE parked = 0 AND due <= ?1)";
    connection.prepare_cached(sql)?.query_row([now.as_millisecond()], |row| row.get(0))
}

/// A receiver that is down lets many come due: what is looked at is bounded by what is claimed.
fn claim(connection: &Connection, channels: &[String], now: Timestamp, hold: std::time::Duration) -> rusqlite::Result<Vec<Claimed>> {
    let now = now.as_millisecond();
    let is_over = "while_open IS NOT NULL
         AND NOT EXISTS (SELECT 1 FROM pause WHERE pause.id = outbox.while_open AND pause.status = 'open')";
    let tidy = format!(
        "DELETE FROM outbox WHERE {is_over}
             AND id IN (SELECT id FROM outbox WHERE parked = 0 AND due <= ?1 ORDER BY due, id LIMIT {TIDIED_MAX})"
    );
    connection.prepare_cached(&tidy)?.execute([now])?;
    let marks = vec!["?"; channels.len()].join(", ");
    let sql = format!(
        "UPDATE outbox SET tries = tries + 1, due = ? WHERE id IN
             (SELECT id FROM outbox WHERE parked = 0 AND due <= ? AND channel IN ({marks}) AND NOT ({is_over})
              ORDER BY due, id LIMIT {CLAIMED_MAX})
         RETURNING id, channel, body, tries, number"
    );
    let until = now.saturating_add(millis(hold));
    let numbers = [until, now].map(rusqlite::types::Value::Integer);
    let parameters = numbers.into_iter().chain(channels.iter().cloned().map(rusqlite::types::Value::Text));
    connection.prepare_cached(&sql)?.query_map(params_from_iter(parameters), claimed)?.collect()
}

fn claimed(row: &Row<'_>) -> rusqlite::Result<Claimed> {
    Ok(Claimed { id: row.get(0)?, channel: row.get(1)?, body: row.get(2)?, tries: row.get(3)?, number: row.get(4)? })
}

/// Under the count of its tries: whoever claimed it since has another.
fn settle(connection: &Connection, claimed: &Claimed, settled: &Settled, now: Timestamp) -> rusqlite::Result<()> {
    let now = now.as_millisecond();
    match settled {
        Settled::Delivered => {
            let last = "DELETE FROM outbox WHERE id = ?1 AND tries = ?2 AND number = ?3 AND (every IS NULL OR number >= ?4)";
            let done = params![claimed.id, claimed.tries, claimed.number, REMINDERS_MAX];
            connection.prepare_cached(last)?.execute(done)?;
            let next = "UPDATE outbox SET number = number + 1, tries = 0, why = NULL, due = ?4 + every * 1000
                        WHERE id = ?1 AND tries = ?2 AND number = ?3";
            connection.prepare_cached(next)?.execute(params![claimed.id, claimed.tries, claimed.number, now]).map(drop)
        }
        Settled::Again { after, why } => {
            let due = now.saturating_add(millis(*after));
            let sql = "UPDATE outbox SET due = ?4, why = ?5 WHERE id = ?1 AND tries = ?2 AND number = ?3";
            connection.prepare_cached(sql)?.execute(params![claimed.id, claimed.tries, claimed.number, due, why]).map(drop)
        }
        Settled::Parked { why } => {
            let sql = "UPDATE outbox SET parked = 1, due = ?4, why = ?5 WHERE id = ?1 AND tries = ?2 AND number = ?3";
            connection.prepare_cached(sql)?.execute(params![claimed.id, claimed.tries, claimed.number, now, why])?;
            forget(connection, now)
        }
    }
}

/// Parked ones have waited long enough for somebody, or are too many.
fn forget(connection: &Connection, now: i64) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM outbox WHERE parked = 1 AND due <= ?1", [now.saturating_sub(millis(PARKED_LASTS))])?;
    let sql = "DELETE FROM outbox WHERE id IN (SELECT id FROM outbox WHERE parked = 1 ORDER BY due DESC, id LIMIT -1 OFFSET ?1)";
    connection.execute(sql, [PARKED_MAX]).map(drop)
}

pub fn list(connection: &Connection, limit: u32) -> rusqlite::Result<Vec<Queued>> {
    let sql = "SELECT id, channel, what, chain, tries, due, why, parked FROM outbox ORDER BY due, id LIMIT ?1";
    let queued = |row: &Row<'_>| {
        Ok(Queued {
            id: row.get(0)?,
            channel: row.get(1)?,
            what: row.get(2)?,
            chain: row.get(3)?,
            tries: row.get(4)?,
            due: Timestamp::from_millisecond(row.get(5)?).unwrap_or(Timestamp::MAX),
            why: row.get(6)?,
            parked: row.get(7)?,
        })
    };
    connection.prepare_cached(sql)?.query_map([limit], queued)?.collect()
}

/// Which ones the operator means.
const THESE: &str = "((?1 = 'parked' AND parked = 1) OR (?1 = 'channel' AND channel = ?2) OR (?1 = 'one' AND id = ?2))";

pub fn retry(connection: &Connection, which: &Which, now: Timestamp) -> rusqlite::Result<u64> {
    let (what, value) = which.in_words();
    let sql = format!("UPDATE outbox SET parked = 0, tries = 0, why = NULL, due = ?3 WHERE (parked = 1 OR why IS NOT NULL) AND {THESE}");
    connection.execute(&sql, params![what, value, now.as_millisecond()]).map(|changed| changed as u64)
}

pub fn discard(connection: &Connection, which: &Which) -> rusqlite::Result<u64> {
    let (what, value) = which.in_words();
    connection.execute(&format!("DELETE FROM outbox WHERE {THESE}"), params![what, value]).map(|gone| gone as u64)
}

fn seconds(seconds: u64) -> i64 {
    i64::try_from(seconds).unwrap_or(i64::MAX)
}

fn millis(time: std::time::Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
