//! Projections against the events they are a fold of.

use super::address::Address;
use super::fault::Failure;
use super::pool::Session;
use super::read;
use super::write::position;
use crate::chain::ChainId;
use crate::journal::projection::Projection;
use crate::journal::stored;
use crate::state::ChainState;

/// One line for each chain whose rows are not the fold of its events.
pub async fn differences(session: &mut Session, address: &Address) -> Result<Vec<String>, Failure> {
    let mut differences = Vec::new();
    for row in session.rows("SELECT DISTINCT chain FROM event ORDER BY chain", &[]).await? {
        match difference(session, address, &ChainId(row.try_get(0)?)).await {
            Ok(difference) => differences.extend(difference),
            Err(Failure::Refused(error)) => differences.push(error.to_string()),
            Err(failure) => return Err(failure),
        }
    }
    Ok(differences)
}

/// How the rows of one chain, at one moment, are not the fold of its events; refused where those cannot be folded.
pub async fn difference(session: &mut Session, address: &Address, chain: &ChainId) -> Result<Option<String>, Failure> {
    session.client.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
    let found = at_this_moment(session, address, chain).await;
    session.client.batch_execute("COMMIT").await?;
    found
}

async fn at_this_moment(session: &mut Session, address: &Address, chain: &ChainId) -> Result<Option<String>, Failure> {
    let records = read::records(session, chain).await?;
    let state = ChainState::fold(chain.clone(), &stored::checked(chain, &records)?);
    let (folded, stored) = (Some(plain(Projection::all(&state))), read::projection(session, address, chain).await?);
    if folded != stored {
        return Ok(Some(format!("chain {chain}: events say {folded:?}, tables say {stored:?}")));
    }
    let at = position(session, chain).await?;
    let last = records.last().map(|stored| stored.hash.as_slice());
    let named = at.is_some_and(|at| (at.head, Some(at.hash.as_slice())) == (state.seq, last));
    Ok((!named).then(|| format!("chain {chain}: its row does not name its last event")))
}

/// As the rows say it.
fn plain(mut rows: Projection) -> Projection {
    let plain = |text: &mut String| *text = super::write::plain(text).into_owned();
    [&mut rows.chain.title, &mut rows.chain.detail, &mut rows.chain.started_by.0].into_iter().for_each(plain);
    rows.chain.model.iter_mut().for_each(plain);
    rows.calls.iter_mut().flat_map(|call| [&mut call.id, &mut call.tool]).for_each(plain);
    rows
}
