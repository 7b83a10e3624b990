//! A byte stream cut into the JSON texts it carries: server-sent events or one JSON per line.
//!
//! How the network cuts the bytes changes nothing. Event names are not read: every provider repeats them in the JSON.

use super::remote::Fault;

/// One event or line; a response that ends a stream may repeat the whole answer in one.
pub const FRAME_BYTES_MAX: usize = 8 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// `data:` fields up to an empty line.
    ServerSentEvents,
    JsonLines,
}

pub struct Frames {
    framing: Framing,
    /// Bytes of the line that has no end yet.
    line: Vec<u8>,
    /// `data:` fields of the event that has no end yet.
    event: Option<String>,
    first_line: bool,
}

impl Frames {
    pub fn new(framing: Framing) -> Self {
        Self { framing, line: Vec::new(), event: None, first_line: true }
    }

    /// The frames that `bytes` completes.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<String>, Fault> {
        let mut frames = Vec::new();
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.extend(&bytes[..end])?;
            frames.extend(self.end_line()?);
            bytes = &bytes[end + 1..];
        }
        self.extend(bytes)?;
        Ok(frames)
    }

    /// What stands at the end without an end of its own; whether it is whole, its reader finds out.
    pub fn end(&mut self) -> Result<Option<String>, Fault> {
        let last = self.end_line()?;
        Ok(last.or_else(|| self.event.take()))
    }

    fn extend(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        if self.line.len() + bytes.len() > FRAME_BYTES_MAX {
            return Err(Fault::Garbled(format!("a line of more than {FRAME_BYTES_MAX} bytes")));
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Result<Option<String>, Fault> {
        let line = String::from_utf8(std::mem::take(&mut self.line)).map_err(|_| Fault::Garbled("bytes that are not UTF-8".into()))?;
        let mut line = line.strip_suffix('\r').unwrap_or(&line);
        if std::mem::take(&mut self.first_line) {
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
        }
        match self.framing {
            Framing::JsonLines => Ok((!line.trim().is_empty()).then(|| line.to_owned())),
            Framing::ServerSentEvents if line.is_empty() => Ok(self.event.take()),
            Framing::ServerSentEvents => self.add_field(line).map(|()| None),
        }
    }

    fn add_field(&mut self, line: &str) -> Result<(), Fault> {
        let Some(value) = line.strip_prefix("data:") else { return Ok(()) };
        let value = value.strip_prefix(' ').unwrap_or(value);
        match &mut self.event {
            None => self.event = Some(value.to_owned()),
            Some(event) if event.len() + value.len() > FRAME_BYTES_MAX => {
                return Err(Fault::Garbled(format!("an event of more than {FRAME_BYTES_MAX} bytes")));
            }
            Some(event) => {
                event.push('\n');
                event.push_str(value);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read<'a>(framing: Framing, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
        let mut frames = Frames::new(framing);
        let mut all = Vec::new();
        for chunk in chunks {
            all.extend(frames.push(chunk).unwrap());
        }
        all.extend(frames.end().unwrap());
        all
    }

    const EVENTS: &str = "\u{feff}: hello\r\nevent: x\r\ndata: {\"a\":\r\ndata:  \"é\"}\r\n\r\nid: 7\n\ndata:[DONE]\n\ndata: tail";

    #[test]
    fn events_are_their_data_and_nothing_else() {
        assert_eq!(read(Framing::ServerSentEvents, [EVENTS.as_bytes()]), ["{\"a\":\n \"é\"}", "[DONE]", "tail"]);
        assert_eq!(read(Framing::JsonLines, ["{}\r\n\n {}\n{".as_bytes()]), ["{}", " {}", "{"]);
    }

    /// limit: model/frames::FRAME_BYTES_MAX
    #[test]
    fn a_line_may_be_as_long_as_the_limit_and_no_longer() {
        let fits = vec![b'x'; FRAME_BYTES_MAX];
        assert!(Frames::new(Framing::JsonLines).push(&fits).is_ok());
        let mut frames = Frames::new(Framing::JsonLines);
        assert!(frames.push(&fits).is_ok());
        assert!(frames.push(b"x").is_err());
    }

    proptest! {
        #[test]
        fn the_cut_changes_nothing(cuts in prop::collection::vec(0..EVENTS.len(), 0..8)) {
            let mut cuts = cuts;
            cuts.extend([0, EVENTS.len()]);
            cuts.sort_unstable();
            let chunks = cuts.windows(2).map(|pair| &EVENTS.as_bytes()[pair[0]..pair[1]]);
            prop_assert_eq!(read(Framing::ServerSentEvents, chunks), read(Framing::ServerSentEvents, [EVENTS.as_bytes()]));
        }
    }
}
