//! Settings: flag > `PAUSEGATE_*` > `./pausegate.toml` > the user's file > default.
//!
//! The file of the working directory came with the folder, perhaps from a stranger: it may set only what harms nobody.

use std::path::{Path, PathBuf};

use url::Url;

use super::document::{Document, Section};
use super::grants::is_plugin_name;
use super::places::Environment;
use super::{Channel, ConfigError, Places, notify, read_file};
use crate::chain::OnChange;
use crate::journal::postgres::address::Address;

/// What the command line gave; `None` where it did not.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    pub plugins: Option<PathBuf>,
    pub grants: Option<PathBuf>,
    /// `sqlite:PATH`, a path, or `postgres://…`.
    pub journal: Option<String>,
    pub config: Option<PathBuf>,
    pub model: Option<String>,
    pub system: Option<String>,
    pub max_turns: Option<u32>,
}

/// Where the program finds itself.
#[derive(Clone, Copy)]
pub struct Surroundings<'s> {
    pub environment: Environment<'s>,
    /// The working directory, absolute.
    pub directory: &'s Path,
    pub binary: Option<&'s Path>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub model: Option<String>,
    pub system: Option<String>,
    pub max_turns: Option<u32>,
    /// Plugins to load, by name; `None` is all of them.
    pub only_plugins: Option<Vec<String>>,
    /// What becomes of unfinished calls of new chains whose plugin is replaced meanwhile.
    pub plugin_changed: Option<OnChange>,
    pub places: Places,
    /// The journal of many hosts, in place of the file among `places`.
    pub postgres: Option<Address>,
    /// The grants file was named somewhere, so it must be there.
    pub grants_named: bool,
    /// Who outside is told of what.
    pub notify: Vec<Channel>,
    /// Where the page of this journal is, for links in messages.
    pub base_url: Option<Url>,
}

impl Settings {
    pub fn read(flags: &Flags, around: Surroundings<'_>) -> Result<Self, ConfigError> {
        let fallback = || Places::default_in(around.environment, around.directory);
        let named_config = match &flags.config {
            Some(config) => Some(around.directory.join(config)),
            None => variable(around, "CONFIG")?.map(|config| around.directory.join(config)),
        };
        let config = match (&named_config, fallback()) {
            (Some(named), _) => named.clone(),
            (None, Ok(places)) => places.config,
            // Nothing is known of a home; the places below say so where one of them is needed.
            (None, Err(_)) => PathBuf::new(),
        };
        let project = around.directory.join("pausegate.toml");
        let layers = [
            of_flags(flags, around)?,
            of_environment(around)?,
            of_file(&project, Origin::Project, around)?.unwrap_or_default(),
            of_user_file(&config, named_config.is_some(), around)?,
        ];
        let layer = layers.into_iter().reduce(Layer::or).expect("four layers");
        let (file, postgres) = match layer.journal {
            Some(Journal::Postgres(address)) => (None, Some(*address)),
            Some(Journal::File(file)) => (Some(file), None),
            None => (None, None),
        };
        let place = |named: Option<PathBuf>, default: fn(Places) -> PathBuf| named.map_or_else(|| fallback().map(default), Ok);
        let named = layer.notify.iter().flatten().flat_map(Channel::files).collect();
        Ok(Self {
            model: layer.model,
            system: layer.system,
            max_turns: layer.max_turns,
            only_plugins: layer.only_plugins,
            plugin_changed: layer.plugin_changed,
            grants_named: layer.grants.is_some(),
            postgres,
            notify: layer.notify.unwrap_or_default(),
            base_url: layer.base_url,
            places: Places {
                plugins: place(layer.plugins, |places| places.plugins)?,
                grants: place(layer.grants, |places| places.grants)?,
                journal: place(file, |places| places.journal)?,
                cache: place(layer.cache, |places| places.cache)?,
                config,
                project,
                binary: around.binary.map(Path::to_owned),
                named,
            },
        })
    }

    /// For [`super::grants::load`].
    pub fn named_grants(&self) -> Option<&Path> {
        self.grants_named.then_some(&*self.places.grants)
    }
}

/// What one source sets.
#[derive(Default)]
struct Layer {
    model: Option<String>,
    system: Option<String>,
    max_turns: Option<u32>,
    only_plugins: Option<Vec<String>>,
    plugin_changed: Option<OnChange>,
    plugins: Option<PathBuf>,
    grants: Option<PathBuf>,
    journal: Option<Journal>,
    cache: Option<PathBuf>,
    notify: Option<Vec<Channel>>,
    base_url: Option<Url>,
}

enum Journal {
    File(PathBuf),
    Postgres(Box<Address>),
}

impl Layer {
    fn or(self, below: Self) -> Self {
        Self {
            model: self.model.or(below.model),
            system: self.system.or(below.system),
            max_turns: self.max_turns.or(below.max_turns),
            only_plugins: self.only_plugins.or(below.only_plugins),
            plugin_changed: self.plugin_changed.or(below.plugin_changed),
            plugins: self.plugins.or(below.plugins),
            grants: self.grants.or(below.grants),
            journal: self.journal.or(below.journal),
            cache: self.cache.or(below.cache),
            notify: self.notify.or(below.notify),
            base_url: self.base_url.or(below.base_url),
        }
    }
}

fn of_flags(flags: &Flags, around: Surroundings<'_>) -> Result<Layer, ConfigError> {
    let journal = flags
        .journal
        .as_deref()
        .map(|text| journal(text, around).map_err(|(reason, hint)| ConfigError::setting("--journal", reason).with_hint(hint)))
        .transpose()?;
    let here = |path: &PathBuf| around.directory.join(path);
    Ok(Layer {
        model: flags.model.clone(),
        system: flags.system.clone(),
        max_turns: flags.max_turns,
        plugins: flags.plugins.as_ref().map(here),
        grants: flags.grants.as_ref().map(here),
        journal: journal.map(|journal| journal.below(around.directory)),
        ..Layer::default()
    })
}

fn of_environment(around: Surroundings<'_>) -> Result<Layer, ConfigError> {
    let path = |name: &str| Ok(variable(around, name)?.map(|text| around.directory.join(text)));
    let max_turns = variable(around, "MAX_TURNS")?
        .map(|text| turns(text.parse().ok()).map_err(|reason| ConfigError::setting("PAUSEGATE_MAX_TURNS", reason)))
        .transpose()?;
    let journal = variable(around, "JOURNAL")?
        .map(|text| journal(&text, around).map_err(|(reason, hint)| ConfigError::setting("PAUSEGATE_JOURNAL", reason).with_hint(hint)))
        .transpose()?;
    let plugin_changed = variable(around, "PLUGIN_CHANGED")?
        .map(|text| on_change(&text).map_err(|reason| ConfigError::setting("PAUSEGATE_PLUGIN_CHANGED", reason)))
        .transpose()?;
    Ok(Layer {
        plugin_changed,
        model: variable(around, "MODEL")?,
        system: variable(around, "SYSTEM")?,
        max_turns,
        plugins: path("PLUGINS")?,
        grants: path("GRANTS")?,
        journal: journal.map(|journal| journal.below(around.directory)),
        cache: path("CACHE")?,
        ..Layer::default()
    })
}

/// An empty variable is more likely a slip in a script than a wish.
fn variable(around: Surroundings<'_>, name: &str) -> Result<Option<String>, ConfigError> {
    let name = format!("PAUSEGATE_{name}");
    match (around.environment)(&name).map(std::ffi::OsString::into_string) {
        None => Ok(None),
        Some(Ok(text)) if text.is_empty() => Err(ConfigError::setting(&name, "is empty").with_hint(format!("unset {name}, or give it a value"))),
        Some(Ok(text)) => Ok(Some(text)),
        Some(Err(_)) => Err(ConfigError::setting(name, "is not UTF-8")),
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Origin {
    Project,
    User,
}

fn of_user_file(file: &Path, named: bool, around: Surroundings<'_>) -> Result<Layer, ConfigError> {
    if file.as_os_str().is_empty() {
        return Ok(Layer::default());
    }
    match of_file(file, Origin::User, around)? {
        Some(layer) => Ok(layer),
        None if named => Err(ConfigError::Unreadable { file: file.to_owned(), source: std::io::ErrorKind::NotFound.into() }),
        None => Ok(Layer::default()),
    }
}

const HARMLESS: &[&str] = &["model", "system", "max_turns", "only_plugins"];
const PLACES: &[&str] = &["plugins", "grants", "journal", "cache"];
/// What leaves this machine, and where to: the user's own file alone says it.
const OUTGOING: &[&str] = &["notify", "base_url"];
/// The operator's own choices: not for a file that came with the folder.
const OWN: &[&str] = &["plugin_changed"];

/// `None` where there is no such file.
fn of_file(file: &Path, origin: Origin, around: Surroundings<'_>) -> Result<Option<Layer>, ConfigError> {
    let Some(bytes) = read_file(file)? else { return Ok(None) };
    let document = Document::new(file, &bytes)?;
    let table = document.parse()?;
    let root = document.root(&table);
    refuse_keys(&root, origin)?;
    let text = |key: &str| root.get(key).map(|item| item.text().map(str::to_owned)).transpose();
    let folder = file.parent().unwrap_or(Path::new(""));
    let path = |key: &str| root.get(key).map(|item| home_free(&item, item.text()?).map(|path| folder.join(path))).transpose();
    let max_turns = root
        .get("max_turns")
        .map(|item| turns(u32::try_from(item.integer()?).ok()).map_err(|reason| item.error(format!("`max_turns` {reason}"))))
        .transpose()?;
    let journal = root.get("journal").map(|item| {
        let journal = journal(item.text()?, around).map_err(|(reason, hint)| item.error(format!("`journal`: {reason}")).with_hint(hint))?;
        if let Journal::File(path) = &journal {
            home_free(&item, path)?;
        }
        Ok(journal.below(folder))
    });
    Ok(Some(Layer {
        model: text("model")?,
        system: text("system")?,
        max_turns,
        only_plugins: only_plugins(&root)?,
        plugin_changed: root
            .get("plugin_changed")
            .map(|item| on_change(item.text()?).map_err(|reason| item.error(format!("`plugin_changed` {reason}"))))
            .transpose()?,
        plugins: path("plugins")?,
        grants: path("grants")?,
        journal: journal.transpose()?,
        cache: path("cache")?,
        notify: root.get("notify").map(|item| notify::read(&item, folder)).transpose()?,
        base_url: root.get("base_url").map(|item| notify::read_base_url(&item)).transpose()?,
    }))
}

fn refuse_keys(root: &Section<'_>, origin: Origin) -> Result<(), ConfigError> {
    for (key, item) in root.items() {
        let (harmless, place) = (HARMLESS.contains(&key), PLACES.contains(&key));
        let (outgoing, own) = (OUTGOING.contains(&key), OWN.contains(&key));
        if harmless || (place || outgoing || own) && origin == Origin::User {
            continue;
        }
        let variable = key.to_ascii_uppercase();
        return Err(match key {
            "cache" => item
                .error("`cache` may not stand in a file of the working directory")
                .with_hint("set PAUSEGATE_CACHE or put it into the user's `config.toml`"),
            _ if outgoing => {
                item.error(format!("`{key}` may not stand in a file of the working directory")).with_hint("put it into the user's `config.toml`")
            }
            _ if own => item
                .error(format!("`{key}` may not stand in a file of the working directory"))
                .with_hint(format!("use PAUSEGATE_{variable} or the user's `config.toml`")),
            _ if place => item
                .error(format!("`{key}` may not stand in a file of the working directory"))
                .with_hint(format!("use `--{key}`, PAUSEGATE_{variable} or the user's `config.toml`")),
            "rules" | "defaults" => {
                item.error(format!("`{key}` may stand in no settings file")).with_hint("rules and limits stand in the grants file alone")
            }
            "config" => item.error("`config` may stand in no file").with_hint("use `--config` or PAUSEGATE_CONFIG"),
            "auto_approve" | "auto-approve" => item.error(format!("`{key}` may stand in no file")).with_hint("`--auto-approve` is a flag only"),
            _ if key.ends_with("base_url") || key.ends_with("api_key") => {
                item.error(format!("`{key}` may stand in no file")).with_hint(format!("set {variable} in the environment"))
            }
            _ => item.error(format!("unknown key `{key}`")).with_hint(match origin {
                Origin::Project => format!("a file of the working directory may hold: {}", HARMLESS.join(", ")),
                Origin::User => format!("it may hold: {}", [HARMLESS, OWN, PLACES, OUTGOING].concat().join(", ")),
            }),
        });
    }
    Ok(())
}

fn only_plugins(root: &Section<'_>) -> Result<Option<Vec<String>>, ConfigError> {
    let Some(item) = root.get("only_plugins") else { return Ok(None) };
    let names = item.texts()?;
    match names.iter().find(|name| !is_plugin_name(name)) {
        Some(odd) => Err(item.error(format!("`only_plugins`: \"{}\" is no plugin name", odd.escape_debug()))),
        None => Ok(Some(names.into_iter().map(str::to_owned).collect())),
    }
}

fn home_free<'p>(item: &super::document::Item<'_>, path: &'p (impl AsRef<Path> + ?Sized)) -> Result<&'p Path, ConfigError> {
    let path = path.as_ref();
    match path.components().next() {
        None => Err(item.error(format!("`{}` is empty", item.name()))),
        Some(first) if first.as_os_str() == "~" => {
            Err(item.error(format!("`{}`: `~` is not expanded", item.name())).with_hint("write the whole path"))
        }
        Some(_) => Ok(path),
    }
}

fn on_change(text: &str) -> Result<OnChange, String> {
    match text {
        "keep" => Ok(OnChange::Keep),
        "ask" => Ok(OnChange::Ask),
        "block" => Ok(OnChange::Block),
        _ => Err("must be `keep`, `ask` or `block`".to_owned()),
    }
}

fn turns(turns: Option<u32>) -> Result<u32, String> {
    turns.filter(|turns| *turns > 0).ok_or_else(|| "must be a whole number of model calls, at least 1".into())
}

impl Journal {
    fn below(self, folder: &Path) -> Self {
        match self {
            Self::File(path) => Self::File(folder.join(path)),
            postgres @ Self::Postgres(_) => postgres,
        }
    }
}

/// `postgres://…`, `sqlite:PATH` or a bare path; else a reason and a hint. A password may stand in PGPASSWORD, as it may
/// for every program that speaks to PostgreSQL: what is in a URL on the command line can be seen by all.
fn journal(text: &str, around: Surroundings<'_>) -> Result<Journal, (String, &'static str)> {
    let sqlite = "name a file, such as `sqlite:journal.db`, or a database, such as `postgres://user@host/database?sslmode=verify-full`";
    if Address::is_one(text) {
        let password = (around.environment)("PGPASSWORD").and_then(|password| password.into_string().ok());
        let address = Address::parse(text, password.as_deref()).map_err(|bad| (bad.reason, bad.hint))?;
        return Ok(Journal::Postgres(Box::new(address)));
    }
    match text.strip_prefix("sqlite:").unwrap_or(text) {
        "" => Err(("names no file".into(), sqlite)),
        path if path.contains("://") || path == ":memory:" => Err(("is no journal".into(), sqlite)),
        path => Ok(Journal::File(path.into())),
    }
}

#[cfg(test)]
mod tests;
