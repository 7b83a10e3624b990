use std::path::PathBuf;

use super::*;
use crate::capability::{Access, Binding, Pin, Then, When};
use crate::digest::Digest;

mod children;
mod enclosure;
mod keyvalue;
mod one_file;
mod oracle;
mod people;
mod schema;
mod secret;
mod table;
mod tool;

const DIGEST: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

fn places() -> Places {
    let at = |path: &str| PathBuf::from(path);
    Places {
        plugins: at("/pg/plugins"),
        grants: at("/pg/grants.toml"),
        journal: at("/pg/journal.db"),
        cache: at("/pg/cache"),
        config: at("/pg/config.toml"),
        project: at("/pg/pausegate.toml"),
        binary: None,
        named: Vec::new(),
    }
}

fn read_text(text: &str) -> Result<Grants, ConfigError> {
    read(text.as_bytes(), Path::new("/pg/grants.toml"), &places(), "h")
}

/// A file that is right but for what is put into its plugin section or at its end.
fn around(plugin: &str, end: &str) -> String {
    format!("version = 1\n[plugins.files]\ndigest = \"{DIGEST}\"\n{plugin}\n{end}")
}

/// Every key that there is.
fn design() -> String {
    format!(
        r#"version = 1
[defaults]
tools = "ask"
[defaults.limits]
memory = "128MiB"
time = "1m"
[plugins.files]
digest = "{DIGEST}"
[[plugins.files.fs]]
path = "./build"
mount = "/build"
access = "read"
[[plugins.files.fs]]
path = "./build"
mount = "/build"
access = "write"
when = "approved"
within = "args.path"
[[plugins.files.fs]]
mount = "/build/keep"
access = "none"
[plugins.weather]
digest = "any"
env = {{ UNITS = "metric" }}
limits = {{ cpu = "500ms" }}
[[plugins.weather.http]]
url = "https://API.weather.example/v1/{{args.city}}"
methods = ["get", "DELETE"]
when = "approved"
[[plugins.weather.http]]
url = "http://127.0.0.1:8080"
methods = ["GET"]
private = true
[[rules]]
tool = "files__delete"
args = {{ path = "/build/**", options.force = true, count = 3 }}
effect = "ask"
except = [{{ args.path = "/build/tmp/**", until = 2026-12-31 }}, {{ args.path = "/a", until = "2026-01-01" }}]
approvers = ["alice", "os:bob@elsewhere"]
quorum = 1
on_deny = "stop"
"#
    )
}

#[test]
fn the_file_of_the_design_is_read() {
    let text = design();
    for text in [text.clone(), text.replace('\n', "\r\n")] {
        let grants = read_text(&text).unwrap();
        assert_eq!((grants.default_verdict, grants.default_limits.memory_bytes, grants.default_limits.time.as_secs()), (Verdict::Ask, 128 << 20, 60));
        let files = &grants.plugins["files"];
        assert_eq!(
            (files.digest.clone(), files.line, files.fs.iter().map(|line| line.line).collect::<Vec<_>>()),
            (Pin::Exact(DIGEST.parse::<Digest>().unwrap()), 7, vec![9, 13, 19])
        );
        assert_eq!(files.fs.iter().map(|line| line.path.to_str().unwrap()).collect::<Vec<_>>(), ["/pg/build", "/pg/build", "/pg/build/keep"]);
        assert_eq!((files.fs[1].access, files.fs[1].when.clone()), (Access::Write, When::Approved(Binding::Within(vec!["path".into()]))));
        let weather = &grants.plugins["weather"];
        assert_eq!(
            (&weather.digest, weather.limits.cpu.as_millis(), weather.limits.time.as_secs(), weather.env["UNITS"].as_str()),
            (&Pin::Any, 500, 60, "metric")
        );
        assert_eq!(
            (weather.http[0].url.as_str(), weather.http[0].methods.join(" "), weather.http[0].when.clone()),
            ("https://api.weather.example/v1/{args.city}", "GET DELETE".into(), When::Approved(Binding::Url))
        );
        assert_eq!(
            (weather.http[1].url.as_str(), weather.http[1].private, weather.http[1].when.clone()),
            ("http://127.0.0.1:8080/**", true, When::Always)
        );
        let rule = &grants.rules[0];
        let names = |actors: &[crate::chain::Actor]| actors.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        assert_eq!(
            (rule.line, rule.effect, rule.on_deny, names(&rule.approvers)),
            (34, Verdict::Ask, Then::Stop, "os:alice@h os:bob@elsewhere".into())
        );
        let patterns = rule.args.iter().map(|(path, pattern)| format!("{}={pattern}", path.join("."))).collect::<Vec<_>>();
        assert_eq!(patterns, [r#"path="/build/**""#, "options.force=true", "count=3"]);
        assert_eq!(rule.except.iter().map(|except| except.until.clone().unwrap()).collect::<Vec<_>>(), ["2026-12-31", "2026-01-01"]);
    }
}

/// Files with one slip each.
fn broken() -> Vec<(&'static str, String)> {
    let fs = |lines: &str| around(&format!("[[plugins.files.fs]]\n{lines}"), "");
    let http = |lines: &str| around(&format!("[[plugins.files.http]]\n{lines}"), "");
    let rule = |lines: &str| around("", &format!("[[rules]]\n{lines}"));
    vec![
        ("nothing", String::new()),
        ("version missing", "[defaults]\ntools = \"ask\"".into()),
        ("version 2", "# a comment\nversion = 2\nnew = true".into()),
        ("version as text", "version = \"1\"".into()),
        ("byte-order mark", "\u{feff}version = 1".into()),
        ("bare carriage return", "version = 1\rother = 2".into()),
        ("half a line", "version = 1\n[defaults\ntools = \"ask\"".into()),
        ("unknown key", "version = 1\ndefault = \"ask\"".into()),
        ("duplicate key", "version = 1\n[defaults]\ntools = \"ask\"\ntools = \"allow\"".into()),
        ("duplicate table", "version = 1\n[defaults]\n[plugins.a]\ndigest = \"any\"\n[defaults]".into()),
        ("wrong word", "version = 1\n[defaults]\ntools = \"Allow\"".into()),
        ("truthy", "version = 1\n[defaults]\ntools = true".into()),
        ("defaults as array", "version = 1\n[[defaults]]\ntools = \"ask\"".into()),
        ("limit without unit", "version = 1\n[defaults.limits]\nmemory = 256".into()),
        ("wrong unit", "version = 1\n[defaults.limits]\nmemory = \"256MB\"".into()),
        ("wrong time", "version = 1\n[defaults.limits]\ntime = \"30 s\"".into()),
        ("unknown limit", "version = 1\n[defaults.limits]\nwall = \"30s\"".into()),
        ("rules as table", "version = 1\n\n[rules]\ntool = \"*\"".into()),
        ("plugins as array", "version = 1\n[[plugins]]\nname = \"files\"".into()),
        ("fs as table", around("[plugins.files.fs]\npath = \"./a\"", "")),
        ("plugin name", "version = 1\n[plugins.Files]\ndigest = \"any\"".into()),
        ("plugin name with two lines", "version = 1\n[plugins.a__b]\ndigest = \"any\"".into()),
        ("no digest", "version = 1\n[plugins.files]\nenv = { A = \"b\" }".into()),
        ("half a digest", "version = 1\n[plugins.files]\ndigest = \"sha256:12\"".into()),
        ("env number", around("env = { A = 1 }", "")),
        ("no path", fs("mount = \"/a\"\naccess = \"read\"")),
        ("no access", fs("path = \"./a\"\nmount = \"/a\"")),
        ("wrong access", fs("path = \"./a\"\nmount = \"/a\"\naccess = \"rw\"")),
        ("relative mount", fs("path = \"./a\"\nmount = \"a\"\naccess = \"read\"")),
        ("odd mount", fs("path = \"./a\"\nmount = \"/a/../b\"\naccess = \"read\"")),
        ("approved for what", fs("path = \"./a\"\nmount = \"/a\"\naccess = \"write\"\nwhen = \"approved\"")),
        ("when misspelt", fs("path = \"./a\"\nmount = \"/a\"\naccess = \"write\"\nwhen = \"approve\"\nscope = \"whole\"")),
        ("within without when", fs("path = \"./a\"\nmount = \"/a\"\naccess = \"write\"\nwithin = \"args.path\"")),
        ("scope without when", fs("path = \"./a\"\nmount = \"/a\"\naccess = \"write\"\nscope = \"whole\"")),
        ("within no argument", fs("path = \"./a\"\nmount = \"/a\"\naccess = \"write\"\nwhen = \"approved\"\nwithin = \"path\"")),
        ("both bindings", fs("path = \"./a\"\nmount = \"/a\"\naccess = \"write\"\nwhen = \"approved\"\nwithin = \"args.path\"\nscope = \"whole\"")),
        ("none approved", fs("path = \"./a\"\nmount = \"/a\"\naccess = \"none\"\nwhen = \"approved\"\nscope = \"whole\"")),
        (
            "one mount, two folders",
            fs("path = \"./a\"\nmount = \"/a\"\naccess = \"read\"\n[[plugins.files.fs]]\npath = \"./b\"\nmount = \"/a\"\naccess = \"write\""),
        ),
        (
            "mount in a mount",
            fs("path = \"./a\"\nmount = \"/a\"\naccess = \"read\"\n[[plugins.files.fs]]\npath = \"./b\"\nmount = \"/a/b\"\naccess = \"write\""),
        ),
        ("on_missing", fs("path = \"./a\"\nmount = \"/a\"\naccess = \"read\"\non_missing = \"ask\"")),
        ("host without scheme", http("url = \"localhost\"\nmethods = [\"GET\"]")),
        ("query", http("url = \"https://a.test/b?c\"\nmethods = [\"GET\"]")),
        ("argument as host", http("url = \"https://{args.host}/\"\nmethods = [\"GET\"]")),
        ("no methods", http("url = \"https://a.test/\"\nmethods = []")),
        ("any method", http("url = \"https://a.test/\"\nmethods = [\"*\"]")),
        ("private as text", http("url = \"https://a.test/\"\nmethods = [\"GET\"]\nprivate = \"false\"")),
        ("unbound request", http("url = \"https://a.test/\"\nmethods = [\"POST\"]\nwhen = \"approved\"")),
        ("secret", http("url = \"https://a.test/\"\nmethods = [\"GET\"]\nsecret = { name = \"K\" }")),
        ("no tool", rule("effect = \"ask\"")),
        ("no effect", rule("tool = \"*\"")),
        ("tool that is none", rule("tool = \"files\"\neffect = \"deny\"")),
        ("pattern list", rule("tool = \"*\"\neffect = \"deny\"\nargs = { path = [\"/a\"] }")),
        ("except undoes all", rule("tool = \"*\"\neffect = \"ask\"\nexcept = [{ until = 2026-12-31 }]")),
        ("except in two ways", rule("tool = \"*\"\neffect = \"ask\"\nexcept = [{ args.path = \"/a\", exact = '{}' }]")),
        ("except that is no JSON", rule("tool = \"*\"\neffect = \"ask\"\nexcept = [{ exact = '{\"path\":a}' }]")),
        ("except for many tools", rule("tool = \"*\"\neffect = \"ask\"\nexcept = [{ exact = '{}', tool = \"files__*\" }]")),
        ("except with a wrong date", rule("tool = \"*\"\neffect = \"ask\"\nexcept = [\n  { args.path = \"/a\", until = \"31.12.2026\" },\n]")),
        ("except with a time", rule("tool = \"*\"\neffect = \"ask\"\nexcept = [{ args.path = \"/a\", until = 2026-12-31T10:00:00Z }]")),
        ("except of an allow rule", rule("tool = \"*\"\neffect = \"allow\"\nexcept = [{ args.path = \"/a\" }]")),
        ("no approvers", rule("tool = \"*\"\neffect = \"ask\"\napprovers = []")),
        ("quorum of none", rule("tool = \"*\"\neffect = \"ask\"\nquorum = 0")),
        ("on_deny", rule("tool = \"*\"\neffect = \"ask\"\non_deny = \"abort\"")),
    ]
}

#[test]
fn w54_a_broken_file_is_refused_with_its_line() {
    insta::assert_snapshot!(reports(&broken()), @r#"
    nothing: 1: lacks `version` | write `version = 1` as its first line
    version missing: 1: lacks `version` | write `version = 1` as its first line
    version 2: 2: version 2 is not known to this program | it reads `version = 1`
    version as text: 1: `version` must be an integer, not a string
    byte-order mark: 1: starts with a byte-order mark | save it as UTF-8 without one
    bare carriage return: 1: carriage return must be followed by newline, expected newline
    half a line: 2: unclosed table, expected `]`
    unknown key: 2: unknown key `default` | the file may hold: version, defaults, people, plugins, rules, children
    duplicate key: 4: duplicate key
    duplicate table: 5: duplicate key
    wrong word: 3: `defaults.tools` must be allow | ask | deny, not "Allow"
    truthy: 3: `defaults.tools` must be a string, not a boolean
    defaults as array: 2: `defaults` must be a table, not an array | write `[defaults]` with single brackets, once
    limit without unit: 3: `defaults.limits.memory` must be a string, not an integer
    wrong unit: 3: `defaults.limits.memory`: "256MB" is no size above zero in B, KiB, MiB or GiB, such as "256MiB"
    wrong time: 3: `defaults.limits.time`: "30 s" is no time above zero in ms, s, m or h, such as "30s"
    unknown limit: 3: unknown key `defaults.limits.wall` | `defaults.limits` may hold: memory, time, cpu, output, written, entries
    rules as table: 3: `rules` must be an array of tables, not a table | write `[[rules]]` with double brackets
    plugins as array: 2: `plugins` must be a table, not an array | write `[plugins]` with single brackets, once
    fs as table: 4: `plugins.files.fs` must be an array of tables, not a table | write `[[plugins.files.fs]]` with double brackets
    plugin name: 2: `Files` is no plugin name | a plugin is named for its file without `.wasm`: lower-case letters and digits, joined by single `-` or `_`
    plugin name with two lines: 2: `a__b` is no plugin name | a plugin is named for its file without `.wasm`: lower-case letters and digits, joined by single `-` or `_`
    no digest: 2: `plugins.files` lacks `digest` | run `pausegate trust files`, which writes the digest of the file that is there
    half a digest: 3: `plugins.files.digest`: `sha256:12` is not a digest (`sha256:` and 64 hex digits) | run `pausegate trust files`, which writes the digest of the file that is there
    env number: 4: `plugins.files.env.A` must be a string, not an integer
    no path: 4: `plugins.files.fs` lacks `path`
    no access: 4: `plugins.files.fs` lacks `access`
    wrong access: 7: `plugins.files.fs.access` must be none | read | write, not "rw"
    relative mount: 6: `plugins.files.fs.mount` must be an absolute path in normal form such as /build (no `.`, `..`, `//` or final slash)
    odd mount: 6: `plugins.files.fs.mount` must be an absolute path in normal form such as /build (no `.`, `..`, `//` or final slash)
    approved for what: 8: an approved-only line does not say for what | add `within = "args.path"` for the entry an argument names, or `scope = "whole"` for all of the line
    when misspelt: 8: `plugins.files.fs.when` must be approved, not "approve"
    within without when: 8: `plugins.files.fs.within` needs `when = "approved"`
    scope without when: 8: `plugins.files.fs.scope` needs `when = "approved"`
    within no argument: 9: `plugins.files.fs.within` must name an argument, such as "args.path"
    both bindings: 9: `within` and `scope = "whole"` exclude each other
    none approved: 8: a `none` line is always in force; no approval lifts it
    one mount, two folders: 9: mount /a is /pg/b here, and line 4 makes it another folder | one guest path is one host path; give the second folder a mount outside the first
    mount in a mount: 9: mount /a/b is /pg/b here, and line 4 makes it another folder | one guest path is one host path; give the second folder a mount outside the first
    on_missing: 8: `plugins.files.fs.on_missing` must be pause | refuse, not "ask"
    host without scheme: 5: `plugins.files.http.url`: `localhost` has no scheme | write `https://localhost` or `http://localhost`
    query: 5: `plugins.files.http.url`: queries are not matched, so a URL pattern cannot hold `?` | write `https://a.test/b`; it covers every query
    argument as host: 5: `plugins.files.http.url`: `{args.…}` stands only in the path of a URL pattern
    no methods: 6: `plugins.files.http.methods` is empty
    any method: 6: `plugins.files.http.methods`: "*" is no method | name each, such as ["GET", "POST"]
    private as text: 7: `plugins.files.http.private` must be true or false, not a string
    unbound request: 7: an approved-only line does not say for what | put an argument into the URL's path, such as `/v1/{args.id}`, or add `scope = "whole"` for all of the line
    secret: 7: `plugins.files.http.secret` lacks `source`
    no tool: 5: `rules` lacks `tool`
    no effect: 5: `rules` lacks `effect`
    tool that is none: 6: `rules.tool`: "files" fits no tool | tools are named `PLUGIN__TOOL`; `files__*` is every tool of `files`, `*` every tool, `chain` the one that starts chains
    pattern list: 8: `rules.args.path` must be a string, a number or a boolean, not an array
    except undoes all: 8: `rules.except` lacks `args` | `args` holds patterns; `exact` all arguments of one call, as JSON
    except in two ways: 8: `args` and `exact` exclude each other
    except that is no JSON: 8: `rules.except.exact`: arguments are not valid JSON: expected value at line 1 column 9
    except for many tools: 8: `rules.except.tool` must be the whole name of one tool, without `*`
    except with a wrong date: 9: `rules.except.until` must be a date such as 2026-12-31, not 31.12.2026
    except with a time: 8: `rules.except.until` must be a date such as 2026-12-31, not 2026-12-31T10:00:00Z
    except of an allow rule: 8: an `allow` rule takes no `except` | write an `ask` or `deny` rule for those arguments; it wins
    no approvers: 8: `rules.approvers` is empty
    quorum of none: 8: `rules.quorum` must be at least 1
    on_deny: 8: `rules.on_deny` must be continue | stop, not "abort"
    "#);
    let error = read(b"version = 1\n# \xff", Path::new("/pg/grants.toml"), &places(), "h").unwrap_err();
    assert_eq!(error.to_string(), "/pg/grants.toml:2: is not UTF-8");
}

#[test]
fn d06_a_missing_file_is_empty_only_where_it_was_not_named() {
    let folder = tempfile::tempdir().unwrap();
    let places = Places { grants: folder.path().join("grants.toml"), ..places() };
    assert_eq!(load(None, &places, "h").unwrap(), Grants::default());
    assert!(load(Some(&folder.path().join("other.toml")), &places, "h").unwrap_err().hint().is_some());
    std::fs::write(&places.grants, "version = 1\n[defaults]\ntools = \"deny\"\n").unwrap();
    assert_eq!(load(None, &places, "h").unwrap().default_verdict, Verdict::Deny);
}

/// A line for each: its name, the line of the file, the reason, the hint.
fn reports(broken: &[(&str, String)]) -> String {
    let all: Vec<String> = broken.iter().map(|(name, text)| format!("{name}: {}", report(read_text(text).expect_err(name)))).collect();
    all.join("\n")
}

fn report(error: ConfigError) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("/pg/grants.toml:").expect("names the file");
    format!("{text}{}", error.hint().map_or(String::new(), |hint| format!(" | {hint}")))
}
