//! `grants schema`, `grants import FILE`: help with writing the grants file. Neither writes one.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::exit;
use super::failure::Failure;
use crate::config::wassette;
use crate::report::{self, escape};

/// JSON Schema of the grants file; a test holds it against the reader.
const SCHEMA: &str = include_str!("../../grants.schema.json");

/// Help with writing the grants file; writes nothing
#[derive(Args)]
#[command(after_help = "Examples:\n  pausegate grants schema > grants.schema.json\n  pausegate grants import ./policy.yaml --plugin fetch")]
pub struct Grants {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print the JSON Schema of the grants file, for editors
    #[command(
        after_help = "Examples:\n  pausegate grants schema > grants.schema.json\n  echo '#:schema ./grants.schema.json' # as the first line of grants.toml"
    )]
    Schema,
    Import(Import),
}

/// Print the lines that say what a wassette `policy.yaml` says; what cannot be said is a comment with the reason
#[derive(Args)]
#[command(
    after_help = "Examples:\n  pausegate grants import ./policy.yaml --plugin fetch\n  pausegate grants import ./fetch.policy.yaml >> grants.toml"
)]
struct Import {
    /// The policy
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The plugin it is for; else the file's name up to `.policy.yaml`
    #[arg(long, value_name = "NAME")]
    plugin: Option<String>,
}

impl Grants {
    pub fn run(&self) -> Result<u8, Failure> {
        match &self.command {
            Command::Schema => report::data(SCHEMA.trim_end()),
            Command::Import(import) => import.run()?,
        }
        Ok(exit::COMPLETED)
    }
}

impl Import {
    fn run(&self) -> Result<(), Failure> {
        let shown = self.file.display();
        let plugin = match &self.plugin {
            Some(plugin) => plugin.clone(),
            None => {
                named(&self.file).ok_or_else(|| Failure::usage(format!("`{shown}` does not say for which plugin")).hint("give `--plugin NAME`"))?
            }
        };
        let unreadable = |error: std::io::Error| {
            let code = if error.kind() == std::io::ErrorKind::NotFound { exit::UNKNOWN } else { exit::DATA };
            Failure::new(code, format!("`{shown}` cannot be read")).because(error)
        };
        let length = std::fs::metadata(&self.file).map_err(unreadable)?.len();
        if length > wassette::BYTES_MAX {
            return Err(Failure::data(format!("`{shown}` has {length} bytes, the limit is {}", wassette::BYTES_MAX)));
        }
        let text = std::fs::read_to_string(&self.file).map_err(unreadable)?;
        let blocks = wassette::lines(&plugin, &text).map_err(|error| Failure::data(format!("`{shown}`: {error}")))?;
        for block in blocks {
            // What an escape would change could not be pasted as it is shown.
            let plain = block.lines().all(|line| escape::message(line) == line);
            report::data(if plain { &block } else { "# left out: an entry with hidden characters, or of great length" });
        }
        Ok(())
    }
}

/// `fetch` of `fetch.policy.yaml`.
fn named(file: &Path) -> Option<String> {
    let name = file.file_name()?.to_str()?;
    let stem = name.strip_suffix(".policy.yaml").or_else(|| name.strip_suffix(".policy.yml"))?;
    Some(stem.to_owned())
}
