//! Pieces of text on a page: foreign ones made harmless and set apart, times, states.

use jiff::{SignedDuration, Timestamp};
use maud::{Markup, html};
use serde_json::Value;

use crate::chain::{Actor, ChainId, ChainStatus};
use crate::report::age::age;
use crate::report::{self, escape};

/// One line of foreign text; what it does to the direction of writing ends with it.
pub fn line(text: &str) -> Markup {
    html! { bdi { (escape::line(text)) } }
}

/// One line of it, as code.
pub fn code(text: &str) -> Markup {
    html! { code dir="auto" { (escape::line(text)) } }
}

/// Several lines of somebody else's words.
pub fn quote(text: &str) -> Markup {
    html! { blockquote dir="auto" { (escape::block(text)) } }
}

/// Several lines, spaced as they came.
pub fn block(text: &str) -> Markup {
    html! { pre dir="auto" { (escape::block(text)) } }
}

/// Lines of the host's own making, with foreign names in them.
pub fn lines<'t>(lines: impl IntoIterator<Item = &'t String>) -> Markup {
    html! { ul.lines { @for line in lines { li { (code(line)) } } } }
}

pub fn json(value: &Value) -> Markup {
    html! { pre { (report::pause::pretty(value)) } }
}

pub fn actor(actor: &Actor) -> Markup {
    line(&actor.0)
}

/// How long ago, and by itself when exactly.
pub fn ago(at: Timestamp, now: Timestamp) -> Markup {
    html! { time datetime=(at) title=(at) { (age(at, now)) } }
}

/// `340 ms`, `2.1 s`, `3 min`.
pub fn lasted(from: Timestamp, to: Timestamp) -> String {
    match to.duration_since(from).max(SignedDuration::ZERO).as_millis() {
        millis @ ..1000 => format!("{millis} ms"),
        millis @ 1000..60_000 => format!("{}.{} s", millis / 1000, millis % 1000 / 100),
        _ => age(from, to),
    }
}

pub fn status(status: ChainStatus) -> Markup {
    chip(status.as_str())
}

/// A state by its word; its colour says nothing more.
pub fn chip(word: &str) -> Markup {
    html! { span class={ "chip " (word) } { (word.replace('_', " ")) } }
}

/// Chains that one stands below, the root first.
pub fn path(chains: &[ChainId]) -> Markup {
    html! { @for (at, chain) in chains.iter().enumerate() { @if at > 0 { " › " } a href={ "/chains/" (chain) } { (chain) } } }
}

pub use crate::counted::counted;

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "<img src=x onerror=alert(1)>\u{202e}\x1b[2J\x1b]8;;http://evil\x07";

    #[test]
    fn h59_h61_foreign_text_is_escaped_for_eyes_and_for_browsers() {
        for shown in [line(HOSTILE), code(HOSTILE), quote(HOSTILE), block(HOSTILE), json(&HOSTILE.into()), actor(&Actor(HOSTILE.into()))] {
            let shown = shown.into_string();
            assert!(!shown.contains("<img") && shown.contains("&lt;img src=x"), "{shown}");
            assert!(!shown.chars().any(escape::is_invisible), "{shown}");
        }
        let long = block(&"x".repeat(escape::BLOCK_BYTES_MAX + 7)).into_string();
        assert!(long.ends_with("… (7 more bytes)</pre>"));
    }

    #[test]
    fn times_are_as_fine_as_they_matter() {
        let from: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let after = |millis| lasted(from, from + SignedDuration::from_millis(millis));
        assert_eq!([after(-5), after(999), after(1000), after(59_999), after(61_000)], ["0 ms", "999 ms", "1.0 s", "59.9 s", "1 min"]);
    }
}
