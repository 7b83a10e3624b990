//! One append, in one statement: the chain's row is moved on from where it stood, and everything else is written only
//! where that was so. A statement is a transaction of its own, so nobody sees a part of it.

use std::borrow::Cow;

use tokio_postgres::Row;

use super::fault::Failure;
use super::pool::{Param, Session};
use crate::chain::{ChainId, ChainStatus, Seq};
use crate::journal::JournalError;
use crate::journal::entry::{Entry, Position};
use crate::journal::record::{Hash, time_text};

/// Times an append meets a row that others moved and that then stands where it should again.
const ROUNDS_MAX: u32 = 4;

/// What a chain's row becomes stands in `$1` to `$14`, where it stood in the three after them.
macro_rules! append {
    ($moved:literal) => {
        concat!(
            "WITH moved AS (", $moved, "), written AS (
                 INSERT INTO event (chain, seq, at, kind, payload, epoch, prev_hash, hash)
                 SELECT moved.id, e.* FROM moved, unnest($18::bigint[], $19::text[], $20::text[], $21::text[], $22::bigint[], $23::bytea[], $24::bytea[]) e
             ), called AS (
                 INSERT INTO call (chain, turn, ordinal, id, tool, status, attempts)
                 SELECT moved.id, c.* FROM moved, unnest($25::bigint[], $26::bigint[], $27::text[], $28::text[], $29::text[], $30::bigint[]) c
                 ON CONFLICT (chain, turn, ordinal) DO UPDATE
                 SET id = excluded.id, tool = excluded.tool, status = excluded.status, attempts = excluded.attempts
             ), asked AS (
                 INSERT INTO pause (id, chain, status, opened_at, open)
                 SELECT p.id, moved.id, p.status, p.opened_at, p.open
                 FROM moved, unnest($31::text[], $32::text[], $33::text[], $34::text[]) p (id, status, opened_at, open)
                 ON CONFLICT (id) DO UPDATE SET status = excluded.status, opened_at = excluded.opened_at, open = excluded.open
             ), gone AS (
                 DELETE FROM keyvalue USING moved WHERE keyvalue.chain = moved.id AND keyvalue.plugin = ANY ($36::text[])
             ), told AS (
                 INSERT INTO outbox (id, channel, what, chain, while_open, every, number, body, due, tries, parked)
                 SELECT t.id, t.channel, t.what, moved.id, t.while_open, t.every, 1, t.body,
                     (extract(epoch FROM clock_timestamp()) * 1000)::bigint + t.after * 1000, 0, false
                 FROM moved, unnest($37::text[], $38::text[], $39::text[], $40::text[], $41::bigint[], $42::text[], $43::bigint[])
                     t (id, channel, what, while_open, every, body, after)
                 ON CONFLICT (id) DO NOTHING
             )
             SELECT CASE WHEN $35::boolean THEN pg_notify('pausegate', moved.id)::text END FROM moved"
        )
    };
}

/// Where the row stands at `$15`, `$16` and `$17`.
const MOVE_ON: &str = append!(
    "UPDATE chain SET head = $2::bigint, head_hash = $3::bytea, status = $4::text, detail = $5::text, title = $6::text, model = $7::text,
         turns = $8::bigint, calls = $9::bigint, open_pauses = $10::bigint, started_by = $11::text, started_at = $12::text,
         updated_at = $13::text, place = $14::text
     WHERE id = $1::text AND head = $15::bigint AND head_hash = $16::bytea AND epoch = $17::bigint
     RETURNING id"
);

/// Where there is no row.
const BEGIN: &str = append!(
    "INSERT INTO chain (id, head, head_hash, epoch, status, detail, title, model, turns, calls, open_pauses, started_by, started_at,
         updated_at, place)
     SELECT $1::text, $2::bigint, $3::bytea, $17::bigint, $4::text, $5::text, $6::text, $7::text, $8::bigint, $9::bigint, $10::bigint,
         $11::text, $12::text, $13::text, $14::text
     WHERE $15::bigint = 0 AND $16::bytea IS NOT NULL
     ON CONFLICT (id) DO NOTHING
     RETURNING id"
);

/// Where a chain stands; `None` where it has no row.
pub async fn position(session: &mut Session, chain: &ChainId) -> Result<Option<Position>, Failure> {
    let rows = session.rows("SELECT head, head_hash, epoch FROM chain WHERE id = $1", &[&chain.0]).await?;
    rows.first().map(|row| of_row(row, 0)).transpose()
}

/// Head, its hash and the epoch, from column `first` on.
pub fn of_row(row: &Row, first: usize) -> Result<Position, Failure> {
    let hash: &[u8] = row.try_get(first + 1)?;
    // A hash that is none fits no row: the append is refused where it is looked at.
    let hash = Hash::try_from(hash).unwrap_or([0xff; 32]);
    Ok(Position { head: unsigned(row.try_get(first)?), hash, epoch: unsigned(row.try_get(first + 2)?) })
}

/// Returns where the chain stands after it. `guess` is where this process left it; `unsure` says that an earlier try may
/// have been written after all.
pub async fn entry(session: &mut Session, entry: &Entry, guess: Option<Position>, unsure: bool) -> Result<Position, Failure> {
    let mut at = match guess.filter(|guess| entry.refusal(guess).is_none()) {
        Some(guess) => Some(guess),
        None => position(session, &entry.chain).await?,
    };
    for _ in 0..ROUNDS_MAX {
        let from = at.as_ref().unwrap_or(&Position::START);
        if from.head < entry.after {
            return Err(JournalError::WentBack { chain: entry.chain.clone(), head: from.head }.into());
        }
        if let Some(refusal) = entry.refusal(from) {
            return match unsure && is_written(session, entry).await? {
                true => position(session, &entry.chain).await?.ok_or(Failure::Refused(refusal)),
                false => Err(refusal.into()),
            };
        }
        let hashes = entry.hashes(&from.hash);
        if write(session, entry, at.as_ref(), &hashes).await? {
            return Ok(Position { head: entry.head(), hash: last(&hashes), epoch: from.epoch });
        }
        at = position(session, &entry.chain).await?;
    }
    Err(JournalError::Busy { path: format!("chain {}", entry.chain) }.into())
}

/// Several entries, all or none.
pub async fn together(session: &mut Session, entries: &[Entry], unsure: bool) -> Result<(), Failure> {
    session.client.batch_execute("BEGIN").await?;
    for each in entries {
        if let Err(failure) = entry(session, each, None, unsure).await {
            // One that cannot be undone is on a connection that is lost, and undone with it.
            session.client.batch_execute("ROLLBACK").await?;
            return Err(failure);
        }
    }
    Ok(session.client.batch_execute("COMMIT").await?)
}

/// Whether the events that stand in its places are this entry's own: a hash holds all that stands before it.
async fn is_written(session: &mut Session, entry: &Entry) -> Result<bool, Failure> {
    let sql = "SELECT first.prev_hash, last.hash FROM event first, event last
               WHERE first.chain = $1 AND last.chain = $1 AND first.seq = $2 AND last.seq = $3";
    let rows = session.rows(sql, &[&entry.chain.0, &signed(entry.after + 1), &signed(entry.head())]).await?;
    let Some(row) = rows.first() else { return Ok(false) };
    let (prev, hash): (&[u8], &[u8]) = (row.try_get(0)?, row.try_get(1)?);
    Ok(Hash::try_from(prev).is_ok_and(|prev| last(&entry.hashes(&prev)) == hash))
}

/// False where the row stands elsewhere by now.
async fn write(session: &mut Session, entry: &Entry, from: Option<&Position>, hashes: &[Hash]) -> Result<bool, Failure> {
    let chain = &entry.rows.chain;
    let start = Position::START;
    let at = from.unwrap_or(&start);
    let (title, detail, by) = (plain(&chain.title), plain(&chain.detail), plain(&chain.started_by.0));
    let model = chain.model.as_deref().map(plain);
    let (started, updated) = (time_text(chain.started_at), time_text(chain.updated_at));
    // What woke up is for workers to hear of; the holder itself needs nobody.
    let wakes = entry.epoch.is_none() && chain.status == ChainStatus::Runnable;

    let records = &entry.records;
    let (seqs, epochs) = (list(records, |record| signed(record.seq)), list(records, |record| signed(record.epoch)));
    let (ats, kinds, payloads) =
        (list(records, |record| record.at.as_str()), list(records, |record| record.kind.as_str()), list(records, |record| record.payload.as_str()));
    let prevs: Vec<&[u8]> = std::iter::once(&at.hash).chain(hashes).take(hashes.len()).map(|hash| hash.as_slice()).collect();
    let owns = list(hashes, |hash| hash.as_slice());

    let calls = &entry.rows.calls;
    let (turns, ordinals) = (list(calls, |row| i64::from(row.call.turn)), list(calls, |row| i64::from(row.call.ordinal)));
    let (ids, tools, states) = (list(calls, |row| plain(&row.id)), list(calls, |row| plain(&row.tool)), list(calls, |row| row.status.as_str()));
    let attempts = list(calls, |row| i64::from(row.attempts));

    let pauses = &entry.rows.pauses;
    let (pause_ids, pause_states) = (list(pauses, |pause| pause.row.id.0.as_str()), list(pauses, |pause| pause.row.status.as_str()));
    let (opened, open) = (list(pauses, |pause| time_text(pause.opened_at)), list(pauses, |pause| pause.open.as_deref()));

    let told = &entry.told;
    let (notices, channels) = (list(told, |told| told.notice.id.as_str()), list(told, |told| told.notice.channel.as_str()));
    let (whats, bodies) = (list(told, |told| told.notice.facts.what.as_str()), list(told, |told| told.body.as_str()));
    let while_open = list(told, |told| told.notice.while_open.as_ref().map(|pause| pause.0.as_str()));
    let (every, after) = (list(told, |told| told.notice.every_seconds.map(signed)), list(told, |told| signed(told.notice.after_seconds)));

    let (head, counts) = (signed(entry.head()), [chain.turns, chain.calls, chain.open_pauses].map(i64::from));
    let (last, at_head, at_hash, at_epoch) = (last(hashes), signed(at.head), at.hash, signed(at.epoch));
    let (last, at_hash, status) = (last.as_slice(), at_hash.as_slice(), chain.status.as_str());
    let params: [Param<'_>; 43] = [
        &chain.id.0,
        &head,
        &last,
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
        &chain.place,
        &at_head,
        &at_hash,
        &at_epoch,
        &seqs,
        &ats,
        &kinds,
        &payloads,
        &epochs,
        &prevs,
        &owns,
        &turns,
        &ordinals,
        &ids,
        &tools,
        &states,
        &attempts,
        &pause_ids,
        &pause_states,
        &opened,
        &open,
        &wakes,
        &entry.ends_for,
        &notices,
        &channels,
        &whats,
        &while_open,
        &every,
        &bodies,
        &after,
    ];
    let sql = if from.is_some() { MOVE_ON } else { BEGIN };
    Ok(!session.rows(sql, &params).await?.is_empty())
}

fn list<'a, T, U>(items: &'a [T], of: impl Fn(&'a T) -> U) -> Vec<U> {
    items.iter().map(of).collect()
}

fn last(hashes: &[Hash]) -> Hash {
    *hashes.last().expect("an append has events")
}

/// As it can stand in a row: PostgreSQL's texts hold no NUL. What events say is JSON, where it is escaped.
pub fn plain(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{2400}").into() } else { text.into() }
}

/// PostgreSQL's integers are signed. Positions and epochs count single events and takes: they stay far below 2^63.
pub fn signed(number: Seq) -> i64 {
    i64::try_from(number).expect("a count of events fits")
}

pub fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}
