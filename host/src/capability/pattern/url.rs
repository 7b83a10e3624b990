//! Patterns of URLs: scheme, host, port and path; a query is never matched.
//!
//! Both sides are brought into one normal form first: case and final dot of the host, IDN, every spelling of an
//! address, default ports, percent-encoding. A path that hides `.` or `..` behind an encoded slash matches nothing.

use percent_encoding::percent_decode_str;
use url::{Host, Url};

use super::{Glob, PATTERN_MAX, PatternError, Token};

pub mod template;

pub use template::UrlTemplate;

/// A true slash between segments, apart from every byte that a segment may hold in encoded form.
const SEPARATOR: u32 = 0x11_0000;

/// `https://api.test/v1/*`: which requests a grant is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlPattern {
    scheme: String,
    host: HostPattern,
    port: u16,
    path: Glob,
    /// In normal form, a missing path written out.
    text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum HostPattern {
    Exact(String),
    Labels(Glob),
}

impl UrlPattern {
    /// Without any path it is the whole origin, as if `/**` were written.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        refuse_odd_characters(text)?;
        let (scheme, rest) = scheme_of(text)?;
        let (authority, path) = match rest.find('/') {
            Some(slash) => rest.split_at(slash),
            None => (rest, "/**"),
        };
        let (host_text, port_text) = split_authority(authority)?;
        let host = normal_host(host_text)?;
        let default = if scheme == "https" { 443 } else { 80 };
        let port = port_text.map_or(Ok(default), read_port)?;
        let shown_port = if port == default { String::new() } else { format!(":{port}") };
        let text = format!("{scheme}://{host}{shown_port}{path}");
        let host = match host.contains('*') {
            true => HostPattern::Labels(Glob::new(host.chars().map(Token::of_char), Some('.'.into()))),
            false => HostPattern::Exact(host),
        };
        Ok(Self { scheme, host, port, path: Glob::new(path_tokens(path)?, Some(SEPARATOR)), text })
    }

    pub fn matches(&self, url: &Url) -> bool {
        let Some(host) = host_of(url) else { return false };
        let plain = url.username().is_empty() && url.password().is_none();
        plain
            && url.scheme() == self.scheme
            && url.port_or_known_default() == Some(self.port)
            && self.host.matches(&host)
            && self.matches_path(url.path())
    }

    fn matches_path(&self, path: &str) -> bool {
        let segments: Vec<Vec<u8>> = path.strip_prefix('/').unwrap_or(path).split('/').map(|segment| percent_decode_str(segment).collect()).collect();
        if segments.iter().any(|segment| hides_dots(segment)) {
            return false;
        }
        let symbols = segments.iter().flat_map(|segment| std::iter::once(SEPARATOR).chain(segment.iter().map(|byte| u32::from(*byte))));
        let inside = |symbol: u32| symbol != SEPARATOR && symbol != u32::from(b'/') && symbol != u32::from(b'\\');
        self.path.matches(symbols, inside, |_| true)
    }
}

/// The pattern that matches just this URL, for the line that would allow it; the query is left out. An empty segment has no
/// pattern of its own but `**`.
pub fn exact(url: &Url) -> String {
    let port = url.port().map_or(String::new(), |port| format!(":{port}"));
    let mut segments: Vec<String> = url.path().split('/').skip(1).map(exact_segment).collect();
    let last = segments.pop().unwrap_or_default();
    let path: String = segments.iter().map(|segment| if segment.is_empty() { "**/".to_owned() } else { format!("{segment}/") }).collect();
    format!("{}://{}{port}/{path}{last}", url.scheme(), host_of(url).unwrap_or_default())
}

/// What a pattern reads in its own way, percent-encoded; so is a `%` that begins no encoded byte.
fn exact_segment(segment: &str) -> String {
    let mut text = String::with_capacity(segment.len());
    for (at, character) in segment.char_indices() {
        let encodes = || segment.get(at + 1..at + 3).is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match character {
            '*' => text.push_str("%2A"),
            '\\' => text.push_str("%5C"),
            '%' if !encodes() => text.push_str("%25"),
            other => text.push(other),
        }
    }
    text
}

impl HostPattern {
    fn matches(&self, host: &str) -> bool {
        match self {
            Self::Exact(wanted) => wanted == host,
            Self::Labels(glob) => glob.matches(host.chars().map(u32::from), |symbol| symbol != u32::from('.'), |_| false),
        }
    }
}

impl std::fmt::Display for UrlPattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

fn host_of(url: &Url) -> Option<String> {
    url.host().map(one_spelling)
}

/// An IPv4 address inside an IPv6 one is that address: the system connects to the same place.
fn one_spelling<S: AsRef<str>>(host: Host<S>) -> String {
    match host {
        Host::Ipv6(address) => match address.to_ipv4_mapped() {
            Some(address) => address.to_string(),
            None => format!("[{address}]"),
        },
        Host::Ipv4(address) => address.to_string(),
        Host::Domain(name) => without_final_dot(name.as_ref()).to_owned(),
    }
}

fn without_final_dot(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
}

/// Whether a decoded segment would be `.` or `..` to a server that decodes slashes.
fn hides_dots(segment: &[u8]) -> bool {
    segment.split(|byte| matches!(byte, b'/' | b'\\')).any(|piece| matches!(piece, b"." | b".."))
}

fn refuse_odd_characters(text: &str) -> Result<(), PatternError> {
    if text.chars().count() > PATTERN_MAX {
        return Err(PatternError::new(format!("a URL pattern holds at most {PATTERN_MAX} characters")));
    }
    if let Some(odd) =
        text.chars().find(|character| character.is_control() || character.is_whitespace() || matches!(character, '\\' | '"' | '<' | '>'))
    {
        return Err(PatternError::new(format!("a URL pattern cannot hold `{}`", odd.escape_default())));
    }
    if let Some((before, _)) = text.split_once('?') {
        return Err(
            PatternError::new("queries are not matched, so a URL pattern cannot hold `?`").hint(format!("write `{before}`; it covers every query"))
        );
    }
    if let Some((before, _)) = text.split_once('#') {
        return Err(PatternError::new("a fragment is never sent, so a URL pattern cannot hold `#`").hint(format!("write `{before}`")));
    }
    Ok(())
}

fn scheme_of(text: &str) -> Result<(String, &str), PatternError> {
    let Some((scheme, rest)) = text.split_once("://") else {
        let hint = match text.contains('*') {
            true => "name the scheme and the host, such as `https://api.example.com/**`; no pattern stands for every host".to_owned(),
            false => format!("write `https://{0}` or `http://{0}`", if text.is_empty() { "api.example.com/**" } else { text }),
        };
        return Err(PatternError::new(format!("`{text}` has no scheme")).hint(hint));
    };
    let scheme = scheme.to_ascii_lowercase();
    match scheme.as_str() {
        "http" | "https" => Ok((scheme, rest)),
        _ => Err(PatternError::new(format!("scheme `{scheme}` is not `http` or `https`"))),
    }
}

fn split_authority(authority: &str) -> Result<(&str, Option<&str>), PatternError> {
    if authority.contains('@') {
        return Err(PatternError::new("a URL pattern cannot hold a user name or password"));
    }
    let after_host = authority.rfind(']').map_or(0, |bracket| bracket + 1);
    match authority[after_host..].find(':') {
        Some(colon) => Ok((&authority[..after_host + colon], Some(&authority[after_host + colon + 1..]))),
        None => Ok((authority, None)),
    }
}

fn read_port(text: &str) -> Result<u16, PatternError> {
    match text.parse() {
        Ok(port) if port != 0 && text.bytes().all(|byte| byte.is_ascii_digit()) => Ok(port),
        _ => Err(PatternError::new(format!("`{text}` is not a port"))
            .hint("write one line for each port; without one it is 443 for `https`, 80 for `http`")),
    }
}

fn normal_host(text: &str) -> Result<String, PatternError> {
    let host = match text.contains('*') {
        true => starred_host(without_final_dot(text))?,
        false => one_spelling(Host::parse(text).map_err(|error| PatternError::new(format!("host `{text}` cannot be read: {error}")))?),
    };
    if text.contains('%') || host.split('.').any(str::is_empty) {
        return Err(PatternError::new(format!("host `{text}` cannot be read: empty or encoded label")));
    }
    // What a wide character came to could not be written in a pattern, and no request has such a name.
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'*' | b'[' | b']' | b':');
    if let Some(odd) = host.chars().find(|c| !u8::try_from(*c).is_ok_and(plain)) {
        return Err(PatternError::new(format!("host `{text}` cannot be read: it is a name with `{}` in it", odd.escape_debug())));
    }
    Ok(host)
}

/// `*.example.com`; at least the last two labels stand in full, so that no line is for everyone's hosts.
fn starred_host(text: &str) -> Result<String, PatternError> {
    let labels = text.split('.').map(normal_label).collect::<Result<Vec<_>, _>>()?;
    let name = labels.iter().rev().take(2).filter(|label| !label.contains('*')).count() == 2;
    let address = labels.last().is_some_and(|last| last.starts_with(|first: char| first.is_ascii_digit()));
    if text.contains("**") || !name || address {
        return Err(PatternError::new(format!("host `{text}` is too wide: `*` may only stand left of the last two labels of a name"))
            .hint("write `https://*.example.com/**`, or name each host or address on a line of its own"));
    }
    Ok(labels.join("."))
}

fn normal_label(label: &str) -> Result<String, PatternError> {
    let unreadable = || PatternError::new(format!("label `{label}` of the host cannot be read"));
    if !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'*')) {
        return Ok(label.to_ascii_lowercase());
    }
    match Host::parse(label) {
        Ok(Host::Domain(domain)) if !label.contains('*') && !domain.contains('.') => Ok(domain),
        _ => Err(unreadable()),
    }
}

fn path_tokens(path: &str) -> Result<Vec<Token>, PatternError> {
    let mut tokens = Vec::with_capacity(path.len());
    let segments: Vec<&str> = path[1..].split('/').collect();
    for (position, segment) in segments.iter().enumerate() {
        if segment.is_empty() && position + 1 < segments.len() {
            return Err(PatternError::new("a URL pattern cannot hold `//` in its path"));
        }
        if segment.contains(['{', '}']) {
            return Err(PatternError::new(format!("segment `{segment}` is not one whole `{{args.name}}`")));
        }
        let mut bytes = segment.bytes();
        let mut decoded = Vec::new();
        tokens.push(Token::Symbol(SEPARATOR));
        while let Some(byte) = bytes.next() {
            let (token, byte) = match byte {
                b'*' => (Token::Star, b'*'),
                b'%' => {
                    let byte =
                        encoded_byte(&mut bytes).ok_or_else(|| PatternError::new(format!("`{segment}` holds a `%` without two hex digits")))?;
                    (Token::Symbol(byte.into()), byte)
                }
                byte => (Token::Symbol(byte.into()), byte),
            };
            tokens.push(token);
            decoded.push(byte);
        }
        if hides_dots(&decoded) {
            return Err(PatternError::new("a URL pattern cannot hold `.` or `..` as a segment"));
        }
    }
    Ok(tokens)
}

fn encoded_byte(bytes: &mut std::str::Bytes<'_>) -> Option<u8> {
    let high = char::from(bytes.next()?).to_digit(16)?;
    let low = char::from(bytes.next()?).to_digit(16)?;
    u8::try_from(high * 16 + low).ok()
}

#[cfg(test)]
mod tests;
