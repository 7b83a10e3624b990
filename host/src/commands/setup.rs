//! What a command stands on, opened only as far as it needs: settings, journal, grants, plugins, models.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use jiff::civil::Date;

use super::failure::Failure;
use super::{exit, identity};
use crate::capability::judge::day;
use crate::capability::keyvalue::KeyValues;
use crate::capability::{Grants, Verdict};
use crate::chain;
use crate::clock::Clock;
use crate::config::notify::audience;
use crate::config::watched::{self, News, WatchedGrants};
use crate::config::{self, Settings, Surroundings};
use crate::digest::Digest;
use crate::journal::{Journal, PostgresJournal, SqliteJournal};
use crate::model::{self, ModelError};
use crate::notify::Delivery;
use crate::plugin::{Change, Following, PluginConfig, Plugins, WasmPlugins};
use crate::report::{self, Color, escape, load};
use crate::runner::{Host, InForce, Observer, OpenModel, Silent, Unchanging};

mod chosen;

use chosen::{Chosen, Nothing};

/// Bytes of a prompt or of arguments on standard input.
const STDIN_BYTES_MAX: u64 = 16 << 20;

/// Where things are; each stands for `PAUSEGATE_…` and the settings file too.
#[derive(Args)]
pub struct Flags {
    /// Directory of `.wasm` files
    #[arg(long, global = true, value_name = "DIR", help_heading = "Places")]
    plugins: Option<PathBuf>,
    /// The grants file
    #[arg(long, global = true, value_name = "FILE", help_heading = "Places")]
    grants: Option<PathBuf>,
    /// The journal, `sqlite:PATH` or `postgres://USER@HOST/DATABASE`
    #[arg(long, global = true, value_name = "URL", help_heading = "Places")]
    journal: Option<String>,
    /// The settings file
    #[arg(long, global = true, value_name = "FILE", help_heading = "Places")]
    config: Option<PathBuf>,
    /// Colour the output
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t)]
    pub color: Color,
}

pub struct Setup {
    pub settings: Settings,
    pub clock: Clock,
}

impl Setup {
    pub fn read(flags: &Flags) -> Result<Self, Failure> {
        Self::read_with_model(flags, None)
    }

    /// `model` is what a command's own `--model` gave.
    pub fn read_with_model(flags: &Flags, model: Option<&str>) -> Result<Self, Failure> {
        let given = config::Flags {
            plugins: flags.plugins.clone(),
            grants: flags.grants.clone(),
            journal: flags.journal.clone(),
            config: flags.config.clone(),
            model: model.map(str::to_owned),
            ..config::Flags::default()
        };
        let directory = std::env::current_dir().map_err(|error| Failure::new(exit::CONFIG, "there is no working directory").because(error))?;
        let binary = std::env::current_exe().ok();
        let around = Surroundings { environment: &|name| std::env::var_os(name), directory: &directory, binary: binary.as_deref() };
        Ok(Self { settings: Settings::read(&given, around)?, clock: Clock::system() })
    }

    /// In UTC, as `until` is judged.
    pub fn today(&self) -> Date {
        day(self.clock.now())
    }

    /// For commands that read: creates nothing.
    /// As people know it.
    pub fn journal_name(&self) -> String {
        match &self.settings.postgres {
            Some(address) => address.to_string(),
            None => self.settings.places.journal.display().to_string(),
        }
    }

    /// Of a file alone: a server's tables are made by whoever comes first.
    pub fn lacks_journal(&self) -> bool {
        self.settings.postgres.is_none() && !self.settings.places.journal.exists()
    }

    pub fn journal_to_read(&self) -> Result<Arc<dyn Journal>, Failure> {
        Ok(match &self.settings.postgres {
            Some(address) => Arc::new(PostgresJournal::new(address.clone(), self.clock.clone())?),
            None => Arc::new(SqliteJournal::open_existing(&self.settings.places.journal, self.clock.clone())?),
        })
    }

    /// To write to: whoever is to be told of what is written is told.
    pub fn journal(&self) -> Result<Arc<dyn Journal>, Failure> {
        let audience = audience(&self.settings.notify);
        Ok(match &self.settings.postgres {
            Some(address) => Arc::new(PostgresJournal::new(address.clone(), self.clock.clone())?.telling(audience)),
            None => Arc::new(SqliteJournal::open(&self.settings.places.journal, self.clock.clone())?.telling(audience)),
        })
    }

    /// Takes notices out of the journal to whom the settings say.
    pub fn delivery(&self, journal: Arc<dyn Journal>) -> Delivery {
        let tell = Arc::new(|line: &str| report::note(&escape::line(line)));
        Delivery::new(journal, &self.settings.notify, self.settings.base_url.clone(), self.clock.clone(), tell)
    }

    pub fn grants(&self) -> Result<Grants, Failure> {
        Ok(config::grants::load(self.settings.named_grants(), &self.settings.places, &identity::host())?)
    }

    /// The same, followed when the operator edits the file while chains run.
    fn watched_grants(&self) -> Result<WatchedGrants, Failure> {
        let named = self.settings.named_grants().map(Path::to_owned);
        let source = watched::Source { named, places: self.settings.places.clone(), host: identity::host() };
        let tell = |news: News<'_>| match news {
            News::InForce => report::note(load::GRANTS_CHANGED),
            News::Kept(error) => {
                let failure = Failure::from(error);
                report::error(&failure.message, &failure.causes, &failure.hints);
                report::note(load::GRANTS_KEPT);
            }
        };
        Ok(WatchedGrants::open(source, self.clock.clone(), Box::new(tell))?)
    }

    /// Loads what is in the plugin directory; compiling is told on a terminal.
    pub async fn wasm_plugins(&self) -> Result<WasmPlugins, Failure> {
        self.load_plugins(self.largest_memory()?, None).await
    }

    /// For `trust`: the grants file may lack just what it is about to write, and no call is made.
    pub async fn wasm_plugins_without_grants(&self) -> Result<WasmPlugins, Failure> {
        self.load_plugins(0, None).await
    }

    /// `values` keeps what plugins keep; without it they have no values.
    async fn load_plugins(&self, largest_memory: u64, values: Option<Arc<dyn KeyValues>>) -> Result<WasmPlugins, Failure> {
        let mut config = self.plugin_config();
        config.memory_bytes_max = config.memory_bytes_max.max(largest_memory);
        config.values = values;
        let loaded = WasmPlugins::load(config).await;
        load::done();
        Ok(loaded?)
    }

    /// For `check`: the plugin in this file alone.
    pub async fn wasm_plugin(&self, file: &Path) -> Result<WasmPlugins, Failure> {
        let loaded = WasmPlugins::load_file(self.plugin_config(), file).await;
        load::done();
        Ok(loaded?)
    }

    fn plugin_config(&self) -> PluginConfig {
        let places = &self.settings.places;
        let adapt = config::adapted(self.settings.named_grants().unwrap_or(&places.grants));
        PluginConfig { progress: Some(load::progress()), adapt, ..PluginConfig::new(&places.plugins, Some(places.cache.clone())) }
    }

    /// Those that the settings choose.
    pub async fn plugins(&self) -> Result<Arc<dyn Plugins>, Failure> {
        Ok(self.chosen(self.wasm_plugins().await?))
    }

    fn chosen(&self, plugins: impl Plugins + 'static) -> Arc<dyn Plugins> {
        match &self.settings.only_plugins {
            Some(names) => Arc::new(Chosen::new(plugins, names.clone())),
            None => Arc::new(plugins),
        }
    }

    /// Everything, for commands that carry chains on.
    pub async fn host(&self, observer: Arc<dyn Observer>, record: Option<&Path>) -> Result<Host, Failure> {
        Ok(self.host_on(observer, record).await?.0)
    }

    /// The same for hosts that run long: the plugin directory is followed while the second value lives.
    pub async fn following_host(&self, observer: Arc<dyn Observer>) -> Result<(Host, Following), Failure> {
        let (host, plugins) = self.host_on(observer, None).await?;
        let grants = host.grants.clone();
        let tell = move |change: Change| {
            report::note(&load::change(&change));
            if let Change::Loaded(name, digest) = &change
                && grants.latest().plugins.get(name).is_some_and(|section| !section.digest.matches(digest))
            {
                report::note(&load::quarantined(name));
            }
        };
        Ok((host, plugins.follow(Box::new(tell))))
    }

    async fn host_on(&self, observer: Arc<dyn Observer>, record: Option<&Path>) -> Result<(Host, Arc<WasmPlugins>), Failure> {
        // A grants file that cannot be followed is said before anything is compiled for it.
        let watched = Arc::new(self.watched_grants()?);
        let grants = watched.latest();
        let bare = self.bare()?;
        bare.journal.ready().await?;
        let loaded = Arc::new(self.load_plugins(self.largest_memory()?, Some(bare.journal.clone())).await?);
        let plugins = self.chosen(Arc::clone(&loaded));
        for failure in plugins.failures() {
            report::note(&load::failure(&failure));
        }
        load::same_names(&plugins.catalog()).iter().for_each(|warning| report::note(warning));
        grants.unknown_tools(&plugins.catalog()).iter().for_each(|warning| report::note(&load::warning(warning)));
        self.unguarding(&grants, &*loaded).iter().for_each(|warning| report::note(&load::warning(warning)));
        quarantined(&grants, &*plugins).iter().for_each(|plugin| report::note(&load::quarantined(plugin)));
        Ok((Host { plugins, grants: watched, observer, models: self.models(record), ..bare }, loaded))
    }

    /// Rules that should hold a call back and are about no tool that is there: whoever starts something should know.
    pub fn unguarding(&self, grants: &Grants, plugins: &dyn Plugins) -> Vec<String> {
        let tools = plugins.catalog();
        let found = config::warnings::unguarding(grants, &tools).into_iter();
        found.map(|warning| format!("{}: {}", grants.place(warning.line), warning.text)).collect()
    }

    /// For commands that decide: no plugin is loaded, no model can be asked.
    pub fn host_to_decide(&self) -> Result<Host, Failure> {
        Ok(Host { grants: Unchanging::of(self.grants()?), ..self.bare()? })
    }

    /// For commands that only take away, `deny` and `cancel`: a grants file that cannot be followed does not stop them.
    pub fn host_to_end(&self) -> Result<Host, Failure> {
        let grants = self.grants().unwrap_or_else(|failure| {
            report::error(&failure.message, &failure.causes, &failure.hints);
            report::note("nothing is granted until that is mended; this goes on without any grant");
            Grants { default_verdict: Verdict::Deny, ..Grants::default() }
        });
        Ok(Host { grants: Unchanging::of(grants), ..self.bare()? })
    }

    /// Opens models by name, with keys and addresses from the environment; recorded into a file where one is given.
    pub fn models(&self, record: Option<&Path>) -> Arc<OpenModel> {
        let record = record.map(Path::to_owned);
        Arc::new(move |name| {
            let model = model::open_telling(name, &|variable| std::env::var(variable).ok(), Arc::new(asked_again))?;
            Ok(match &record {
                Some(path) => model::record(model, path, Arc::new(|lost| report::note(&format!("{lost}; nothing is recorded from here on")))),
                None => model,
            })
        })
    }

    /// The files that a chain will need, before anything runs for it: a script to play, a file to record into.
    pub fn check_files(&self, model: Option<&str>, record: Option<&Path>, calls_before: u32) -> Result<(), Failure> {
        let Some(model) = model else { return Ok(()) };
        if model.starts_with("script:") {
            self.models(None)(model)?;
        }
        let Some(record) = record else { return Ok(()) };
        model::record::check(record, model, calls_before).map_err(|error| Failure { code: exit::USAGE, ..error.into() })
    }

    fn bare(&self) -> Result<Host, Failure> {
        Ok(Host {
            journal: self.journal()?,
            plugins: Arc::new(Nothing),
            grants: Arc::<Unchanging>::default(),
            models: self.models(None),
            clock: self.clock.clone(),
            schemas: Arc::default(),
            recent: Arc::default(),
            observer: Arc::new(Silent),
        })
    }

    /// Folders are on one machine, while the journal may be many machines' own.
    pub fn settle_place(&self, settings: &mut chain::Settings, host: &Host, given: Option<&str>) {
        let holds_folders = || {
            let (tools, grants) = (host.catalog(), host.grants.latest());
            let mut sections = tools.iter().filter(|tool| settings.admit(&tool.name)).filter_map(|tool| grants.plugins.get(&tool.plugin));
            sections.any(|section| !section.fs.is_empty())
        };
        if let Some(given) = given {
            settings.place = Some(given.to_owned());
        } else if self.settings.postgres.is_some() && settings.place.is_none() && holds_folders() {
            settings.place = Some(identity::host());
        }
    }

    pub fn chain_settings(&self) -> chain::Settings {
        let mut settings = chain::Settings { model: self.settings.model.clone(), system: self.settings.system.clone(), ..chain::Settings::default() };
        if let Some(max_turns) = self.settings.max_turns {
            settings.max_turns = max_turns;
        }
        settings.on_change = self.settings.plugin_changed.unwrap_or_default();
        settings
    }

    /// The engine sets aside what the largest limit in the grants file asks for.
    fn largest_memory(&self) -> Result<u64, Failure> {
        let grants = self.grants()?;
        let sections = grants.plugins.values().map(|section| section.limits.memory_bytes);
        Ok(sections.chain([grants.default_limits.memory_bytes]).max().unwrap_or_default())
    }
}

fn asked_again(why: &ModelError, wait: std::time::Duration) {
    let seconds = wait.as_secs_f32();
    report::note(&format!("{}; asking again in {seconds:.1} s", escape::line(&why.to_string())));
}

/// Plugins with a section that is for other bytes.
pub fn quarantined(grants: &Grants, plugins: &dyn Plugins) -> Vec<String> {
    let other = |name: &String, digest: &Digest| grants.plugins.get(name).is_some_and(|section| !section.digest.matches(digest));
    plugins.loaded().iter().filter(|(name, digest)| other(name, digest)).map(|(name, _)| name.clone()).collect()
}

/// Lines of the grants file that do nothing, ready to show. Of most `run` says nothing: it is asked for something else.
pub fn warnings(setup: &Setup, grants: &Grants, plugins: &dyn Plugins) -> Vec<String> {
    let (tools, loaded, failures) = (plugins.catalog(), plugins.loaded(), plugins.failures());
    let loaded = config::warnings::Loaded { tools: &tools, plugins: &loaded, failures: &failures, today: setup.today() };
    let found = config::warnings::warnings(grants, &loaded).into_iter();
    let found = found.map(|warning| format!("{}: {}", grants.place(warning.line), escape::line(&warning.text)));
    found.chain(grants.unknown_tools(&tools).iter().map(|warning| escape::line(warning))).collect()
}

/// An argument, or standard input where it is `-`.
pub fn argument_text(argument: &str) -> Result<String, Failure> {
    if argument != "-" {
        return Ok(argument.to_owned());
    }
    let mut text = String::new();
    let read = std::io::stdin().take(STDIN_BYTES_MAX + 1).read_to_string(&mut text);
    let read = read.map_err(|error| Failure::data("standard input cannot be read as text").because(error))?;
    if read as u64 > STDIN_BYTES_MAX {
        return Err(Failure::data(format!("standard input is over {STDIN_BYTES_MAX} bytes")));
    }
    Ok(text)
}
