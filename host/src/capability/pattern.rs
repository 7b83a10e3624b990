//! Patterns of tools, arguments and URLs: one matcher, in time linear in the text.
//!
//! `*` never crosses a separator, `**` does, and a segment that is nothing but `*` is never empty. Nothing here reads
//! a file or resolves a name: a pattern is judged on text in one normal form, the boundary is the host call.

use std::collections::VecDeque;

pub mod argument;
pub mod url;

pub use argument::{ArgumentPattern, Side};
pub use url::{UrlPattern, UrlTemplate, exact};

/// Characters of one pattern; longer ones are refused where they are read.
pub const PATTERN_MAX: usize = 1024;

/// A pattern that cannot be meant, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct PatternError {
    pub reason: String,
    pub hint: Option<String>,
}

impl PatternError {
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), hint: None }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Whether a tool name fits a rule's `tool`; `*` stands for any run of characters.
pub fn tool_matches(pattern: &str, tool: &str) -> bool {
    let glob = Glob::new(pattern.chars().map(Token::of_char), None);
    glob.matches(tool.chars().map(u32::from), |_| true, |_| true)
}

/// C0, C1, and what a terminal shows as nothing or uses to reorder the text around it. The emoji selectors FE0E and
/// FE0F are let through: they choose a picture and hide nothing.
pub fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0d}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// One character of a pattern before runs of `*` are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Symbol(u32),
    Star,
}

impl Token {
    fn of_char(character: char) -> Self {
        if character == '*' { Self::Star } else { Self::Symbol(character.into()) }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Symbol(u32),
    /// One symbol that `*` may stand for.
    One,
    Star,
    DoubleStar,
}

/// A compiled pattern over symbols: characters, or decoded bytes with a separator of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Glob {
    pieces: Vec<Piece>,
}

impl Glob {
    fn new(tokens: impl IntoIterator<Item = Token>, separator: Option<u32>) -> Self {
        let mut tokens: VecDeque<Token> = tokens.into_iter().collect();
        let mut pieces = Vec::with_capacity(tokens.len());
        while let Some(token) = tokens.pop_front() {
            let Token::Symbol(symbol) = token else {
                let more = tokens.iter().take_while(|token| **token == Token::Star).count();
                tokens.drain(..more);
                if more > 0 {
                    pieces.push(Piece::DoubleStar);
                    continue;
                }
                let opens = pieces.last().is_none_or(|piece| separator.is_some_and(|separator| *piece == Piece::Symbol(separator)));
                let closes = tokens.front().is_none_or(|token| separator.is_some_and(|separator| *token == Token::Symbol(separator)));
                if separator.is_some() && opens && closes {
                    pieces.push(Piece::One);
                }
                pieces.push(Piece::Star);
                continue;
            };
            pieces.push(Piece::Symbol(symbol));
        }
        Self { pieces }
    }

    /// Walks all positions of the pattern at once, so that no text makes it slow.
    fn matches(&self, text: impl Iterator<Item = u32>, star: impl Fn(u32) -> bool, double_star: impl Fn(u32) -> bool) -> bool {
        let mut here = vec![false; self.pieces.len() + 1];
        here[0] = true;
        self.skip_stars(&mut here);
        for symbol in text {
            let mut next = vec![false; here.len()];
            for (position, piece) in self.pieces.iter().enumerate().filter(|(position, _)| here[*position]) {
                match piece {
                    Piece::Symbol(wanted) if *wanted == symbol => next[position + 1] = true,
                    Piece::One if star(symbol) => next[position + 1] = true,
                    Piece::Star if star(symbol) => next[position] = true,
                    Piece::DoubleStar if double_star(symbol) => next[position] = true,
                    _ => {}
                }
            }
            if !next.contains(&true) {
                return false;
            }
            self.skip_stars(&mut next);
            here = next;
        }
        here[self.pieces.len()]
    }

    fn skip_stars(&self, positions: &mut [bool]) {
        for (position, piece) in self.pieces.iter().enumerate() {
            if positions[position] && matches!(piece, Piece::Star | Piece::DoubleStar) {
                positions[position + 1] = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_pattern_stands_for_whole_names() {
        for (pattern, tool, fits) in [
            ("files__delete", "files__delete", true),
            ("files__delete", "files__delete2", false),
            ("files__*", "files__delete", true),
            ("files__*", "files2__delete", false),
            ("*", "files__delete", true),
            ("*__delete", "files__delete", true),
            ("*delete*", "files__undelete_all", true),
            ("Files__*", "files__delete", false),
            ("f*s__*e", "files__delete", true),
            ("", "files__delete", false),
        ] {
            assert_eq!(tool_matches(pattern, tool), fits, "{pattern} on {tool}");
        }
    }

    #[test]
    fn many_stars_do_not_make_it_slow() {
        let pattern = "*a".repeat(400);
        assert!(tool_matches(&pattern, &"a".repeat(20_000)));
        assert!(!tool_matches(&format!("{pattern}z"), &"a".repeat(20_000)));
    }
}
