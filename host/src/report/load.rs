//! Loading plugins, told to a person who waits: compiling takes seconds the first time, and nothing later.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::escape;
use crate::plugin::{LoadFailure, LoadProgress, LoadStage, OnProgress};

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

pub fn failure(failure: &LoadFailure) -> String {
    format!("plugin `{}` is not loaded: {}", escape::line(&failure.name), escape::line(&failure.reason))
}

pub const GRANTS_CHANGED: &str =
    "the grants file changed: it is in force for calls that start, and calls that run hold what it still gives of what they held";
pub const GRANTS_KEPT: &str = "the grants file was changed and cannot be followed, so the grants from before stay in force whole";

/// A line of the grants file that does nothing.
pub fn warning(warning: &str) -> String {
    format!("warning: {}", escape::line(warning))
}
