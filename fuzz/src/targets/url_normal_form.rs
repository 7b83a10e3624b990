//! URL patterns against request URLs: both sides in one form, and one answer for one URL.

use url::Url;

use crate::capability::pattern::{PATTERN_MAX, UrlPattern, UrlTemplate, exact};
use crate::plugin::request_form::normal_form;

use super::halves;

pub const SEEDS: &[&[u8]] = &[
    include_bytes!("../../seeds/url_normal_form/plain.txt"),
    include_bytes!("../../seeds/url_normal_form/stars.txt"),
    include_bytes!("../../seeds/url_normal_form/address.txt"),
    include_bytes!("../../seeds/url_normal_form/dots.txt"),
    include_bytes!("../../seeds/url_normal_form/odd.txt"),
    include_bytes!("../../seeds/url_normal_form/wide.txt"),
];

/// A pattern, and behind the first line end a URL.
pub fn target(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (pattern, url) = halves(text);
    let url = url.parse().ok().and_then(|uri| normal_form(&uri));
    if let Ok(template) = UrlTemplate::parse(pattern) {
        let shown = template.to_string();
        // With a path written out it may be longer than a pattern can be.
        if shown.chars().count() <= PATTERN_MAX {
            assert_eq!(UrlTemplate::parse(&shown).map(|again| again.to_string()), Ok(shown), "a pattern has one form");
        }
    }
    let Some(url) = url else { return };
    check_form(&url);
    if let Ok(pattern) = UrlPattern::parse(pattern) {
        check_match(&pattern, &url);
    }
    check_exact(&url);
}

fn check_form(url: &Url) {
    assert!(matches!(url.scheme(), "http" | "https") && url.username().is_empty() && url.password().is_none() && url.fragment().is_none());
    let again = url.as_str().parse().ok().and_then(|uri| normal_form(&uri));
    assert_eq!(again.as_ref(), Some(url), "the normal form is its own");
    assert!(url.path().split('/').all(|segment| segment != "." && segment != ".."));
}

fn check_match(pattern: &UrlPattern, url: &Url) {
    let matches = pattern.matches(url);
    let shown = pattern.to_string();
    if shown.chars().count() <= PATTERN_MAX {
        assert_eq!(UrlPattern::parse(&shown).map(|again| again.matches(url)), Ok(matches), "the shown pattern means the same");
    }
    let mut queried = url.clone();
    queried.set_query(Some("x=1"));
    assert_eq!(pattern.matches(&queried), matches, "a query changes nothing");
    if matches {
        let origin = format!("{}://", url.scheme());
        assert!(shown.starts_with(&origin), "{shown} took {url}");
        for other in ["https://other.invalid/", "http://169.254.169.254/"] {
            let host = other.split('/').nth(2).expect("a URL");
            assert!(!pattern.matches(&other.parse().expect("a URL")) || shown.contains(host) || shown.contains("*.invalid"), "{shown} took {other}");
        }
    }
}

/// The line that a refusal prints.
fn check_exact(url: &Url) {
    let line = exact(url);
    match UrlPattern::parse(&line) {
        Ok(pattern) => assert!(pattern.matches(url) || hides_dots(url), "{line} does not take {url}"),
        Err(error) => assert!(line.chars().count() > PATTERN_MAX || hides_dots(url), "{line} of {url}: {error}"),
    }
}

/// Behind an encoded slash, where nothing allows it.
fn hides_dots(url: &Url) -> bool {
    let decoded: Vec<u8> = percent_encoding::percent_decode_str(url.path()).collect();
    decoded.split(|byte| matches!(byte, b'/' | b'\\')).any(|piece| piece == b"." || piece == b"..")
}
