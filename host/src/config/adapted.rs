//! Which plugins the grants file lets in without the contract: `adapt = true`.
//!
//! Asked when plugins are loaded, also for a file that is not in force yet because `trust` is about to complete it. So
//! what cannot be read is no error here: whoever goes by the grants reports it.

use std::collections::BTreeSet;
use std::path::Path;

use super::read_file;

/// Names of the sections with `adapt = true`.
pub fn adapted(file: &Path) -> BTreeSet<String> {
    let text = read_file(file).ok().flatten().and_then(|bytes| String::from_utf8(bytes).ok());
    let table = text.and_then(|text| text.parse::<toml::Table>().ok()).unwrap_or_default();
    let plugins = table.get("plugins").and_then(toml::Value::as_table);
    let wanted = plugins.into_iter().flatten().filter(|(_, section)| section.get("adapt").and_then(toml::Value::as_bool) == Some(true));
    wanted.map(|(name, _)| name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_true_lets_a_component_in() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("grants.toml");
        let read = |text: &str| {
            std::fs::write(&file, text).unwrap();
            adapted(&file).into_iter().collect::<Vec<_>>()
        };
        assert_eq!(read("[plugins.a]\nadapt = true\n[plugins.b]\nadapt = false\n[plugins.c]\nadapt = \"true\"\n[plugins.d]\n"), ["a"]);
        assert_eq!(read("[plugins.a\nadapt = true"), [] as [String; 0]);
        assert!(adapted(&place.path().join("none.toml")).is_empty());
    }
}
