//! Notices in the database. Times are milliseconds since 1970 by the server's clock, whatever each host's says.

use std::time::Duration;

use jiff::Timestamp;

use super::fault::Failure;
use super::pool::Session;
use super::write::{plain, signed, unsigned};
use crate::journal::outbox::{CLAIMED_MAX, Claimed, PARKED_LASTS, PARKED_MAX, Queued, Settled, Which};
use crate::notice::REMINDERS_MAX;

/// What the server calls now; kept in one place with the tables' statements.
macro_rules! now {
    () => {
        "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
    };
}

pub async fn is_due(session: &mut Session) -> Result<bool, Failure> {
    let sql = concat!("SELECT EXISTS (SELECT 1 FROM outbox WHERE NOT parked AND due <= ", now!(), ")");
    Ok(session.rows(sql, &[]).await?.first().map_or(Ok(false), |row| row.try_get(0))?)
}

pub async fn claim(session: &mut Session, channels: &[String], hold: Duration) -> Result<Vec<Claimed>, Failure> {
    let over = concat!(
        "DELETE FROM outbox WHERE while_open IS NOT NULL AND NOT parked AND due <= ",
        now!(),
        " AND NOT EXISTS (SELECT 1 FROM pause WHERE pause.id = outbox.while_open AND pause.status = 'open')"
    );
    session.rows(over, &[]).await?;
    let sql = concat!(
        "UPDATE outbox SET tries = tries + 1, due = ",
        now!(),
        " + $2 WHERE id IN (SELECT id FROM outbox WHERE NOT parked AND due <= ",
        now!(),
        " AND channel = ANY ($1::text[]) ORDER BY due, id LIMIT $3 FOR UPDATE SKIP LOCKED) RETURNING id, channel, body, tries, number"
    );
    let (hold, limit) = (millis(hold), signed(CLAIMED_MAX as u64));
    let rows = session.rows(sql, &[&channels, &hold, &limit]).await?;
    let claimed = |row: &tokio_postgres::Row| {
        let (tries, number): (i64, i64) = (row.try_get(3)?, row.try_get(4)?);
        Ok(Claimed { id: row.try_get(0)?, channel: row.try_get(1)?, body: row.try_get(2)?, tries: small(tries), number: small(number) })
    };
    rows.iter().map(claimed).collect()
}

/// Under the count of its tries: whoever claimed it since has another. Again changes nothing.
pub async fn settle(session: &mut Session, claimed: &Claimed, settled: &Settled) -> Result<(), Failure> {
    let (tries, number) = (i64::from(claimed.tries), i64::from(claimed.number));
    match settled {
        Settled::Delivered => {
            let last = i64::from(REMINDERS_MAX);
            let sql = "DELETE FROM outbox WHERE id = $1 AND tries = $2 AND number = $3 AND (every IS NULL OR number >= $4)";
            session.rows(sql, &[&claimed.id, &tries, &number, &last]).await?;
            let sql = concat!(
                "UPDATE outbox SET number = number + 1, tries = 0, why = NULL, due = ",
                now!(),
                " + every * 1000 WHERE id = $1 AND tries = $2 AND number = $3"
            );
            session.rows(sql, &[&claimed.id, &tries, &number]).await?;
        }
        Settled::Again { after, why } => {
            let sql = concat!("UPDATE outbox SET due = ", now!(), " + $4, why = $5 WHERE id = $1 AND tries = $2 AND number = $3");
            session.rows(sql, &[&claimed.id, &tries, &number, &millis(*after), &plain(why)]).await?;
        }
        Settled::Parked { why } => {
            let sql = concat!("UPDATE outbox SET parked = true, due = ", now!(), ", why = $4 WHERE id = $1 AND tries = $2 AND number = $3");
            session.rows(sql, &[&claimed.id, &tries, &number, &plain(why)]).await?;
            forget(session).await?;
        }
    }
    Ok(())
}

/// Parked ones have waited long enough for somebody, or are too many.
async fn forget(session: &mut Session) -> Result<(), Failure> {
    let sql = concat!("DELETE FROM outbox WHERE parked AND due <= ", now!(), " - $1");
    session.rows(sql, &[&millis(PARKED_LASTS)]).await?;
    let sql = "DELETE FROM outbox WHERE id IN (SELECT id FROM outbox WHERE parked ORDER BY due DESC, id OFFSET $1)";
    session.rows(sql, &[&i64::from(PARKED_MAX)]).await.map(drop)
}

pub async fn list(session: &mut Session, limit: u32) -> Result<Vec<Queued>, Failure> {
    let sql = "SELECT id, channel, what, chain, tries, due, why, parked FROM outbox ORDER BY due, id LIMIT $1";
    let queued = |row: &tokio_postgres::Row| {
        Ok(Queued {
            id: row.try_get(0)?,
            channel: row.try_get(1)?,
            what: row.try_get(2)?,
            chain: row.try_get(3)?,
            tries: small(row.try_get(4)?),
            due: Timestamp::from_millisecond(row.try_get(5)?).unwrap_or(Timestamp::MAX),
            why: row.try_get(6)?,
            parked: row.try_get(7)?,
        })
    };
    session.rows(sql, &[&i64::from(limit)]).await?.iter().map(queued).collect()
}

/// Which ones the operator means.
macro_rules! these {
    () => {
        "(($1::text = 'parked' AND parked) OR ($1 = 'channel' AND channel = $2::text) OR ($1 = 'one' AND id = $2)) RETURNING id"
    };
}

pub async fn retry(session: &mut Session, which: &Which) -> Result<u64, Failure> {
    let (what, value) = which.in_words();
    let sql = concat!("UPDATE outbox SET parked = false, tries = 0, why = NULL, due = ", now!(), " WHERE (parked OR why IS NOT NULL) AND ", these!());
    Ok(session.rows(sql, &[&what, &value]).await?.len() as u64)
}

pub async fn discard(session: &mut Session, which: &Which) -> Result<u64, Failure> {
    let (what, value) = which.in_words();
    Ok(session.rows(concat!("DELETE FROM outbox WHERE ", these!()), &[&what, &value]).await?.len() as u64)
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX / 2)
}

fn small(number: i64) -> u32 {
    u32::try_from(unsigned(number)).unwrap_or(u32::MAX)
}
