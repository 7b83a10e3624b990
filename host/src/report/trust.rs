//! What `trust` tells: a plugin's tools, how they differ from those trusted before, and what it would like to hold.

use super::escape;
use crate::call::ToolSpec;
use crate::plugin::difference::Change;
use crate::plugin::{Catalogue, Want};

/// Said where `reconcile = "believe"` is in force.
pub const BELIEVED: &str = "its own word settles its calls in doubt (`reconcile = \"believe\"`)";

/// The tools, one a line, with their effects in these words.
pub fn offers(plugin: &str, catalogue: &Catalogue, effects: impl Fn(&ToolSpec) -> String) {
    super::data(&format!("plugin `{plugin}` offers"));
    for tool in &catalogue.tools {
        let first = tool.description.lines().next().unwrap_or_default();
        super::data(&format!("  {} ({}): {}", escape::line(&tool.name), effects(tool), escape::line(first)));
    }
}

/// `None` where nothing is kept of the bytes that were trusted.
pub fn difference(changes: Option<&[Change]>) {
    match changes {
        None => super::data("what was trusted before is not kept here, so only the digests can be compared"),
        Some([]) => super::data("only its code changed: tools, schemas, effects, descriptions and wants are the same"),
        Some(changes) => {
            super::data("changed since it was trusted");
            changes.iter().for_each(change);
        }
    }
}

fn change(change: &Change) {
    super::data(&format!("  {}", escape::line(&change.title())));
    change.lines().iter().for_each(|line| super::data(&format!("    > {}", escape::message(line))));
}

/// A want and, where there are such, the lines that would grant it.
pub fn want(want: &Want, lines: &Result<String, String>) {
    let (capability, scope, why) = (escape::line(&want.capability), escape::line(&want.scope), escape::line(&want.why));
    super::data(&format!("  > {capability} {scope}: {why}"));
    match lines {
        // What an escape would change could not be pasted as it is shown.
        Ok(lines) if escape::block(lines) == *lines => lines.lines().for_each(|line| super::data(&format!("    {line}"))),
        Ok(_) => super::data("    # hidden characters or great length: no line to paste"),
        Err(why) => super::data(&format!("    # no line to paste: {}", escape::line(why))),
    }
}
