//! A world of twins: plugins that do as a closure says, a model that says its turns, a journal in memory.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};

use futures_util::future::{BoxFuture, FutureExt};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::memory::Memory;
use crate::call::{Effects, Finding, Recording, ToolResult, ToolSpec};
use crate::capability::{Access, ForTools, FsGrant, Grants, Pin, PluginGrants, Rule, Then, Uses, Verdict, When};
use crate::chain::message::{Message, Role};
use crate::chain::{Actor, ChainId, Seq, Settings};
use crate::clock::Clock;
use crate::digest::Digest;
use crate::event::Event;
use crate::model::Model;
use crate::model::twin::Twin;
use crate::pause::{Ask, Decision, Pause, PauseId};
use crate::plugin::{Asked, Attempt, AttemptOutcome, Ended, LoadFailure, Plugins};
use crate::runner::{Host, HostError, Prompt, Report, Resume, Silent, Unchanging};
use crate::state::{Call, ChainState};

type Behaviour = dyn Fn(&Attempt) -> BoxFuture<'static, AttemptOutcome> + Send + Sync;

type Find = dyn Fn(&Attempt) -> Finding + Send + Sync;

/// Tools `ok`, `ask` (approval), `boom`, `pick` (two questions), `forever`, `wait` of plugin `t`.
pub struct TwinPlugins {
    pub tools: Mutex<Vec<ToolSpec>>,
    behaviour: Box<Behaviour>,
    pub ran: Mutex<Vec<Attempt>>,
    /// What the plugin says became of an attempt, where it has a way to tell.
    finding: Mutex<Option<Box<Find>>>,
    pub looked: Mutex<Vec<Attempt>>,
    /// Bytes that were taken up again; `None` of plugins that keep none. What is loaded under a digest is what has it.
    pub kept: Mutex<Option<Vec<Digest>>>,
}

impl Plugins for TwinPlugins {
    fn catalog(&self) -> Vec<ToolSpec> {
        self.tools.lock().unwrap().clone()
    }

    fn loaded(&self) -> Arc<BTreeMap<String, Digest>> {
        let tools = self.tools.lock().unwrap();
        Arc::new(tools.iter().map(|tool| (tool.plugin.clone(), tool.plugin_digest.clone())).collect())
    }

    fn failures(&self) -> Vec<LoadFailure> {
        Vec::new()
    }

    fn call(&self, attempt: Attempt) -> BoxFuture<'_, AttemptOutcome> {
        self.ran.lock().unwrap().push(attempt.clone());
        (self.behaviour)(&attempt)
    }

    fn bytes<'a>(&'a self, plugin: &'a str, digest: &'a Digest) -> BoxFuture<'a, Option<Vec<u8>>> {
        let keeps = self.kept.lock().unwrap().is_some() && *digest == Digest::of_bytes(plugin.as_bytes());
        async move { keeps.then(|| plugin.as_bytes().to_vec()) }.boxed()
    }

    fn load_kept<'a>(&'a self, _: &'a str, digest: &'a Digest, _: Vec<u8>) -> BoxFuture<'a, Result<(), String>> {
        self.kept.lock().unwrap().get_or_insert_default().push(digest.clone());
        async { Ok(()) }.boxed()
    }

    fn reconcile(&self, attempt: Attempt) -> BoxFuture<'_, Option<Finding>> {
        let finding = self.finding.lock().unwrap().as_ref().map(|find| find(&attempt));
        if finding.is_some() {
            self.looked.lock().unwrap().push(attempt);
        }
        async move { finding }.boxed()
    }
}

impl TwinPlugins {
    pub fn find(&self, find: impl Fn(&Attempt) -> Finding + Send + Sync + 'static) {
        *self.finding.lock().unwrap() = Some(Box::new(find));
    }
}

pub struct World {
    pub host: Host,
    pub journal: Memory,
    pub plugins: Arc<TwinPlugins>,
    pub model: Arc<Twin>,
    pub settings: Settings,
}

pub fn tool(name: &str, effects: Effects) -> ToolSpec {
    ToolSpec {
        name: format!("t__{name}"),
        plugin: "t".into(),
        tool: name.into(),
        title: None,
        description: format!("does {name}"),
        input_schema: json!({"type": "object", "properties": {"n": {"type": "integer"}, "path": {"type": "string"}}}).into(),
        output_schema: None,
        effects,
        plugin_digest: Digest::of_bytes(b"t"),
    }
}

pub fn outcome(ended: Ended) -> AttemptOutcome {
    AttemptOutcome { ended, uses: Uses::default(), refusals: Vec::new(), recorded: Recording::default() }
}

pub fn done(text: &str) -> AttemptOutcome {
    outcome(Ended::Result(ToolResult::text(text)))
}

pub fn pausing(key: &str, ask: Ask) -> AttemptOutcome {
    let asked = Asked { key: key.into(), reason: format!("may I {key}?"), context: None, ask, state: Some(key.into()) };
    outcome(Ended::Pause(asked))
}

pub fn behave(attempt: &Attempt) -> BoxFuture<'static, AttemptOutcome> {
    let answered = |key: &str| attempt.answers.iter().any(|answer| answer.key == key);
    let outcome = match attempt.tool.as_str() {
        "ask" if attempt.approved || answered("approval") => done(&format!("did {}", attempt.arguments)),
        "ask" => pausing("approval", Ask::Approval),
        "boom" => outcome(Ended::Result(ToolResult::failure("failed", "boom"))),
        "pick" if !answered("first") => pausing("first", Ask::Text),
        "pick" if !answered("second") => pausing("second", Ask::Text),
        "pick" => done(&attempt.answers.iter().map(|answer| answer.value.to_string()).collect::<Vec<_>>().join(",")),
        "forever" => pausing(&format!("q{}", attempt.answers.len()), Ask::Approval),
        "wait" => {
            let cancel = attempt.cancel.clone();
            return async move {
                cancel.cancelled().await;
                outcome(Ended::Result(ToolResult::failure("cancelled", "cancelled")))
            }
            .boxed();
        }
        _ => done(&format!("ok {}", attempt.arguments)),
    };
    async move { outcome }.boxed()
}

impl World {
    pub fn new(turns: Value) -> Self {
        Self::with(turns, Grants::default(), behave)
    }

    pub fn with_rules(turns: Value, rules: Vec<Rule>) -> Self {
        Self::with(turns, Grants { rules, ..Grants::default() }, behave)
    }

    pub fn with(turns: Value, grants: Grants, behaviour: impl Fn(&Attempt) -> BoxFuture<'static, AttemptOutcome> + Send + Sync + 'static) -> Self {
        let tools = [
            ("ask", Effects::Once),
            ("boom", Effects::Once),
            ("forever", Effects::Once),
            ("ok", Effects::Once),
            ("pick", Effects::Once),
            ("wait", Effects::Once),
        ];
        let plugins = Arc::new(TwinPlugins {
            tools: Mutex::new(tools.iter().map(|(name, effects)| tool(name, *effects)).collect()),
            behaviour: Box::new(behaviour),
            ran: Mutex::default(),
            finding: Mutex::default(),
            looked: Mutex::default(),
            kept: Mutex::default(),
        });
        let turns = serde_json::from_value(turns).expect("turns of a script");
        let model = Arc::new(Twin::new(turns));
        let journal = Memory::default();
        let opened: Arc<dyn Model> = model.clone();
        let host = Host {
            journal: Arc::new(journal.clone()),
            plugins: plugins.clone(),
            grants: Unchanging::of(grants),
            models: Arc::new(move |_| Ok(opened.clone())),
            clock: Clock::fixed("2026-11-29T12:00:00Z".parse().unwrap()),
            schemas: Arc::default(),
            recent: Arc::default(),
            observer: Arc::new(Silent),
        };
        let settings = Settings { model: Some("twin".into()), ..Settings::default() };
        Self { host, journal, plugins, model, settings }
    }

    /// The same journal, plugins and model in another process with other grants.
    pub fn restarted(&self, grants: Grants) -> Self {
        self.journal.forget_holders();
        let host = Host { grants: Unchanging::of(grants), recent: Arc::default(), ..self.host.clone() };
        Self { host, journal: self.journal.clone(), plugins: self.plugins.clone(), model: self.model.clone(), settings: self.settings.clone() }
    }

    pub async fn start(&self) -> ChainId {
        let messages = vec![Message::text(Role::User, "go")];
        self.host.start(Prompt { by: alice(), settings: self.settings.clone(), messages, continues: None, call: None }).await.unwrap()
    }

    pub async fn run(&self) -> Report {
        let id = self.start().await;
        self.resume(&id).await
    }

    pub async fn resume(&self, id: &ChainId) -> Report {
        self.try_resume(id, Resume::default()).await.unwrap()
    }

    pub async fn try_resume(&self, id: &ChainId, fixes: Resume) -> Result<Report, HostError> {
        self.host.resume(id, &alice(), fixes, CancellationToken::new()).await
    }

    /// As if the process had died right after the first start of a call was written: all that came later is lost.
    pub fn crash_after_start(&self, id: &ChainId) {
        let events = self.journal.stamped(id);
        let started = events.iter().find(|event| matches!(event.event, Event::CallsStarted { .. })).unwrap();
        self.crash_after(id, started.seq);
    }

    /// As if the process had died before it wrote the events after `seq`.
    pub fn crash_after(&self, id: &ChainId, seq: Seq) {
        self.journal.cut_after(id, seq);
        self.forget(id);
    }

    /// What comes next is another process, on what this one had written; nothing dies in it.
    pub fn restart(&self, id: &ChainId) {
        self.journal.die_at(None);
        self.journal.forget_holders();
        self.forget(id);
    }

    /// What comes next is another process.
    pub fn forget(&self, id: &ChainId) {
        self.host.recent.forget(id);
    }

    pub async fn decide(&self, pause: &PauseId, decision: Value) -> Result<ChainState, HostError> {
        self.decide_as("os:alice@host", pause, decision).await
    }

    pub async fn decide_as(&self, by: &str, pause: &PauseId, decision: Value) -> Result<ChainState, HostError> {
        let decision = Decision::read(&decision.to_string()).expect("a decision");
        self.host.decide(pause, &Actor(by.into()), &decision).await.map(|decided| Arc::unwrap_or_clone(decided.state))
    }

    /// How often each tool ran, in the order of its first run.
    pub fn ran(&self) -> Vec<String> {
        self.plugins.ran.lock().unwrap().iter().map(|attempt| format!("{}#{}", attempt.tool, attempt.attempt)).collect()
    }
}

pub fn alice() -> Actor {
    Actor("os:alice@host".into())
}

/// One turn that calls tools of plugin `t`; ids are c0, c1, …
pub fn turn(tools: &[&str]) -> Value {
    let calls = tools.iter().enumerate().map(|(n, tool)| json!({"id": format!("c{n}"), "name": format!("t__{tool}"), "arguments": {"n": n}}));
    json!({"tool_calls": calls.collect::<Vec<_>>()})
}

pub fn say(text: &str) -> Value {
    json!({"text": text})
}

pub fn rule(tool: &str, effect: Verdict) -> Rule {
    Rule {
        tool: tool.into(),
        args: Vec::new(),
        effect,
        except: Vec::new(),
        approvers: Vec::new(),
        quorum: NonZeroU32::MIN,
        exclude_requester: false,
        on_deny: Then::Continue,
        expires: None,
        escalation: None,
        remind: None,
        line: 1,
    }
}

/// Grants under which every call of `t` holds an effectful line.
pub fn effectful() -> Grants {
    let line = FsGrant {
        path: "/tmp/x".into(),
        mount: "/x".into(),
        access: Access::Write,
        when: When::Always,
        on_missing: Default::default(),
        tools: ForTools::default(),
        one_file: false,
        quota: None,
        line: 2,
    };
    let section = PluginGrants { fs: vec![line], ..PluginGrants::holding_nothing(Pin::Any, 1) };
    Grants { plugins: [("t".to_owned(), section)].into(), ..Grants::default() }
}

pub fn pauses(state: &ChainState) -> Vec<Pause> {
    state.open_pauses().cloned().collect()
}

/// `tool status output` of each call, in order.
pub fn calls(state: &ChainState) -> Vec<String> {
    let output = |call: &Call| call.result.as_deref().map(ToolResult::for_model).unwrap_or_default();
    state
        .calls
        .values()
        .map(|call| format!("{} {} {}", call.tool.trim_start_matches("t__"), call.status, output(call)).trim_end().to_owned())
        .collect()
}
