//! Where things are on disk.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::ConfigError;

/// The journal itself, SQLite's files beside it, the locks of chains, and chains that were archived.
const JOURNAL_ENDINGS: [&str; 6] = ["", "-wal", "-shm", "-journal", ".locks", ".archive"];
/// Symlinks on one way, as many as Linux follows; what loops is nowhere.
const LINKS_MAX: u32 = 40;

/// Absolute paths; what a grant may never reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    pub plugins: PathBuf,
    pub grants: PathBuf,
    pub journal: PathBuf,
    pub cache: PathBuf,
    /// The user's settings file, whether or not it exists.
    pub config: PathBuf,
    /// `./pausegate.toml` of the working directory.
    pub project: PathBuf,
    /// The running program, where it is known.
    pub binary: Option<PathBuf>,
    /// Files that the settings name for notifications, with a word for what each is.
    pub named: Vec<(&'static str, PathBuf)>,
}

/// A variable of the environment; a parameter everywhere, so that tests are hermetic.
pub type Environment<'e> = &'e dyn Fn(&str) -> Option<OsString>;

impl Places {
    /// The XDG base directories, with the usual fallbacks below `$HOME`.
    pub fn default_in(environment: Environment<'_>, directory: &Path) -> Result<Self, ConfigError> {
        let base = |variable: &str, below_home: &str| base(environment, variable, below_home).map(|base| base.join("pausegate"));
        let config = base("XDG_CONFIG_HOME", ".config")?;
        Ok(Self {
            plugins: base("XDG_DATA_HOME", ".local/share")?.join("plugins"),
            grants: config.join("grants.toml"),
            journal: base("XDG_STATE_HOME", ".local/state")?.join("journal.db"),
            cache: base("XDG_CACHE_HOME", ".cache")?,
            config: config.join("config.toml"),
            project: directory.join("pausegate.toml"),
            binary: None,
            named: Vec::new(),
        })
    }

    /// Catalogues of trusted plugins, beside the journal.
    pub fn trusted(&self) -> PathBuf {
        with_ending(&self.journal, ".trusted")
    }

    /// Chains that were taken out of the journal, beside it.
    pub fn archive(&self) -> PathBuf {
        with_ending(&self.journal, ".archive")
    }

    /// Who may speak to `serve`, beside the journal.
    pub fn tokens(&self) -> PathBuf {
        with_ending(&self.journal, ".tokens")
    }

    /// What runs the host, with its name for people.
    pub(super) fn guarded(&self) -> Vec<(&'static str, PathBuf)> {
        let mut guarded = vec![
            ("the grants file", self.grants.clone()),
            ("the plugin directory", self.plugins.clone()),
            ("the code cache", self.cache.clone()),
            ("the settings file", self.config.clone()),
        ];
        // SQLite keeps its files beside what a link leads to, the locks stand beside the link.
        let journals = ways(&self.journal);
        guarded.extend(journals.iter().flat_map(|way| JOURNAL_ENDINGS.map(|ending| ("the journal", with_ending(way, ending)))));
        guarded.push(("what was trusted", self.trusted()));
        guarded.push(("the token store", self.tokens()));
        guarded.push(("the token store", with_ending(&self.tokens(), ".lock")));
        guarded.extend(self.named.iter().cloned());

        // Its place is only special once it is there: a project without one can be granted whole.
        guarded.extend(std::fs::symlink_metadata(&self.project).is_ok().then(|| ("the settings file", self.project.clone())));
        guarded.extend(self.binary.clone().map(|binary| ("the program itself", binary)));
        guarded.retain(|(_, path)| !path.as_os_str().is_empty());
        guarded
    }
}

/// A relative base is ignored, as the XDG specification says.
fn base(environment: Environment<'_>, variable: &str, below_home: &str) -> Result<PathBuf, ConfigError> {
    let absolute = |name: &str| environment(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute(variable).or_else(|| absolute("HOME").map(|home| home.join(below_home))).ok_or_else(|| {
        ConfigError::setting(variable, "neither it nor HOME is an absolute path")
            .with_hint("set HOME, or name the places with --plugins, --grants, --journal and --config")
    })
}

/// Every symlink on the way along `path`, and what it leads to in the end, each without a symlink before its name.
/// Replacing any of them changes what the host reads, and so does making what a link to nothing names.
pub(super) fn ways(path: &Path) -> Vec<PathBuf> {
    if path.as_os_str().is_empty() {
        return Vec::new();
    }
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut left: VecDeque<OsString> = path.iter().map(OsStr::to_owned).collect();
    let mut ways = Vec::new();
    let mut here = PathBuf::new();
    let mut links = 0;
    while let Some(part) = left.pop_front() {
        match part.to_str() {
            Some("..") => {
                here.pop();
                continue;
            }
            Some(".") => continue,
            _ => {}
        }
        // The root of an absolute target starts anew.
        let entry = here.join(&part);
        match std::fs::read_link(&entry) {
            Ok(target) if links < LINKS_MAX => {
                links += 1;
                ways.push(entry);
                target.iter().rev().for_each(|part| left.push_front(part.to_owned()));
            }
            _ => here = entry,
        }
    }
    ways.push(here);
    ways
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut text = path.as_os_str().to_owned();
    text.push(ending);
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_follow_xdg_then_home() {
        let places = |variables: &[(&str, &str)]| {
            let variables: std::collections::BTreeMap<String, OsString> =
                variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
            Places::default_in(&|name| variables.get(name).cloned(), Path::new("/work"))
        };
        let home = places(&[("HOME", "/home/a"), ("XDG_CACHE_HOME", "relative")]).unwrap();
        assert_eq!(home.plugins, Path::new("/home/a/.local/share/pausegate/plugins"));
        assert_eq!(home.grants, Path::new("/home/a/.config/pausegate/grants.toml"));
        assert_eq!(home.journal, Path::new("/home/a/.local/state/pausegate/journal.db"));
        assert_eq!(home.cache, Path::new("/home/a/.cache/pausegate"));
        assert_eq!(home.config, Path::new("/home/a/.config/pausegate/config.toml"));
        let xdg =
            places(&[("HOME", "/home/a"), ("XDG_DATA_HOME", "/d"), ("XDG_CONFIG_HOME", "/c"), ("XDG_STATE_HOME", "/s"), ("XDG_CACHE_HOME", "/h")])
                .unwrap();
        assert_eq!((xdg.plugins.as_path(), xdg.journal.as_path()), (Path::new("/d/pausegate/plugins"), Path::new("/s/pausegate/journal.db")));
        assert!(places(&[]).unwrap_err().to_string().starts_with("XDG_CONFIG_HOME"));
    }
}
