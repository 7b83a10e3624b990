//! `[children]`: off where it is not there, and within its limits where it is.

use super::*;
use crate::capability::Children;

fn children(section: &str) -> Result<Option<Children>, ConfigError> {
    read_text(&format!("version = 1\n[children]\n{section}")).map(|grants| grants.children)
}

#[test]
fn no_call_starts_a_chain_unless_the_operator_says_so() {
    assert_eq!(read_text(&design()).unwrap().children, None);
    assert_eq!(Grants::default().children, None);
    assert_eq!(children("").unwrap(), Some(Children { line: 2, ..Children::default() }));
    let all = children("tools = [\"files__*\", \"chain\"]\ndepth = 2\nchains = 4\nturns = 10\nmodel = \"script:../child.json\"").unwrap();
    let tools = vec!["files__*".to_owned(), "chain".to_owned()];
    assert_eq!(all, Some(Children { tools, depth: 2, chains: 4, turns: 10, model: Some("script:/pg/../child.json".into()), line: 2 }));
    assert_eq!(children("model = \"gpt-5\"").unwrap().unwrap().model.as_deref(), Some("gpt-5"));
}

#[test]
fn what_is_over_a_limit_or_means_nothing_is_refused_with_its_line() {
    for (key, most) in [("depth", 8), ("chains", 64), ("turns", 1000)] {
        assert!(children(&format!("{key} = {most}")).is_ok());
        for over in [most + 1, 0, -1] {
            let error = children(&format!("{key} = {over}")).unwrap_err().to_string();
            assert!(error.contains(&format!("`children.{key}` must be 1 to {most}")) && error.contains(":3"), "{error}");
        }
    }
    for section in ["tools = []", "tools = [\"files\"]", "tools = \"files__*\"", "model = \" \"", "model = 1", "depht = 1", "depth = \"1\""] {
        assert!(children(section).is_err(), "{section}");
    }
    assert!(read_text("version = 1\n[[children]]\n").is_err());
}
