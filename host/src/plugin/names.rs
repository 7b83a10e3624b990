//! Names of plugins and tools: what the model sees must fit every provider and lead back to one tool.

/// Characters of `<plugin>__<tool>`: what the strictest provider takes.
pub const EXPOSED_MAX: usize = 64;

/// `[a-z0-9]+([-_][a-z0-9]+)*`: no `__`, so that the first `__` of an exposed name ends the plugin's part.
pub fn is_plugin_name(stem: &str) -> bool {
    !stem.is_empty()
        && stem.split(['-', '_']).all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()))
}

/// `<plugin>__<tool>`, or why that is no name a model could be given.
pub fn exposed(plugin: &str, tool: &str) -> Result<String, String> {
    if tool.is_empty() {
        return Err("the tool has no name".to_owned());
    }
    if let Some(odd) = tool.chars().find(|c| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))) {
        return Err(format!("tool names hold letters, digits, `-` and `_` only, not {odd:?}"));
    }
    let name = format!("{plugin}__{tool}");
    if name.len() > EXPOSED_MAX {
        return Err(format!("`<plugin>__<tool>` has {} characters, at most {EXPOSED_MAX} fit", name.len()));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugin_names_lead_back_from_an_exposed_name() {
        for good in ["files", "a", "a1", "web-search", "web_search", "a-b_c", "0"] {
            assert!(is_plugin_name(good), "{good}");
        }
        for bad in ["", "A", "a__b", "-a", "a-", "_a", "a_", "a--b", "a.b", "ä", "a b", "a-_b"] {
            assert!(!is_plugin_name(bad), "{bad}");
        }
    }

    /// limit: plugin/names::EXPOSED_MAX
    #[test]
    fn w44_a_hopeless_tool_name_is_refused_with_its_reason() {
        assert_eq!(exposed("files", "a_b"), Ok("files__a_b".into()));
        assert_eq!(exposed("files", "a-b"), Ok("files__a-b".into()));
        assert_eq!(exposed("files", &"x".repeat(57)).map(|name| name.len()), Ok(64));
        assert!(exposed("files", &"x".repeat(58)).unwrap_err().contains("65 characters"));
        assert!(exposed("files", "ns:pkg/i.f").unwrap_err().contains("':'"));
        assert!(exposed("files", "löschen").unwrap_err().contains("'ö'"));
        assert!(exposed("files", "").is_err());
    }
}
