//! Server-sent events, split out of bytes that arrive in any pieces.

use memchr::memchr2;

/// The largest event kept, in bytes. A provider that sends more is broken or hostile.
const MAX_EVENT_BYTES: usize = 64 << 20;

/// An event without the framing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// The `event:` field; empty when there was none.
    pub name: &'a str,
    /// The `data:` lines, joined by line feeds.
    pub data: &'a str,
}

/// A parser of the event stream format (WHATWG HTML, 9.2.6). Lines end at `\n`, `\r\n` or `\r` and nowhere else:
/// splitters that also break at U+2028 corrupt JSON strings. Comments, ids and retry hints are skipped.
#[derive(Debug, Default)]
pub struct SseParser {
    /// A line whose end has not come yet.
    line: Vec<u8>,
    name: String,
    data: Vec<u8>,
    has_data: bool,
    /// The last byte was `\r`: a `\n` that follows belongs to it.
    after_cr: bool,
    started: bool,
}

impl SseParser {
    /// A parser at the start of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes and hands out each event they complete.
    ///
    /// # Errors
    /// [`SseError`] when one event grows beyond 64 MiB.
    pub fn push(&mut self, mut bytes: &[u8], mut on: impl FnMut(SseEvent<'_>)) -> Result<(), SseError> {
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(at) = memchr2(b'\n', b'\r', bytes) {
            let (head, rest) = bytes.split_at(at);
            if self.line.is_empty() {
                self.take_line(head, &mut on);
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(head);
                self.take_line(&line, &mut on);
                line.clear();
                self.line = line;
            }
            bytes = match rest {
                [b'\r', b'\n', rest @ ..] => rest,
                [b'\r'] => {
                    self.after_cr = true;
                    &[]
                }
                [_, rest @ ..] => rest,
                [] => &[],
            };
        }
        self.line.extend_from_slice(bytes);
        if self.line.len() + self.data.len() > MAX_EVENT_BYTES {
            return Err(SseError);
        }
        Ok(())
    }

    /// The stream has ended: hands out an event whose closing blank line is missing.
    pub fn end(&mut self, mut on: impl FnMut(SseEvent<'_>)) {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.take_line(&line, &mut on);
        }
        self.dispatch(&mut on);
    }

    fn take_line(&mut self, line: &[u8], on: &mut impl FnMut(SseEvent<'_>)) {
        let line = if std::mem::replace(&mut self.started, true) {
            line
        } else {
            line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
        };
        if line.is_empty() {
            return self.dispatch(on);
        }
        let at = memchr::memchr(b':', line).unwrap_or(line.len());
        let (field, value) = line.split_at(at);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"event" => self.name = String::from_utf8_lossy(value).into_owned(),
            // A comment, an id, a retry hint or a field of the future.
            _ => {}
        }
    }

    fn dispatch(&mut self, on: &mut impl FnMut(SseEvent<'_>)) {
        if self.has_data {
            let data = String::from_utf8_lossy(&self.data);
            on(SseEvent { name: &self.name, data: &data });
        }
        self.name.clear();
        self.data.clear();
        self.has_data = false;
    }
}

/// One event of a stream was larger than 64 MiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is larger than 64 MiB")]
pub struct SseError;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(pieces: &[&[u8]]) -> Vec<(String, String)> {
        let (mut parser, mut events) = (SseParser::new(), Vec::new());
        for piece in pieces {
            parser.push(piece, |event| events.push((event.name.to_owned(), event.data.to_owned()))).unwrap();
        }
        parser.end(|event| events.push((event.name.to_owned(), event.data.to_owned())));
        events
    }

    fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(name, data)| ((*name).to_owned(), (*data).to_owned())).collect()
    }

    #[test]
    fn lines_end_at_each_of_the_three_endings_and_nowhere_else() {
        let text =
            "\u{feff}event: a\ndata: 1\n\n:comment\rid:7\rdata:2\r\rdata: x\u{2028}y\r\ndata:  z\r\n\r\ndata: last";
        assert_eq!(read(&[text.as_bytes()]), pairs(&[("a", "1"), ("", "2"), ("", "x\u{2028}y\n z"), ("", "last")]));
    }

    #[test]
    fn an_event_without_data_is_none() {
        assert_eq!(read(&[b"event: ping\n\n: keepalive\n\ndata: {}\n\n"]), pairs(&[("", "{}")]));
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_events(bytes in "(data: ?[a-zé\u{2028}{}]{0,9}(\r\n|\n|\r)|\r|\n|: c\n|event:e\n){0,20}", cuts in prop::collection::vec(0usize..200, 0..20)) {
            let whole = read(&[bytes.as_bytes()]);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes.as_bytes()[pair[0]..pair[1]]).collect();
            prop_assert_eq!(read(&pieces), whole);
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            read(&[&bytes]);
        }
    }
}
