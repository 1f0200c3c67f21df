//! The text as the scanner reads it: small letters, no invisible characters, single spaces, cut into sentences.

use super::hidden;

/// A longer sentence is cut: what belongs together stands closer.
const LONGEST: usize = 1200;

/// The text, with the way back to the original.
#[derive(Debug, Default)]
pub(super) struct Plain {
    pub(super) text: String,
    /// For each byte of `text`, where its character starts in the original.
    origin: Vec<u32>,
    /// Where sentences start.
    cuts: Vec<usize>,
    /// Bytes of the original.
    whole: usize,
}

impl Plain {
    pub(super) fn of(raw: &str) -> Self {
        let mut builder = Builder { plain: Self { whole: raw.len(), ..Self::default() }, gap: Gap::None, before: ' ' };
        builder.plain.text.reserve(raw.len());
        builder.plain.origin.reserve(raw.len());
        let mut rest = raw.char_indices();
        while let Some((at, c)) = rest.next() {
            let after = rest.as_str();
            if c == '\\' {
                let (meant, skip) = unescape(after);
                builder.push(at, meant, after.get(skip..).unwrap_or_default());
                for _ in 0..skip {
                    rest.next();
                }
            } else if !hidden::is_invisible(c) {
                builder.push(at, c, after);
            }
        }
        builder.plain
    }

    /// The sentences, as ranges of [`Plain::text`]; none is white space only.
    pub(super) fn sentences(&self) -> Vec<std::ops::Range<usize>> {
        let ends = self.cuts.iter().copied().chain([self.text.len()]);
        let mut start = 0;
        let mut found = Vec::with_capacity(self.cuts.len() + 1);
        for end in ends {
            let blank =
                self.text.get(start..end).is_none_or(|text| !text.contains(|c: char| c.is_alphanumeric() || c == '<'));
            if !blank {
                found.push(start..end);
                start = end;
            }
        }
        found
    }

    /// A range of the original for a range of the text.
    pub(super) fn original(&self, range: std::ops::Range<usize>) -> std::ops::Range<usize> {
        let place = |at: usize| self.origin.get(at).map_or(self.whole, |at| *at as usize);
        place(range.start)..place(range.end).max(place(range.start))
    }
}

/// What a backslash and what follows it mean in a string of JSON or code, and how many characters follow.
fn unescape(after: &str) -> (char, usize) {
    let mut chars = after.chars();
    match chars.next() {
        Some('n' | 'r') => ('\n', 1),
        Some('t') => (' ', 1),
        Some(quote @ ('"' | '\'' | '/')) => (quote, 1),
        Some('u') => {
            let code = after.get(1..5).and_then(|hex| u32::from_str_radix(hex, 16).ok());
            code.and_then(char::from_u32).filter(|c| !c.is_control()).map_or(('\\', 0), |c| (c, 5))
        }
        Some(_) | None => ('\\', 0),
    }
}

/// White space that was read but not yet written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gap {
    None,
    Space,
    Line,
    Lines,
}

struct Builder {
    plain: Plain,
    gap: Gap,
    /// The last character that was no white space.
    before: char,
}

impl Builder {
    fn push(&mut self, at: usize, c: char, after: &str) {
        if c.is_ascii_alphanumeric() && self.gap == Gap::None && self.before.is_ascii_alphanumeric() {
            return self.push_next_letter(at, c);
        }
        if c.is_whitespace() {
            self.gap = match (self.gap, c == '\n') {
                (Gap::Line | Gap::Lines, true) => Gap::Lines,
                (Gap::None | Gap::Space, true) => Gap::Line,
                (Gap::None, false) => Gap::Space,
                (gap, false) => gap,
            };
            return;
        }
        let cut = self.cuts_before(c, after);
        if self.gap != Gap::None {
            self.write(at, ' ');
        }
        if cut {
            self.plain.cuts.push(self.plain.text.len());
        }
        self.gap = Gap::None;
        for small in straight(c).to_lowercase() {
            self.write(at, small);
        }
        self.before = c;
    }

    /// The usual case: a letter after a letter starts no sentence, unless the one it is in is too long.
    fn push_next_letter(&mut self, at: usize, c: char) {
        let start = self.plain.cuts.last().copied().unwrap_or(0);
        if self.plain.text.len() - start > LONGEST {
            self.plain.cuts.push(self.plain.text.len());
        }
        self.plain.text.push(c.to_ascii_lowercase());
        self.plain.origin.push(u32::try_from(at).unwrap_or(u32::MAX));
        self.before = c;
    }

    fn write(&mut self, at: usize, c: char) {
        self.plain.text.push(c);
        let at = u32::try_from(at).unwrap_or(u32::MAX);
        self.plain.origin.resize(self.plain.text.len(), at);
    }

    /// Whether a sentence starts with `c`.
    fn cuts_before(&self, c: char, after: &str) -> bool {
        let last = self.plain.cuts.last().copied().unwrap_or(0);
        if self.plain.text.len() - last > LONGEST {
            return true;
        }
        let opens = (c == '<' && after.starts_with("!--")) || c == '|';
        let ended = match self.before {
            '.' | '!' | '?' | ';' => {
                self.gap != Gap::None
                    || c == '<'
                    || (c.is_uppercase() && after.starts_with(char::is_lowercase) && self.fused())
            }
            '"' | '\'' | ')' | ']' | '”' | '’' => {
                self.gap != Gap::None
                    && self.plain.text.trim_end_matches(['"', '\'', ')', ']']).ends_with(['.', '!', '?'])
            }
            '。' | '！' | '？' | '；' | '|' => true,
            '>' => self.plain.text.ends_with("-->"),
            _ => false,
        };
        ended || opens || self.new_line(c, after)
    }

    /// A sentence that follows a full stop without a space, as texts made from HTML have it.
    fn fused(&self) -> bool {
        let before = self.plain.text.trim_end_matches(['.', '!', '?']);
        before.ends_with(|c: char| c.is_alphanumeric() || c == '%')
    }

    fn new_line(&self, c: char, after: &str) -> bool {
        match self.gap {
            Gap::None | Gap::Space => false,
            Gap::Lines => true,
            Gap::Line => {
                let wraps = self.before.is_alphanumeric() || self.before == ',';
                !wraps || c.is_uppercase() || "-*+#|>`<".contains(c) || starts_field(c, after)
            }
        }
    }
}

/// Whether a line starts with a list number or a field name.
fn starts_field(c: char, after: &str) -> bool {
    if c.is_ascii_digit() {
        return after.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(['.', ')']);
    }
    let end = after.char_indices().take(20).find(|(_, c)| !c.is_alphanumeric() && *c != ' ' && *c != '_');
    c.is_alphabetic() && end.is_some_and(|(_, c)| c == ':')
}

/// Quotation marks as ASCII has them, wide letters as narrow ones.
const fn straight(c: char) -> char {
    match c {
        '‘' | '’' | 'ʼ' => '\'',
        '“' | '”' | '„' => '"',
        '\u{ff01}'..='\u{ff5e}' => match char::from_u32(c as u32 - 0xfee0) {
            Some(narrow) => narrow,
            None => c,
        },
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn sentences(raw: &str) -> Vec<String> {
        let plain = Plain::of(raw);
        plain.sentences().into_iter().map(|range| plain.text.get(range).unwrap().trim().to_owned()).collect()
    }

    #[test]
    fn sentences_end_where_a_writer_of_data_ends_them() {
        assert_eq!(
            sentences("name: 'Bob'\nnote: wrapped\n  line. Next!\\nAfter an escape\n\nReply to this email.If you can"),
            ["name: 'bob'", "note: wrapped line.", "next!", "after an escape", "reply to this email.", "if you can"]
        );
        assert_eq!(sentences("a<!-- hide --> b|c。d"), ["a", "<!-- hide -->", "b", "|c。", "d"]);
    }

    #[test]
    fn places_lead_back_to_the_original() {
        let raw = "Ig\u{200b}nore  ALL\n\u{1f600} it";
        let plain = Plain::of(raw);
        assert_eq!(plain.text, "ignore all 😀 it");
        assert_eq!(plain.original(0..6), 0..raw.find("  ALL").unwrap() + 2);
        assert_eq!(plain.original(7..plain.text.len()), raw.find("ALL").unwrap()..raw.len());
    }
}
