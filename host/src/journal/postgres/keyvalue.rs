//! Values that plugins keep, in a table beside the journal. Every statement names plugin and chain; a value that all
//! chains of a plugin share has the empty chain, which is no chain's id. Keys are bytes here: PostgreSQL's texts hold no NUL.

use super::fault::Failure;
use super::pool::Session;
use super::write::{signed, unsigned};
use crate::capability::keyvalue::{Bucket, Change, KvError, Page, Quota, incremented};
use crate::chain::Epoch;
use crate::journal::JournalError;

pub async fn get_all(session: &mut Session, bucket: &Bucket, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>, Failure> {
    let mut found = Vec::with_capacity(keys.len());
    for key in keys {
        found.push(get(session, bucket, key).await?);
    }
    Ok(found)
}

async fn get(session: &mut Session, bucket: &Bucket, key: &str) -> Result<Option<Vec<u8>>, Failure> {
    let sql = "SELECT value FROM keyvalue WHERE plugin = $1 AND chain = $2 AND key = $3";
    let rows = session.rows(sql, &[&bucket.plugin(), &chain(bucket), &key.as_bytes()]).await?;
    Ok(rows.first().map(|row| row.try_get(0)).transpose()?)
}

/// Numbers count inside one bucket: a cursor tells a guest nothing of others.
pub async fn list(session: &mut Session, bucket: &Bucket, after: Option<u64>, limit: usize) -> Result<Page, Failure> {
    let sql = "SELECT number, key FROM keyvalue WHERE plugin = $1 AND chain = $2 AND number > $3 ORDER BY number LIMIT $4";
    let after = i64::try_from(after.unwrap_or(0)).unwrap_or(i64::MAX);
    // One more than fits tells whether there is another page.
    let limit_and_one = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let rows = session.rows(sql, &[&bucket.plugin(), &chain(bucket), &after, &limit_and_one]).await?;
    let mut found = Vec::with_capacity(rows.len());
    for row in rows.iter().take(limit) {
        let (number, key): (i64, &[u8]) = (row.try_get(0)?, row.try_get(1)?);
        found.push((number, String::from_utf8_lossy(key).into_owned()));
    }
    let next = found.last().filter(|_| rows.len() > limit).map(|(number, _)| unsigned(*number));
    Ok(Page { keys: found.into_iter().map(|(_, key)| key).collect(), next })
}

/// All of it or nothing, one change of a bucket at a time: two that fit alone may not fit together.
/// Under an epoch, only as long as it is the chain's.
pub async fn change(session: &mut Session, bucket: &Bucket, change: &Change, quota: Quota, epoch: Option<Epoch>) -> Result<u64, Failure> {
    session.client.batch_execute("BEGIN").await?;
    let changed = async {
        if let (Some(chain), Some(epoch)) = (bucket.chain(), epoch) {
            let sql = "SELECT 1 FROM chain WHERE id = $1 AND epoch = $2 FOR SHARE";
            if session.rows(sql, &[&chain.0, &signed(epoch)]).await?.is_empty() {
                return Err(JournalError::Fenced { chain: chain.clone() }.into());
            }
        }
        session.rows("SELECT pg_advisory_xact_lock(hashtextextended($1, hashtextextended($2, 0)))", &[&bucket.plugin(), &chain(bucket)]).await?;
        changed(session, bucket, change, quota).await
    };
    let changed = changed.await;
    session.client.batch_execute(if changed.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
    changed
}

async fn changed(session: &mut Session, bucket: &Bucket, change: &Change, quota: Quota) -> Result<u64, Failure> {
    let mut number = 0;
    match change {
        Change::Set(pairs) => {
            for (key, value) in pairs {
                set(session, bucket, key, value).await?;
            }
        }
        Change::Delete(keys) => {
            for key in keys {
                let sql = "DELETE FROM keyvalue WHERE plugin = $1 AND chain = $2 AND key = $3";
                session.rows(sql, &[&bucket.plugin(), &chain(bucket), &key.as_bytes()]).await?;
            }
            return Ok(0);
        }
        Change::Increment { key, by } => {
            number = incremented(get(session, bucket, key).await?.as_deref(), *by).map_err(refused)?;
            set(session, bucket, key, number.to_string().as_bytes()).await?;
        }
    }
    let sql = "SELECT COALESCE(SUM(bytes), 0)::bigint, COUNT(*) FROM keyvalue WHERE plugin = $1 AND chain = $2";
    let rows = session.rows(sql, &[&bucket.plugin(), &chain(bucket)]).await?;
    let (bytes, keys) = rows.first().map_or(Ok((0, 0)), |row| Ok::<_, Failure>((row.try_get(0)?, row.try_get(1)?)))?;
    quota.admit(unsigned(bytes), unsigned(keys)).map_err(refused)?;
    Ok(number)
}

async fn set(session: &mut Session, bucket: &Bucket, key: &str, value: &[u8]) -> Result<(), Failure> {
    let sql = "INSERT INTO keyvalue (plugin, chain, number, key, value, bytes)
               VALUES ($1, $2, (SELECT COALESCE(MAX(number), 0) + 1 FROM keyvalue WHERE plugin = $1 AND chain = $2), $3, $4, $5)
               ON CONFLICT (plugin, chain, key) DO UPDATE SET value = excluded.value, bytes = excluded.bytes";
    let bytes = signed((key.len() + value.len()) as u64);
    session.rows(sql, &[&bucket.plugin(), &chain(bucket), &key.as_bytes(), &value, &bytes]).await.map(drop)
}

fn refused(error: KvError) -> Failure {
    Failure::Refused(JournalError::Values(error))
}

fn chain(bucket: &Bucket) -> &str {
    bucket.chain().map_or("", |chain| &chain.0)
}
