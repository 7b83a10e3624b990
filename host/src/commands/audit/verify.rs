//! `audit verify [CHAIN…]`

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use crate::chain::ChainId;
use crate::commands::failure::Failure;
use crate::commands::setup::{Flags, Setup};
use crate::commands::{exit, runtime};
use crate::counted::counted;
use crate::digest::Digest;
use crate::file;
use crate::journal::audit::{Finding, Heads, Walk, What, verify};
use crate::journal::export::{LINE_BYTES_MAX, Read, Reader};
use crate::journal::records::Head;
use crate::journal::{Journal, JournalError};
use crate::report;
use crate::report::escape;

/// Bytes of a file of heads: some hundred thousand chains.
const HEAD_BYTES_MAX: u64 = 64 << 20;
/// Findings that `--json` lists; all are counted.
const FINDINGS_MAX: usize = 1000;

/// Verify that events are those that were written: none changed, taken out, exchanged or, by a kept head, cut off
#[derive(Args)]
pub struct Verify {
    /// These chains only; the start of an id is enough
    #[arg(value_name = "CHAIN")]
    chains: Vec<String>,
    /// Compare with what `audit head --json` printed before
    #[arg(long, value_name = "FILE")]
    head: Option<PathBuf>,
    /// Verify this export in the journal's place; may be given again
    #[arg(long, value_name = "FILE", conflicts_with = "chains")]
    file: Vec<PathBuf>,
    /// Verify this export too: chains that were archived are still there for `--head`; may be given again
    #[arg(long, value_name = "FILE", conflicts_with_all = ["chains", "file"])]
    archive: Vec<PathBuf>,
    /// Print an object
    #[arg(long)]
    json: bool,
}

impl Verify {
    /// 1 where something is damaged.
    pub fn run(&self, flags: &Flags) -> Result<u8, Failure> {
        let mut tally = Tally { json: self.json, ..Tally::default() };
        if let Some(path) = &self.head {
            let heads = heads(path)?;
            tally.digest = Some(heads.digest.clone());
            tally.kept = heads.by_chain();
        }
        if self.file.is_empty() {
            let setup = Setup::read(flags)?;
            // Sound is what was looked at: a path that was misspelt is not.
            if setup.lacks_journal() {
                let text = format!("there is no journal at `{}`", setup.journal_name());
                return Err(Failure::new(exit::UNKNOWN, text).hint("see `--journal`; `pausegate doctor` shows the one in use"));
            }
            let journal = setup.journal_to_read()?;
            runtime::small(async {
                match self.chains.is_empty() {
                    true => all(&*journal, &mut tally).await,
                    false => self.named(&*journal, &mut tally).await,
                }
            })?;
        }
        for path in self.file.iter().chain(&self.archive) {
            export(path, &mut tally)?;
        }
        let gone = if self.chains.is_empty() { tally.gone() } else { 0 };
        tally.say();
        if gone > 0 && self.archive.is_empty() && self.file.is_empty() {
            report::note("chains that were archived are looked for in their exports with `--archive FILE`");
        }
        Ok(if tally.is_sound() { exit::COMPLETED } else { exit::FAILED })
    }

    async fn named(&self, journal: &dyn Journal, tally: &mut Tally) -> Result<(), Failure> {
        for prefix in &self.chains {
            let chain = journal.find_chain(prefix).await?;
            let head = journal.last(&chain).await?.ok_or(JournalError::Unknown { what: "chain", prefix: prefix.clone() })?;
            tally.add(verify(journal, &head, tally.kept.get(&chain).cloned()).await?);
        }
        Ok(())
    }
}

fn heads(path: &Path) -> Result<Heads, Failure> {
    let unusable = |error: &dyn std::error::Error| Failure::data(format!("`{}` cannot be used as a head", path.display())).because(error);
    let text = file::read_text(path, HEAD_BYTES_MAX).map_err(|error| unusable(&error))?;
    Heads::read(&text).map_err(|error| unusable(&error))
}

async fn all(journal: &dyn Journal, tally: &mut Tally) -> Result<(), Failure> {
    let mut last: Option<ChainId> = None;
    loop {
        let page = journal.heads(last.as_ref()).await?;
        for head in &page {
            tally.add(verify(journal, head, tally.kept.get(&head.chain).cloned()).await?);
        }
        match page.into_iter().next_back() {
            Some(head) => last = Some(head.chain),
            None => return Ok(()),
        }
    }
}

fn export(path: &Path, tally: &mut Tally) -> Result<(), Failure> {
    let unreadable = |error: std::io::Error| Failure::data(format!("`{}` cannot be read", path.display())).because(error);
    let kept = tally.kept.clone();
    let mut reader = Reader::new(|chain: &ChainId| kept.get(chain).cloned());
    for (line, number) in file::lines(path, LINE_BYTES_MAX as u64).map_err(unreadable)?.zip(1..) {
        for read in reader.line(&line.map_err(unreadable)?) {
            tally.read(path, number, read);
        }
    }
    if let Some(read) = reader.over() {
        tally.read(path, 0, read);
    }
    Ok(())
}

#[derive(Default)]
struct Tally {
    json: bool,
    digest: Option<Digest>,
    kept: BTreeMap<ChainId, Head>,
    seen: BTreeSet<ChainId>,
    chains: u64,
    events: u64,
    unreadable: u64,
    damaged: u64,
    findings: Vec<Value>,
}

impl Tally {
    fn add(&mut self, walk: Walk) {
        self.chains += 1;
        self.events += walk.events;
        self.unreadable += walk.unreadable;
        if let Some((seq, why)) = walk.first_unreadable.as_ref().filter(|_| !self.json) {
            let (chain, count) = (&walk.chain, walk.unreadable);
            report::data(&escape::message(&format!("chain {chain}: {count} of its events cannot be read by this program, first event {seq}: {why}")));
        }
        if !walk.is_sound() {
            self.damaged += 1;
            walk.findings.iter().for_each(|finding| self.find(finding));
        }
        if !self.kept.is_empty() {
            self.seen.insert(walk.chain);
        }
    }

    fn read(&mut self, path: &Path, number: u64, read: Read) {
        let stray = |what: String| (json!({"file": path, "line": number, "what": "line", "text": what}), what);
        let (value, text) = match read {
            Read::Chain(walk) => return self.add(walk),
            Read::Torn(walk) => {
                let chain = walk.chain.clone();
                self.add(walk);
                let text = format!("chain {chain} stops without a line that says where it ends");
                (json!({"id": chain, "file": path, "what": "cut", "text": text}), text)
            }
            Read::Stray(what) => stray(what),
        };
        self.damaged += 1;
        self.list(value);
        if !self.json {
            let place = if number == 0 { String::new() } else { format!(", line {number}") };
            report::data(&escape::message(&format!("`{}`{place}: {text}", path.display())));
        }
    }

    /// What the kept head names and nobody has; how much that is.
    fn gone(&mut self) -> usize {
        let gone: Vec<_> = self.kept.values().filter(|head| !self.seen.contains(&head.chain)).cloned().collect();
        let count = gone.len();
        for head in gone {
            self.damaged += 1;
            self.find(&Finding { chain: head.chain, seq: head.seq, what: What::Gone });
        }
        count
    }

    fn find(&mut self, finding: &Finding) {
        self.list(json!({"id": finding.chain, "seq": finding.seq, "what": finding.what.name(), "text": finding.to_string()}));
        if !self.json {
            report::data(&escape::message(&format!("chain {} is damaged: {finding}", finding.chain)));
        }
    }

    fn list(&mut self, finding: Value) {
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(finding);
        }
    }

    fn is_sound(&self) -> bool {
        self.damaged == 0
    }

    fn say(&self) {
        if self.json {
            return report::json(&json!({
                "sound": self.is_sound(), "chains": self.chains, "events": self.events, "unreadable": self.unreadable,
                "damaged": self.damaged, "findings": self.findings, "head": self.digest,
            }));
        }
        let (chains, events) = (counted(self.chains, "chain", "chains"), counted(self.events, "event", "events"));
        let state = if self.is_sound() { "sound".to_owned() } else { format!("{} damaged", self.damaged) };
        report::data(&format!("{chains}, {events}: {state}"));
        match &self.digest {
            Some(digest) => report::data(&format!("compared with the head of {}, {digest}", counted(self.kept.len(), "chain", "chains"))),
            None => report::note("only a head that was kept elsewhere shows that nothing was cut off: `pausegate audit head --json`"),
        }
    }
}
