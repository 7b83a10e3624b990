//! `kv` lines.

use super::*;
use crate::capability::keyvalue::{Quota, Scope};

#[test]
fn a_table_or_several_lines_are_read() {
    let grants = read_text(&around("kv = {}", "")).unwrap();
    let line = &grants.plugins["files"].kv[0];
    assert_eq!((line.scope, line.access, line.quota, line.when.clone()), (Scope::Chain, Access::Write, Quota::default(), When::Always));
    let lines = r#"[[plugins.files.kv]]
scope = "plugin"
access = "read"
quota = "64KiB"
keys = 3
[[plugins.files.kv]]
scope = "plugin"
when = "approved"
tools = ["remember"]
"#;
    let grants = read_text(&around(lines, "")).unwrap();
    let [read, write] = grants.plugins["files"].kv.as_slice() else { panic!("two lines") };
    assert_eq!((read.scope, read.access, read.quota, read.line), (Scope::Plugin, Access::Read, Quota { bytes: 64 << 10, keys: 3 }, 4));
    assert_eq!((write.access, write.when.clone()), (Access::Write, When::Approved(Binding::Whole)));
    assert!(write.tools.has("remember") && !write.tools.has("list"));
}

#[test]
fn w54_a_slip_about_values_is_refused_with_its_line() {
    let broken = [
        ("as text", around("kv = \"chain\"", "")),
        ("unknown scope", around("kv = { scope = \"host\" }", "")),
        ("no access at all", around("kv = { access = \"none\" }", "")),
        ("quota without unit", around("kv = { quota = 1000 }", "")),
        ("no keys", around("kv = { keys = 0 }", "")),
        ("misspelt", around("kv = { qouta = \"1MiB\" }", "")),
        ("two scopes", around("[[plugins.files.kv]]\nscope = \"chain\"\n[[plugins.files.kv]]\nscope = \"plugin\"", "")),
    ];
    insta::assert_snapshot!(reports(&broken), @r#"
    as text: 4: `plugins.files.kv` must be a table, not a string | write `[plugins.files.kv]`
    unknown scope: 4: `plugins.files.kv.scope` must be chain | plugin, not "host"
    no access at all: 4: `plugins.files.kv.access` must be read | write, not "none"
    quota without unit: 4: `plugins.files.kv.quota` must be a string, not an integer
    no keys: 4: `plugins.files.kv.keys` must be at least 1
    misspelt: 4: unknown key `plugins.files.kv.qouta` | `plugins.files.kv` may hold: scope, access, quota, keys, when, on_missing, tools
    two scopes: 6: scope is "plugin" here, and line 4 makes it "chain" | a plugin has one bucket: give all its `kv` lines the same scope
    "#);
}
