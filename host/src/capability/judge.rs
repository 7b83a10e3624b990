//! One call against the grants and rules: its verdict, what it holds, what an approval would open.
//!
//! Pure: the same facts give the same judgement. Taking a grant, an allow or an except away never widens it.

use serde_json::Value;

pub use super::requirements::Requirements;
use super::{FrozenUse, Grants, Held, Limits, Opening, PluginGrants, Verdict};
use crate::call::{Effects, HOST, ToolSpec};
use crate::digest::Digest;

mod lines;
mod rules;
mod told;

use lines::{Line, Standing};

/// What is known of a call when it is judged.
#[derive(Clone, Copy, Debug)]
pub struct CallFacts<'a> {
    pub plugin: &'a str,
    pub plugin_digest: &'a Digest,
    /// `<plugin>__<tool>`
    pub tool: &'a str,
    /// As the plugin declares them.
    pub effects: Effects,
    pub arguments: &'a Value,
    /// As [`day`] has it, for `until`.
    pub today: jiff::civil::Date,
}

/// The day that dates of rules are compared with: in UTC, so that every host has the same.
pub fn day(now: jiff::Timestamp) -> jiff::civil::Date {
    jiff::tz::Offset::UTC.to_datetime(now).date()
}

impl<'a> CallFacts<'a> {
    /// Of a tool as its catalogue has it.
    pub fn of(tool: &'a ToolSpec, arguments: &'a Value, today: jiff::civil::Date) -> Self {
        Self { plugin: &tool.plugin, plugin_digest: &tool.plugin_digest, tool: &tool.name, effects: tool.effects, arguments, today }
    }

    /// The plugin's own name of the tool.
    fn own_tool(&self) -> &str {
        self.tool.strip_prefix(self.plugin).and_then(|rest| rest.strip_prefix("__")).unwrap_or(self.tool)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    pub verdict: Verdict,
    /// What the call is held to: the operator's word, else the plugin's.
    pub effects: Effects,
    /// The lines that decided, for people: `grants.toml:31: ask files__delete args.path = "/build/**"`.
    pub because: Vec<String>,
    /// In force without any approval.
    pub held: Held,
    /// Comes into force with an approval of this call.
    pub opens: Vec<Opening>,
    /// The operator approved exactly these arguments beforehand, by a dated `except` entry: what is bound to them is held.
    pub standing: bool,
    /// Why a line that hangs on the arguments stays shut for these.
    pub shut: Vec<String>,
    pub requirements: Requirements,
    pub limits: Limits,
    /// The rules for this tool as canonical JSON, as they enter the call digest (no line numbers: moving a rule changes
    /// nothing).
    pub rules: String,
}

impl Judgement {
    /// Whatever the rules say.
    fn deny(&mut self, because: String) {
        if self.verdict != Verdict::Deny {
            self.verdict = Verdict::Deny;
            self.because.clear();
        }
        if !self.because.contains(&because) {
            self.because.push(because);
        }
    }
}

/// A judgement, and what became of every line for the plugin.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    pub judgement: Judgement,
    /// `grants.toml:13: in force: fs read everything below /build`
    pub lines: Vec<String>,
    /// What each rule for the tool says: `grants.toml:31: deny files__*: does not match these arguments`
    pub rules: Vec<String>,
    /// What would let the call run without asking; empty where it does.
    pub needed: Vec<String>,
}

impl Grants {
    pub fn judge(&self, call: CallFacts<'_>) -> Judgement {
        let call = self.held_to(call);
        let mut judgement = rules::judge(self, &call);
        match self.plugins.get(call.plugin) {
            Some(section) if section.digest.matches(call.plugin_digest) => {
                judgement.limits = section.limits.clone();
                judgement.held.env = section.env.clone();
                judgement.held.config = section.config.clone();
                lines::stand(section, &call).into_iter().for_each(|line| self.enter(line, &mut judgement));
                self.deny_what_none_covers(section, &call, &mut judgement);
            }
            Some(section) => judgement.shut.push(self.for_other_bytes(section, &call)),
            None => {}
        }
        self.deny_what_is_disabled(&call, &mut judgement);
        if call.plugin == HOST && self.children.is_none() {
            judgement.deny(self.of_children());
        }
        judgement
    }

    /// What nobody asks about a call that simply runs, so it is not part of judging it.
    /// `exactly` says that the question is about just these arguments.
    pub fn explain(&self, call: CallFacts<'_>, exactly: bool) -> Explanation {
        let call = self.held_to(call);
        let lines = match self.plugins.get(call.plugin) {
            Some(section) if section.digest.matches(call.plugin_digest) => {
                let beforehand = rules::beforehand(self, &call);
                lines::stand(section, &call).iter().map(|line| self.told(line, beforehand.as_deref())).collect()
            }
            Some(section) => vec![self.for_other_bytes(section, &call)],
            None if call.plugin == HOST => vec![self.of_children()],
            None => vec![format!("{}: no section `[plugins.{}]`, so it holds nothing", self.file_name(), call.plugin)],
        };
        let judgement = self.judge(call);
        Explanation { lines, rules: told::rules(self, &call), needed: told::needed(self, &call, &judgement, exactly), judgement }
    }

    /// The approved-only lines that a use falls under, which is why a person is asked about it.
    pub fn waiting_for(&self, call: CallFacts<'_>, frozen: &FrozenUse) -> Vec<String> {
        let call = self.held_to(call);
        let section = self.plugins.get(call.plugin).filter(|section| section.digest.matches(call.plugin_digest));
        let lines = section.map(|section| lines::stand(section, &call)).unwrap_or_default();
        let of_use = lines.into_iter().filter_map(|line| {
            let reach = line.reach.filter(|reach| frozen.is_held(&Held::default().with(std::slice::from_ref(reach))))?;
            Some(format!("{}: {reach}, only what is approved", self.place(line.number)))
        });
        of_use.collect()
    }

    /// What became of a line; `beforehand` is the standing approval of the call.
    fn told(&self, line: &Line, beforehand: Option<&str>) -> String {
        let place = self.place(line.number);
        match (&line.standing, beforehand) {
            (Standing::Opens { opening, bound: true }, Some(approval)) => format!("{place}: in force, opened by {approval}: {opening}"),
            (standing, _) => format!("{place}: {standing}"),
        }
    }

    /// With the operator's word on its effects, where the section holds for these bytes.
    fn held_to<'a>(&self, call: CallFacts<'a>) -> CallFacts<'a> {
        let section = self.plugins.get(call.plugin).filter(|section| section.digest.matches(call.plugin_digest));
        let effects = section.and_then(|section| section.effects(call.own_tool()));
        CallFacts { effects: effects.unwrap_or(call.effects), ..call }
    }

    /// Whether a `none` line for this plugin covers a guest path in normal form.
    pub fn covers_none(&self, plugin: &str, path: &str) -> bool {
        self.plugins.get(plugin).is_some_and(|section| section.fs.iter().any(|grant| lines::is_none_over(grant, path)))
    }

    fn for_other_bytes(&self, section: &PluginGrants, call: &CallFacts<'_>) -> String {
        let (place, plugin) = (self.place(section.line), call.plugin);
        let digest = call.plugin_digest;
        format!("{place}: `[plugins.{plugin}]` is for other bytes than {digest}, so they hold nothing until `pausegate trust {plugin}`")
    }

    fn enter(&self, line: Line, judgement: &mut Judgement) {
        judgement.held.reach.extend(line.reach);
        match line.standing {
            Standing::Held(Opening::Fs(held)) => judgement.held.fs.push(held),
            Standing::Held(Opening::Http(held)) => judgement.held.http.push(held),
            Standing::Held(Opening::Kv(held)) => judgement.held.kv.push(held),
            Standing::Held(Opening::Use(held)) => judgement.held.uses.push(held),
            Standing::Opens { opening, bound } => match judgement.standing && bound {
                true => judgement.held = std::mem::take(&mut judgement.held).with(&[opening]),
                false => judgement.opens.push(opening),
            },
            Standing::Shut { .. } => judgement.shut.push(format!("{}: {}", self.place(line.number), line.standing)),
            Standing::Idle { .. } => {}
        }
    }

    /// A call that names an entry no approval can open is not worth a person's question.
    fn deny_what_none_covers(&self, section: &PluginGrants, call: &CallFacts<'_>, judgement: &mut Judgement) {
        for (argument, path) in lines::bound_paths(section, call) {
            let Some(none) = lines::covering_none(section, call, path) else { continue };
            judgement.deny(format!("{}: none {} covers {argument} = {}", self.place(none.line), none.mount, crate::digest::canonical(&path)));
        }
    }

    fn deny_what_is_disabled(&self, call: &CallFacts<'_>, judgement: &mut Judgement) {
        if let Some(tool) = self.disabled(call.plugin, call.own_tool()) {
            judgement.deny(format!("{}: enabled = false for {}", self.place(tool.line), call.tool));
        }
    }

    /// What there is in a grant's place of the tool that starts chains.
    fn of_children(&self) -> String {
        match &self.children {
            Some(children) => format!("{}: `[children]` lets calls start chains, which hold what their own calls do", self.place(children.line)),
            None => format!("{}: no section `[children]`, so no call starts a chain", self.file_name()),
        }
    }

    /// `grants.toml:31`
    pub fn place(&self, line: usize) -> String {
        format!("{}:{line}", self.file_name())
    }

    fn file_name(&self) -> String {
        self.file.file_name().map_or("grants.toml".into(), |name| name.to_string_lossy().into_owned())
    }
}

#[cfg(test)]
mod tests;
