//! Foreign text made safe to show: what a plugin, a model or a provider wrote can neither move the cursor nor hide.
//!
//! Every control, bidirectional mark and invisible character becomes a visible escape such as `\u{202e}`, and what is
//! too long ends in a visible `… (N more bytes)`. Nothing foreign reaches a terminal any other way.

use std::fmt::Write;

pub use crate::capability::pattern::is_invisible;

/// Bytes of foreign text shown in one line of a list or a message.
pub const LINE_BYTES_MAX: usize = 400;
/// Bytes of one line of an error.
pub const MESSAGE_BYTES_MAX: usize = 2 << 10;
/// Bytes of a reason, a context or arguments in a pause shown in full; `--json` shows the rest.
pub const BLOCK_BYTES_MAX: usize = 8 << 10;

/// One line: line breaks and tabs are escapes too.
pub fn line(text: &str) -> String {
    limited(text, LINE_BYTES_MAX, |_| false)
}

/// One line of an error, which may hold paths and a reason.
pub fn message(text: &str) -> String {
    limited(text, MESSAGE_BYTES_MAX, |_| false)
}

/// Several lines; the caller sets them off with a margin, so that none can pose as the host's own.
pub fn block(text: &str) -> String {
    limited(text, BLOCK_BYTES_MAX, is_layout)
}

/// A piece of streamed text: unlimited, since a person waits for all of it.
pub fn piece(text: &str) -> String {
    limited(text, usize::MAX, is_layout)
}

/// JSON text with the same characters as `\uXXXX`: the same value to a program, harmless on a terminal.
pub fn json(text: &str) -> String {
    // Most is plain, and told so in one pass.
    if text.bytes().all(|byte| byte == b'\n' || matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        // Line breaks and blanks between tokens are layout; inside strings JSON has escaped them already.
        if c == '\n' || !is_invisible(c) {
            shown.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            write!(shown, "\\u{unit:04x}").expect("strings take all");
        }
    }
    shown
}

fn limited(text: &str, bytes_max: usize, keep: fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len().min(bytes_max));
    for (at, c) in text.char_indices() {
        if at >= bytes_max {
            write!(shown, "… ({} more bytes)", text.len() - at).expect("strings take all");
            break;
        }
        match c {
            _ if keep(c) => shown.push(c),
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            _ if is_invisible(c) => write!(shown, "\\u{{{:x}}}", u32::from(c)).expect("strings take all"),
            _ => shown.push(c),
        }
    }
    shown
}

fn is_layout(c: char) -> bool {
    matches!(c, '\n' | '\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h59_marks_that_reorder_or_hide_text_are_visible() {
        assert_eq!(line("Delete /build/\u{202e}pmt.a"), "Delete /build/\\u{202e}pmt.a");
        assert_eq!(line("a\u{200b}b\u{2066}c\u{feff}d\u{e0041}"), "a\\u{200b}b\\u{2066}c\\u{feff}d\\u{e0041}");
        assert_eq!(line("é 日本 ✔️ عربي"), "é 日本 ✔️ عربي");
    }

    #[test]
    fn h61_no_raw_control_byte_is_left() {
        let hostile = "\x1b[2J\x1b]8;;http://evil\x07x\x1b]52;c;aGk=\x07\u{9b}2J\r\x08\x7f";
        for shown in [line(hostile), block(hostile), piece(hostile), json(&serde_json::to_string(hostile).unwrap())] {
            assert!(!shown.chars().any(char::is_control), "{shown}");
        }
        assert_eq!(line("\x1b[2J"), "\\u{1b}[2J");
        assert_eq!(line("a\nb\tc\r"), "a\\nb\\tc\\r");
        assert_eq!(block("a\nb\tc\r"), "a\nb\tc\\r");
    }

    #[test]
    fn what_is_too_long_says_how_much_is_left() {
        assert_eq!(line(&"x".repeat(LINE_BYTES_MAX)), "x".repeat(LINE_BYTES_MAX));
        assert_eq!(line(&"x".repeat(LINE_BYTES_MAX + 7)), format!("{}… (7 more bytes)", "x".repeat(LINE_BYTES_MAX)));
        assert!(line(&"日".repeat(LINE_BYTES_MAX)).ends_with(" more bytes)"));
    }

    #[test]
    fn json_means_the_same_after_escaping() {
        let value = serde_json::json!({"a\u{202e}": "b\u{200b}\u{e0041}\x7f\n\"\\"});
        let shown = json(&serde_json::to_string_pretty(&value).unwrap());
        assert!(shown.is_ascii());
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }
}
