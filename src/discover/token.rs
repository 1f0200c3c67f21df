//! From text to terms: lower-cased, split at the joints of identifiers, stemmed; Chinese as characters and pairs.

use super::stem::stem;

/// The longest word that is indexed, in bytes; what is longer is data (a hash, a key), not a word.
const MAX_WORD_BYTES: usize = 48;

/// Words that say nothing about which tool is wanted, sorted.
const STOP_WORDS: &[&str] = &[
    "a", "about", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "been", "being", "but", "by",
    "can", "could", "did", "do", "does", "for", "from", "had", "has", "have", "he", "help", "her", "him", "his", "how",
    "i", "if", "in", "into", "is", "it", "its", "just", "like", "ll", "may", "me", "might", "must", "my", "need",
    "not", "of", "on", "one", "or", "our", "please", "re", "s", "shall", "she", "should", "so", "some", "such", "t",
    "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "too", "us", "ve",
    "very", "want", "was", "we", "were", "what", "when", "where", "which", "while", "who", "whom", "why", "will",
    "with", "would", "you", "your",
];

/// What a character is to the splitter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Lower,
    Upper,
    Digit,
    /// Of a script that writes words without blanks between them.
    Unspaced,
    Gap,
}

impl Kind {
    fn of(c: char) -> Self {
        match c {
            '0'..='9' => Self::Digit,
            '\u{3040}'..='\u{30FF}'
            | '\u{3400}'..='\u{4DBF}'
            | '\u{4E00}'..='\u{9FFF}'
            | '\u{AC00}'..='\u{D7AF}'
            | '\u{F900}'..='\u{FAFF}'
            | '\u{20000}'..='\u{2FA1F}' => Self::Unspaced,
            letter if letter.is_uppercase() => Self::Upper,
            letter if letter.is_alphanumeric() => Self::Lower,
            _ => Self::Gap,
        }
    }

    /// Whether a word ends before `now`: `get|User`, `HTTP|Server`, `gpt|4`, `order|_id`.
    fn ends_word(before: Self, now: Self, next: Self) -> bool {
        match (before, now) {
            (_, Self::Gap | Self::Unspaced)
            | (Self::Lower, Self::Upper | Self::Digit)
            | (Self::Upper, Self::Digit)
            | (Self::Digit, Self::Lower | Self::Upper) => true,
            (Self::Upper, Self::Upper) => next == Self::Lower,
            (Self::Lower | Self::Upper, Self::Lower)
            | (Self::Digit, Self::Digit)
            | (Self::Unspaced | Self::Gap, Self::Lower | Self::Upper | Self::Digit) => false,
        }
    }
}

/// How a text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// A name: only the words between its joints.
    Name,
    /// A sentence: a word with one joint in it (`GitHub`) counts as a whole too, as others write it so.
    Prose,
}

/// Calls `emit` with every term of `text`, in order.
pub(super) fn terms(text: &str, reading: Reading, emit: impl FnMut(&str)) {
    let mut splitter = Splitter { word: String::new(), whole: String::new(), parts: 0, reading, emit };
    let mut before = (Kind::Gap, ' ');
    let mut chars = text.chars().map(narrow).peekable();
    while let Some(c) = chars.next() {
        let now = Kind::of(c);
        if Kind::ends_word(before.0, now, chars.peek().map_or(Kind::Gap, |next| Kind::of(*next))) {
            splitter.end_word();
        }
        match now {
            Kind::Gap => splitter.end_whole(),
            Kind::Unspaced => {
                splitter.end_whole();
                let pair = String::from_iter([before.1, c]);
                (splitter.emit)(pair.get(before.1.len_utf8()..).unwrap_or_default());
                if before.0 == Kind::Unspaced {
                    (splitter.emit)(&pair);
                }
            }
            Kind::Lower | Kind::Upper | Kind::Digit => splitter.word.extend(c.to_lowercase()),
        }
        before = (now, c);
    }
    splitter.end_word();
    splitter.end_whole();
}

struct Splitter<Emit> {
    word: String,
    /// The words since the last gap, joined.
    whole: String,
    parts: usize,
    reading: Reading,
    emit: Emit,
}

impl<Emit: FnMut(&str)> Splitter<Emit> {
    fn end_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        if self.reading == Reading::Prose {
            self.parts += 1;
            self.whole.push_str(&self.word);
        }
        if self.word.len() <= MAX_WORD_BYTES && STOP_WORDS.binary_search(&self.word.as_str()).is_err() {
            (self.emit)(stem(&mut self.word));
        }
        self.word.clear();
    }

    fn end_whole(&mut self) {
        if self.parts == 2 && self.whole.len() <= MAX_WORD_BYTES {
            (self.emit)(stem(&mut self.whole));
        }
        self.whole.clear();
        self.parts = 0;
    }
}

/// Full-width letters, digits and signs, common in Chinese text, as their plain forms.
fn narrow(c: char) -> char {
    match c {
        '\u{FF01}'..='\u{FF5E}' => char::from_u32(u32::from(c) - 0xFEE0).unwrap_or(c),
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn of(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        terms(text, Reading::Name, |term| found.push(term.to_owned()));
        found
    }

    #[test]
    fn identifiers_are_split_at_their_joints() {
        assert_eq!(of("getUserByID"), ["get", "user", "id"]);
        assert_eq!(of("prometheus.query_range"), ["prometheus", "queri", "rang"]);
        assert_eq!(of("HTTPServer gpt4 k8s"), ["http", "serv", "gpt", "4", "k", "8"]);
    }

    #[test]
    fn forms_of_a_word_fall_together() {
        for forms in
            ["search searches searching searched", "order orders ordering", "query queries", "planning plan plans"]
        {
            let found = of(forms);
            assert!(found.iter().all(|term| *term == found[0]), "{forms}: {found:?}");
        }
    }

    #[test]
    fn a_sentence_keeps_a_brand_whole_beside_its_parts() {
        let mut found = Vec::new();
        terms("a GitHub issue", Reading::Prose, |term| found.push(term.to_owned()));
        assert_eq!(found, ["git", "hub", "github", "issu"]);
    }

    #[test]
    fn chinese_is_characters_and_pairs() {
        assert_eq!(of("查天气API"), ["查", "天", "查天", "气", "天气", "api"]);
        assert_eq!(of("ＡＰＩ１"), ["api", "1"]);
    }

    #[test]
    fn stop_words_are_sorted_so_that_they_are_found() {
        assert!(STOP_WORDS.is_sorted());
        assert_eq!(of("What is the weather like?"), ["weath"]);
    }

    #[test]
    fn data_is_no_word() {
        assert_eq!(of(&"f".repeat(64)), Vec::<String>::new());
    }
}
