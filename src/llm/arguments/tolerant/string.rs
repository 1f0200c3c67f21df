//! Strings and quoted keys of a broken text: where they end is told by what follows.

use super::{GiveUp, Parser, Read, Within};
use crate::llm::arguments::word::{closes, is_quote};

/// How far a look ahead for a key goes.
const KEY_SPAN: usize = 160;

impl Parser {
    /// A string in any quotes, its end found by what follows.
    pub(super) fn string(&mut self, within: Within) -> Read<String> {
        let opening = self.peek().unwrap_or('"');
        if opening != '"' {
            self.note("quotes were made plain");
        }
        self.at += 1;
        let mut out = String::new();
        while let Some(c) = self.peek() {
            if c == '\\' {
                self.at += 1;
                self.escape(&mut out);
                continue;
            }
            if closes(opening, c) {
                if self.is_end(within, self.at) {
                    self.at += 1;
                    return Ok(out);
                }
                if within == Within::Object && self.is_key(self.at) && ends_open(&out) {
                    return Ok(self.closed_early(&out));
                }
                if within == Within::Array {
                    // A key in a list: whether the list or an object was left open cannot be known.
                    if self.char_at(self.past_blanks(self.at + 1)) == Some(':') {
                        return Err(GiveUp);
                    }
                    let next = self.next_quote(self.at);
                    if ends_open(&out) && next.is_some_and(|next| self.is_end(within, next)) {
                        return Ok(self.closed_early(&out));
                    }
                }
                self.note("quotes inside a string were kept");
            }
            if c < ' ' {
                self.note("raw control characters in a string were escaped");
            }
            out.push(c);
            self.at += 1;
        }
        self.note("a string that was cut off was closed");
        Ok(out.trim_end().to_owned())
    }

    /// A string whose closing quote is missing, up to the comma that follows it.
    fn closed_early(&mut self, out: &str) -> String {
        self.note("a missing quote was added");
        let kept = out.trim_end();
        kept.strip_suffix(',').unwrap_or(kept).trim_end().to_owned()
    }

    /// The next quote that could close a string opened at `place`.
    pub(super) fn next_quote(&self, place: usize) -> Option<usize> {
        let opening = self.char_at(place)?;
        let rest = self.text.get(place + 1..)?;
        rest.iter().position(|c| closes(opening, *c)).map(|offset| place + 1 + offset)
    }

    fn escape(&mut self, out: &mut String) {
        let Some(c) = self.peek() else { return };
        self.at += 1;
        match c {
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            '"' | '\\' | '/' | '\'' => out.push(c),
            'u' => {
                let hex: String =
                    self.text.get(self.at..(self.at + 4).min(self.text.len())).unwrap_or_default().iter().collect();
                match self.unicode(&hex) {
                    Some(read) => out.push(read),
                    None => out.push_str("\\u"),
                }
            }
            other => {
                out.push('\\');
                out.push(other);
            }
        }
    }

    /// The character of `\uXXXX`, of a pair where it is half of one. Moves past it.
    fn unicode(&mut self, hex: &str) -> Option<char> {
        let first = u32::from_str_radix(hex, 16).ok().filter(|_| hex.len() == 4)?;
        if !(0xD800..0xDC00).contains(&first) {
            let read = char::from_u32(first)?;
            self.at += 4;
            return Some(read);
        }
        let low: String = self.text.get(self.at + 6..self.at + 10).unwrap_or_default().iter().collect();
        let low = u32::from_str_radix(&low, 16).ok().filter(|low| (0xDC00..0xE000).contains(low))?;
        let read = char::from_u32(0x10000 + ((first - 0xD800) << 10) + (low - 0xDC00))?;
        self.at += 10;
        Some(read)
    }

    /// Whether the quote at `place` ends its string.
    fn is_end(&self, within: Within, place: usize) -> bool {
        let next = self.past_blanks(place + 1);
        let Some(c) = self.char_at(next) else { return true };
        let apart = next > place + 1;
        match (within, c) {
            (_, '}' | ']') => true,
            (Within::Object, ',') => {
                let after = self.past_blanks(next + 1);
                let cut_key = || self.char_at(after).is_some_and(is_quote) && self.next_quote(after).is_none();
                self.char_at(after).is_none_or(|c| matches!(c, '}' | ']' | ',')) || self.is_key(after) || cut_key()
            }
            (Within::Object, _) => self.is_key(next) || self.is_cut(next),
            (Within::Array, ',') => true,
            (Within::Array, c) if is_quote(c) => {
                let stray = !apart && matches!(self.char_at(self.past_blanks(next + 1)), Some(',' | ']') | None);
                !stray
            }
            (Within::Array, '{' | '[') => true,
            (Within::Array, c) => {
                let literal = c.is_ascii_digit()
                    || ["true", "false", "null", "-"].iter().any(|word| self.starts_with(next, word));
                apart && literal || self.is_cut(next)
            }
        }
    }

    /// Whether a key and its colon stand at `place`.
    pub(super) fn is_key(&self, place: usize) -> bool {
        match self.char_at(place) {
            Some(c) if is_quote(c) => self.key_end(place).is_some(),
            Some(c) if c.is_alphanumeric() || matches!(c, '_' | '$') => {
                let span = self.text.get(place..).unwrap_or_default().iter().take(KEY_SPAN);
                let length = span.take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '-' | '.')).count();
                let colon = self.past_blanks(place + length);
                self.char_at(colon) == Some(':') && !self.starts_with(colon, "://")
            }
            _ => false,
        }
    }

    /// Where the quoted key that begins at `place` has its closing quote, if a colon follows.
    pub(super) fn key_end(&self, place: usize) -> Option<usize> {
        let opening = self.char_at(place)?;
        let mut at = place + 1;
        while at < place + KEY_SPAN {
            match self.char_at(at)? {
                '\\' => at += 1,
                '\n' => return None,
                c if closes(opening, c) => {
                    let colon = self.past_blanks(at + 1);
                    if self.char_at(colon) == Some(':') {
                        return Some(at);
                    }
                    if matches!(self.char_at(colon), Some(',' | '}' | ']')) {
                        return None;
                    }
                }
                _ => {}
            }
            at += 1;
        }
        None
    }
}

/// Whether a string that lacks its closing quote may have ended here: a comma or a line break stands last.
fn ends_open(out: &str) -> bool {
    let kept = out.trim_end();
    kept.ends_with(',') || out.get(kept.len()..).is_some_and(|blank| blank.contains('\n'))
}

/// A text with its escapes read; an escape JSON does not know stays as it is.
pub(super) fn unescaped(raw: &str) -> String {
    if !raw.contains('\\') {
        return raw.to_owned();
    }
    let mut parser = Parser::new(raw);
    let mut out = String::with_capacity(raw.len());
    while let Some(c) = parser.peek() {
        parser.at += 1;
        if c == '\\' { parser.escape(&mut out) } else { out.push(c) }
    }
    out
}
