//! Values of secrets taken out of what leaves a guest or reaches it.
//!
//! Found are exact values: plain, as base64 (both alphabets, also inside a longer text) and as JSON writes them, each of
//! these also with any of its bytes percent-encoded. Any other form (reversed, hashed, in pieces) is not found.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickKind, BuildError, Input, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use serde_json::Value;

use self::decoded::Decoded;

mod decoded;

/// Finds the values of some secrets.
pub struct Scrubber {
    finder: AhoCorasick,
    needles: Vec<Needle>,
    longest: usize,
    /// Bytes that a needle begins with.
    first: [bool; 256],
}

struct Needle {
    bytes: Vec<u8>,
    /// `[secret NAME]`
    mark: Arc<str>,
}

impl Scrubber {
    /// Names and values, at least one.
    pub fn new<'a>(secrets: impl Iterator<Item = (&'a str, &'a str)>) -> Result<Self, BuildError> {
        let mut needles = BTreeMap::new();
        for (name, value) in secrets {
            let mark: Arc<str> = format!("[secret {name}]").into();
            for bytes in spellings(value) {
                needles.entry(bytes).or_insert_with(|| Arc::clone(&mark));
            }
        }
        let needles: Vec<_> = needles.into_iter().map(|(bytes, mark)| Needle { bytes, mark }).collect();
        // Of this kind, since a table of all states and bytes would take a hundred times the memory.
        let mut finder = AhoCorasick::builder();
        finder.kind(Some(AhoCorasickKind::ContiguousNFA)).match_kind(MatchKind::LeftmostLongest);
        let finder = finder.build(needles.iter().map(|needle| &needle.bytes))?;
        let longest = needles.iter().map(|needle| needle.bytes.len()).max().unwrap_or(0);
        let mut first = [false; 256];
        needles.iter().for_each(|needle| first[usize::from(needle.bytes[0])] = true);
        Ok(Self { finder, needles, longest, first })
    }

    /// Whether a value stands in it.
    pub fn finds(&self, bytes: &[u8]) -> bool {
        self.finder.is_match(bytes) || Decoded::of(bytes).is_some_and(|decoded| self.finder.is_match(&decoded.bytes))
    }

    pub fn bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        if !self.finds(bytes) {
            return Cow::Borrowed(bytes);
        }
        let (found, _) = self.settled(bytes, true);
        Cow::Owned(self.replaced(bytes, &found, bytes.len()))
    }

    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            // Values are UTF-8, so each begins and ends at a character's edge.
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    /// Every string, key and number of a JSON value.
    pub fn json(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(&text).into_owned()),
            Value::Array(items) => items.into_iter().map(|item| self.json(item)).collect(),
            Value::Object(members) => {
                Value::Object(members.into_iter().map(|(key, value)| (self.text(&key).into_owned(), self.json(value))).collect())
            }
            Value::Number(number) => match self.text(&number.to_string()) {
                Cow::Owned(text) => Value::String(text),
                Cow::Borrowed(_) => Value::Number(number),
            },
            other => other,
        }
    }

    /// What is found for good, and how much of the bytes needs no more to come before it can go on.
    fn settled(&self, bytes: &[u8], last: bool) -> (Vec<(Range<usize>, &str)>, usize) {
        let decoded = Decoded::of(bytes);
        let beginning = |from: usize| {
            let plain = self.beginning(bytes, from);
            let encoded = decoded.as_ref().map(|decoded| decoded.source(self.beginning(&decoded.bytes, decoded.index(from))).max(from));
            if last { bytes.len() } else { encoded.map_or(plain, |encoded| encoded.min(plain)) }
        };
        let (mut found, mut at, mut until) = (Vec::new(), 0, beginning(0));
        while let Some((range, mark)) = self.first_of(bytes, decoded.as_ref(), at).filter(|(range, _)| range.start < until) {
            at = range.end;
            if at > until {
                until = beginning(at);
            }
            found.push((range, mark));
        }
        (found, until)
    }

    /// The first value at `at` or later, of two the longer.
    fn first_of(&self, bytes: &[u8], decoded: Option<&Decoded>, at: usize) -> Option<(Range<usize>, &str)> {
        let find = |bytes: &[u8], at: usize| self.finder.find(Input::new(bytes).range(at..));
        let plain = find(bytes, at).map(|one| (one.range(), one.pattern()));
        let encoded = decoded.and_then(|decoded| {
            let one = find(&decoded.bytes, decoded.index(at))?;
            Some((decoded.source(one.start())..decoded.source(one.end()), one.pattern()))
        });
        let first = plain.into_iter().chain(encoded).min_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
        first.map(|(range, pattern)| (range, &*self.needles[pattern.as_usize()].mark))
    }

    /// Where, at `from` or later, the longest end of the bytes starts that could be the beginning of a value.
    fn beginning(&self, bytes: &[u8], from: usize) -> usize {
        let from = from.max(bytes.len().saturating_sub(self.longest.saturating_sub(1)));
        let begins = |start: &usize| {
            let end = &bytes[*start..];
            self.first[usize::from(end[0])] && self.needles.iter().any(|needle| needle.bytes.len() > end.len() && needle.bytes.starts_with(end))
        };
        (from..bytes.len()).find(begins).unwrap_or(bytes.len())
    }

    fn replaced(&self, bytes: &[u8], found: &[(Range<usize>, &str)], until: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(until);
        let mut at = 0;
        for (range, mark) in found {
            out.extend_from_slice(&bytes[at..range.start]);
            out.extend_from_slice(mark.as_bytes());
            at = range.end;
        }
        out.extend_from_slice(&bytes[at..until]);
        out
    }
}

/// A stream whose pieces may cut a value anywhere. What could be the beginning of one waits for the next piece.
pub struct Sieve {
    scrubber: Arc<Scrubber>,
    waiting: Vec<u8>,
    found: bool,
}

impl Sieve {
    pub fn new(scrubber: Arc<Scrubber>) -> Self {
        Self { scrubber, waiting: Vec::new(), found: false }
    }

    pub fn scrubber(&self) -> &Scrubber {
        &self.scrubber
    }

    /// What can go on now.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        self.waiting.extend_from_slice(piece);
        self.take(false)
    }

    /// The rest.
    pub fn finish(&mut self) -> Vec<u8> {
        self.take(true)
    }

    /// Whether a value stood in what went on.
    pub fn found(&self) -> bool {
        self.found
    }

    fn take(&mut self, last: bool) -> Vec<u8> {
        let (found, until) = self.scrubber.settled(&self.waiting, last);
        self.found |= !found.is_empty();
        let out = self.scrubber.replaced(&self.waiting, &found, until);
        self.waiting.drain(..until);
        out
    }
}

fn spellings(value: &str) -> Vec<Vec<u8>> {
    let mut all = vec![value.to_owned(), value.replace(' ', "+")];
    all.extend(base64_spellings(value.as_bytes()));
    let json = Value::from(value).to_string();
    let json = &json[1..json.len() - 1];
    all.extend([json.to_owned(), json.replace('/', "\\/")]);
    all.into_iter().map(String::into_bytes).collect()
}

/// Alone, with and without padding, and what of it stays the same inside a longer text at each of three offsets.
fn base64_spellings(value: &[u8]) -> Vec<String> {
    let mut all = Vec::new();
    for (padded, bare) in [(STANDARD, STANDARD_NO_PAD), (URL_SAFE, URL_SAFE_NO_PAD)] {
        all.extend([padded.encode(value), bare.encode(value)]);
        for before in 0..3 {
            let text = bare.encode([&[0u8; 2][..before], value].concat());
            let own = (8 * before).div_ceil(6)..8 * (before + value.len()) / 6;
            all.push(text[own].to_owned());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
    use proptest::prelude::*;

    const UNRESERVED_BUT_DOT: &percent_encoding::AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'~');
    const KEY: &str = "k/3y+With \"odd\" ~ üé~ÿ>?1";

    fn scrubber(value: &str) -> Arc<Scrubber> {
        Arc::new(Scrubber::new([("KEY", value)].into_iter()).unwrap())
    }

    #[test]
    fn w33_every_spelling_is_taken_out() {
        let scrubber = scrubber(KEY);
        let every: String = KEY.bytes().map(|byte| format!("%{byte:02x}")).collect();
        for spelt in [
            KEY.to_owned(),
            every,
            utf8_percent_encode(KEY, NON_ALPHANUMERIC).to_string(),
            utf8_percent_encode(KEY, UNRESERVED_BUT_DOT).to_string(),
            KEY.replace('"', "%22").replace("é", "%c3%A9"),
            url::form_urlencoded::byte_serialize(KEY.as_bytes()).collect(),
            STANDARD.encode(KEY),
            STANDARD_NO_PAD.encode(KEY),
            URL_SAFE.encode(KEY),
            URL_SAFE_NO_PAD.encode(KEY),
            utf8_percent_encode(&STANDARD.encode(KEY), NON_ALPHANUMERIC).to_string(),
            KEY.replace('"', "\\\""),
            KEY.replace('"', "\\\"").replace('/', "\\/"),
        ] {
            assert_eq!(scrubber.text(&format!("<%2x{spelt}>")), "<%2x[secret KEY]>", "{spelt}");
            assert!(scrubber.finds(spelt.as_bytes()), "{spelt}");
        }
        for inside in ["a", "ab", "user:", "Bearer "].map(|before| format!("{before}{KEY}tail")) {
            for text in [STANDARD.encode(&inside), URL_SAFE_NO_PAD.encode(&inside)] {
                assert!(scrubber.text(&text).contains("[secret KEY]"), "{inside}");
            }
        }
        assert!(!scrubber.finds(&KEY.as_bytes()[1..]));
        assert_eq!(scrubber.text("nothing of it, 100% sure"), "nothing of it, 100% sure");
    }

    #[test]
    fn a_value_with_a_percent_sign_is_found_as_it_is() {
        let scrubber = scrubber("ab%41cd%zz%2");
        for spelt in ["ab%41cd%zz%2", "ab%2541cd%25zz%252"] {
            assert_eq!(scrubber.text(&format!("{spelt}5%41")), "[secret KEY]5%41", "{spelt}");
        }
    }

    #[test]
    fn w33_json_is_scrubbed_in_keys_strings_and_numbers() {
        let scrubber = scrubber("123456789012");
        let value = serde_json::json!({"123456789012": [123456789012u64, "x123456789012x", 1, null, true]});
        let expected = serde_json::json!({"[secret KEY]": ["[secret KEY]", "x[secret KEY]x", 1, null, true]});
        assert_eq!(scrubber.json(value), expected);
    }

    #[test]
    fn an_escape_cut_off_after_a_value_does_not_reach_back_into_it() {
        let mut sieve = Sieve::new(scrubber("%%aa%%a%%%%aa%a%"));
        assert_eq!(sieve.push(b"%%aa%%a%%%%aa%a%"), b"[secret KEY]");
        assert_eq!(sieve.finish(), b"");
    }

    #[test]
    fn what_cannot_begin_a_value_does_not_wait() {
        let mut sieve = Sieve::new(scrubber("abcdefghijkl"));
        assert_eq!(sieve.push(b"data: 1\n"), b"data: 1\n");
        assert_eq!(sieve.push(b"data: abcdefghijk"), b"data: ");
        assert_eq!(sieve.push(b"!"), b"abcdefghijk!");
        assert!(!sieve.found());
        assert_eq!(sieve.push(b"abcdef"), b"");
        assert_eq!(sieve.push(b"ghijkl"), b"[secret KEY]");
        assert!(sieve.found());
        assert_eq!(sieve.push(b"abc"), b"");
        assert_eq!(sieve.finish(), b"abc");
    }

    fn sieved(scrubber: &Arc<Scrubber>, whole: &str, cuts: &[usize]) -> Vec<u8> {
        let mut sieve = Sieve::new(Arc::clone(scrubber));
        let (mut out, mut rest, mut cuts) = (Vec::new(), whole.as_bytes(), cuts.iter().cycle());
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(cuts.next().map_or(1, |cut| (*cut).min(rest.len())));
            out.extend(sieve.push(piece));
            rest = after;
        }
        out.extend(sieve.finish());
        out
    }

    proptest! {
        #[test]
        fn w33_pieces_are_scrubbed_as_the_whole(
            value in "[a-c]{12,16}",
            parts in prop::collection::vec((0..6usize, "[a-c61]{0,20}"), 0..12),
            cuts in prop::collection::vec(1..9usize, 1..8),
        ) {
            let scrubber = scrubber(&value);
            let encoded = value.replace('a', "%61").replace('b', "%62");
            let spelt = [value.clone(), STANDARD.encode(&value), URL_SAFE_NO_PAD.encode(format!("x{value}")), encoded];
            let whole: String = parts.iter().map(|(which, text)| format!("{}{text}", spelt.get(*which).cloned().unwrap_or_default())).collect();
            let out = sieved(&scrubber, &whole, &cuts);
            prop_assert_eq!(&out, &scrubber.bytes(whole.as_bytes()).into_owned());
            prop_assert!(!scrubber.finds(&out));
        }

        /// Stray percent signs may be read together with what follows them; a plain value is found all the same.
        #[test]
        fn w33_no_stray_escape_hides_a_plain_value(
            value in "[a-c%]{12,16}",
            parts in prop::collection::vec((0..2usize, "[a-c%61]{0,20}"), 0..12),
            cuts in prop::collection::vec(1..9usize, 1..8),
        ) {
            let scrubber = scrubber(&value);
            let whole: String = parts.iter().map(|(which, text)| if *which == 0 { format!("{value}{text}") } else { text.clone() }).collect();
            for out in [sieved(&scrubber, &whole, &cuts), scrubber.bytes(whole.as_bytes()).into_owned()] {
                prop_assert!(!String::from_utf8_lossy(&out).contains(&value));
            }
        }
    }
}
