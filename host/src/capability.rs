//! Grants and rules: what the operator allows a plugin, and what needs a person.
//!
//! Plain values and pure functions. Reading `grants.toml` is `config`'s, enforcing at the host call is `plugin`'s.
//! Nothing here widens: effective = grant ∧ tool ∧ chain ∧ effects, and `none` and deny win.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use self::children::Children;
pub use self::frozen::FrozenUse;
pub use self::keyvalue::{HeldKv, KvGrant};
use self::pattern::ArgumentPattern;
pub use self::people::People;
pub use self::secret::Secret;
pub use self::tools::{ForTools, ToolGrants};
use crate::chain::Actor;
use crate::digest::Digest;

/// The grants file, read and checked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grants {
    /// Where no rule matches.
    pub default_verdict: Verdict,
    pub default_limits: Limits,
    /// By plugin name.
    pub plugins: BTreeMap<String, PluginGrants>,
    pub rules: Vec<Rule>,
    pub people: People,
    /// What chains that calls start may do; `None` offers no tool that starts one.
    pub children: Option<Children>,
    /// The file they came from, for the lines that refusals print; empty for an empty grants file.
    pub file: PathBuf,
}

/// The strictest wins: deny beats ask beats allow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    #[default]
    Allow,
    Ask,
    Deny,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PluginGrants {
    pub digest: Pin,
    pub fs: Vec<FsGrant>,
    pub http: Vec<HttpGrant>,
    pub env: BTreeMap<String, String>,
    /// What `wasi:config` says to this plugin and to no other.
    pub config: BTreeMap<String, String>,
    /// Several lines add up; they have one scope.
    pub kv: Vec<KvGrant>,
    /// By the plugin's own names.
    pub tools: BTreeMap<String, ToolGrants>,
    pub reconcile: Reconcile,
    pub limits: Limits,
    /// Line of `[plugins.NAME]` in the file.
    pub line: usize,
}

impl Grants {
    /// What they say of a plugin's bytes.
    pub fn trust(&self, plugin: &str, digest: &Digest) -> &'static str {
        match self.plugins.get(plugin).map(|section| &section.digest) {
            None => "no",
            Some(Pin::Any) => "any",
            Some(pin) if pin.matches(digest) => "yes",
            Some(_) => "other bytes",
        }
    }
}

impl PluginGrants {
    /// A section that says nothing but for which bytes.
    pub fn holding_nothing(digest: Pin, line: usize) -> Self {
        Self {
            digest,
            fs: Vec::new(),
            http: Vec::new(),
            env: BTreeMap::new(),
            config: BTreeMap::new(),
            kv: Vec::new(),
            tools: BTreeMap::new(),
            reconcile: Reconcile::default(),
            limits: Limits::default(),
            line,
        }
    }
}

/// What a plugin's word on a call in doubt is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reconcile {
    /// It is shown to the person who settles the call.
    #[default]
    Show,
    /// It settles the call.
    Believe,
}

/// The bytes a section holds for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pin {
    Exact(Digest),
    /// `digest = "any"`: development only.
    Any,
}

impl Pin {
    pub fn matches(&self, digest: &Digest) -> bool {
        match self {
            Self::Exact(pinned) => pinned == digest,
            Self::Any => true,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    None,
    Read,
    Write,
}

impl Access {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct FsGrant {
    /// Absolute path on the host.
    pub path: PathBuf,
    /// Absolute guest path in normal form, `/` at least.
    pub mount: String,
    pub access: Access,
    pub when: When,
    pub on_missing: OnMissing,
    pub tools: ForTools,
    /// `path` was one file when the line was read: it is that entry's alone.
    pub one_file: bool,
    /// Bytes of files that may be there, whoever wrote them; of a line for writing.
    pub quota: Option<u64>,
    pub line: usize,
}

impl FsGrant {
    /// The folder that stands behind the line: of one file, the folder that it is in.
    pub fn folder(&self) -> (&str, &Path) {
        match (self.one_file, guest_path::parent(&self.mount), self.path.parent()) {
            (true, Some(mount), Some(path)) => (mount, path),
            _ => (&self.mount, &self.path),
        }
    }

    /// What is in force of it, of the one entry `only` or of all that the line has.
    pub fn held(&self, access: Access, only: Option<&str>) -> HeldFs {
        let (mount, host) = self.folder();
        let only = only.or(self.one_file.then_some(&self.mount));
        HeldFs {
            mount: mount.to_owned(),
            host: host.to_owned(),
            access,
            only: only.map(str::to_owned),
            quota: self.quota.filter(|_| access == Access::Write),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct HttpGrant {
    pub url: String,
    /// Upper case.
    pub methods: Vec<String>,
    /// Admits private, loopback and link-local addresses.
    pub private: bool,
    pub secret: Option<Secret>,
    pub when: When,
    pub on_missing: OnMissing,
    pub tools: ForTools,
    pub line: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum When {
    Always,
    /// In force only for what a person approved.
    Approved(Binding),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Binding {
    /// `within = "args.path"`: exactly the entry that this argument names. Holds the path below `args`.
    Within(Vec<String>),
    /// `{args.x}` in the URL.
    Url,
    /// `scope = "whole"`.
    Whole,
}

/// What reaching for an approved-only line without an approval does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnMissing {
    /// Asks a person about exactly that use.
    #[default]
    Pause,
    Refuse,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Tool name pattern, may hold `*`.
    pub tool: String,
    /// Argument path (below `args`) and pattern; all must match.
    pub args: Vec<(Vec<String>, ArgumentPattern)>,
    pub effect: Verdict,
    pub except: Vec<Except>,
    /// `os:alice@host`, a person by all their identities; empty means anyone the edge authenticated.
    pub approvers: Vec<Actor>,
    pub quorum: NonZeroU32,
    pub exclude_requester: bool,
    pub on_deny: Then,
    /// How long a pause of a call it matches can be decided; `None` for ever.
    pub expires: Option<Duration>,
    pub escalation: Option<Escalation>,
    /// People are told of the pause again and again after so long.
    pub remind: Option<Duration>,
    pub line: usize,
}

/// Who may decide too, once a pause has been open for that long.
#[derive(Clone, Debug, PartialEq)]
pub struct Escalation {
    pub after: Duration,
    pub to: Vec<Actor>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Except {
    /// Of a rule for many tools: this one alone, by its whole name.
    pub tool: Option<String>,
    /// All must match; empty where `exact` says it all.
    pub args: Vec<(Vec<String>, ArgumentPattern)>,
    /// The whole arguments, no more and no others, as `trust --always` writes them.
    pub exact: Option<serde_json::Value>,
    /// Last day it holds, `YYYY-MM-DD`.
    pub until: Option<String>,
}

/// What a denial does to the chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Then {
    #[default]
    Continue,
    Stop,
}

/// Limits of one attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// All linear memories and tables of the attempt together, bytes.
    pub memory_bytes: u64,
    /// Wall time, waiting included.
    pub time: Duration,
    /// Time on a processor.
    pub cpu: Duration,
    /// Bytes of the result handed to the chain.
    pub output_bytes: u64,
    /// Bytes written to files.
    pub written_bytes: u64,
    /// Files, folders and links made.
    pub entries: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_bytes: 256 << 20,
            time: Duration::from_secs(30),
            cpu: Duration::from_secs(10),
            output_bytes: 1 << 20,
            written_bytes: 1 << 30,
            entries: 10_000,
        }
    }
}

/// What one attempt holds. The plugin host enforces it at every host call; an empty one holds nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    pub fs: Vec<HeldFs>,
    pub http: Vec<HeldHttp>,
    pub env: BTreeMap<String, String>,
    /// Approved-only lines: a use that one of them covers, and nothing in force does, is held back and asked about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reach: Vec<Opening>,
    /// Uses that a person approved, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<FrozenUse>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub config: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kv: Vec<HeldKv>,
}

/// One line of file access in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldFs {
    pub mount: String,
    /// The host path that stands at `mount`.
    pub host: PathBuf,
    pub access: Access,
    /// Exactly this guest path, never below it, and no symlink in any of its components.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<String>,
    /// Bytes of files that may be there, whoever wrote them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<u64>,
}

/// One line of outgoing HTTP in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldHttp {
    /// URL pattern, arguments already put in.
    pub url: String,
    pub methods: Vec<String>,
    pub private: bool,
    /// Put into each request of this line on its way out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<Secret>,
}

/// What approving one call brings into force; listed in the pause and part of its digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "capability", rename_all = "lowercase")]
pub enum Opening {
    Fs(HeldFs),
    Http(HeldHttp),
    /// Exactly this use, once.
    Use(FrozenUse),
    Kv(HeldKv),
}

/// A use that was refused at the host call, with the line that would allow it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// `fs write /build/a.tmp`, `http POST https://api.test/v1`
    pub attempted: String,
    /// Lines to paste into the grants file.
    pub allow_with: String,
}

/// Uses of effectful grants, counted at the host call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uses {
    pub fs_writes: u64,
    pub http_requests: u64,
    /// Of `http_requests`, those that were neither GET nor HEAD.
    pub http_effects: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub kv_writes: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Uses {
    pub fn effectful(&self) -> bool {
        self.fs_writes + self.http_effects + self.kv_writes > 0
    }

    pub fn add(&mut self, other: Self) {
        self.fs_writes += other.fs_writes;
        self.http_requests += other.http_requests;
        self.http_effects += other.http_effects;
        self.kv_writes += other.kv_writes;
    }
}

impl Held {
    /// The lines an effect could come from, as facts for the journal; empty means the attempt can have had none.
    pub fn effectful(&self) -> Vec<String> {
        let fs = self.fs.iter().filter(|line| line.access == Access::Write).map(HeldFs::to_string);
        let http = self.http.iter().filter(|line| line.methods.iter().any(|method| !is_safe(method))).map(HeldHttp::to_string);
        let uses = self.uses.iter().filter(|held| held.is_effectful()).map(|held| format!("once: {held}"));
        let kv = self.kv.iter().filter(|line| line.access == Access::Write).map(HeldKv::to_string);
        fs.chain(http).chain(kv).chain(uses).collect()
    }

    /// One line each; of settings and the environment the names alone.
    pub fn in_words(&self) -> Vec<String> {
        let lines = self.fs.iter().map(HeldFs::to_string).chain(self.http.iter().map(HeldHttp::to_string));
        let kept = self.kv.iter().map(HeldKv::to_string);
        let named = self.config.keys().map(|name| format!("config {name}")).chain(self.env.keys().map(|name| format!("env {name}")));
        lines.chain(kept).chain(named).collect()
    }

    /// With what an approval opens.
    pub fn with(mut self, opens: &[Opening]) -> Self {
        for opening in opens {
            match opening {
                Opening::Fs(line) => self.fs.push(line.clone()),
                Opening::Http(line) => self.http.push(line.clone()),
                Opening::Use(frozen) => self.uses.push(frozen.clone()),
                Opening::Kv(line) => self.kv.push(line.clone()),
            }
        }
        self
    }
}

/// A `read-only` attempt may make these.
pub fn is_safe(method: &str) -> bool {
    matches!(method, "GET" | "HEAD")
}

impl std::fmt::Display for HeldFs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let access = self.access.as_str();
        match &self.only {
            Some(path) => write!(f, "fs {access} {path}, exactly this entry"),
            None => write!(f, "fs {access} everything below {}", self.mount),
        }
    }
}

impl std::fmt::Display for HeldHttp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "http {} {}", self.methods.join("|"), self.url)?;
        if let Some(secret) = &self.secret {
            write!(f, " with {secret}")?;
        }
        if self.private { f.write_str(" (private addresses too)") } else { Ok(()) }
    }
}

impl std::fmt::Display for Opening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fs(line) => line.fmt(f),
            Self::Http(line) => line.fmt(f),
            Self::Use(frozen) => write!(f, "once: {frozen}"),
            Self::Kv(line) => line.fmt(f),
        }
    }
}

pub mod children;
pub mod frozen;
pub mod guest_path;
pub mod judge;
pub mod keyvalue;
pub mod pattern;
pub mod people;
pub mod requirements;
pub mod secret;
pub mod tools;
