//! Bytes once their percent-encoding is read, and where each came from.

pub(super) struct Decoded {
    /// Without an escape that is cut off at the end.
    pub bytes: Vec<u8>,
    /// Which of the bytes were escapes, three bytes long.
    escapes: Vec<usize>,
}

impl Decoded {
    /// `None` where nothing is encoded.
    pub fn of(source: &[u8]) -> Option<Self> {
        source.contains(&b'%').then(|| Self::read(source))
    }

    fn read(source: &[u8]) -> Self {
        let mut decoded = Self { bytes: Vec::with_capacity(source.len()), escapes: Vec::new() };
        let mut rest = source;
        while let [first, after @ ..] = rest {
            rest = after;
            match (first, after) {
                (b'%', [high, low, after @ ..]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                    decoded.escapes.push(decoded.bytes.len());
                    decoded.bytes.push(hex(*high) << 4 | hex(*low));
                    rest = after;
                }
                (b'%', []) => break,
                (b'%', [high]) if high.is_ascii_hexdigit() => break,
                _ => decoded.bytes.push(*first),
            }
        }
        decoded
    }

    /// Where in the source the byte stands.
    pub fn source(&self, index: usize) -> usize {
        index + 2 * self.escapes.partition_point(|escape| *escape < index)
    }

    /// The first byte that stands there or later in the source.
    pub fn index(&self, source: usize) -> usize {
        let escapes = self.escapes.partition_point(|escape| self.source(*escape) < source);
        // One that starts before it may reach beyond it.
        let after = self.escapes[..escapes].last().map_or(0, |last| last + 1);
        source.saturating_sub(2 * escapes).max(after).min(self.bytes.len())
    }
}

fn hex(digit: u8) -> u8 {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_knows_where_it_came_from() {
        let source = b"a%62%6Ac%zd%%65f%6";
        let decoded = Decoded::of(source).unwrap();
        assert_eq!(decoded.bytes, b"abjc%zd%ef");
        let from: Vec<_> = (0..=decoded.bytes.len()).map(|index| decoded.source(index)).collect();
        assert_eq!(from, [0, 1, 4, 7, 8, 9, 10, 11, 12, 15, 16]);
        for at in 0..=source.len() {
            let expected = from.iter().position(|from| *from >= at).unwrap_or(decoded.bytes.len());
            assert_eq!(decoded.index(at), expected, "{at}");
        }
        assert!(Decoded::of(b"plain").is_none());
    }
}
