//! The grants once more, the slow and plain way: every line is asked about every use, straight from what was written.

use serde_json::Value;

use super::written::{FsLine, HttpLine, Patterns, RuleLine, Spelled, Use, When, Written};
use crate::capability::Verdict;
use crate::capability::frozen::{FsOperation, KvOperation};

/// What becomes of a use, narrowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Said {
    Refused,
    /// Held back, and a person is asked about just this.
    Asked,
    Open,
}

pub struct Naive<'a> {
    pub written: &'a Written,
    pub read_only: bool,
    pub arguments: &'a Value,
}

pub const TOOL: &str = "files__delete";
pub const TODAY: &str = "2026-06-15";

impl Naive<'_> {
    pub fn verdict(&self) -> Verdict {
        if self.denied_by_none() { Verdict::Deny } else { self.ruled().unwrap_or(verdict(self.written.default)) }
    }

    /// An argument that binds a line names what a `none` line covers.
    pub fn denied_by_none(&self) -> bool {
        self.files().any(|line| match line.when {
            When::Within(argument) => self.path(argument).is_some_and(|path| self.shut(&path)),
            _ => false,
        })
    }

    /// The lines that are for this tool.
    fn files(&self) -> impl Iterator<Item = &FsLine> {
        self.written.fs.iter().filter(|line| is_for(line.tools))
    }

    fn ruled(&self) -> Option<Verdict> {
        self.rules().filter_map(|rule| self.rule(rule)).max()
    }

    fn rules(&self) -> impl Iterator<Item = &RuleLine> {
        self.written.rules.iter().filter(|rule| match rule.tool.split_once('*') {
            None => rule.tool == TOOL,
            Some((before, after)) => TOOL.starts_with(before) && TOOL.ends_with(after),
        })
    }

    fn rule(&self, rule: &RuleLine) -> Option<Verdict> {
        let guards = rule.effect != "allow";
        if !self.fit(&rule.args, guards) {
            return None;
        }
        match (rule.effect, rule.except.iter().any(|(args, until)| in_force(*until) && self.fit(args, false))) {
            ("ask", true) => Some(Verdict::Allow),
            ("deny", true) => None,
            (effect, _) => Some(verdict(effect)),
        }
    }

    /// A person approved these arguments beforehand, each of them, to the letter.
    pub fn standing(&self) -> bool {
        let mut names = Vec::new();
        leaves("", self.arguments, &mut names);
        let exact = |pattern: &Value| !pattern.as_str().is_some_and(|text| text.contains('*'));
        self.ruled() == Some(Verdict::Allow)
            && self.rules().filter(|rule| rule.effect == "ask" && self.fit(&rule.args, true)).any(|rule| {
                rule.except.iter().any(|(args, until)| {
                    until.is_some()
                        && in_force(*until)
                        && self.fit(args, false)
                        && args.values().all(exact)
                        && names.iter().all(|name| args.contains_key(name.as_str()))
                })
            })
    }

    fn fit(&self, patterns: &Patterns, guards: bool) -> bool {
        patterns.iter().all(|(name, pattern)| {
            let value = name.split('.').try_fold(self.arguments, |value, key| value.get(key));
            match (pattern, value) {
                (Value::String(pattern), Some(Value::String(text))) if !odd(text) => {
                    glob(&tokens(pattern), &symbols(text), &|c| guards || !c.is_control())
                }
                (Value::Number(wanted), Some(Value::Number(given))) => wanted == given,
                (Value::Bool(wanted), Some(Value::Bool(given))) => wanted == given,
                _ => guards,
            }
        })
    }

    /// An attempt of the call, without an approval of it or with one.
    pub fn says(&self, tried: &Use, approved: bool) -> Said {
        match (self.verdict(), tried) {
            (Verdict::Deny, _) => Said::Refused,
            (_, Use::Fs { operation, path, to }) => self.fs(*operation, [Some(path), to.as_ref()].into_iter().flatten().collect(), approved),
            (_, Use::Http { method, url }) => self.http(method, url, approved),
            (_, Use::Kv { operation }) => self.kv(matches!(operation, KvOperation::Get | KvOperation::List), approved),
        }
    }

    fn fs(&self, operation: FsOperation, ends: Vec<&String>, approved: bool) -> Said {
        let moves = matches!(operation, FsOperation::Rename | FsOperation::RemoveFolder);
        let shut_below = |end: &str| self.files().any(|line| line.access == "none" && line.mount != end && within(end, line.mount));
        if moves && ends.iter().any(|end| shut_below(end)) {
            return Said::Refused;
        }
        let held = |end: &&String| !self.shut(end) && self.files().any(|line| self.holds(line, operation, end, approved));
        let asked = |end: &&String| !self.shut(end) && self.files().any(|line| self.asks(line, operation, end));
        match () {
            () if ends.iter().all(held) => Said::Open,
            () if ends.iter().all(|end| held(end) || asked(end)) => Said::Asked,
            () => Said::Refused,
        }
    }

    fn holds(&self, line: &FsLine, operation: FsOperation, end: &str, approved: bool) -> bool {
        let lent = || match line.when {
            When::Within(argument) if approved || self.standing() => self.entry(line, argument),
            _ => None,
        };
        let whole = line.when == When::Always || (line.when == When::Whole && approved);
        let about = match operation {
            _ if whole => within(line.mount, end),
            FsOperation::List => false,
            FsOperation::Look => within(line.mount, end) && lent().is_some_and(|entry| within(end, &entry)),
            _ => lent().is_some_and(|entry| entry == end),
        };
        about && self.reaches(line, operation)
    }

    fn asks(&self, line: &FsLine, operation: FsOperation, end: &str) -> bool {
        line.when != When::Always && self.pauses(line.on_missing) && within(line.mount, end) && self.reaches(line, operation)
    }

    fn reaches(&self, line: &FsLine, operation: FsOperation) -> bool {
        match operation {
            FsOperation::Look | FsOperation::Read | FsOperation::List => line.access != "none",
            _ => line.access == "write" && !self.read_only,
        }
    }

    fn pauses(&self, line: Option<&str>) -> bool {
        line.unwrap_or(self.written.on_missing) == "pause"
    }

    /// The one entry that an argument names strictly below the line's mount.
    fn entry(&self, line: &FsLine, argument: &str) -> Option<String> {
        self.path(argument).filter(|path| path != line.mount && within(line.mount, path) && !self.shut(path))
    }

    fn path(&self, argument: &str) -> Option<String> {
        let text = self.arguments.get(argument)?.as_str()?;
        let normal = text == "/" || (text.starts_with('/') && !odd(text));
        (normal && !text.contains(char::is_control)).then(|| text.to_owned())
    }

    fn shut(&self, path: &str) -> bool {
        self.files().any(|line| line.access == "none" && within(line.mount, path))
    }

    fn http(&self, method: &str, url: &Spelled, approved: bool) -> Said {
        let safe = method == "GET" || method == "HEAD";
        let local = url.host == "127.0.0.1";
        let about = |line: &&HttpLine| line.methods.contains(&method) && (safe || !self.read_only) && (line.private || !local);
        let lines = || self.written.http.iter().filter(|line| is_for(line.tools)).filter(about);
        let opened = |line: &HttpLine| !line.approved || approved || (line.is_bound() && self.standing());
        match () {
            () if lines().any(|line| opened(line) && self.url(line, url, false)) => Said::Open,
            () if lines().any(|line| line.approved && self.pauses(line.on_missing) && self.url(line, url, true)) => Said::Asked,
            () => Said::Refused,
        }
    }

    fn kv(&self, reads: bool, approved: bool) -> Said {
        let lines = || self.written.kv.iter().filter(|line| is_for(line.tools)).filter(|line| reads || (line.access == "write" && !self.read_only));
        match () {
            () if lines().any(|line| !line.approved || approved) => Said::Open,
            () if lines().any(|line| self.pauses(line.on_missing)) => Said::Asked,
            () => Said::Refused,
        }
    }

    /// Whether a line is about a URL; with `any` argument in its path, or with those of the call.
    fn url(&self, line: &HttpLine, url: &Spelled, any: bool) -> bool {
        let mut pattern = Vec::new();
        for segment in &line.path {
            pattern.push(Token::Separator);
            match segment.strip_prefix("{args.").and_then(|rest| rest.strip_suffix('}')) {
                Some(_) if any => pattern.push(Token::Segment),
                Some(name) => match self.segment(name) {
                    Some(text) => pattern.extend(text.chars().map(Token::Character)),
                    None => return false,
                },
                None if *segment == "%61" => pattern.push(Token::Character('a')),
                None => pattern.extend(tokens(segment)),
            }
        }
        let mut path = Vec::new();
        for segment in &url.path {
            path.push(None);
            path.extend(segment.chars().map(Some));
        }
        let hidden = url.path.iter().any(|segment| segment.split('/').any(|piece| piece == ".."));
        line.scheme == url.scheme && host(line.host, url.host, line.scheme) && !hidden && glob(&pattern, &path, &|_| true)
    }

    fn segment(&self, name: &str) -> Option<String> {
        match self.arguments.get(name)? {
            Value::String(text) if text.is_empty() || text.contains(char::is_control) || text.split('/').any(|piece| piece == "..") => None,
            Value::String(text) => Some(text.clone()),
            value @ (Value::Number(_) | Value::Bool(_)) => Some(value.to_string()),
            _ => None,
        }
    }
}

fn verdict(word: &str) -> Verdict {
    match word {
        "allow" => Verdict::Allow,
        "ask" => Verdict::Ask,
        _ => Verdict::Deny,
    }
}

fn is_for(tools: Option<&str>) -> bool {
    tools.is_none_or(|name| TOOL == format!("files__{name}"))
}

fn in_force(until: Option<&str>) -> bool {
    until.is_none_or(|until| until >= TODAY)
}

/// Dotted names of all values that hold no others.
fn leaves(name: &str, value: &Value, names: &mut Vec<String>) {
    match value.as_object() {
        Some(object) if !object.is_empty() => {
            object.iter().for_each(|(key, value)| leaves(&if name.is_empty() { key.clone() } else { format!("{name}.{key}") }, value, names));
        }
        _ => names.push(name.to_owned()),
    }
}

/// `path` is `top` or lies below it.
fn within(top: &str, path: &str) -> bool {
    let parts = |path: &str| path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    parts(path).starts_with(&parts(top))
}

fn odd(text: &str) -> bool {
    text.strip_prefix('/').unwrap_or(text).split('/').any(|part| part.is_empty() || part == "." || part == "..")
}

fn host(pattern: &str, host: &str, scheme: &str) -> bool {
    let full = |host: &str| match (host.contains(':'), scheme) {
        (true, _) => host.to_lowercase(),
        (false, "https") => format!("{host}:443"),
        (false, _) => format!("{host}:80"),
    };
    match pattern.strip_prefix("*.") {
        None => full(pattern) == full(host),
        Some(rest) => full(host).strip_suffix(&format!(".{}", full(rest))).is_some_and(|label| !label.is_empty() && !label.contains('.')),
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Token {
    Character(char),
    Separator,
    /// Any of a segment.
    Star,
    /// All of a segment that is not empty.
    Segment,
    /// Anything.
    Stars,
}

fn tokens(pattern: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    for (at, segment) in pattern.split('/').enumerate() {
        tokens.extend((at > 0).then_some(Token::Separator));
        match segment {
            "*" => tokens.push(Token::Segment),
            "**" => tokens.push(Token::Stars),
            other => tokens.extend(other.chars().map(|c| if c == '*' { Token::Star } else { Token::Character(c) })),
        }
    }
    tokens
}

/// `None` for a slash.
fn symbols(text: &str) -> Vec<Option<char>> {
    text.chars().map(|c| Some(c).filter(|c| *c != '/')).collect()
}

/// Tries every way to share out the text.
fn glob(pattern: &[Token], text: &[Option<char>], plain: &dyn Fn(char) -> bool) -> bool {
    let Some((first, rest)) = pattern.split_first() else { return text.is_empty() };
    let inside = |symbol: &Option<char>| symbol.is_some_and(|c| c != '/' && plain(c));
    let anything = |symbol: &Option<char>| symbol.is_none_or(plain);
    let take = |at_least: usize, fits: &dyn Fn(&Option<char>) -> bool| {
        (at_least..=text.len()).any(|length| text[..length].iter().all(fits) && glob(rest, &text[length..], plain))
    };
    match first {
        Token::Character(c) => text.first() == Some(&Some(*c)) && glob(rest, &text[1..], plain),
        Token::Separator => text.first() == Some(&None) && glob(rest, &text[1..], plain),
        Token::Star => take(0, &inside),
        Token::Segment => take(1, &inside),
        Token::Stars => take(0, &anything),
    }
}
