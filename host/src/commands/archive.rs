//! `archive`: chains that ended long ago, taken out of the journal into a file that can be verified.

use std::fs::{DirBuilder, File};
use std::io::{BufWriter, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use clap::Args;
use jiff::civil::Date;
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use tempfile::NamedTempFile;

use super::failure::Failure;
use super::setup::{Flags, Setup};
use super::{exit, runtime};
use crate::chain::ChainId;
use crate::file;
use crate::journal::archive::{Choice, choose};
use crate::journal::export::{ExportError, LINE_BYTES_MAX, Line, Read, Reader, export};
use crate::journal::records::Head;
use crate::journal::{Journal, audit};
use crate::report;

/// Take chains that ended long ago out of the journal, into a file that `audit verify --file` verifies
#[derive(Args)]
#[command(after_help = "Examples:\n  pausegate archive --older-than 30d --dry-run\n  pausegate archive --before 2026-01-01 --to /mnt/archive")]
pub struct Archive {
    /// Chains that ended before this day, in UTC
    #[arg(long, value_name = "DATE", required_unless_present = "older_than", conflicts_with = "older_than")]
    before: Option<Date>,
    /// Chains that ended longer ago than this: `12h`, `30d`, `8w`
    #[arg(long, value_name = "AGE", value_parser = age)]
    older_than: Option<SignedDuration>,
    /// The folder of the new file, instead of the one beside the journal
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// Say what would be taken out, and leave it
    #[arg(long)]
    dry_run: bool,
    /// Print an object
    #[arg(long)]
    json: bool,
}

fn age(text: &str) -> Result<SignedDuration, String> {
    let hours = [("h", 1), ("d", 24), ("w", 24 * 7)];
    let read = hours.iter().find_map(|(unit, hours)| Some((text.strip_suffix(unit)?, *hours)));
    let number = read.filter(|(digits, _)| digits.bytes().all(|byte| byte.is_ascii_digit()));
    let hours = number.and_then(|(digits, hours)| digits.parse::<u32>().ok().map(|number| i64::from(number) * hours));
    hours.map(SignedDuration::from_hours).ok_or_else(|| "it is no number of h, d or w, such as `30d`".to_owned())
}

/// What was done, or would be.
#[derive(Default)]
struct Outcome {
    file: Option<PathBuf>,
    archived: Vec<ChainId>,
    events: u64,
    needed: Vec<ChainId>,
    damaged: Vec<String>,
    compacted: bool,
}

impl Archive {
    /// 1 where a chain stays since it is damaged.
    pub fn run(&self, flags: &Flags) -> Result<u8, Failure> {
        let setup = Setup::read(flags)?;
        let before = self.before(setup.clock.now())?;
        let journal = setup.journal_to_read()?;
        let outcome = runtime::small(async {
            let rows = journal.chains(u32::MAX).await?;
            let choice = choose(&rows, &journal.continued().await?, before);
            match self.dry_run {
                true => Ok(Outcome { archived: choice.go, needed: choice.needed, ..Outcome::default() }),
                false => {
                    let folder = self.to.clone().unwrap_or_else(|| setup.settings.places.archive());
                    take_out(&*journal, choice, &folder, setup.clock.now()).await
                }
            }
        })?;
        match self.json {
            true => report::json(&json!({
                "file": outcome.file, "archived": outcome.archived, "events": outcome.events, "needed": outcome.needed,
                "damaged": outcome.damaged, "compacted": outcome.compacted, "dry_run": self.dry_run,
            })),
            false => self.told(&outcome),
        }
        Ok(if outcome.damaged.is_empty() { exit::COMPLETED } else { exit::FAILED })
    }

    fn before(&self, now: Timestamp) -> Result<Timestamp, Failure> {
        let out_of_range = |error: jiff::Error| Failure::usage("there is no such time").because(error);
        match (self.before, self.older_than) {
            (Some(day), _) => Offset::UTC.to_timestamp(day.at(0, 0, 0, 0)).map_err(out_of_range),
            (None, age) => now.checked_sub(age.unwrap_or_default()).map_err(out_of_range),
        }
    }

    fn told(&self, outcome: &Outcome) {
        let chains = count(outcome.archived.len() as u64, "chain");
        match (&outcome.file, self.dry_run) {
            (_, true) => {
                outcome.archived.iter().for_each(|chain| report::data(&chain.0));
                report::note(&format!("{chains} would be taken out"));
            }
            (Some(file), _) => {
                report::data(&file.display().to_string());
                report::note(&format!("taken out of the journal into this file: {chains}, {}", count(outcome.events, "event")));
                if !outcome.compacted {
                    report::note("others were at work, and the room they leave was not given back; the journal fills it first");
                }
            }
            (None, _) => report::note("no chain has ended that long ago"),
        }
        if !outcome.needed.is_empty() {
            report::note(&format!("{} stay, since chains that stay carry them on", count(outcome.needed.len() as u64, "chain")));
        }
        outcome.damaged.iter().for_each(|why| report::note(why));
    }
}

fn count(number: u64, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// Written, read back and verified, and on the disk before anything is taken out.
async fn take_out(journal: &dyn Journal, choice: Choice, folder: &Path, now: Timestamp) -> Result<Outcome, Failure> {
    let mut outcome = Outcome { needed: choice.needed, ..Outcome::default() };
    let mut heads = Vec::new();
    for chain in choice.go {
        let Some(head) = journal.last(&chain).await? else { continue };
        let walk = audit::verify(journal, &head, Some(head.clone())).await?;
        match walk.findings.iter().find(|finding| !matches!(finding.what, audit::What::Rows(_))) {
            Some(finding) => outcome.damaged.push(format!("chain {chain} is damaged and stays: {finding}")),
            None => heads.push(head),
        }
    }
    if heads.is_empty() {
        return Ok(outcome);
    }
    let (file, events) = write(journal, &heads, folder, now).await?;
    // Of those written out, what others came to need meanwhile stays, and is in both.
    let oldest_first: Vec<_> = heads.iter().map(|head| head.chain.clone()).collect();
    let removed = journal.remove(heads).await?;
    outcome.archived = oldest_first.into_iter().filter(|chain| removed.contains(chain)).collect();
    (outcome.file, outcome.events) = (Some(file), events);
    outcome.compacted = journal.compact().await?;
    Ok(outcome)
}

async fn write(journal: &dyn Journal, heads: &[Head], folder: &Path, now: Timestamp) -> Result<(PathBuf, u64), Failure> {
    let unwritable = |error: std::io::Error| Failure::new(exit::CONFIG, format!("`{}` cannot be written to", folder.display())).because(error);
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(unwritable)?;
    let mut file = NamedTempFile::new_in(folder).map_err(unwritable)?;
    let mut to = BufWriter::new(file.as_file_mut());
    let mut line = |line: &Line| {
        serde_json::to_writer(&mut to, line)?;
        to.write_all(b"\n")
    };
    for head in heads {
        match export(journal, &head.chain, &mut line).await {
            Ok(end) if end == *head => {}
            Ok(_) => {
                return Err(Failure::new(exit::PAUSED, format!("chain {} changed meanwhile; nothing was taken out", head.chain)).hint("try again"));
            }
            Err(ExportError::Journal(error)) => return Err(error.into()),
            Err(ExportError::Written(error)) => return Err(unwritable(error)),
        }
    }
    to.flush().map_err(unwritable)?;
    drop(to);
    file.as_file().sync_all().map_err(unwritable)?;
    let events = read_back(file.path(), heads)?;
    let name = folder.join(format!("chains-{}.ndjson", now.strftime("%Y%m%dT%H%M%S%.3fZ")));
    file.persist_noclobber(&name).map_err(|error| unwritable(error.error))?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(unwritable)?;
    Ok((name, events))
}

/// What the disk gives back, as `audit verify --file` will read it one day.
fn read_back(path: &Path, heads: &[Head]) -> Result<u64, Failure> {
    let wrong = |why: &str| Failure::new(exit::INTERNAL, format!("what was written to `{}` {why}; nothing was taken out", path.display()));
    let mut reader = Reader::new(|chain: &ChainId| heads.iter().find(|head| head.chain == *chain).cloned());
    let (mut chains, mut events) = (0, 0);
    for line in file::lines(path, LINE_BYTES_MAX as u64).map_err(|error| wrong("cannot be read").because(error))? {
        for read in reader.line(&line.map_err(|error| wrong("cannot be read").because(error))?) {
            match read {
                Read::Chain(walk) if walk.is_sound() => (chains, events) = (chains + 1, events + walk.events),
                Read::Chain(_) | Read::Torn(_) | Read::Stray(_) => return Err(wrong("is not what was read")),
            }
        }
    }
    if chains == heads.len() && reader.over().is_none() { Ok(events) } else { Err(wrong("is not all")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_its_unit() {
        assert_eq!(age("30d"), Ok(SignedDuration::from_hours(720)));
        assert_eq!(
            (age("2w"), age("12h"), age("0d")),
            (Ok(SignedDuration::from_hours(336)), Ok(SignedDuration::from_hours(12)), Ok(SignedDuration::ZERO))
        );
        for text in ["", "d", "30", "30m", "-1d", "1.5d", " 1d", "99999999999d"] {
            assert!(age(text).is_err(), "{text}");
        }
    }
}
