use std::collections::BTreeMap;
use std::ffi::OsString;

use super::*;

struct Home {
    folder: tempfile::TempDir,
    variables: BTreeMap<String, OsString>,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["work", ".config/pausegate"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        let variables = BTreeMap::from([("HOME".to_owned(), folder.path().into())]);
        Self { folder, variables }
    }

    fn set(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    fn project(self, text: &str) -> Self {
        std::fs::write(self.folder.path().join("work/pausegate.toml"), text).unwrap();
        self
    }

    fn user(self, text: &str) -> Self {
        std::fs::write(self.folder.path().join(".config/pausegate/config.toml"), text).unwrap();
        self
    }

    fn read(&self, flags: &Flags) -> Result<Settings, ConfigError> {
        let environment = |name: &str| self.variables.get(name).cloned();
        Settings::read(flags, Surroundings { environment: &environment, directory: &self.folder.path().join("work"), binary: None })
    }

    fn shown(&self, error: &ConfigError) -> String {
        let text = format!("{error}{}", error.hint().map_or(String::new(), |hint| format!(" | {hint}")));
        text.replace(&*self.folder.path().to_string_lossy(), "~")
    }
}

#[test]
fn the_nearer_setting_wins() {
    let flags = |model: Option<&str>| Flags { model: model.map(str::to_owned), ..Flags::default() };
    let home = Home::new().user("model = \"user\"\nsystem = \"user\"\nmax_turns = 3");
    assert_eq!(home.read(&flags(None)).unwrap().model.as_deref(), Some("user"));
    let home = home.project("model = \"project\"\nmax_turns = 4\nonly_plugins = [\"files\", \"http-get\"]");
    let settings = home.read(&flags(None)).unwrap();
    assert_eq!((settings.model.as_deref(), settings.system.as_deref(), settings.max_turns), (Some("project"), Some("user"), Some(4)));
    assert_eq!(settings.only_plugins, Some(vec!["files".to_owned(), "http-get".to_owned()]));
    let home = home.set("PAUSEGATE_MODEL", "variable").set("PAUSEGATE_MAX_TURNS", "5");
    assert_eq!(home.read(&flags(None)).unwrap().max_turns, Some(5));
    assert_eq!(home.read(&flags(None)).unwrap().model.as_deref(), Some("variable"));
    assert_eq!(home.read(&flags(Some("flag"))).unwrap().model.as_deref(), Some("flag"));
}

#[test]
fn places_are_absolute_and_named_grants_are_known_as_such() {
    let home = Home::new();
    let root = home.folder.path().to_owned();
    let settings = home.read(&Flags::default()).unwrap();
    assert_eq!((settings.named_grants(), settings.places.journal.clone()), (None, root.join(".local/state/pausegate/journal.db")));
    let flags = Flags { grants: Some("g.toml".into()), journal: Some("sqlite:j.db".into()), plugins: Some("/p".into()), ..Flags::default() };
    let settings = home.read(&flags).unwrap();
    assert_eq!(settings.named_grants(), Some(&*root.join("work/g.toml")));
    assert_eq!((settings.places.journal.clone(), settings.places.plugins.clone()), (root.join("work/j.db"), PathBuf::from("/p")));
    let settings = home.user("grants = \"mine.toml\"\njournal = \"sqlite:j.db\"\nplugins = \"/p\"\ncache = \"c\"").read(&Flags::default()).unwrap();
    assert_eq!(settings.named_grants(), Some(&*root.join(".config/pausegate/mine.toml")));
    assert_eq!((settings.places.journal, settings.places.cache), (root.join(".config/pausegate/j.db"), root.join(".config/pausegate/c")));
}

#[test]
fn a_journal_on_a_server_is_named_with_its_password_beside_it() {
    let home = Home::new().set("PGPASSWORD", "s3cret");
    let flags = Flags { journal: Some("postgres://u@db.example/d?sslmode=verify-full".into()), ..Flags::default() };
    let settings = home.read(&flags).unwrap();
    let address = settings.postgres.clone().unwrap();
    assert_eq!(address.config.get_password(), Some(b"s3cret".as_slice()));
    assert_eq!(settings.places.journal, home.folder.path().join(".local/state/pausegate/journal.db"), "what is kept on this machine stays there");
    assert!(!format!("{settings:?}").contains("s3cret"));
}

#[test]
fn d05_a_cloned_folder_sets_only_what_harms_nobody() {
    let shown = |text: &str| {
        let home = Home::new().project(text);
        home.shown(&home.read(&Flags::default()).expect_err(text))
    };
    let all: Vec<String> = [
        "grants = \"mine.toml\"",
        "model = \"m\"\nplugins = \"./plugins\"",
        "journal = \"j.db\"",
        "cache = \"c\"",
        "config = \"c.toml\"",
        "auto_approve = true",
        "openai_base_url = \"http://evil.test\"",
        "[[notify]]\nname = \"a\"\nkind = \"command\"\ncommand = [\"./x\"]",
        "base_url = \"https://evil.test\"",
        "[plugins.files]\ndigest = \"any\"",
        "[[rules]]\ntool = \"*\"",
        "host = \"0.0.0.0\"",
    ]
    .iter()
    .map(|text| shown(text))
    .collect();
    insta::assert_snapshot!(all.join("\n"), @r"
    ~/work/pausegate.toml:1: `grants` may not stand in a file of the working directory | use `--grants`, PAUSEGATE_GRANTS or the user's `config.toml`
    ~/work/pausegate.toml:2: `plugins` may not stand in a file of the working directory | use `--plugins`, PAUSEGATE_PLUGINS or the user's `config.toml`
    ~/work/pausegate.toml:1: `journal` may not stand in a file of the working directory | use `--journal`, PAUSEGATE_JOURNAL or the user's `config.toml`
    ~/work/pausegate.toml:1: `cache` may not stand in a file of the working directory | set PAUSEGATE_CACHE or put it into the user's `config.toml`
    ~/work/pausegate.toml:1: `config` may stand in no file | use `--config` or PAUSEGATE_CONFIG
    ~/work/pausegate.toml:1: `auto_approve` may stand in no file | `--auto-approve` is a flag only
    ~/work/pausegate.toml:1: `openai_base_url` may stand in no file | set OPENAI_BASE_URL in the environment
    ~/work/pausegate.toml:1: `notify` may not stand in a file of the working directory | put it into the user's `config.toml`
    ~/work/pausegate.toml:1: `base_url` may not stand in a file of the working directory | put it into the user's `config.toml`
    ~/work/pausegate.toml:1: `plugins` may not stand in a file of the working directory | use `--plugins`, PAUSEGATE_PLUGINS or the user's `config.toml`
    ~/work/pausegate.toml:1: `rules` may stand in no settings file | rules and limits stand in the grants file alone
    ~/work/pausegate.toml:1: unknown key `host` | a file of the working directory may hold: model, system, max_turns, only_plugins
    ");
}

#[test]
fn w54_broken_settings_are_refused() {
    let user = |text: &str| (Home::new().user(text), Flags::default());
    let variable = |name: &str, value: &str| (Home::new().set(name, value), Flags::default());
    let journal = |text: &str| (Home::new(), Flags { journal: Some(text.into()), ..Flags::default() });
    let all: Vec<String> = [
        user("\u{feff}model = \"m\""),
        user("model = 1"),
        user("model = \"a\"\nmodel = \"b\""),
        user("# first\r\nmodle = \"m\"\r\n"),
        user("model = \"m"),
        user("max_turns = 0"),
        user("max_turns = \"3\""),
        user("max_turns = 99999999999"),
        user("only_plugins = \"files\""),
        user("only_plugins = []"),
        user("only_plugins = [\"Files\"]"),
        user("grants = \"~/grants.toml\""),
        user("plugins = \"\""),
        user("journal = \"postgres://db/x\""),
        user("auto_approve = true"),
        variable("PAUSEGATE_MAX_TURNS", "many"),
        variable("PAUSEGATE_GRANTS", ""),
        variable("PAUSEGATE_JOURNAL", "postgres://h/d"),
        variable("PAUSEGATE_CONFIG", "none.toml"),
        journal("mysql://h/d"),
        journal("sqlite:"),
        journal("sqlite::memory:"),
        journal("postgresql://h/d"),
        (Home::new(), Flags { config: Some("none.toml".into()), ..Flags::default() }),
    ]
    .iter()
    .map(|(home, flags)| home.shown(&home.read(flags).expect_err("broken")))
    .collect();
    insta::assert_snapshot!(all.join("\n"), @r#"
    ~/.config/pausegate/config.toml:1: starts with a byte-order mark | save it as UTF-8 without one
    ~/.config/pausegate/config.toml:1: `model` must be a string, not an integer
    ~/.config/pausegate/config.toml:2: duplicate key
    ~/.config/pausegate/config.toml:2: unknown key `modle` | it may hold: model, system, max_turns, only_plugins, plugin_changed, plugins, grants, journal, cache, notify, base_url
    ~/.config/pausegate/config.toml:1: invalid basic string, expected `"`
    ~/.config/pausegate/config.toml:1: `max_turns` must be a whole number of model calls, at least 1
    ~/.config/pausegate/config.toml:1: `max_turns` must be an integer, not a string
    ~/.config/pausegate/config.toml:1: `max_turns` must be a whole number of model calls, at least 1
    ~/.config/pausegate/config.toml:1: `only_plugins` must be an array, not a string
    ~/.config/pausegate/config.toml:1: `only_plugins` is empty
    ~/.config/pausegate/config.toml:1: `only_plugins`: "Files" is no plugin name
    ~/.config/pausegate/config.toml:1: `grants`: `~` is not expanded | write the whole path
    ~/.config/pausegate/config.toml:1: `plugins` is empty
    ~/.config/pausegate/config.toml:1: `journal`: does not say whether to speak TLS | add `sslmode=verify-full`, or `sslmode=disable` to send everything in the clear
    ~/.config/pausegate/config.toml:1: `auto_approve` may stand in no file | `--auto-approve` is a flag only
    PAUSEGATE_MAX_TURNS: must be a whole number of model calls, at least 1
    PAUSEGATE_GRANTS: is empty | unset PAUSEGATE_GRANTS, or give it a value
    PAUSEGATE_JOURNAL: does not say whether to speak TLS | add `sslmode=verify-full`, or `sslmode=disable` to send everything in the clear
    ~/work/none.toml cannot be read | a file that is named must exist
    --journal: is no journal | name a file, such as `sqlite:journal.db`, or a database, such as `postgres://user@host/database?sslmode=verify-full`
    --journal: names no file | name a file, such as `sqlite:journal.db`, or a database, such as `postgres://user@host/database?sslmode=verify-full`
    --journal: is no journal | name a file, such as `sqlite:journal.db`, or a database, such as `postgres://user@host/database?sslmode=verify-full`
    --journal: does not say whether to speak TLS | add `sslmode=verify-full`, or `sslmode=disable` to send everything in the clear
    ~/work/none.toml cannot be read | a file that is named must exist
    "#);
}

#[test]
fn without_a_home_every_place_must_be_named() {
    let folder = tempfile::tempdir().unwrap();
    let read = |flags: &Flags, variables: &[&str]| {
        let environment = |name: &str| variables.contains(&name).then(|| OsString::from("/c"));
        Settings::read(flags, Surroundings { environment: &environment, directory: folder.path(), binary: None })
    };
    let flags = Flags { grants: Some("g".into()), journal: Some("j".into()), plugins: Some("p".into()), ..Flags::default() };
    assert!(read(&flags, &[]).is_err());
    assert_eq!(read(&flags, &["PAUSEGATE_CACHE"]).unwrap().places.cache, Path::new("/c"));
}
