//! Patterns of arguments: a convenience for rules, never a boundary (grants are).
//!
//! What cannot be read as the pattern expects fails closed: it matches whatever guards and nothing that opens.

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{Glob, PATTERN_MAX, PatternError, Token, is_invisible};
use crate::digest::canonical;

/// Which way a doubt falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Deny and ask: a doubtful argument matches.
    Guards,
    /// Allow and except: a doubtful argument does not match.
    Opens,
}

/// What a rule says of one argument.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgumentPattern {
    /// For a string; `*` does not cross `/`, `**` does.
    Text(String),
    /// A number or a boolean, equal in its canonical text.
    Exact(Value),
}

impl ArgumentPattern {
    /// A string, number or boolean, as the grants file holds it.
    pub fn read(value: Value) -> Result<Self, PatternError> {
        match value {
            Value::String(text) if text.chars().count() > PATTERN_MAX => {
                Err(PatternError::new(format!("a pattern holds at most {PATTERN_MAX} characters")))
            }
            Value::String(text) => Ok(Self::Text(text)),
            Value::Number(_) | Value::Bool(_) => Ok(Self::Exact(value)),
            _ => Err(PatternError::new("an argument pattern is a string, a number or a boolean")),
        }
    }

    pub fn matches(&self, argument: Option<&Value>, side: Side) -> bool {
        let doubtful = side == Side::Guards;
        match (self, argument) {
            (Self::Text(_), Some(Value::String(text))) if has_odd_segments(text) => doubtful,
            (Self::Text(pattern), Some(Value::String(text))) => text_matches(pattern, text, side),
            (Self::Exact(Value::Number(_)), Some(argument @ Value::Number(_))) | (Self::Exact(Value::Bool(_)), Some(argument @ Value::Bool(_))) => {
                self.canonical() == canonical(argument)
            }
            _ => doubtful,
        }
    }

    /// Matches one value only.
    pub fn is_exact(&self) -> bool {
        match self {
            Self::Text(text) => !text.contains('*'),
            Self::Exact(_) => true,
        }
    }

    fn canonical(&self) -> String {
        match self {
            Self::Text(text) => canonical(text),
            Self::Exact(value) => canonical(value),
        }
    }
}

/// The argument that a path below `args` names.
pub fn lookup<'a>(arguments: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(arguments, |value, key| value.as_object()?.get(key))
}

/// An empty, `.` or `..` segment: the text may mean another path than it spells.
pub fn has_odd_segments(text: &str) -> bool {
    text.strip_prefix('/').unwrap_or(text).split('/').any(|segment| matches!(segment, "" | "." | ".."))
}

fn text_matches(pattern: &str, text: &str, side: Side) -> bool {
    let glob = Glob::new(pattern.chars().map(Token::of_char), Some('/'.into()));
    // A second line or a hidden character is nothing that a star of an allowing pattern was meant to cover.
    let plain = |symbol: u32| side == Side::Guards || !char::from_u32(symbol).is_some_and(is_invisible);
    glob.matches(text.chars().map(u32::from), |symbol| symbol != u32::from('/') && plain(symbol), plain)
}

impl std::fmt::Display for ArgumentPattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.canonical())
    }
}

impl Serialize for ArgumentPattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => text.serialize(serializer),
            Self::Exact(value) => value.serialize(serializer),
        }
    }
}

impl From<&str> for ArgumentPattern {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for ArgumentPattern {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_string_matches_by_glob() {
        for (pattern, text, fits) in [
            ("/build/**", "/build/a", true),
            ("/build/**", "/build/a/b", true),
            ("/build/**", "/build", false),
            ("/build/*", "/build/a", true),
            ("/build/*", "/build/a/b", false),
            ("/build/*.tmp", "/build/a.tmp", true),
            ("/build/*.tmp", "/build/.tmp", true),
            ("/build/*/x", "/build/a/x", true),
            ("/build/**/x", "/build/a/b/x", true),
            ("**", "/anything/at all", true),
            ("*", "word", true),
            ("*", "two/words", false),
            ("/build/**", "/BUILD/a", false),
            ("a?b", "a?b", true),
            ("a?b", "axb", false),
        ] {
            for side in [Side::Guards, Side::Opens] {
                assert_eq!(ArgumentPattern::from(pattern).matches(Some(&json!(text)), side), fits, "{pattern} on {text}");
            }
        }
    }

    #[test]
    fn h56_a_doubtful_argument_guards_and_never_opens() {
        let text = ArgumentPattern::from("/build/tmp/**");
        let number = ArgumentPattern::Exact(json!(3));
        let boolean = ArgumentPattern::Exact(json!(true));
        let strings =
            ["", "/", "/etc/../x", "/build/./tmp/x", "/build//tmp/x", "/build/tmp/", "..", "a/..", "/build/tmp/../x"].map(|text| json!(text));
        let others = [json!(null), json!([]), json!({}), json!(["/build/tmp/x"])];
        let check = |pattern: &ArgumentPattern, argument: Option<&Value>| {
            assert!(pattern.matches(argument, Side::Guards), "{pattern} does not guard {argument:?}");
            assert!(!pattern.matches(argument, Side::Opens), "{pattern} opens for {argument:?}");
        };
        for argument in strings.iter().chain(&others).chain(&[json!(3), json!(true)]).map(Some).chain([None]) {
            check(&text, argument);
        }
        for argument in strings.iter().chain(&others).chain(&[json!("3"), json!("true")]).map(Some).chain([None]) {
            check(&number, argument);
            check(&boolean, argument);
        }
    }

    #[test]
    fn numbers_and_booleans_compare_in_canonical_text() {
        for (pattern, argument, fits) in [
            (json!(3), json!(3.0), true),
            (json!(3), json!(4), false),
            (json!(0.5), json!(0.5), true),
            (json!(true), json!(true), true),
            (json!(true), json!(false), false),
        ] {
            for side in [Side::Guards, Side::Opens] {
                assert_eq!(ArgumentPattern::Exact(pattern.clone()).matches(Some(&argument), side), fits, "{pattern} on {argument}");
            }
        }
    }

    #[test]
    fn w39_a_star_that_opens_covers_no_second_line() {
        let pattern = ArgumentPattern::from("git *");
        assert!(pattern.matches(Some(&json!("git status")), Side::Opens));
        assert!(!pattern.matches(Some(&json!("git status\nrm -rf x")), Side::Opens));
        assert!(pattern.matches(Some(&json!("git status\nrm -rf x")), Side::Guards));
        for hidden in ["\r", "\u{85}", "\u{2028}", "\u{2029}", "\u{200b}", "\u{202e}", "\u{feff}"] {
            let text = json!(format!("git status{hidden}rm -rf x"));
            assert!(!pattern.matches(Some(&text), Side::Opens) && pattern.matches(Some(&text), Side::Guards), "{text}");
        }
    }

    #[test]
    fn an_argument_is_found_below_objects_only() {
        let arguments = json!({"target": {"path": "/a"}, "list": ["/b"]});
        let path = |text: &str| text.split('.').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(lookup(&arguments, &path("target.path")), Some(&json!("/a")));
        assert_eq!(lookup(&arguments, &path("list.0")), None);
        assert_eq!(lookup(&arguments, &path("target.path.x")), None);
    }
}
