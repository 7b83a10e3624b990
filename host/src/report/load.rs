//! Loading plugins, told to a person who waits: compiling takes seconds the first time, and nothing later.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::escape;
use crate::call::ToolSpec;
use crate::plugin::{Change, LoadFailure, LoadProgress, LoadStage, OnProgress};

static BARS: Mutex<Option<HashMap<String, ProgressBar>>> = Mutex::new(None);

/// A spinner per plugin that compiles, on a terminal only.
pub fn progress() -> OnProgress {
    Arc::new(|at: LoadProgress| {
        if !super::on_terminal() {
            return;
        }
        let mut bars = BARS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let bars = bars.get_or_insert_default();
        match at.stage {
            LoadStage::Compiling => {
                let style = ProgressStyle::with_template("{spinner} {msg} {elapsed}").expect("a fixed template");
                let bar = super::progress().add(ProgressBar::new_spinner().with_style(style));
                bar.set_message(format!("compiling `{}`, once for these bytes", escape::line(&at.plugin)));
                bar.enable_steady_tick(Duration::from_millis(100));
                bars.insert(at.plugin, bar);
            }
            LoadStage::Listing => {
                if let Some(bar) = bars.get(&at.plugin) {
                    bar.set_message(format!("asking `{}` for its tools", escape::line(&at.plugin)));
                }
            }
            LoadStage::Ready | LoadStage::Failed(_) => drop(bars.remove(&at.plugin).map(|bar| bar.finish_and_clear())),
        }
    })
}

/// Clears what is left of the spinners.
pub fn done() {
    let bars = BARS.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
    bars.into_iter().flatten().for_each(|(_, bar)| bar.finish_and_clear());
}

/// A plugin whose section of the grants file is for other bytes.
pub fn quarantined(plugin: &str) -> String {
    let plugin = escape::line(plugin);
    format!(
        "plugin `{plugin}` has other bytes than were trusted and holds nothing: `pausegate trust {plugin} --dry-run` shows what changed, \
         `pausegate trust {plugin}` trusts it"
    )
}

/// What became of a change in the plugin directory.
pub fn change(change: &Change) -> String {
    match change {
        Change::Loaded(name, digest) => {
            format!("plugin `{}` is loaded as {digest}; calls that run end on what they started with", escape::line(name))
        }
        Change::Failed(failed) => failure(failed),
        Change::Kept(failed) => {
            let name = escape::line(&failed.name);
            format!("plugin `{name}` stays as it was, what took its place does not load: {}", escape::line(&failed.reason))
        }
        Change::Gone(name) => format!("plugin `{}` is gone; calls of it that run go on", escape::line(name)),
    }
}

pub fn failure(failure: &LoadFailure) -> String {
    format!("plugin `{}` is not loaded: {}", escape::line(&failure.name), escape::line(&failure.reason))
}

/// Plugins by each tool name that several of them offer.
pub fn shared_names(tools: &[ToolSpec]) -> BTreeMap<&str, Vec<&str>> {
    let mut plugins = BTreeMap::<_, Vec<_>>::new();
    for tool in tools {
        plugins.entry(tool.tool.as_str()).or_default().push(tool.plugin.as_str());
    }
    plugins.retain(|_, plugins| plugins.len() > 1);
    plugins.values_mut().for_each(|plugins| plugins.sort_unstable());
    plugins
}

/// Nothing is shadowed, since a tool is called by its plugin's name too; whoever reads only the second half should know.
pub fn same_names(tools: &[ToolSpec]) -> Vec<String> {
    let told = |(tool, plugins): (&str, Vec<&str>)| {
        let (tool, named) = (escape::line(tool), plugins.iter().map(|plugin| format!("`{}`", escape::line(plugin))).collect::<Vec<_>>());
        let called: Vec<_> = plugins.iter().map(|plugin| format!("`{}__{tool}`", escape::line(plugin))).collect();
        format!("warning: plugins {} all offer a tool `{tool}`; models see {}", named.join(", "), called.join(", "))
    };
    shared_names(tools).into_iter().map(told).collect()
}

pub const GRANTS_CHANGED: &str =
    "the grants file changed: it is in force for calls that start, and calls that run hold what it still gives of what they held";
pub const GRANTS_KEPT: &str = "the grants file was changed and cannot be followed, so the grants from before stay in force whole";

/// A line of the grants file that does nothing.
pub fn warning(warning: &str) -> String {
    format!("warning: {}", escape::line(warning))
}
