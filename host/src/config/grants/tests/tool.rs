//! What is said of single tools, and the settings that a plugin reads.

use super::*;
use crate::call::Effects;
use crate::capability::Reconcile;

#[test]
fn single_tools_are_narrowed_disabled_and_overridden() {
    let lines = r#"config = { units = "metric" }
[plugins.files.tools.delete]
enabled = false
[plugins.files.tools.list]
effects = "read-only"
[[plugins.files.fs]]
path = "./build"
mount = "/build"
access = "read"
tools = ["list", "read"]
[[plugins.files.http]]
url = "https://a.test"
methods = ["GET"]
"#;
    let grants = read_text(&around(lines, "")).unwrap();
    let files = &grants.plugins["files"];
    assert_eq!(files.config["units"], "metric");
    let tools = files.tools.iter().map(|(name, tool)| (name.as_str(), tool.enabled, tool.effects, tool.line)).collect::<Vec<_>>();
    assert_eq!(tools, [("delete", false, None, 5), ("list", true, Some(Effects::ReadOnly), 7)]);
    let narrowed = ["list", "read", "delete"].map(|tool| files.fs[0].tools.has(tool));
    assert_eq!((narrowed, files.http[0].tools.has("delete")), ([true, true, false], true));
}

#[test]
fn w54_a_slip_about_tools_or_settings_is_refused_with_its_line() {
    let fs = |lines: &str| around(&format!("[[plugins.files.fs]]\n{lines}"), "");
    let http = |lines: &str| around(&format!("[[plugins.files.http]]\n{lines}"), "");
    let broken = [
        ("config number", around("config = { units = 1 }", "")),
        ("config without a name", around("config = { \"\" = \"x\" }", "")),
        ("tools as array", around("tools = [\"read\"]", "")),
        ("unknown key of a tool", around("[plugins.files.tools.read]\nlimit = 3", "")),
        ("odd tool", around("[plugins.files.tools.\"a b\"]", "")),
        ("enabled as text", around("[plugins.files.tools.read]\nenabled = \"false\"", "")),
        ("effects of no kind", around("[plugins.files.tools.read]\neffects = \"none\"", "")),
        ("tools of a line empty", fs("path = \"./a\"\nmount = \"/a\"\naccess = \"read\"\ntools = []")),
        ("tools of a line as text", http("url = \"https://a.test\"\nmethods = [\"GET\"]\ntools = \"read\"")),
        ("odd tool of a line", fs("path = \"./a\"\nmount = \"/a\"\naccess = \"read\"\ntools = [\"files.read\"]")),
    ];
    insta::assert_snapshot!(reports(&broken), @r#"
    config number: 4: `plugins.files.config.units` must be a string, not an integer
    config without a name: 4: `plugins.files.config.` has no name
    tools as array: 4: `plugins.files.tools` must be a table, not an array | write `[plugins.files.tools]` with single brackets, once
    unknown key of a tool: 5: unknown key `plugins.files.tools.read.limit` | `plugins.files.tools.read` may hold: enabled, effects
    odd tool: 4: `plugins.files.tools.a b`: "a b" is no tool's name | name each tool as its plugin does, without the plugin's name: `delete` for `files__delete`
    enabled as text: 5: `plugins.files.tools.read.enabled` must be true or false, not a string
    effects of no kind: 5: `plugins.files.tools.read.effects` must be read-only | idempotent | once, not "none"
    tools of a line empty: 8: `plugins.files.fs.tools` is empty
    tools of a line as text: 7: `plugins.files.http.tools` must be an array, not a string
    odd tool of a line: 8: `plugins.files.fs.tools`: "files.read" is no tool's name | name each tool as its plugin does, without the plugin's name: `delete` for `files__delete`
    "#);
}

#[test]
fn a_plugins_word_is_believed_only_where_its_section_says_so() {
    let reconcile = |line: &str| read_text(&around(line, "")).map(|grants| grants.plugins["files"].reconcile);
    assert_eq!(reconcile("").unwrap(), Reconcile::Show);
    assert_eq!(reconcile("reconcile = \"show\"").unwrap(), Reconcile::Show);
    assert_eq!(reconcile("reconcile = \"believe\"").unwrap(), Reconcile::Believe);
    for refused in ["\"trust\"", "true", "\"Believe\""] {
        assert!(reconcile(&format!("reconcile = {refused}")).is_err(), "{refused}");
    }
}
