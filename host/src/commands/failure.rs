//! What went wrong, classified once: message, causes, hints and exit code. Nobody matches on text.

use std::error::Error;

use super::exit;
use crate::config::ConfigError;
use crate::journal::JournalError;
use crate::model::ModelError;
use crate::plugin::PluginsError;
use crate::project::{BuildError, NewError};
use crate::runner::HostError;
use crate::state::decide::Refused;
use crate::state::import::ImportError;

/// Ends a command.
#[derive(Debug)]
pub struct Failure {
    pub message: String,
    pub causes: Vec<String>,
    pub hints: Vec<String>,
    pub code: u8,
}

impl Failure {
    pub fn new(code: u8, message: impl Into<String>) -> Self {
        Self { message: message.into(), causes: Vec::new(), hints: Vec::new(), code }
    }

    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(exit::USAGE, message)
    }

    pub fn data(message: impl Into<String>) -> Self {
        Self::new(exit::DATA, message)
    }

    pub fn of(code: u8, error: &dyn Error) -> Self {
        let mut causes = Vec::new();
        let mut source = error.source();
        while let Some(cause) = source {
            causes.push(cause.to_string());
            source = cause.source();
        }
        Self { message: error.to_string(), causes, hints: Vec::new(), code }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    pub fn because(mut self, cause: impl ToString) -> Self {
        self.causes.push(cause.to_string());
        self
    }
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        let code = match &error {
            JournalError::Fenced { .. } | JournalError::Held { .. } => exit::CONFLICT,
            JournalError::Unknown { .. } => exit::UNKNOWN,
            JournalError::Ambiguous { .. } => exit::USAGE,
            JournalError::Values(_) => exit::DATA,
            JournalError::Newer { .. } | JournalError::Unreadable { .. } | JournalError::Damaged { .. } | JournalError::Unusable { .. } => {
                exit::CONFIG
            }
            JournalError::Moved { .. }
            | JournalError::Busy { .. }
            | JournalError::Away { .. }
            | JournalError::Lapsed { .. }
            | JournalError::WentBack { .. } => exit::PAUSED,
        };
        let failure = Self::of(code, &error);
        match &error {
            JournalError::Unknown { what: "pause", .. } => failure.hint("`pausegate pending` lists open pauses"),
            JournalError::Unknown { .. } => failure.hint("`pausegate chains` lists chains"),
            JournalError::Ambiguous { candidates, what, count, .. } => {
                let list = if *what == "pause" { "pending" } else { "chains" };
                let named = candidates.iter().fold(failure, |failure, one| failure.hint(format!("`{}` is {}", one.id, one.is)));
                let more =
                    (*count > candidates.len()).then(|| format!("{} more begin with it; `pausegate {list}` lists them", count - candidates.len()));
                more.into_iter().fold(named, Failure::hint)
            }
            JournalError::Held { chain, .. } => failure.hint(format!("`pausegate inspect {chain}` shows how far it has come")),
            JournalError::Moved { .. } | JournalError::Busy { .. } => failure.hint("try again"),
            JournalError::WentBack { chain, .. } => failure.hint(format!("`pausegate resume {chain}` goes on from there")),
            JournalError::Lapsed { chain } => failure.hint(format!("what it did until then is in the journal; `pausegate resume {chain}` goes on")),
            JournalError::Newer { .. } | JournalError::Unreadable { .. } => {
                failure.hint("use the version of pausegate that wrote it, or a newer one")
            }
            JournalError::Damaged { .. } => {
                failure.hint("nothing was written to it; put a copy from before in its place, other chains in it can be used")
            }
            JournalError::Unusable { .. } => failure.hint("mend it, or name another file with `--journal sqlite:PATH`"),
            JournalError::Fenced { .. } | JournalError::Away { .. } | JournalError::Values(_) => failure,
        }
    }
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        let code = match &error {
            ModelError::NotChosen | ModelError::Unknown(_) => exit::USAGE,
            ModelError::BadSetting { .. } => exit::CONFIG,
            ModelError::Script { .. } => exit::DATA,
            _ => exit::UNAVAILABLE,
        };
        let failure = Self::of(code, &error);
        match &error {
            ModelError::MissingKey { variable, .. } => failure.hint(format!("set it with `export {variable}=…`")),
            ModelError::Record { .. } => failure.hint("leave `--record` out to go on without it"),
            _ => failure,
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::from(&error)
    }
}

impl From<&ConfigError> for Failure {
    fn from(error: &ConfigError) -> Self {
        let failure = Self::of(exit::CONFIG, error);
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

impl From<PluginsError> for Failure {
    fn from(error: PluginsError) -> Self {
        let code = match &error {
            PluginsError::Directory { .. } => exit::CONFIG,
            PluginsError::Engine(_) => exit::INTERNAL,
        };
        Self::of(code, &error)
    }
}

impl From<NewError> for Failure {
    fn from(error: NewError) -> Self {
        let failure = Self::of(exit::DATA, &error);
        match &error {
            NewError::Occupied(_) => failure.hint("give another name, or take what is there away"),
            NewError::Write { .. } => failure,
        }
    }
}

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Self {
        let code = match &error {
            BuildError::Unrecognised { .. } => exit::DATA,
            BuildError::Missing { .. } => exit::UNAVAILABLE,
            BuildError::Interrupted => exit::INTERRUPTED,
            _ => exit::FAILED,
        };
        let failure = Self::of(code, &error);
        match &error {
            BuildError::Unrecognised { .. } => failure.hint("`pausegate new --lang LANGUAGE NAME` writes one"),
            BuildError::Missing { get, .. } => failure.hint(format!("in the plugin's folder: {get}")),
            _ => failure,
        }
    }
}

impl From<ImportError> for Failure {
    fn from(error: ImportError) -> Self {
        Self::of(exit::DATA, &error)
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        let code = match &refused {
            Refused::Unknown(_) => exit::UNKNOWN,
            Refused::Already { .. } | Refused::Gone { .. } => exit::CONFLICT,
            Refused::NotEligible { .. } | Refused::Requester { .. } => exit::DENIED,
            Refused::DigestDiffers { .. } | Refused::DoesNotFit(_) => exit::DATA,
        };
        let failure = Self::of(code, &refused);
        match &refused {
            Refused::DigestDiffers { .. } => failure.hint("`pausegate pending` shows it as it is now"),
            Refused::Unknown(_) => failure.hint("`pausegate pending` lists open pauses"),
            _ => failure,
        }
    }
}

impl From<HostError> for Failure {
    fn from(error: HostError) -> Self {
        let code = match error {
            HostError::Journal(error) => return error.into(),
            HostError::Model(error) => return error.into(),
            HostError::Import(error) => return error.into(),
            HostError::Refused(refused) => return refused.into(),
            HostError::Ended { .. } | HostError::Waiting { .. } | HostError::HasChild { .. } | HostError::Unfinished { .. } => exit::CONFLICT,
            HostError::NoEvent { .. } | HostError::TurnLimit { .. } | HostError::BadCall(_) => exit::DATA,
        };
        let failure = Self::of(code, &error);
        match &error {
            HostError::Ended { chain, .. } => failure.hint(format!("`pausegate inspect {chain}` shows how it ended")),
            HostError::Waiting { chain, .. } => failure
                .hint("decide them first: `pausegate pending`")
                .hint(format!("or close them unanswered: `pausegate say {chain} … --supersede`")),
            HostError::HasChild { child, .. } => {
                failure.hint(format!("wait for it: `pausegate inspect {child}`")).hint(format!("or end it: `pausegate cancel {child}`"))
            }
            HostError::Unfinished { chain } => failure.hint(format!("`pausegate resume {chain}`")),
            _ => failure,
        }
    }
}
