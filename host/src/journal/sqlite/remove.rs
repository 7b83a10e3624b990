//! Chains taken out of the database, and the room they leave given back.

use rusqlite::{Connection, TransactionBehavior, params};

use super::write::signed;
use super::{fault, kept, pages};
use crate::chain::ChainId;
use crate::journal::carrying::Carrying;
use crate::journal::records::Head;

/// Of all pages, the share that must be free before the file is written anew: it takes as long as the whole is large.
const FREE_SHARE: u64 = 4;

/// Taken out in one transaction: others write in between.
const CHAINS_MAX: usize = 64;

/// The last of `heads` first: what carries another on has to go before it.
pub fn remove(connection: &mut Connection, heads: &[Head]) -> rusqlite::Result<Vec<ChainId>> {
    let mut removed = Vec::new();
    for some in heads.rchunks(CHAINS_MAX) {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Read anew: a chain that was begun since the choice was made may carry one of these on.
        let mut carrying = Carrying::of(pages::continued(&transaction)?);
        for head in some.iter().rev() {
            if !carrying.is_needed(&head.chain) && remove_one(&transaction, head)? {
                carrying.remove(&head.chain);
                removed.push(head.chain.clone());
            }
        }
        transaction.commit()?;
    }
    Ok(removed)
}

fn remove_one(connection: &Connection, head: &Head) -> rusqlite::Result<bool> {
    let chain = &head.chain.0;
    let taken = connection.execute(
        "DELETE FROM chain WHERE id = ?1 AND head = ?2 AND head_hash = ?3 AND status IN ('completed', 'rejected', 'failed', 'cancelled')",
        params![chain, signed(head.seq), head.hash],
    )?;
    if taken == 1 {
        for table in ["event", "call", "pause", "keyvalue", "outbox", "plugin_need"] {
            connection.execute(&format!("DELETE FROM {table} WHERE chain = ?1"), [chain])?;
        }
        kept::sweep(connection)?;
    }
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
