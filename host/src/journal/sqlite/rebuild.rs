//! Projections against the events they are a fold of: compared, or written anew.

use rusqlite::{Connection, TransactionBehavior};

use super::read;
use super::write;
use crate::chain::ChainId;
use crate::journal::JournalError;
use crate::journal::entry::Position;
use crate::journal::projection::Projection;
use crate::journal::record::{Hash, Stored};
use crate::journal::records::Rebuilt;
use crate::journal::stored;
use crate::state::ChainState;

/// One transaction over all chains, one chain in memory at a time.
pub fn rebuild(connection: &mut Connection) -> rusqlite::Result<Rebuilt> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut rebuilt = Rebuilt::default();
    for chain in chains(&transaction)? {
        let records = read::records(&transaction, &chain)?;
        match fold(&chain, &records) {
            Ok(state) => {
                transaction.execute("DELETE FROM call WHERE chain = ?1", [&chain.0])?;
                transaction.execute("DELETE FROM pause WHERE chain = ?1", [&chain.0])?;
                let rows = Projection::all(&state);
                write::write_chain(&transaction, &rows.chain, &position(&transaction, &chain, &records)?)?;
                write::write_rows(&transaction, &rows)?;
                rebuilt.chains += 1;
            }
            Err(error) => rebuilt.unreadable.push(error),
        }
    }
    transaction.commit()?;
    Ok(rebuilt)
}

/// One line for each chain whose rows are not the fold of its events.
pub fn differences(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut differences = Vec::new();
    for chain in chains(connection)? {
        differences.extend(difference(connection, &chain)?.unwrap_or_else(|error| Some(error.to_string())));
    }
    Ok(differences)
}

/// How the rows of one chain, at one moment, are not the fold of its events; an error where those cannot be folded.
pub fn difference(connection: &Connection, chain: &ChainId) -> rusqlite::Result<Result<Option<String>, JournalError>> {
    let moment = connection.unchecked_transaction()?;
    let records = read::records(&moment, chain)?;
    let state = match fold(chain, &records) {
        Ok(state) => state,
        Err(error) => return Ok(Err(error)),
    };
    let (folded, stored) = (Some(Projection::all(&state)), read::projection(&moment, chain)?);
    if folded != stored {
        return Ok(Ok(Some(format!("chain {chain}: events say {folded:?}, tables say {stored:?}"))));
    }
    let at = Position::read(&moment, chain)?;
    let named = (at.head, at.hash) == (state.seq, head_hash(&moment, chain)?);
    Ok(Ok((!named).then(|| format!("chain {chain}: its row does not name its last event"))))
}

fn chains(connection: &Connection) -> rusqlite::Result<Vec<ChainId>> {
    let mut statement = connection.prepare("SELECT DISTINCT chain FROM event ORDER BY chain")?;
    let rows = statement.query_map([], |row| row.get(0).map(ChainId))?;
    rows.collect()
}

fn fold(chain: &ChainId, records: &[Stored]) -> Result<ChainState, JournalError> {
    Ok(ChainState::fold(chain.clone(), &stored::checked(chain, records)?))
}

/// The epoch is the row's where there is one: a chain may have been taken since its last event.
fn position(connection: &Connection, chain: &ChainId, records: &[Stored]) -> rusqlite::Result<Position> {
    let written = records.iter().map(|stored| stored.record.epoch).max().unwrap_or_default();
    let epoch = Position::read(connection, chain)?.epoch.max(written);
    Ok(Position { head: records.last().map_or(0, |stored| stored.record.seq), hash: head_hash(connection, chain)?, epoch })
}

/// As stored, not computed: a rebuild must not make a changed event look right.
fn head_hash(connection: &Connection, chain: &ChainId) -> rusqlite::Result<Hash> {
    connection.query_row("SELECT hash FROM event WHERE chain = ?1 ORDER BY seq DESC LIMIT 1", [&chain.0], |row| row.get(0))
}
