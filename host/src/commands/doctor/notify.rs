//! What `doctor` says of notifications: whether each channel's secrets can be read, and what was not delivered.

use std::collections::BTreeMap;

use super::{Check, failed, fine, note, wrong};
use crate::commands::failure::Failure;
use crate::commands::setup::Setup;
use crate::commands::{exit, runtime};
use crate::counted::counted;
use crate::journal::outbox::{Queued, Which};
use crate::plugin::{self, SystemSecrets};
use crate::report;

/// Notices looked at; of more it is said that there are more.
const NOTICES_MAX: u32 = 10_000;

pub fn checks(setup: &Setup) -> Vec<Check> {
    let channels = &setup.settings.notify;
    let mut checks = Vec::new();
    for channel in channels {
        let troubles: Vec<_> = channel.secrets().into_iter().filter_map(|secret| plugin::trouble(secret, &SystemSecrets)).collect();
        checks.push(match troubles.is_empty() {
            true => fine("notify", format!("channel `{}`; it was sent nothing", channel.name)),
            false => wrong("notify", format!("channel `{}`: {}; what is for it waits", channel.name, troubles.join("; "))),
        });
    }
    match setup.journal_to_read().and_then(|journal| runtime::small(async { Ok(journal.notices(NOTICES_MAX).await?) })) {
        Ok(notices) => checks.extend(undelivered(setup, &notices)),
        // What is wrong with the journal is said already.
        Err(failure) if !channels.is_empty() => checks.push(failed("notify", failure)),
        Err(_) => {}
    }
    checks
}

/// By channel: what is parked, and what fails or has nobody to go to.
fn undelivered(setup: &Setup, notices: &[Queued]) -> Vec<Check> {
    let mut by_channel: BTreeMap<&str, (Vec<&Queued>, Vec<&Queued>)> = BTreeMap::new();
    for notice in notices {
        let (parked, waiting) = by_channel.entry(&notice.channel).or_default();
        if notice.parked { parked.push(notice) } else { waiting.push(notice) }
    }
    let mut checks = Vec::new();
    for (channel, (parked, waiting)) in by_channel {
        let known = setup.settings.notify.iter().any(|known| known.name == channel);
        if let Some(last) = parked.last() {
            let why = last.why.as_deref().unwrap_or("no reason is known");
            let text = format!(
                "{} to `{channel}` parked after {}: {why}; `pausegate notices retry` tries again, `pausegate notices discard --parked` gives up",
                counted(parked.len(), "notice", "notices"),
                counted(last.tries, "try", "tries")
            );
            checks.push(note("notify", text));
        }
        let failing: Vec<_> = waiting.iter().filter(|notice| notice.why.is_some()).collect();
        if !known && !waiting.is_empty() {
            let wait = counted(waiting.len(), "notice waits", "notices wait");
            let text = format!(
                "{wait} for a channel `{channel}`, which these settings do not have; `pausegate notices discard --channel {channel}` gives up"
            );
            checks.push(note("notify", text));
        } else if let Some(last) = failing.last() {
            let why = last.why.as_deref().unwrap_or_default();
            checks.push(note(
                "notify",
                format!(
                    "{} to `{channel}` {} tried again, since {why}",
                    counted(failing.len(), "notice", "notices"),
                    if failing.len() == 1 { "is" } else { "are" }
                ),
            ));
        }
    }
    checks
}

/// `--resend`
pub fn resend(setup: &Setup) -> Result<u8, Failure> {
    let journal = setup.journal()?;
    let unparked = runtime::small(async {
        let unparked = journal.retry_notices(&Which::Parked).await?;
        setup.delivery(journal.clone()).deliver_due(crate::commands::rest::MOMENT).await;
        Ok(unparked)
    })?;
    report::data(&format!("{} tried again", counted(unparked, "parked notice is", "parked notices are")));
    Ok(exit::COMPLETED)
}
