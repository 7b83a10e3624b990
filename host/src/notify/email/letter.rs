//! The letter itself: plain text that shows, in headers and lines that no foreign word can add to.
//!
//! What is not plain ASCII in a header becomes encoded words, and the text is base64: there is no line break, no dot at the
//! start of a line and no line too long in it but those made here.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;

use crate::config::notify::{Mail, Mailbox};
use crate::notify::message::{Message, shortened};

/// Bytes in one encoded word: as base64 with its marks it stays below the 75 characters of RFC 2047.
const WORD_BYTES_MAX: usize = 42;
/// Characters of a line of base64, as RFC 2045 has it.
const LINE_MAX: usize = 76;
/// Of a subject; more is in the text.
const SUBJECT_BYTES_MAX: usize = 200;

/// Headers, an empty line and the text, each line ended as mail has it.
pub struct Letter(pub String);

/// The same id over all tries, so that a mail program that has it already can tell.
pub fn letter(mail: &Mail, message: &Message<'_>, now: Timestamp) -> Letter {
    let domain = mail.from.domain();
    let about = message.facts.pause.as_ref().map_or(&message.facts.chain.0, |asked| &asked.id.0);
    let people: Vec<_> = mail.to.iter().map(mailbox).collect();
    let headers = [
        ("From", mailbox(&mail.from)),
        ("To", people.join(",\r\n ")),
        ("Subject", words(&shortened(&message.title(), SUBJECT_BYTES_MAX))),
        ("Date", now.strftime("%a, %d %b %Y %H:%M:%S +0000").to_string()),
        ("Message-ID", format!("<{}@{domain}>", message.id)),
        // What is about one pause stands together.
        ("References", format!("<{about}@{domain}>")),
        // Nobody's holiday note answers it.
        ("Auto-Submitted", "auto-generated".to_owned()),
        ("MIME-Version", "1.0".to_owned()),
        ("Content-Type", "text/plain; charset=utf-8".to_owned()),
        ("Content-Transfer-Encoding", "base64".to_owned()),
    ];
    let mut letter: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    letter.push_str("\r\n");
    for line in STANDARD.encode(text(message)).as_bytes().chunks(LINE_MAX) {
        letter.extend(line.iter().copied().map(char::from));
        letter.push_str("\r\n");
    }
    Letter(letter)
}

fn text(message: &Message<'_>) -> String {
    let mut text = format!("{}\r\n", message.title());
    for (name, value) in message.lines() {
        // Set off, so that no line of it can pose as one of these.
        let value: String = value.lines().map(|line| format!("    {line}\r\n")).collect();
        text += &format!("\r\n{name}:\r\n{value}");
    }
    match message.link() {
        Some(link) => {
            text + &format!("\r\nLook at it: {link}\r\nThe link only shows; nothing is decided by opening it or by answering this mail.\r\n")
        }
        None => text + "\r\nNothing is decided by answering this mail.\r\n",
    }
}

fn mailbox(mailbox: &Mailbox) -> String {
    match &mailbox.name {
        Some(name) => format!("{} <{}>", phrase(name), mailbox.address),
        None => mailbox.address.clone(),
    }
}

/// A name beside an address, where marks mean something.
fn phrase(name: &str) -> String {
    match name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" -_".contains(&byte)) && name.len() <= LINE_MAX / 2 {
        true => name.to_owned(),
        false => encoded(name),
    }
}

fn words(text: &str) -> String {
    let plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~')) && !text.contains("=?") && text.trim() == text;
    if plain && text.len() <= LINE_MAX - "Subject: ".len() { text.to_owned() } else { encoded(text) }
}

fn encoded(text: &str) -> String {
    let (mut words, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let end = (1..=rest.len().min(WORD_BYTES_MAX)).rev().find(|end| rest.is_char_boundary(*end)).unwrap_or(rest.len());
        words.push(format!("=?utf-8?B?{}?=", STANDARD.encode(&rest[..end])));
        rest = &rest[end..];
    }
    words.join("\r\n ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h68_a_header_is_one_whatever_stands_in_its_text() {
        for text in ["plain", "Grüße", "a\r\nBcc: evil@example.com", " lead", "=?utf-8?Q?x?=", &"ü".repeat(300), ""] {
            let shown = words(text);
            let lines: Vec<_> = shown.split("\r\n").collect();
            assert!(lines.iter().skip(1).all(|line| line.starts_with(' ')) && lines.iter().all(|line| line.len() <= LINE_MAX), "{shown}");
            assert!(shown.is_ascii() && !shown.contains("Bcc"), "{shown}");
            let decoded: Vec<u8> = shown
                .split("\r\n ")
                .flat_map(|word| match word.strip_prefix("=?utf-8?B?").and_then(|word| word.strip_suffix("?=")) {
                    Some(word) => STANDARD.decode(word).unwrap(),
                    None => word.as_bytes().to_vec(),
                })
                .collect();
            assert_eq!(String::from_utf8(decoded).unwrap(), text);
        }
        assert_eq!((phrase("Pause Gate"), words("a < b, c")), ("Pause Gate".to_owned(), "a < b, c".to_owned()));
        assert!(phrase("Gate, Ops").starts_with("=?"), "a comma would end the address");
    }
}
