//! Chains taken out of the database, and the room they leave given back.

use rusqlite::{Connection, TransactionBehavior, params};

use super::fault;
use super::pages::PARENT;
use super::write::signed;
use crate::chain::ChainId;
use crate::journal::records::Head;

/// Of all pages, the share that must be free before the file is written anew: it takes as long as the whole is large.
const FREE_SHARE: u64 = 4;

/// One transaction per chain: others write in between.
pub fn remove(connection: &mut Connection, heads: &[Head]) -> rusqlite::Result<Vec<ChainId>> {
    let mut removed = Vec::new();
    for head in heads {
        if remove_one(connection, head)? {
            removed.push(head.chain.clone());
        }
    }
    Ok(removed)
}

fn remove_one(connection: &mut Connection, head: &Head) -> rusqlite::Result<bool> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let chain = &head.chain.0;
    // A chain that was begun since the choice was made may carry this one on; none that is older than it does.
    let taken = transaction.execute(
        &format!(
            "DELETE FROM chain WHERE id = ?1 AND head = ?2 AND head_hash = ?3 AND status IN ('completed', 'rejected', 'failed', 'cancelled')
             AND NOT EXISTS (
                 SELECT 1 FROM chain AS later JOIN event ON event.chain = later.id AND event.seq = 1
                 WHERE later.started_at >= chain.updated_at AND later.id <> ?1 AND {PARENT} = ?1)"
        ),
        params![chain, signed(head.seq), head.hash],
    )?;
    if taken == 1 {
        for table in ["event", "call", "pause", "keyvalue"] {
            transaction.execute(&format!("DELETE FROM {table} WHERE chain = ?1"), [chain])?;
        }
    }
    transaction.commit()?;
    Ok(taken == 1)
}

/// Writes the file anew where enough of it is empty. False where others read or write at this moment.
pub fn compact(connection: &mut Connection) -> rusqlite::Result<bool> {
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, u32>(0)).map(u64::from);
    if number("freelist_count")? * FREE_SHARE < number("page_count")? {
        return Ok(true);
    }
    match connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)") {
        Err(error) if fault::is_busy(&error) => Ok(false),
        Err(error) => Err(error),
        Ok(()) => Ok(true),
    }
}
