//! `run PROMPT`

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::answer::Answers;
use super::failure::Failure;
use super::rest::{Driver, MOMENT};
use super::setup::{Flags, Setup, argument_text};
use super::{exit, identity, interrupt, runtime};
use crate::capability::pattern::tool_matches;
use crate::chain::message::{Message, Role};
use crate::chain::{ChainId, ChainStatus, Settings};
use crate::journal::{Journal, JournalError};
use crate::model::ModelError;
use crate::report::live::Live;
use crate::runner::{Host, HostError, Prompt};

/// Of a history file: far more than fits in a context window, and what a chain's first event holds.
const MESSAGES_BYTES_MAX: u64 = 32 << 20;

/// Start a chain: ask the model, run the tools it asks for, until it asks for no more or a pause holds it
#[derive(Args)]
#[command(after_help = "Examples:
  pausegate run \"clean up the temp files under /build\" --model claude-sonnet-4-5
  git diff | pausegate run - --system 'Review this change'
  pausegate run \"what is in /build?\" --model script:turns.json --json
  pausegate run \"what is in /build?\" --only files__list,files__read
  pausegate run --continue \"and the logs?\"")]
pub struct Run {
    /// What the model is asked; `-` reads it from standard input
    prompt: Option<String>,
    /// `script:FILE`, `claude-…`, `gpt-…`, `gemini-…`, `ollama:NAME` and others
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// The system prompt
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,
    /// Carry on a completed chain, the newest unless one is named
    #[arg(long = "continue", value_name = "CHAIN", num_args = 0..=1, default_missing_value = "")]
    continues: Option<String>,
    /// History to start from, in the message JSON that `inspect --messages` prints
    #[arg(long, value_name = "FILE", conflicts_with = "continues")]
    messages: Option<PathBuf>,
    /// Offer and call no other tools than these; `*` stands for anything in a name. Chains that carry this one on are
    /// held to it too
    #[arg(long, value_name = "PATTERN", value_delimiter = ',')]
    only: Vec<String>,
    /// Model calls allowed before the chain is blocked
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_turns: Option<u32>,
    /// Keep what the model says in FILE, to be played by `--model script:FILE`
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Answer pauses at this terminal as they come
    #[arg(long, conflicts_with = "auto_approve")]
    interactive: bool,
    /// Approve, as you, what you may approve alone; answers no choice, text or form
    #[arg(long)]
    auto_approve: bool,
    /// Let only workers carry the chain on that have this place; on PostgreSQL, where a grant holds folders, it is this
    /// machine unless you say otherwise
    #[arg(long, value_name = "LABEL")]
    place: Option<String>,
    /// Print events as NDJSON, the chain's id and status last
    #[arg(long)]
    json: bool,
}

impl Run {
    pub fn run(&self, flags: &Flags) -> Result<u8, Failure> {
        let (prompt, continues) = self.prompt_and_parent()?;
        let prompt = prompt.map(argument_text).transpose()?;
        let messages = self.messages(prompt.as_deref())?;
        let setup = Setup::read(flags)?;
        runtime::full(async {
            let live = Arc::new(Live::new(self.json));
            let interrupt = interrupt::on_signal()?;
            let answers = Answers::new(self.interactive, self.auto_approve);
            let by = identity::os_user();
            let mut prompt = Prompt { by: by.clone(), settings: setup.chain_settings(), messages, continues: None, call: None };
            if let Some(parent) = continues {
                (prompt.settings, prompt.continues) = carried_on(&*setup.journal_to_read()?, parent).await?;
            }
            self.apply(&mut prompt.settings)?;
            // A name, script or key that does not open costs no chain, and no time for plugins.
            let model = prompt.settings.model.as_deref().ok_or(ModelError::NotChosen)?;
            setup.models(None)(model)?;
            setup.check_files(Some(model), self.record.as_deref(), 0)?;
            let host = setup.host(live.clone(), self.record.as_deref()).await?;
            self.narrow(&mut prompt.settings, &host)?;
            setup.settle_place(&mut prompt.settings, &host, self.place.as_deref());
            let report = host.run(prompt, interrupt.clone()).await?;
            let delivery = setup.delivery(host.journal.clone());
            let code = Driver { host, live, by, answers, interrupt }.go_on(report).await;
            delivery.deliver_due(MOMENT).await;
            code
        })
    }

    /// `--continue` may swallow the prompt that stands behind it: what is no chain id is the prompt.
    fn prompt_and_parent(&self) -> Result<(Option<&str>, Option<&str>), Failure> {
        let (prompt, continues) = match (self.prompt.as_deref(), self.continues.as_deref()) {
            (None, Some(swallowed)) if !swallowed.starts_with("ch_") && !swallowed.is_empty() => (Some(swallowed), Some("")),
            given => given,
        };
        if prompt.is_none() && self.messages.is_none() {
            return Err(Failure::usage("a prompt is missing").hint("give it as an argument, or `-` to read it from standard input"));
        }
        if prompt.is_some_and(|prompt| prompt.trim().is_empty()) {
            return Err(Failure::usage("the prompt is empty"));
        }
        Ok((prompt, continues))
    }

    fn messages(&self, prompt: Option<&str>) -> Result<Vec<Message>, Failure> {
        let mut messages = match &self.messages {
            Some(path) => read_messages(path)?,
            None => Vec::new(),
        };
        if let Some(prompt) = prompt {
            if prompt.trim().is_empty() {
                return Err(Failure::usage("the prompt is empty"));
            }
            messages.push(Message::text(Role::User, prompt));
        }
        Ok(messages)
    }

    /// A pattern that fits no tool is a slip: what was meant would be missing without a word.
    fn narrow(&self, settings: &mut Settings, host: &Host) -> Result<(), Failure> {
        let tools: Vec<_> = host.catalog().into_iter().map(|tool| tool.name).filter(|tool| settings.admit(tool)).collect();
        if let Some(lost) = self.only.iter().find(|pattern| !tools.iter().any(|tool| tool_matches(pattern, tool))) {
            let hint = if tools.is_empty() { "there are no tools".to_owned() } else { format!("there are {}", tools.join(", ")) };
            return Err(Failure::usage(format!("`--only {lost}` fits no tool")).hint(hint));
        }
        if !self.only.is_empty() {
            settings.only.push(self.only.clone());
        }
        Ok(())
    }

    fn apply(&self, settings: &mut Settings) -> Result<(), Failure> {
        if let Some(model) = &self.model {
            settings.model = Some(model.clone());
        }
        if let Some(system) = &self.system {
            settings.system = Some(system.clone());
        }
        if let Some(max_turns) = self.max_turns {
            settings.max_turns = max_turns;
        }
        // The chain may be resumed from another directory.
        if let Some(file) = settings.model.as_deref().and_then(|model| model.strip_prefix("script:")) {
            let path = std::path::absolute(file).map_err(|error| Failure::usage("`script:` needs a file").because(error))?;
            settings.model = Some(format!("script:{}", path.display()));
        }
        Ok(())
    }
}

/// Settings and id of the chain whose history goes on.
async fn carried_on(journal: &dyn Journal, parent: &str) -> Result<(Settings, Option<ChainId>), Failure> {
    let id = match parent {
        "" => journal.newest_chain().await?.ok_or(JournalError::Unknown { what: "chain", prefix: String::new() }),
        prefix => journal.find_chain(prefix).await,
    }?;
    let events = journal.events(&id, 0).await?;
    let state = crate::state::ChainState::fold(id.clone(), &events);
    match state.status {
        ChainStatus::Completed => Ok((state.settings, Some(id))),
        ChainStatus::Paused => Err(HostError::Waiting { chain: id, pauses: state.open_pauses().map(|pause| pause.id.clone()).collect() }.into()),
        status if status.is_terminal() => Err(HostError::Ended { chain: id, status }.into()),
        _ => Err(HostError::Unfinished { chain: id }.into()),
    }
}

fn read_messages(path: &Path) -> Result<Vec<Message>, Failure> {
    let shown = path.display();
    let text = crate::file::read_text(path, MESSAGES_BYTES_MAX);
    let text = text.map_err(|error| Failure::new(exit::UNKNOWN, format!("cannot read `{shown}`")).because(error))?;
    serde_json::from_str(&text).map_err(|error| Failure::data(format!("`{shown}` is no message history")).because(error))
}
