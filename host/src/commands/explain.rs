//! `explain TOOL [ARGS]`: which line allows, asks or denies, and what a call would hold.

use clap::Args;
use serde_json::json;

use super::failure::Failure;
use super::reach::out_of_reach;
use super::setup::{Flags, Setup, argument_text};
use super::{exit, runtime};
use crate::call::ToolSpec;
use crate::call::schema::Schema;
use crate::capability::children::chain_tool;
use crate::capability::judge::{CallFacts, Explanation};
use crate::capability::{Grants, Opening, Verdict};
use crate::plugin::{SystemSecrets, trouble};
use crate::report;
use crate::report::{escape, load};

/// Say which line of the grants file allows, asks or denies a call
#[derive(Args)]
#[command(after_help = "Examples:\n  pausegate explain files__delete '{\"path\": \"/build/a.tmp\"}'\n  pausegate explain files__list --json")]
pub struct Explain {
    /// `<plugin>__<tool>`, as `pausegate tools` lists it
    tool: String,
    /// Arguments as a JSON object; `-` reads standard input
    arguments: Option<String>,
    /// Print an object
    #[arg(long)]
    json: bool,
}

impl Explain {
    pub fn run(&self, flags: &Flags) -> Result<u8, Failure> {
        let text = self.arguments.as_deref().map(argument_text).transpose()?;
        let arguments = crate::call::arguments::read(text.as_deref().unwrap_or("{}")).map_err(|error| Failure::data(error.to_string()))?.value;
        let setup = Setup::read(flags)?;
        let grants = setup.grants()?;
        let plugins = runtime::full(setup.plugins())?;
        let tool = plugins.catalog().into_iter().chain([chain_tool()]).find(|tool| tool.name == self.tool);
        let tool =
            tool.ok_or_else(|| Failure::new(exit::UNKNOWN, format!("there is no tool `{}`", self.tool)).hint("`pausegate tools` lists them"))?;
        // Without arguments the question is about the tool, and not about a call with none.
        let exactly = text.is_some() || takes_none(&tool.input_schema);
        let mut explained = grants.explain(CallFacts::of(&tool, &arguments, setup.today()), exactly);
        setup.unguarding(&grants, &*plugins).iter().for_each(|warning| report::note(&load::warning(warning)));
        for (number, why) in grants.plugins.get(&tool.plugin).map(out_of_reach).unwrap_or_default() {
            let place = format!("{}: ", grants.place(number));
            explained.lines.iter_mut().filter(|line| line.starts_with(&place)).for_each(|line| *line += &format!("; but {why}"));
        }
        let misfit = text.and_then(|_| Schema::of_object(&tool.input_schema).ok()).and_then(|schema| schema.check(&arguments).err());
        if self.json {
            let judgement = &explained.judgement;
            report::json(&json!({
                "name": tool.name, "verdict": judgement.verdict, "because": judgement.because, "effects": judgement.effects,
                "held": judgement.held, "opens": judgement.opens, "shut": judgement.shut, "requirements": judgement.requirements,
                "lines": explained.lines, "rules": explained.rules, "needed": explained.needed, "reconcile": reconcile(&grants, &tool), "misfit": misfit, "grants": grants.file,
            }));
        } else {
            show(&tool, &explained);
            if reconcile(&grants, &tool) == "believe" {
                list("after a crash", &[report::trust::BELIEVED.to_owned()], "");
            }
            missing(&explained).iter().for_each(|why| report::note(&escape::line(why)));
            if let Some(misfit) = misfit {
                report::note(&format!("these arguments do not fit the tool: {}", escape::line(&misfit)));
            }
        }
        Ok(if explained.judgement.verdict == Verdict::Deny { exit::DENIED } else { exit::COMPLETED })
    }
}

fn takes_none(schema: &serde_json::Value) -> bool {
    schema.get("properties").and_then(|properties| properties.as_object()).is_none_or(serde_json::Map::is_empty)
}

/// What the plugin's word on a call in doubt is worth.
fn reconcile(grants: &Grants, tool: &ToolSpec) -> &'static str {
    if grants.believes(tool) { "believe" } else { "show" }
}

/// Secrets of lines in force, or that an approval opens, which cannot be read.
fn missing(explained: &Explanation) -> Vec<String> {
    let opens = explained.judgement.opens.iter().filter_map(|opening| match opening {
        Opening::Http(line) => Some(line),
        _ => None,
    });
    let secrets = explained.judgement.held.http.iter().chain(opens).filter_map(|line| line.secret.as_ref());
    let mut missing: Vec<String> = secrets.filter_map(|secret| trouble(secret, &SystemSecrets)).collect();
    missing.dedup();
    missing
}

fn show(tool: &ToolSpec, explained: &Explanation) {
    let judgement = &explained.judgement;
    let verdict = match judgement.verdict {
        Verdict::Allow => "allowed",
        Verdict::Ask => "asks a person first",
        Verdict::Deny => "denied",
    };
    report::data(&format!("{} ({}) {verdict}", escape::line(&tool.name), tool.effects));
    list("because", &judgement.because, "no rule matches; `defaults.tools` decides");
    // A call that is denied holds nothing, and nobody is asked to open anything for it.
    if judgement.verdict != Verdict::Deny {
        list("holds without asking", &judgement.held.in_words(), "nothing");
        let opens: Vec<_> = judgement.opens.iter().map(ToString::to_string).collect();
        list("an approval opens", &opens, "nothing beyond running the call");
        list("stays shut", &judgement.shut, "");
    }
    list("lines of the plugin's section", &explained.lines, "");
    list("rules for the tool", &explained.rules, "");
    if judgement.verdict == Verdict::Ask {
        list("who may approve", &[report::pause::approvers(&judgement.requirements)], "");
    }
    list("needed to run without asking", &explained.needed, "");
}

/// `nothing` stands in an empty list's place; a list without one is left out.
fn list(title: &str, lines: &[String], nothing: &str) {
    if lines.is_empty() && nothing.is_empty() {
        return;
    }
    report::data(&format!("  {title}"));
    if lines.is_empty() {
        report::data(&format!("    {nothing}"));
    }
    lines.iter().for_each(|line| report::data(&format!("    {}", escape::line(line))));
}
