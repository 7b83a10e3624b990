//! `https://api.test/v1/{args.city}`: a URL pattern that a call's arguments complete.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use super::{UrlPattern, hides_dots};
use crate::capability::pattern::argument::lookup;
use crate::capability::pattern::{PATTERN_MAX, PatternError};
use crate::digest::canonical;

/// Everything but RFC 3986's unreserved characters: an argument stays inside its segment and holds no `*`.
const ARGUMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A URL pattern before its `{args.…}` are filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlTemplate {
    /// Text before each slot, the slot's path below `args`.
    slots: Vec<(String, Vec<String>)>,
    rest: String,
}

impl UrlTemplate {
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        let path_start =
            text.find("://").and_then(|scheme| text[scheme + 3..].find(['/', '?', '#']).map(|slash| scheme + 3 + slash)).unwrap_or(text.len());
        let (origin, path) = text.split_at(path_start);
        if origin.contains(['{', '}']) {
            return Err(PatternError::new("`{args.…}` stands only in the path of a URL pattern"));
        }
        let mut template = Self { slots: Vec::new(), rest: String::new() };
        let mut filled = Vec::new();
        for segment in path.split('/') {
            match slot_of(segment)? {
                Some(slot) => {
                    let before = std::mem::take(&mut template.rest);
                    template.slots.push((before, slot));
                    template.rest.push('/');
                    filled.push("x");
                }
                None => {
                    template.rest.push_str(segment);
                    template.rest.push('/');
                    filled.push(segment);
                }
            }
        }
        let pattern = UrlPattern::parse(&format!("{origin}{}", filled.join("/")))?.to_string();
        template.rest.pop();
        let origin_end =
            pattern.find("://").and_then(|scheme| pattern[scheme + 3..].find('/').map(|slash| scheme + 3 + slash)).unwrap_or(pattern.len());
        let first = template.slots.first_mut().map_or(&mut template.rest, |(before, _)| before);
        let path = if path.is_empty() { "/**" } else { first.as_str() };
        *first = format!("{}{path}", &pattern[..origin_end]);
        Ok(template)
    }

    /// No `*` stands in its host; scheme and port never hold one.
    pub fn names_one_origin(&self) -> bool {
        let text = self.slots.first().map_or(&self.rest, |(before, _)| before);
        let authority = text.split("://").nth(1).and_then(|rest| rest.split('/').next());
        authority.is_some_and(|authority| !authority.contains('*'))
    }

    pub fn is_bound(&self) -> bool {
        !self.slots.is_empty()
    }

    /// The pattern for any arguments.
    pub fn widest(&self) -> String {
        self.slots.iter().map(|(before, _)| format!("{before}*")).chain(std::iter::once(self.rest.clone())).collect()
    }

    /// The pattern for these arguments, or why there is none.
    pub fn bind(&self, arguments: &Value) -> Result<String, String> {
        let mut text = String::new();
        for (before, slot) in &self.slots {
            text.push_str(before);
            text.push_str(&segment(slot, lookup(arguments, slot))?);
        }
        text.push_str(&self.rest);
        match text.len() {
            length if length > PATTERN_MAX => Err(format!("the arguments make a URL of {length} bytes, over {PATTERN_MAX}")),
            _ => Ok(text),
        }
    }
}

impl std::fmt::Display for UrlTemplate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (before, slot) in &self.slots {
            write!(f, "{before}{{args.{}}}", slot.join("."))?;
        }
        f.write_str(&self.rest)
    }
}

/// The argument of a segment that is `{args.name}` and nothing else.
fn slot_of(segment: &str) -> Result<Option<Vec<String>>, PatternError> {
    if !segment.contains(['{', '}']) {
        return Ok(None);
    }
    let name = segment.strip_prefix("{args.").and_then(|rest| rest.strip_suffix('}')).filter(|name| !name.contains(['{', '}']));
    match name.map(|name| name.split('.').map(str::to_owned).collect::<Vec<_>>()) {
        Some(path) if path.iter().all(|key| !key.is_empty()) => Ok(Some(path)),
        _ => Err(PatternError::new(format!("segment `{segment}` is not one whole `{{args.name}}`"))
            .hint("write `/v1/{args.city}`, the argument as a segment of its own")),
    }
}

fn segment(slot: &[String], argument: Option<&Value>) -> Result<String, String> {
    let name = format!("args.{}", slot.join("."));
    let text = match argument {
        None => return Err(format!("{name} is absent")),
        Some(Value::String(text)) => text.clone(),
        Some(value @ (Value::Number(_) | Value::Bool(_))) => canonical(value),
        Some(_) => return Err(format!("{name} is not a string, number or boolean")),
    };
    if text.is_empty() || hides_dots(text.as_bytes()) || text.chars().any(char::is_control) {
        return Err(format!("{name} = {} is empty or holds `.`, `..` or control characters", canonical(&text)));
    }
    Ok(utf8_percent_encode(&text, ARGUMENT).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use url::Url;

    #[test]
    fn an_argument_is_one_whole_segment() {
        let template = UrlTemplate::parse("https://API.test:443/v1/{args.city}/now").unwrap();
        assert_eq!(template.to_string(), "https://api.test/v1/{args.city}/now");
        let bound = |city: Value| template.bind(&json!({"city": city}));
        assert_eq!(bound(json!("Ulm")).unwrap(), "https://api.test/v1/Ulm/now");
        assert_eq!(bound(json!("a/b *?#%")).unwrap(), "https://api.test/v1/a%2Fb%20%2A%3F%23%25/now");
        assert_eq!(bound(json!(7)).unwrap(), "https://api.test/v1/7/now");
        for odd in
            [json!(""), json!("."), json!(".."), json!("../x"), json!("a\\..\\b"), json!("a\nb"), json!("a\u{0}"), json!(null), json!([]), json!({})]
        {
            assert!(bound(odd.clone()).is_err(), "{odd} was bound");
        }
        assert!(template.bind(&json!({})).unwrap_err().contains("args.city is absent"));
        assert!(bound(json!("x".repeat(2000))).is_err());
    }

    #[test]
    fn a_bound_pattern_matches_that_argument_only() {
        let template = UrlTemplate::parse("https://api.test/v1/{args.city}").unwrap();
        let pattern = UrlPattern::parse(&template.bind(&json!({"city": "a*b/c,d é"})).unwrap()).unwrap();
        for (url, fits) in [
            ("https://api.test/v1/a*b%2Fc,d%20%C3%A9", true),
            ("https://api.test/v1/a%2ab%2fc%2Cd%20é?x=1", true),
            ("https://api.test/v1/a*b/c,d%20é", false),
            ("https://api.test/v1/aXb%2Fc,d%20é", false),
        ] {
            assert_eq!(pattern.matches(&Url::parse(url).unwrap()), fits, "{url}");
        }
    }

    #[test]
    fn arguments_stand_only_in_a_path_and_alone() {
        for text in [
            "https://{args.host}/x",
            "{args.url}",
            "https://a.test:{args.port}/",
            "https://a.test/a{args.x}",
            "https://a.test/{args.x}b",
            "https://a.test/{x}",
            "https://a.test/{args.}",
            "https://a.test/{args.x..y}",
            "https://a.test/{args.x",
            "https://a.test/{args.x}?q={args.y}",
        ] {
            assert!(UrlTemplate::parse(text).is_err(), "{text} was read");
        }
        assert_eq!(UrlTemplate::parse("https://a.test").unwrap().to_string(), "https://a.test/**");
        assert_eq!(UrlTemplate::parse("https://a.test/{args.a.b}").unwrap().bind(&json!({"a": {"b": true}})).unwrap(), "https://a.test/true");
    }
}
