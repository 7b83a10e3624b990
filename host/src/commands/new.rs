//! `new --lang L NAME`: a small plugin to begin with, which builds and passes its own test.

use std::path::Path;

use clap::Args;

use super::exit;
use super::failure::Failure;
use crate::plugin::is_plugin_name;
use crate::project::{Language, create};
use crate::report;

/// Characters of a name: with `__` and a tool's name it must stay within what model providers take.
const NAME_MAX: usize = 32;

/// Write a small plugin to begin with; its SDK comes along, nothing is fetched
#[derive(Args)]
#[command(after_help = "Examples:\n  pausegate new --lang python tidy\n  pausegate new --lang go web-search")]
pub struct New {
    /// What it is written in
    #[arg(long, value_name = "LANGUAGE", value_enum)]
    lang: Language,
    /// Its name, which is the new folder's too
    name: String,
}

impl New {
    pub fn run(&self) -> Result<u8, Failure> {
        check_name(&self.name)?;
        create(Path::new(&self.name), self.lang, &self.name)?;
        report::data(&format!("{}/", self.name));
        let (get, test) = self.lang.commands();
        report::note(&format!("next, in `{}`:", self.name));
        report::note(&format!("  {get}  # once"));
        report::note(&format!("  {test}"));
        report::note("  pausegate build");
        report::note(&format!("  pausegate call {}__greet '{{\"name\": \"Ada\"}}' --plugins plugins", self.name));
        Ok(exit::COMPLETED)
    }
}

fn check_name(name: &str) -> Result<(), Failure> {
    // Packages of several languages must not begin with a digit.
    let good = is_plugin_name(name) && name.len() <= NAME_MAX && name.starts_with(|first: char| first.is_ascii_lowercase());
    let rule = format!(
        "a plugin's name begins with a lower-case letter and holds lower-case letters and digits, joined by single `-` or `_`, at most {NAME_MAX} characters"
    );
    if good { Ok(()) } else { Err(Failure::usage(format!("`{}` is no plugin's name", name.escape_debug())).hint(rule)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_every_language_and_provider_takes_are_taken() {
        for good in ["a", "tidy", "web-search", "a1_b", &"x".repeat(NAME_MAX)] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in ["", "1st", "A", "a__b", "../a", "a/b", ".", "-a", "a b", "ä", &"x".repeat(NAME_MAX + 1)] {
            assert_eq!(check_name(bad).map_err(|failure| failure.code), Err(exit::USAGE), "{bad}");
        }
    }
}
