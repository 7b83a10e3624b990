//! Plugins and what the operator granted them, to look at: nothing is granted from here.

use axum::extract::State as Of;
use axum::response::Html;
use maud::{Markup, html};

use super::frame::{Here, page};
use super::words::{block, chip, code, line, lines};
use crate::call::ToolSpec;
use crate::capability::{Binding, Grants, PluginGrants, Rule, When};
use crate::digest::Digest;
use crate::plugin::LoadFailure;
use crate::server::State;
use crate::server::access::{Identity, Scope};
use crate::server::problem::Problem;

pub async fn show(Of(state): Of<State>, who: Identity) -> Result<Html<String>, Problem> {
    who.needs(Scope::Read)?;
    let (grants, plugins) = (state.host.grants.latest(), &state.host.plugins);
    let (catalog, failures, loaded) = (plugins.catalog(), plugins.failures(), plugins.loaded());
    let body = html! {
        header.head {
            h1 { "Plugins" }
            p.sub { "What each may reach. Only the operator changes it, in the grants file." }
        }
        @if loaded.is_empty() && failures.is_empty() {
            div.empty { p { b { "No plugin is loaded." } } p { "Put a " code { ".wasm" } " file into the plugin directory, then " code { "pausegate trust NAME" } "." } }
        }
        @for (name, digest) in loaded.iter() {
            (plugin(&grants, name, digest, &catalog.iter().filter(|tool| tool.plugin == *name).collect::<Vec<_>>()))
        }
        @if !failures.is_empty() { section.part.changed { h2 { "Cannot be used" } @for failure in &failures { (failed(failure)) } } }
        @if !grants.rules.is_empty() { section.part { h2 { "Rules" } (lines(&grants.rules.iter().map(rule).collect::<Vec<_>>())) } }
    };
    Ok(page(&who, Here::Plugins, "Plugins", None, &body))
}

fn failed(failure: &LoadFailure) -> Markup {
    html! { p { b { (code(&failure.name)) } } (block(&failure.reason)) }
}

fn plugin(grants: &Grants, name: &str, digest: &Digest, tools: &[&ToolSpec]) -> Markup {
    let section = grants.plugins.get(name);
    let trust = grants.trust(name, digest);
    html! {
        section.part {
            h2 { (line(name)) " " (chip(match trust { "yes" => "trusted", "no" => "untrusted", "any" => "any bytes", other => other })) }
            p.sub { code.digest { (digest) } }
            @match trust {
                "no" => p.note { "It has no section in the grants file, so it holds nothing. " code { "pausegate trust " (line(name)) } " writes one." }
                "other bytes" => p.note { "Its section pins other bytes, so it holds nothing. Look at it with " code { "pausegate trust " (line(name)) " --dry-run" } "." }
                _ => {}
            }
            h3 { "Holds" }
            @let held = section.map(held).unwrap_or_default();
            @if held.is_empty() { p { "Nothing outside itself." } } @else { (lines(&held)) }
            h3 { "Tools" }
            ul.lines {
                @for tool in tools {
                    li { (code(&tool.name)) " " span.sub { (grants.effects_in_words(tool)) } " " (line(tool.description.lines().next().unwrap_or_default())) }
                }
            }
        }
    }
}

/// One line for each grant; of secrets and settings the names alone.
fn held(section: &PluginGrants) -> Vec<String> {
    let fs =
        section.fs.iter().map(|grant| format!("files: {} {} from {}{}", grant.access.as_str(), grant.mount, grant.path.display(), when(&grant.when)));
    let http = section.http.iter().map(|grant| {
        let secret = grant.secret.as_ref().map(|secret| format!(" with {secret}")).unwrap_or_default();
        let private = if grant.private { " (private addresses too)" } else { "" };
        format!("http: {} {}{secret}{private}{}", grant.methods.join("|"), grant.url, when(&grant.when))
    });
    let kv = section.kv.iter().map(|grant| {
        let quota = format!("up to {} bytes", grant.quota.bytes);
        format!("values: {} of its own per {}, {quota}{}", grant.access.as_str(), grant.scope.as_str(), when(&grant.when))
    });
    let env = section.env.keys().map(|name| format!("environment: {name}"));
    let config = section.config.keys().map(|name| format!("setting: {name}"));
    fs.chain(http).chain(kv).chain(env).chain(config).collect()
}

fn when(when: &When) -> String {
    match when {
        When::Always => String::new(),
        When::Approved(Binding::Within(path)) => format!(", only what is approved: the entry that args.{} names", path.join(".")),
        When::Approved(Binding::Url) => ", only what is approved: the address with its arguments".to_owned(),
        When::Approved(Binding::Whole) => ", only while a call is approved".to_owned(),
    }
}

fn rule(rule: &Rule) -> String {
    let effect = match rule.effect {
        crate::capability::Verdict::Allow => "allow",
        crate::capability::Verdict::Ask => "ask",
        crate::capability::Verdict::Deny => "deny",
    };
    let bound = if rule.args.is_empty() { "" } else { " where its arguments match" };
    let except =
        if rule.except.is_empty() { String::new() } else { format!(", {} excepted", super::words::counted(rule.except.len(), "call", "calls")) };
    format!("{effect} {}{bound}{except} (line {})", rule.tool, rule.line)
}
