//! D04: nothing that runs the host can be granted, by whatever path it is named.

use std::os::unix::fs::symlink;

use super::*;

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        for folder in ["config", "settings", "data/plugins", "state", "cache", "work/build", "bin"] {
            std::fs::create_dir_all(home.at(folder)).unwrap();
        }
        std::fs::write(home.at("bin/pausegate"), "").unwrap();
        home
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn places(&self) -> Places {
        Places {
            plugins: self.at("data/plugins"),
            grants: self.at("config/grants.toml"),
            journal: self.at("state/journal.db"),
            cache: self.at("cache"),
            config: self.at("settings/config.toml"),
            project: self.at("work/pausegate.toml"),
            binary: Some(self.at("bin/pausegate")),
            named: Vec::new(),
        }
    }

    fn grant(&self, path: &str, access: &str) -> Result<Grants, ConfigError> {
        let text = around(&format!("[[plugins.files.fs]]\npath = \"{path}\"\nmount = \"/m\"\naccess = \"{access}\""), "");
        std::fs::write(self.at("config/grants.toml"), &text).unwrap();
        load(None, &self.places(), "h")
    }

    fn refused(&self, path: &str, what: &str) {
        for access in ["read", "write"] {
            let error = self.grant(path, access).expect_err(path).to_string();
            assert!(error.contains(&format!(":5: `plugins.files.fs.path` would reach {what}")), "{path}: {error}");
        }
        self.grant(path, "none").expect("`none` gives nothing away");
    }
}

#[test]
fn d04_nothing_that_runs_the_host_is_granted() {
    let home = Home::new();
    symlink(home.at("state"), home.at("work/link")).unwrap();
    symlink(home.at("state/journal.db"), home.at("work/dangling")).unwrap();
    for (path, what) in [
        (".", "the grants file"),
        ("/", "the grants file"),
        ("..", "the grants file"),
        ("../config/../config", "the grants file"),
        ("./grants.toml", "the grants file"),
        ("../settings/config.toml", "the settings file"),
        ("../data", "the plugin directory"),
        ("../data/plugins", "the plugin directory"),
        ("../data/plugins/inner/not-there", "the plugin directory"),
        ("../state", "the journal"),
        ("../state/journal.db", "the journal"),
        ("../state/journal.db-wal", "the journal"),
        ("../state/journal.db.locks/x", "the journal"),
        ("../state/journal.db.trusted/x", "what was trusted"),
        ("../work/link", "the journal"),
        ("../work", ""),
        ("../cache/x", "the code cache"),
        ("../bin", "the program itself"),
    ] {
        if what.is_empty() {
            home.grant(path, "write").expect("a project without settings is granted whole");
        } else {
            home.refused(path, what);
        }
    }
    assert!(home.grant("../work/dangling", "write").unwrap_err().to_string().contains("a symlink to nothing"));
    home.grant("../state/journal.dbx", "write").expect("another name is another file");
    let grants = home.grant("../work/build", "write").unwrap();
    assert_eq!(grants.plugins["files"].fs[0].path, home.at("work/build").canonicalize().unwrap());
    std::fs::write(home.at("work/pausegate.toml"), "").unwrap();
    home.refused("../work", "the settings file");
}

#[test]
fn a_linked_grants_file_guards_the_link_and_its_target() {
    let home = Home::new();
    std::fs::create_dir_all(home.at("dotfiles")).unwrap();
    std::fs::write(home.at("dotfiles/grants.toml"), "").unwrap();
    symlink(home.at("dotfiles/grants.toml"), home.at("config/grants.toml")).unwrap();
    home.refused("../dotfiles", "the grants file");
    home.refused("../config", "the grants file");
}

#[test]
fn d04_a_link_is_guarded_with_what_it_leads_to_or_would_lead_to() {
    /// Its path, which of the places it is, its name in the refusal.
    type Guarded = (&'static str, fn(&mut Places) -> &mut PathBuf, &'static str);
    let guarded: [Guarded; 5] = [
        ("settings/config.toml", |places| &mut places.config, "the settings file"),
        ("config/grants.toml", |places| &mut places.grants, "the grants file"),
        ("state/journal.db", |places| &mut places.journal, "the journal"),
        ("data/plugins", |places| &mut places.plugins, "the plugin directory"),
        ("cache", |places| &mut places.cache, "the code cache"),
    ];
    for (path, place, what) in guarded {
        for (kind, exists) in [("link", true), ("link", false), ("link to a link", false), ("folder link", true), ("folder link", false)] {
            let home = Home::new();
            let (link, target) = (home.at("elsewhere").join(path), home.at("work/build/target"));
            let folder = kind == "folder link";
            if exists {
                if folder { std::fs::create_dir(&target).unwrap() } else { std::fs::write(&target, "").unwrap() }
            }
            let stands = if folder { link.parent().unwrap() } else { &link };
            std::fs::create_dir_all(stands.parent().unwrap()).unwrap();
            if kind == "link to a link" {
                symlink("middle", stands).unwrap();
                symlink(&target, stands.with_file_name("middle")).unwrap();
            } else {
                symlink(&target, stands).unwrap();
            }
            let mut places = home.places();
            *place(&mut places) = link.clone();
            let grants = home.at("config/grants.toml");
            let mut refused = vec!["../work/build", "../work/build/target"];
            if what == "the journal" && !folder {
                refused.push("../work/build/target-wal");
            }
            for grant in refused {
                let text = around(&format!("[[plugins.files.fs]]\npath = \"{grant}\"\nmount = \"/m\"\naccess = \"write\""), "");
                let error = read(text.as_bytes(), &grants, &places, "h").expect_err(&format!("{path}, {kind}, {exists}: {grant}")).to_string();
                assert!(error.contains(&format!("would reach {what}")), "{path}, {kind}, {exists}: {grant}: {error}");
            }
        }
    }
}

#[test]
fn d04_a_file_that_holds_a_secret_is_granted_to_no_plugin() {
    let home = Home::new();
    std::fs::create_dir(home.at("keys")).unwrap();
    std::fs::write(home.at("keys/a.key"), "0123456789abcdef").unwrap();
    symlink(home.at("keys/a.key"), home.at("work/link.key")).unwrap();
    let load = |key: &str, granted: &str| {
        let text = around(
            &format!("[[plugins.files.fs]]\npath = \"{granted}\"\nmount = \"/m\"\naccess = \"read\""),
            &format!(
                "[plugins.other]\ndigest = \"any\"\n[[plugins.other.http]]\nurl = \"https://a.test\"\nmethods = [\"GET\"]\n\
                 secret = {{ name = \"A\", source = \"file\", path = \"{key}\", query = \"k\" }}"
            ),
        );
        std::fs::write(home.at("config/grants.toml"), &text).unwrap();
        super::load(None, &home.places(), "h")
    };
    for (key, granted) in [
        ("../keys/a.key", "../keys"),
        ("../keys/a.key", "../keys/a.key"),
        ("../keys/a.key", "../work/link.key"),
        // Whoever replaces the link chooses the value.
        ("../work/link.key", "../work"),
        ("../work/link.key", "../keys"),
    ] {
        let error = load(key, granted).expect_err(granted).to_string();
        assert!(error.contains(":5: `plugins.files.fs.path` would reach a secret's file"), "{key} {granted}: {error}");
    }
    let grants = load("../keys/a.key", "../work/build").unwrap();
    let place = grants.plugins["other"].http[0].secret.as_ref().unwrap().place();
    assert_eq!(place, format!("file `{}`", home.at("keys/a.key").canonicalize().unwrap().display()));
}
