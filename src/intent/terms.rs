//! Finding many words in a text in one pass.

use std::collections::BTreeMap;

use regex::{Regex, RegexSet};
use serde::Deserialize;

use super::IntentError;
use crate::types::FastMap;

/// A term as the catalog writes it: anything on these lists stands for it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Term {
    /// Whole words and phrases; `*` at the end stands for any ending.
    #[serde(default)]
    en: Vec<String>,
    /// Pieces of text, found anywhere.
    #[serde(default)]
    zh: Vec<String>,
    /// Regular expressions.
    #[serde(default)]
    regex: Vec<String>,
}

/// All terms of a catalog, numbered in the order of their names.
///
/// Words are looked up by hash, not compiled into one automaton: that would take ten times as long to build as a short
/// program runs.
#[derive(Debug)]
pub(super) struct Terms {
    count: usize,
    /// By the first word of a phrase: the rest of it, and the term.
    phrases: FastMap<String, Vec<(String, usize)>>,
    /// Beginnings of words or phrases that may end in any way: first word, rest, term.
    beginnings: Vec<(String, usize)>,
    /// By the first character of a piece: the piece, and the term.
    pieces: FastMap<char, Vec<(String, usize)>>,
    /// Whether any piece begins with this ASCII character: few do, and most texts are ASCII.
    ascii_pieces: [bool; 128],
    patterns: RegexSet,
    /// The term of each pattern.
    pattern_terms: Vec<usize>,
}

/// Which terms were found.
pub(super) struct Found(Vec<bool>);

impl Found {
    pub(super) fn has(&self, term: usize) -> bool {
        self.0.get(term).copied().unwrap_or(false)
    }

    fn add(&mut self, term: usize) {
        if let Some(found) = self.0.get_mut(term) {
            *found = true;
        }
    }
}

impl Terms {
    pub(super) fn new(terms: &BTreeMap<String, Term>) -> Result<Self, IntentError> {
        let mut all = Self {
            count: terms.len(),
            phrases: FastMap::default(),
            beginnings: Vec::new(),
            pieces: FastMap::default(),
            ascii_pieces: [false; 128],
            patterns: RegexSet::empty(),
            pattern_terms: Vec::new(),
        };
        let mut patterns: Vec<(&str, &str)> = Vec::new();
        for (number, (name, term)) in terms.iter().enumerate() {
            let refused = |why: String| IntentError::Term { term: name.clone(), why };
            if term.en.is_empty() && term.zh.is_empty() && term.regex.is_empty() {
                return Err(refused("it has no words; give some under `en`, `zh` or `regex`".to_owned()));
            }
            term.en.iter().try_for_each(|phrase| all.add_phrase(phrase, number)).map_err(refused)?;
            term.zh.iter().try_for_each(|piece| all.add_piece(piece, number)).map_err(refused)?;
            patterns.extend(term.regex.iter().map(|pattern| (name.as_str(), pattern.as_str())));
            all.pattern_terms.extend(term.regex.iter().map(|_| number));
        }
        all.patterns = RegexSet::new(patterns.iter().map(|(_, pattern)| pattern)).map_err(|_| faulty(&patterns))?;
        Ok(all)
    }

    fn add_phrase(&mut self, phrase: &str, term: usize) -> Result<(), String> {
        let phrase = normal(phrase.trim());
        if !phrase.starts_with(|c: char| c.is_ascii_alphanumeric()) {
            return Err(format!("`{phrase}` under `en` does not begin with a letter or digit; use `regex`"));
        }
        if let Some(beginning) = phrase.strip_suffix('*') {
            self.beginnings.push((beginning.to_owned(), term));
            return Ok(());
        }
        let (first, rest) = phrase.split_at_checked(word_end(&phrase)).unwrap_or((&phrase, ""));
        self.phrases.entry(first.to_owned()).or_default().push((rest.to_owned(), term));
        Ok(())
    }

    fn add_piece(&mut self, piece: &str, term: usize) -> Result<(), String> {
        let piece = normal(piece.trim());
        let first = piece.chars().next().ok_or("it has an empty word under `zh`")?;
        if let Some(any) = self.ascii_pieces.get_mut(first as usize) {
            *any = true;
        }
        self.pieces.entry(first).or_default().push((piece, term));
        Ok(())
    }

    /// Which terms are in `text`, which must be [`normal`].
    pub(super) fn find(&self, text: &str) -> Found {
        let mut found = Found(vec![false; self.count]);
        let mut inside = false;
        for (at, c) in text.char_indices() {
            let Some(rest) = text.get(at..) else { continue };
            let starts = is_word(c) && !inside;
            inside = is_word(c);
            if starts {
                self.find_phrases(rest, &mut found);
            }
            if !self.ascii_pieces.get(c as usize).copied().unwrap_or(true) {
                continue;
            }
            for (piece, term) in self.pieces.get(&c).into_iter().flatten() {
                if rest.starts_with(piece.as_str()) {
                    found.add(*term);
                }
            }
        }
        let matched = self.patterns.matches(text);
        matched.iter().filter_map(|pattern| self.pattern_terms.get(pattern)).for_each(|term| found.add(*term));
        found
    }

    /// The phrases at the start of `rest`, which is the start of a word.
    fn find_phrases(&self, rest: &str, found: &mut Found) {
        let Some((word, after)) = rest.split_at_checked(word_end(rest)) else { return };
        for (more, term) in self.phrases.get(word).into_iter().flatten() {
            let next = after.strip_prefix(more.as_str());
            if next.is_some_and(|next| !more.ends_with(is_word) || !next.starts_with(is_word)) {
                found.add(*term);
            }
        }
        self.beginnings
            .iter()
            .filter(|(beginning, _)| rest.starts_with(beginning))
            .for_each(|(_, term)| found.add(*term));
    }
}

/// ASCII only, so that an English word ends where Chinese begins.
fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn word_end(text: &str) -> usize {
    text.find(|c| !is_word(c)).unwrap_or(text.len())
}

/// Lower case, with one blank for any white space.
pub(super) fn normal(text: &str) -> String {
    let mut normal = String::with_capacity(text.len());
    let mut blank = false;
    for c in text.chars() {
        if c.is_whitespace() {
            blank = true;
            continue;
        }
        if std::mem::take(&mut blank) {
            normal.push(' ');
        }
        if c.is_ascii() {
            normal.push(c.to_ascii_lowercase());
        } else {
            normal.extend(c.to_lowercase());
        }
    }
    normal
}

/// The error for the first pattern that is not valid, or for all of them together.
fn faulty(patterns: &[(&str, &str)]) -> IntentError {
    let check = |(term, pattern): &(&str, &str)| {
        let why = Regex::new(pattern).err()?;
        Some(IntentError::Term {
            term: (*term).to_owned(),
            why: format!("`{pattern}` is no regular expression: {why}"),
        })
    };
    let together =
        || IntentError::Term { term: "all".to_owned(), why: "their patterns are too large together".to_owned() };
    patterns.iter().find_map(check).unwrap_or_else(together)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn terms() -> Terms {
        let yaml = "
a: {en: [pod, 'why is', crash*, up-to-date, today's]}
b: {zh: [异常, cpu占用, 'E-mail']}
c: {regex: ['cve-[0-9]+', '呢$']}
";
        Terms::new(&serde_saphyr::from_str(yaml).unwrap()).unwrap()
    }

    fn found(text: &str) -> String {
        let found = terms().find(&normal(text));
        "abc".char_indices().filter(|(term, _)| found.has(*term)).map(|(_, name)| name).collect()
    }

    #[test]
    fn english_words_are_found_whole_and_chinese_pieces_anywhere() {
        let cases = [
            ("A Pod!", "a"),
            ("看pod日志", "a"),
            ("pods", ""),
            ("tripod", ""),
            ("pod_1", ""),
            ("why\n  is it", "a"),
            ("why isn't it", ""),
            ("why island", ""),
            ("it crashed", "a"),
            ("UP-TO-DATE.", "a"),
            ("up-to-dates", ""),
            ("today's", "a"),
            ("today", ""),
            ("有异常值", "b"),
            ("高CPU占用率", "b"),
            ("my e-mail", "b"),
            ("CVE-2026", "c"),
            ("那上周呢", "c"),
            ("", ""),
        ];
        for (text, wanted) in cases {
            assert_eq!(found(text), wanted, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_searched_without_harm(text: String) {
            let _ = found(&text);
        }

        #[test]
        fn a_text_is_normal_after_it_was_made_so(text in "[ a-zA-Z\n\t异常À]*") {
            let once = normal(&text);
            prop_assert_eq!(normal(&once), once);
        }
    }
}
