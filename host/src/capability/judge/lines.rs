//! The lines of a plugin's section: which are in force, which an approval opens, which stay shut and why.

use std::fmt;

use super::CallFacts;
use crate::call::Effects;
use crate::capability::pattern::UrlTemplate;
use crate::capability::pattern::argument::lookup;
use crate::capability::{
    Access, Binding, ForTools, FsGrant, HeldHttp, HeldKv, HttpGrant, KvGrant, OnMissing, Opening, PluginGrants, When, guest_path, is_safe,
};
use crate::digest::canonical;

/// One line of the section for one call.
pub(super) struct Line {
    pub number: usize,
    pub standing: Standing,
    /// All that a person could open of an approved-only line, use by use.
    pub reach: Option<Opening>,
}

pub(super) enum Standing {
    Held(Opening),
    /// With an approval of the call.
    Opens {
        opening: Opening,
        /// To the call's arguments; `false` for `scope = "whole"`.
        bound: bool,
    },
    /// The arguments do not complete it.
    Shut {
        line: String,
        why: String,
    },
    /// It has nothing for this call.
    Idle {
        why: &'static str,
        line: String,
    },
}

const OTHER_TOOLS: &str = "for other tools of the plugin";
const READ_ONLY: &str = "not for a read-only tool";

pub(super) fn stand(section: &PluginGrants, call: &CallFacts<'_>) -> Vec<Line> {
    let fs = section.fs.iter().map(|grant| Line { number: grant.line, standing: stand_fs(section, grant, call), reach: reach_fs(grant, call) });
    let http = section.http.iter().map(|grant| Line { number: grant.line, standing: stand_http(grant, call), reach: reach_http(grant, call) });
    let kv = section.kv.iter().map(|grant| Line { number: grant.line, standing: stand_kv(grant, call), reach: reach_kv(grant, call) });
    fs.chain(http).chain(kv).collect()
}

/// Arguments that bind a line, as normal paths: `args.path`, `/build/a`.
pub(super) fn bound_paths<'a>(section: &'a PluginGrants, call: &CallFacts<'a>) -> Vec<(String, &'a str)> {
    let arguments = call.arguments;
    let fs = section.fs.iter().filter(|grant| grant.tools.has(call.own_tool()));
    let bound = fs.filter_map(move |grant| match &grant.when {
        When::Approved(Binding::Within(path)) => bound_path(path, arguments).ok().map(|value| (name(path), value)),
        _ => None,
    });
    bound.collect()
}

pub(super) fn covering_none<'a>(section: &'a PluginGrants, call: &CallFacts<'_>, path: &str) -> Option<&'a FsGrant> {
    section.fs.iter().find(|grant| grant.tools.has(call.own_tool()) && is_none_over(grant, path))
}

pub(super) fn is_none_over(grant: &FsGrant, path: &str) -> bool {
    grant.access == Access::None && guest_path::covers(&grant.mount, path)
}

fn reach_fs(grant: &FsGrant, call: &CallFacts<'_>) -> Option<Opening> {
    let waits = grant.access != Access::None && waits(&grant.when, grant.on_missing, &grant.tools, call);
    waits.then(|| Opening::Fs(grant.held(narrowed(grant.access, call), None)))
}

/// An argument in the URL stands for any one segment here: the person sees the whole URL.
fn reach_http(grant: &HttpGrant, call: &CallFacts<'_>) -> Option<Opening> {
    if !waits(&grant.when, grant.on_missing, &grant.tools, call) {
        return None;
    }
    let methods = Some(methods(grant, call)).filter(|methods| !methods.is_empty())?;
    let url = UrlTemplate::parse(&grant.url).ok()?.widest();
    Some(Opening::Http(HeldHttp { url, methods, private: grant.private, secret: grant.secret.clone() }))
}

/// Only an approval opens it, and this tool is asked about when it reaches for it.
fn waits(when: &When, on_missing: OnMissing, tools: &ForTools, call: &CallFacts<'_>) -> bool {
    *when != When::Always && on_missing == OnMissing::Pause && tools.has(call.own_tool())
}

/// A plugin is held to its word: `read-only` reads.
fn narrowed(access: Access, call: &CallFacts<'_>) -> Access {
    if call.effects == Effects::ReadOnly { access.min(Access::Read) } else { access }
}

fn methods(grant: &HttpGrant, call: &CallFacts<'_>) -> Vec<String> {
    grant.methods.iter().filter(|method| call.effects != Effects::ReadOnly || is_safe(method)).cloned().collect()
}

fn stand_fs(section: &PluginGrants, grant: &FsGrant, call: &CallFacts<'_>) -> Standing {
    if !grant.tools.has(call.own_tool()) {
        return Standing::Idle { why: OTHER_TOOLS, line: format!("fs {} {}", grant.access.as_str(), grant.mount) };
    }
    let access = narrowed(grant.access, call);
    let held = |only: Option<&str>| Opening::Fs(grant.held(access, only));
    match &grant.when {
        // `none` takes away, so it never waits for anyone.
        _ if grant.access == Access::None => Standing::Held(held(None)),
        When::Always => Standing::Held(held(None)),
        When::Approved(Binding::Whole) => Standing::Opens { opening: held(None), bound: false },
        When::Approved(Binding::Within(argument)) => match entry(section, grant, argument, call) {
            Ok(path) => Standing::Opens { opening: held(Some(path)), bound: true },
            Err(why) => Standing::Shut { line: format!("fs {} within {}", grant.access.as_str(), name(argument)), why },
        },
        When::Approved(Binding::Url) => Standing::Shut { line: format!("fs {}", grant.access.as_str()), why: "a path is bound by `within`".into() },
    }
}

/// The one entry that the argument names below the line's mount.
fn entry<'a>(section: &PluginGrants, grant: &FsGrant, argument: &[String], call: &CallFacts<'a>) -> Result<&'a str, String> {
    let path = bound_path(argument, call.arguments)?;
    if let Some(none) = covering_none(section, call, path) {
        return Err(format!("{} = {} is covered by none {}", name(argument), canonical(&path), none.mount));
    }
    match if grant.one_file { path == grant.mount } else { guest_path::is_below(&grant.mount, path) } {
        true => Ok(path),
        false if grant.one_file => Err(format!("{} = {} is not {}", name(argument), canonical(&path), grant.mount)),
        false => Err(format!("{} = {} is not below {}", name(argument), canonical(&path), grant.mount)),
    }
}

fn bound_path<'a>(argument: &[String], arguments: &'a serde_json::Value) -> Result<&'a str, String> {
    let Some(value) = lookup(arguments, argument) else { return Err(format!("{} is absent", name(argument))) };
    match value.as_str() {
        Some(path) if guest_path::is_normal(path) => Ok(path),
        _ => Err(format!("{} = {} is not an absolute path in normal form (no `.`, `..`, `//` or final slash)", name(argument), canonical(value))),
    }
}

fn stand_http(grant: &HttpGrant, call: &CallFacts<'_>) -> Standing {
    let line = || format!("http {} {}", grant.methods.join("|"), grant.url);
    if !grant.tools.has(call.own_tool()) {
        return Standing::Idle { why: OTHER_TOOLS, line: line() };
    }
    let methods = methods(grant, call);
    if methods.is_empty() {
        return Standing::Idle { why: READ_ONLY, line: line() };
    }
    let bound = UrlTemplate::parse(&grant.url)
        .map_err(|error| error.to_string())
        .and_then(|template| Ok((template.bind(call.arguments)?, template.is_bound())));
    let (url, is_bound) = match bound {
        Ok(bound) => bound,
        Err(why) => return Standing::Shut { line: line(), why },
    };
    let opening = Opening::Http(HeldHttp { url, methods, private: grant.private, secret: grant.secret.clone() });
    match &grant.when {
        When::Always => Standing::Held(opening),
        When::Approved(Binding::Whole) => Standing::Opens { opening, bound: false },
        When::Approved(Binding::Url) if is_bound => Standing::Opens { opening, bound: true },
        When::Approved(_) => Standing::Shut { line: line(), why: "no argument stands in its URL".into() },
    }
}

fn reach_kv(grant: &KvGrant, call: &CallFacts<'_>) -> Option<Opening> {
    waits(&grant.when, grant.on_missing, &grant.tools, call).then(|| Opening::Kv(held_kv(grant, call)))
}

fn held_kv(grant: &KvGrant, call: &CallFacts<'_>) -> HeldKv {
    HeldKv { scope: grant.scope, access: narrowed(grant.access, call), quota: grant.quota }
}

fn stand_kv(grant: &KvGrant, call: &CallFacts<'_>) -> Standing {
    if !grant.tools.has(call.own_tool()) {
        return Standing::Idle { why: OTHER_TOOLS, line: format!("kv {}", grant.access.as_str()) };
    }
    let opening = Opening::Kv(held_kv(grant, call));
    match grant.when {
        When::Always => Standing::Held(opening),
        When::Approved(_) => Standing::Opens { opening, bound: false },
    }
}

fn name(argument: &[String]) -> String {
    format!("args.{}", argument.join("."))
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held(opening) => write!(f, "in force: {opening}"),
            Self::Opens { opening, .. } => write!(f, "in force once approved: {opening}"),
            Self::Shut { line, why } => write!(f, "stays shut: {line}: {why}"),
            Self::Idle { why, line } => write!(f, "{why}: {line}"),
        }
    }
}
