//! Pages of heads and records for an audit: nothing is checked.

use tokio_postgres::Row;

use super::fault::Failure;
use super::pool::Session;
use super::write::{signed, unsigned};
use crate::chain::{ChainId, Seq};
use crate::journal::record::{Hash, Record, Stored};
use crate::journal::records::{HEADS_MAX, Head, PAGE_BYTES_MAX, RECORDS_MAX};

/// From chain to chain by the indexes. One whose row was taken away still has its events, and is found by them.
const HEADS: &str = "WITH RECURSIVE next AS (
        SELECT least((SELECT min(id) FROM chain WHERE id > $1 AND head > 0), (SELECT min(chain) FROM event WHERE chain > $1)) AS id
        UNION ALL
        SELECT least((SELECT min(id) FROM chain WHERE id > next.id AND head > 0), (SELECT min(chain) FROM event WHERE chain > next.id))
        FROM next WHERE next.id IS NOT NULL
    )
    SELECT page.id, COALESCE(chain.head, last.seq), COALESCE(chain.head_hash, last.hash)
    FROM (SELECT id FROM next WHERE id IS NOT NULL LIMIT $2) page
    LEFT JOIN chain ON chain.id = page.id AND chain.head > 0
    LEFT JOIN LATERAL (SELECT seq, hash FROM event WHERE event.chain = page.id AND chain.id IS NULL ORDER BY seq DESC LIMIT 1) last ON true
    ORDER BY page.id";
const HEAD: &str = "SELECT id, head, head_hash FROM chain WHERE id = $1 AND head > 0
    UNION ALL (SELECT chain, seq, hash FROM event WHERE chain = $1 ORDER BY seq DESC LIMIT 1)";
const RECORDS: &str = "SELECT seq, at, kind, payload, epoch, prev_hash, hash FROM event WHERE chain = $1 AND seq > $2 ORDER BY seq LIMIT $3";

pub async fn heads(session: &mut Session, after: &str) -> Result<Vec<Head>, Failure> {
    let rows = session.rows(HEADS, &[&after, &(HEADS_MAX as i64)]).await?;
    rows.iter().map(head_of).collect()
}

/// As its row says it ends, or else its last event.
pub async fn head(session: &mut Session, chain: &ChainId) -> Result<Option<Head>, Failure> {
    session.rows(HEAD, &[&chain.0]).await?.first().map(head_of).transpose()
}

fn head_of(row: &Row) -> Result<Head, Failure> {
    let hash: Vec<u8> = row.try_get(2)?;
    // What is no hash is none that fits.
    Ok(Head { chain: ChainId(row.try_get(0)?), seq: unsigned(row.try_get(1)?), hash: Hash::try_from(hash).unwrap_or_default() })
}

pub async fn records(session: &mut Session, chain: &ChainId, after: Seq) -> Result<Vec<Stored>, Failure> {
    let (mut page, mut bytes) = (Vec::new(), 0);
    for row in session.rows(RECORDS, &[&chain.0, &signed(after), &(RECORDS_MAX as i64)]).await? {
        let record = Record {
            seq: unsigned(row.try_get(0)?),
            at: row.try_get(1)?,
            kind: row.try_get(2)?,
            payload: row.try_get(3)?,
            epoch: unsigned(row.try_get(4)?),
        };
        bytes += record.payload.len();
        page.push(Stored { record, prev_hash: row.try_get(5)?, hash: row.try_get(6)? });
        if bytes >= PAGE_BYTES_MAX {
            break;
        }
    }
    Ok(page)
}
