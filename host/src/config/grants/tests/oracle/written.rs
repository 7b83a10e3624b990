//! Grants files, calls and uses from few pieces, so that lines, rules and uses meet more often than not.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::capability::frozen::{FsOperation, KvOperation};

/// A grants file as an operator would write it.
#[derive(Clone, Debug)]
pub struct Written {
    pub default: &'static str,
    pub on_missing: &'static str,
    pub fs: Vec<FsLine>,
    pub http: Vec<HttpLine>,
    pub kv: Vec<KvLine>,
    pub rules: Vec<RuleLine>,
}

#[derive(Clone, Debug)]
pub struct FsLine {
    pub mount: &'static str,
    pub access: &'static str,
    pub when: When,
    pub on_missing: Option<&'static str>,
    /// The plugin's own names; `None` for all.
    pub tools: Option<&'static str>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum When {
    Always,
    Within(&'static str),
    Whole,
}

#[derive(Clone, Debug)]
pub struct HttpLine {
    pub scheme: &'static str,
    pub host: &'static str,
    /// `{args.NAME}` may stand in it.
    pub path: Vec<&'static str>,
    pub methods: Vec<&'static str>,
    pub approved: bool,
    pub private: bool,
    pub on_missing: Option<&'static str>,
    pub tools: Option<&'static str>,
}

#[derive(Clone, Debug)]
pub struct KvLine {
    pub access: &'static str,
    pub approved: bool,
    pub on_missing: Option<&'static str>,
    pub tools: Option<&'static str>,
}

pub type Patterns = BTreeMap<&'static str, Value>;

#[derive(Clone, Debug)]
pub struct RuleLine {
    pub tool: &'static str,
    pub effect: &'static str,
    pub args: Patterns,
    pub except: Vec<(Patterns, Option<&'static str>)>,
}

/// What a plugin tries.
#[derive(Clone, Debug)]
pub enum Use {
    Fs { operation: FsOperation, path: String, to: Option<String> },
    Http { method: &'static str, url: Spelled },
    Kv { operation: KvOperation },
}

/// A URL by its meaning, and one of its spellings.
#[derive(Clone, Debug)]
pub struct Spelled {
    pub scheme: &'static str,
    pub host: &'static str,
    /// Decoded.
    pub path: Vec<&'static str>,
    pub text: String,
}

impl HttpLine {
    pub fn is_bound(&self) -> bool {
        self.path.iter().any(|segment| segment.starts_with('{'))
    }
}

impl Written {
    pub fn text(&self) -> String {
        let mut text = format!("version = 1\n[defaults]\ntools = \"{}\"\non_missing = \"{}\"\n", self.default, self.on_missing);
        text.push_str("[plugins.files]\ndigest = \"any\"\n");
        for line in &self.fs {
            let when = match line.when {
                When::Always => String::new(),
                When::Within(argument) => format!("when = \"approved\"\nwithin = \"args.{argument}\"\n"),
                When::Whole => "when = \"approved\"\nscope = \"whole\"\n".into(),
            };
            let at = format!("path = \"/srv-none{0}\"\nmount = \"{0}\"\naccess = \"{1}\"\n{when}", line.mount, line.access);
            _ = write!(text, "[[plugins.files.fs]]\n{at}{}{}", on_missing(line.on_missing), tools(line.tools));
        }
        for line in &self.http {
            let when = match (line.approved, line.is_bound()) {
                (false, _) => "",
                (true, true) => "when = \"approved\"\n",
                (true, false) => "when = \"approved\"\nscope = \"whole\"\n",
            };
            let url = format!("{}://{}/{}", line.scheme, line.host, line.path.join("/"));
            let what = format!("url = \"{url}\"\nmethods = {:?}\nprivate = {}\n{when}", line.methods, line.private);
            _ = write!(text, "[[plugins.files.http]]\n{what}{}{}", on_missing(line.on_missing), tools(line.tools));
        }
        for line in &self.kv {
            let when = if line.approved { "when = \"approved\"\n" } else { "" };
            _ = write!(text, "[[plugins.files.kv]]\naccess = \"{}\"\n{when}{}{}", line.access, on_missing(line.on_missing), tools(line.tools));
        }
        for rule in &self.rules {
            _ = writeln!(text, "[[rules]]\ntool = \"{}\"\neffect = \"{}\"\nargs = {}", rule.tool, rule.effect, patterns(&rule.args));
            let except = |(args, until): &(Patterns, Option<&str>)| {
                let until = until.map_or(String::new(), |until| format!(", until = {until}"));
                format!("{{ args = {}{until} }}", patterns(args))
            };
            let excepts: Vec<_> = rule.except.iter().map(except).collect();
            if !excepts.is_empty() {
                _ = writeln!(text, "except = [{}]", excepts.join(", "));
            }
        }
        text
    }

    /// Every file with one allowing thing fewer.
    pub fn narrower(&self) -> Vec<Self> {
        let mut all = Vec::new();
        let mut push = |change: &dyn Fn(&mut Self)| {
            let mut fewer = self.clone();
            change(&mut fewer);
            all.push(fewer);
        };
        for index in (0..self.fs.len()).filter(|index| self.fs[*index].access != "none") {
            push(&|written| {
                written.fs.remove(index);
            });
        }
        for index in 0..self.http.len() {
            push(&|written| {
                written.http.remove(index);
            });
        }
        for index in 0..self.kv.len() {
            push(&|written| {
                written.kv.remove(index);
            });
        }
        for (index, rule) in self.rules.iter().enumerate() {
            if rule.effect == "allow" {
                push(&|written| {
                    written.rules.remove(index);
                });
            }
            for inner in 0..rule.except.len() {
                push(&|written| drop(written.rules[index].except.remove(inner)));
            }
        }
        all
    }
}

fn on_missing(word: Option<&str>) -> String {
    word.map_or(String::new(), |word| format!("on_missing = \"{word}\"\n"))
}

fn tools(name: Option<&str>) -> String {
    name.map_or(String::new(), |name| format!("tools = [\"{name}\"]\n"))
}

fn any_tools() -> impl Strategy<Value = Option<&'static str>> {
    select(vec![None, None, None, None, None, Some("delete"), Some("read")])
}

fn patterns(args: &Patterns) -> String {
    let each: Vec<_> = args.iter().map(|(name, pattern)| format!("{name} = {pattern}")).collect();
    format!("{{ {} }}", each.join(", "))
}

pub fn any_written() -> impl Strategy<Value = Written> {
    let rule = prop_oneof![4 => any_rule(), 1 => Just(beforehand())];
    let kv = prop::collection::vec(any_kv(), 0..4);
    let lists = (prop::collection::vec(any_fs(), 0..6), prop::collection::vec(any_http(), 0..6), kv, prop::collection::vec(rule, 0..4));
    (lists, select(vec!["allow", "allow", "allow", "allow", "ask", "ask", "ask", "deny"]), select(vec!["pause", "pause", "refuse"]))
        .prop_map(|((fs, http, kv, rules), default, on_missing)| Written { default, on_missing, fs, http, kv, rules })
}

/// The one call whose arguments somebody approved beforehand.
fn beforehand() -> RuleLine {
    let exact = Patterns::from([("path", json!("/a/b"))]);
    RuleLine { tool: "files__*", effect: "ask", args: Patterns::new(), except: vec![(exact, Some("2027-01-01"))] }
}

/// Most meet.
const SCHEMES: &[&str] = &["https", "https", "https", "https", "https", "https", "https", "http"];

const MOUNTS: [&str; 5] = ["/", "/a", "/a/b", "/b", "/a/a"];

pub fn any_fs() -> impl Strategy<Value = FsLine> {
    let when = select(vec![When::Always, When::Always, When::Within("path"), When::Within("path"), When::Within("other"), When::Whole]);
    (select(&MOUNTS), select(vec!["none", "read", "read", "write", "write"]), when, any_on_missing(), any_tools()).prop_map(
        |(mount, access, when, on_missing, tools)| match access {
            "none" => FsLine { tools, ..none(mount) },
            access => FsLine { mount, access, when, on_missing, tools },
        },
    )
}

fn none(mount: &'static str) -> FsLine {
    FsLine { mount, access: "none", when: When::Always, on_missing: None, tools: None }
}

pub fn any_none() -> impl Strategy<Value = FsLine> {
    select(&MOUNTS).prop_map(none)
}

fn any_on_missing() -> impl Strategy<Value = Option<&'static str>> {
    select(vec![None, None, Some("pause"), Some("refuse")])
}

fn any_http() -> impl Strategy<Value = HttpLine> {
    let mut hosts = vec!["a.test"; 12];
    hosts.extend(["b.test", "*.a.test", "127.0.0.1", "A.test:443", "a.test:8080"]);
    let paths: [&[&str]; 16] = [
        &["**"],
        &["a", "**"],
        &["a", "*"],
        &["a", "a*"],
        &["{args.path}"],
        &["a", "{args.path}"],
        &["{args.path}", "**"],
        &["{args.other}"],
        &["{args.other}", "*"],
        &["a"],
        &["%61", "b"],
        &["*", "*"],
        &["**", "a"],
        &["a*", ""],
        &["*"],
        &[""],
    ];
    let path = select(paths.map(<[&str]>::to_vec).to_vec());
    let methods = select(vec![vec!["GET"], vec!["POST"], vec!["GET", "POST"]]);
    (select(SCHEMES), select(hosts), path, methods, (any::<bool>(), any::<bool>()), any_on_missing(), any_tools()).prop_map(
        |(scheme, host, path, methods, (approved, private), on_missing, tools)| HttpLine {
            scheme,
            host,
            path,
            methods,
            approved,
            private,
            on_missing,
            tools,
        },
    )
}

fn any_kv() -> impl Strategy<Value = KvLine> {
    let line = (select(vec!["read", "read", "write"]), prop::bool::weighted(0.6), any_on_missing(), any_tools());
    line.prop_map(|(access, approved, on_missing, tools)| KvLine { access, approved, on_missing, tools })
}

fn any_patterns(at_least: usize) -> impl Strategy<Value = Patterns> {
    let texts = ["/a/**", "/a/*", "**", "*", "/a/b", "/a/b/a", "/b", "a", "a*", ""].map(|text| json!(text));
    let pattern = select([texts.as_slice(), &[json!(3), json!(true)]].concat());
    prop::collection::btree_map(select(vec!["path", "path", "other", "deep.x"]), pattern, at_least..3)
}

pub fn any_rule() -> impl Strategy<Value = RuleLine> {
    let excepts = prop::collection::vec((any_patterns(1), select(vec![None, Some("2026-06-14"), Some("2026-06-15"), Some("2027-01-01")])), 0..3);
    let tools = select(vec!["*", "files__*", "files__delete", "*__delete", "files__read", "other__*"]);
    (select(vec!["allow", "allow", "allow", "ask", "ask", "ask", "deny"]), tools, any_patterns(0), excepts)
        .prop_map(|(effect, tool, args, except)| RuleLine { tool, effect, args, except: if effect == "allow" { Vec::new() } else { except } })
}

pub fn any_arguments() -> impl Strategy<Value = Value> {
    let value = || {
        let texts = ["/a/b", "/a/b", "/a/b/a", "/a", "/b/a", "/", "/a/../b", "/a/", "a", "b", "a/b", "*", "..", "", "/a/b\n"].map(|text| json!(text));
        select([texts.as_slice(), &[json!(3), json!(true), json!(null), json!(["/a/b"])]].concat())
    };
    let deep = prop_oneof![8 => Just(None), 1 => Just(Some(json!({}))), 2 => value().prop_map(|value| Some(json!({"x": value})))];
    let path = prop_oneof![3 => Just(json!("/a/b")), 5 => value()];
    (prop::option::weighted(0.8, path), prop::option::weighted(0.3, value()), deep).prop_map(|(path, other, deep)| {
        let named = [("path", path), ("other", other), ("deep", deep)].into_iter();
        json!(named.filter_map(|(name, value)| Some((name, value?))).collect::<BTreeMap<_, _>>())
    })
}

fn any_path() -> impl Strategy<Value = String> {
    prop::collection::vec(select(vec!["a", "b"]), 0..4).prop_map(|parts| format!("/{}", parts.join("/")))
}

pub fn any_use() -> impl Strategy<Value = Use> {
    use FsOperation::*;
    let operation = select(vec![Look, Read, List, Write, CreateFolder, RemoveFile, RemoveFolder, SetTimes]);
    let one = (operation, any_path()).prop_map(|(operation, path)| Use::Fs { operation, path, to: None });
    let two = (select(vec![Rename, Link]), any_path(), any_path()).prop_map(|(operation, path, to)| Use::Fs { operation, path, to: Some(to) });
    let http = (select(vec!["GET", "GET", "POST", "POST", "HEAD"]), any_url()).prop_map(|(method, url)| Use::Http { method, url });
    let operations = vec![KvOperation::Get, KvOperation::List, KvOperation::Set, KvOperation::Delete, KvOperation::Increment];
    let kv = select(operations).prop_map(|operation| Use::Kv { operation });
    prop_oneof![4 => one, 2 => two, 4 => http, 2 => kv]
}

fn any_url() -> impl Strategy<Value = Spelled> {
    let mut hosts = vec!["a.test"; 12];
    hosts.extend(["b.test", "x.a.test", "y.x.a.test", "127.0.0.1", "a.test:8080"]);
    let paths: [&[&str]; 14] = [
        &["a"],
        &["a", "a"],
        &["a", "b"],
        &["a", "ab"],
        &["/a/b"],
        &["a", "/a/b"],
        &["/a/b", "3"],
        &["b"],
        &["a", ""],
        &["a", "", "a"],
        &["*"],
        &["a", "../a"],
        &["3", "a"],
        &[""],
    ];
    let path = select(paths.map(<[&str]>::to_vec).to_vec());
    (select(SCHEMES), select(hosts), path, any::<u8>()).prop_map(|(scheme, host, path, style)| Spelled {
        text: spell(scheme, host, &path, style),
        scheme,
        host,
        path,
    })
}

/// The same URL in as many spellings as `style` has values.
fn spell(scheme: &str, host: &str, path: &[&str], style: u8) -> String {
    let has = |bit: u8| style & (1 << bit) != 0;
    let (mut name, mut port) = host.split_once(':').map_or((host.to_owned(), String::new()), |(name, port)| (name.to_owned(), format!(":{port}")));
    if has(0) {
        name = name.to_uppercase();
    }
    if has(1) && name == "127.0.0.1" {
        name = "0x7f.1".into();
    }
    if has(2) {
        name.push('.');
    }
    if has(3) && port.is_empty() {
        port = if scheme == "https" { ":443".into() } else { ":80".into() };
    }
    let mut text = format!("{scheme}://{name}{port}");
    for segment in path {
        if has(4) && !segment.is_empty() {
            text.push_str("/.");
        }
        if has(5) && !segment.is_empty() {
            text.push_str("/b/..");
        }
        text.push('/');
        for character in segment.chars() {
            match character {
                '/' => text.push_str("%2F"),
                'a' if has(6) => text.push_str("%61"),
                other => text.push(other),
            }
        }
    }
    if has(7) { format!("{text}?a=../b") } else { text }
}
