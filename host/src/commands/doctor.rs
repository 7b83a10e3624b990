//! `doctor`: is everything in place, and where is it.

use std::path::Path;

use clap::Args;
use serde_json::json;

use super::failure::Failure;
use super::reach::out_of_reach;
use super::setup::{Flags, Setup, warnings};
use super::{exit, identity, runtime};
use crate::counted::counted;
use crate::journal::records::Rebuilt;
use crate::model;
use crate::plugin::{self, Plugins, SystemSecrets};
use crate::report;
use crate::report::{escape, table};

mod journal;
mod notify;

/// Check journal, clock, plugins, grants, cache, notifications and model
#[derive(Args)]
#[command(after_help = "Examples:\n  pausegate doctor\n  pausegate doctor --model claude-sonnet-4-5 --json")]
pub struct Doctor {
    /// The model to check, instead of the configured one
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Write what lists are made of anew from the events, and check nothing
    #[arg(long, conflicts_with_all = ["model", "json"])]
    rebuild: bool,
    /// Try parked notices again, and check nothing
    #[arg(long, conflicts_with_all = ["model", "json", "rebuild"])]
    resend: bool,
    /// Print an array of objects
    #[arg(long)]
    json: bool,
}

struct Check {
    name: &'static str,
    state: State,
    text: String,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Fine,
    /// Nothing is wrong, and something is worth knowing.
    Note,
    /// With the exit code that other commands would end with over it.
    Wrong(u8),
}

impl State {
    fn as_str(self) -> &'static str {
        match self {
            Self::Fine => "ok",
            Self::Note => "note",
            Self::Wrong(_) => "wrong",
        }
    }
}

impl Doctor {
    /// 78 where settings, grants, journal, cache or a plugin are wrong, else what the model's trouble ends `run` with.
    pub fn run(&self, flags: &Flags) -> Result<u8, Failure> {
        let setup = Setup::read_with_model(flags, self.model.as_deref())?;
        if self.rebuild {
            return rebuild(&setup);
        }
        if self.resend {
            return notify::resend(&setup);
        }
        let places = &setup.settings.places;
        let grants = setup.grants();
        let broken_grants = grants.is_err();
        let mut checks = vec![
            Check { name: "version", state: State::Fine, text: format!("pausegate {}, {}", env!("CARGO_PKG_VERSION"), identity::os_user()) },
            match grants {
                Ok(grants) if grants.file.as_os_str().is_empty() => {
                    note("grants", format!("`{}` is not there: no plugin holds anything", places.grants.display()))
                }
                Ok(grants) => fine(
                    "grants",
                    format!(
                        "`{}`: {}, {}",
                        places.grants.display(),
                        counted(grants.plugins.len(), "plugin", "plugins"),
                        counted(grants.rules.len(), "rule", "rules")
                    ),
                ),
                Err(failure) => failed("grants", failure),
            },
            cache(&places.cache),
        ];
        checks.splice(1..1, journal::checks(&setup));
        if !broken_grants {
            checks.extend(plugins(&setup)?);
            checks.extend(secrets(&setup)?);
        }
        checks.extend(notify::checks(&setup));
        checks.push(model(&setup));
        if self.json {
            let as_json = |check: &Check| json!({"name": check.name, "status": check.state.as_str(), "text": check.text});
            report::json(&checks.iter().map(as_json).collect::<Vec<_>>());
        } else {
            let row = |check: &Check| vec![check.state.as_str().to_owned(), check.name.to_owned(), escape::line(&check.text)];
            table::print(&["", "CHECK", ""], checks.iter().map(row).collect());
        }
        let codes = checks.iter().filter_map(|check| if let State::Wrong(code) = check.state { Some(code) } else { None });
        Ok(codes.max().unwrap_or(exit::COMPLETED))
    }
}

/// 78 where a chain cannot be read.
fn rebuild(setup: &Setup) -> Result<u8, Failure> {
    let store = setup.journal_to_read()?;
    let rebuilt = runtime::small(async {
        // Nothing is made for it.
        match store.health().await? {
            Some(_) => Ok(store.rebuild().await?),
            None => Ok(Rebuilt::default()),
        }
    })?;
    journal::told(&rebuilt);
    Ok(if rebuilt.unreadable.is_empty() { exit::COMPLETED } else { exit::CONFIG })
}

fn plugins(setup: &Setup) -> Result<Vec<Check>, Failure> {
    let dir = setup.settings.places.plugins.display();
    let plugins = match runtime::full(setup.wasm_plugins()) {
        Ok(plugins) => plugins,
        Err(failure) => return Ok(vec![failed("plugins", failure)]),
    };
    let (grants, catalog, loaded) = (setup.grants()?, plugins.catalog(), plugins.loaded());
    let none = loaded.is_empty() && plugins.failures().is_empty();
    let mut checks = vec![if none { note("plugins", format!("`{dir}` holds no plugin")) } else { fine("plugins", format!("`{dir}`")) }];
    for (name, digest) in loaded.iter() {
        let tools = counted(catalog.iter().filter(|tool| &tool.plugin == name).count(), "tool", "tools");
        checks.push(match grants.plugins.get(name) {
            Some(section) if section.digest.matches(digest) => fine("plugin", format!("`{name}`: {tools}, trusted")),
            Some(_) => wrong("plugin", format!("`{name}` has other bytes than the grants file pins; `pausegate trust {name} --dry-run` shows what changed, `pausegate trust {name}` trusts it")),
            None => note("plugin", format!("`{name}`: {tools}; holds nothing until `pausegate trust {name}` and grants")),
        });
    }
    for (name, section) in &grants.plugins {
        checks.extend(out_of_reach(section).into_iter().map(|(line, why)| note("grants", format!("{}, `{name}`: {why}", grants.place(line)))));
    }
    checks.extend(warnings(setup, &grants, &plugins).into_iter().map(|warning| note("grants", warning)));

    checks.extend(plugins.failures().into_iter().map(|failure| wrong("plugin", format!("`{}`: {}", failure.name, failure.reason))));
    Ok(checks)
}

/// Whether each that a grant names can be read; never its value.
fn secrets(setup: &Setup) -> Result<Vec<Check>, Failure> {
    let mut checks = Vec::new();
    for (plugin, section) in &setup.grants()?.plugins {
        for secret in section.http.iter().filter_map(|line| line.secret.as_ref()) {
            let check = match plugin::trouble(secret, &SystemSecrets) {
                None => fine("secret", format!("`{}` of `{plugin}`: {}", secret.name, secret.place())),
                Some(why) => wrong("secret", format!("{why}; what `{plugin}` needs it for fails with `auth-required`")),
            };
            // One secret may stand on several lines.
            if !checks.iter().any(|other: &Check| other.text == check.text) {
                checks.push(check);
            }
        }
    }
    Ok(checks)
}

/// Made and written to as loading plugins would.
fn cache(dir: &Path) -> Check {
    let written = std::fs::create_dir_all(dir).and_then(|()| tempfile::NamedTempFile::new_in(dir).map(drop));
    match written {
        Ok(()) => fine("cache", format!("`{}`", dir.display())),
        Err(error) => wrong("cache", format!("`{}` cannot be written: {error}; plugins are compiled at every start", dir.display())),
    }
}

fn model(setup: &Setup) -> Check {
    let Some(name) = &setup.settings.model else {
        return note("model", "none is configured; give `--model NAME` or set `PAUSEGATE_MODEL`".to_owned());
    };
    match model::open(name, &|variable| std::env::var(variable).ok()) {
        Ok(_) => fine("model", format!("`{name}`, its key is there; it was not asked anything")),
        Err(error) => failed("model", error.into()),
    }
}

fn failed(name: &'static str, failure: Failure) -> Check {
    let text = std::iter::once(failure.message).chain(failure.causes).collect::<Vec<_>>().join(": ");
    Check { name, state: State::Wrong(failure.code), text }
}

fn fine(name: &'static str, text: String) -> Check {
    Check { name, state: State::Fine, text }
}

fn note(name: &'static str, text: String) -> Check {
    Check { name, state: State::Note, text }
}

fn wrong(name: &'static str, text: String) -> Check {
    Check { name, state: State::Wrong(exit::CONFIG), text }
}
