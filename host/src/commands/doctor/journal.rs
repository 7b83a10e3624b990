//! What `doctor` says of the journal: its files, its place, its clock, and chains that were left behind.

use jiff::{SignedDuration, Timestamp};

use super::{Check, failed, fine, note, wrong};
use crate::commands::runtime;
use crate::commands::setup::Setup;
use crate::counted::counted;
use crate::journal::records::{Health, Rebuilt};
use crate::report;

/// An event this much ahead of the clock was written under another one.
const AHEAD_MAX: SignedDuration = SignedDuration::from_secs(60);
/// File times may be as coarse as two seconds.
const SKEW_MAX: SignedDuration = SignedDuration::from_secs(5);

pub fn checks(setup: &Setup) -> Vec<Check> {
    let path = setup.journal_name();
    let looked = setup.journal_to_read().and_then(|journal| {
        runtime::small(async {
            let Some(health) = journal.health().await? else { return Ok(None) };
            Ok(Some((health, journal.chains(u32::MAX).await?.len(), journal.clock_ahead().await?)))
        })
    });
    let (health, chains, ahead) = match looked {
        Err(failure) => return vec![failed("journal", failure)],
        Ok(None) => return vec![note("journal", format!("`{path}` is made by the first chain"))],
        Ok(Some(found)) => found,
    };
    let chains = counted(chains, "chain", "chains");
    let mut checks = vec![match (health.problems.first(), unwritable(setup)) {
        (None, None) => fine("journal", format!("`{path}`: {chains}, version {}, {} KiB, can be written", health.version, health.bytes / 1024)),
        (None, Some(error)) => wrong("journal", format!("`{path}`: {chains}, cannot be written ({error})")),
        (Some(problem), _) => wrong("journal", format!("`{path}` is damaged: {problem}; put a copy from before in its place")),
    }];
    checks.extend(clock(setup, &health, ahead));
    checks.extend(health.dead.iter().map(|(chain, holder)| {
        note("chain", format!("{chain} was left by a process that died ({holder}); carry it on with `pausegate resume {chain}`"))
    }));
    checks
}

/// Why the file takes no writes. Nothing else of this process has it open by now: to close a file lets go of its locks.
fn unwritable(setup: &Setup) -> Option<std::io::Error> {
    let path = Some(&setup.settings.places.journal).filter(|_| setup.settings.postgres.is_none())?;
    std::fs::OpenOptions::new().append(true).open(path).err()
}

fn clock(setup: &Setup, health: &Health, ahead: Option<SignedDuration>) -> Vec<Check> {
    let now = setup.clock.now();
    let mut checks = Vec::new();
    if let Some(ahead) = health.newest.map(|newest| newest.duration_since(now)).filter(|ahead| *ahead > AHEAD_MAX) {
        let text = format!("the newest event is {} s ahead of this machine's clock, which was set back, or another one's is ahead", ahead.as_secs());
        checks.push(note("clock", text));
    }
    if let Some(ahead) = ahead {
        // Leases and what is due go by the database's clock alone; the times of files and what guests read are off.
        checks.push(match ahead.abs() > SKEW_MAX {
            true => note("clock", format!("the database's is {} s ahead of this machine's", ahead.as_secs())),
            false => fine("clock", format!("{now:.0}, as the database has it")),
        });
        return checks;
    }
    let folder = setup.settings.places.journal.parent().unwrap_or(std::path::Path::new("."));
    if let Some(skew) = file_time(folder).map(|time| time.duration_since(now).abs()).filter(|skew| *skew > SKEW_MAX) {
        let text = format!("the file system of the journal is {} s off this machine's clock", skew.as_secs());
        checks.push(note("clock", text));
    }
    if checks.is_empty() {
        checks.push(fine("clock", format!("{now:.0}, as the journal and its file system have it")));
    }
    checks
}

/// What the file system calls now.
fn file_time(folder: &std::path::Path) -> Option<Timestamp> {
    let made = tempfile::NamedTempFile::new_in(folder).ok()?;
    Timestamp::try_from(made.as_file().metadata().ok()?.modified().ok()?).ok()
}

/// `--rebuild`
pub fn told(rebuilt: &Rebuilt) {
    report::data(&format!("the lists of {} were written anew from their events", counted(rebuilt.chains, "chain", "chains")));
    for error in &rebuilt.unreadable {
        report::data(&report::escape::message(&format!("left as it was: {error}")));
    }
}
