//! Words for search: what a text is indexed under and what a question looks for.
//!
//! Latin words are lower-cased and lightly stemmed. An identifier counts as a whole and by its parts
//! (`ResponseTool`: `responsetool`, `respons`, `tool`), a hyphenated pair as two words and as one (`built-in`:
//! `built`, `in`, `builtin`). Scripts without spaces (Chinese, Japanese, Korean, Thai) count by single characters and
//! by pairs.

use std::{borrow::Cow, collections::BTreeMap};

/// The longest word in bytes; longer runs (hashes, base64) are no words.
const MAX_WORD_BYTES: usize = 48;

/// Calls `emit` with each word of `text` and its position. Forms of one word share a position; between the parts of
/// a sentence positions jump, and more so between sentences, so that near positions mean that words belong together.
pub fn each_word(text: &str, emit: &mut dyn FnMut(&str, u32)) {
    Scanner { emit, position: 0, joint: None }.scan(text);
}

/// Appends the words of `text` to `line`, separated by blanks.
pub fn push_words(text: &str, line: &mut String) {
    each_word(text, &mut |word, _| {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    });
}

/// What a question looks for, in its order: terms, each with the forms that count as it (`built-in`: `built` or
/// `builtin`). Words that every text has are left out, unless there are no others. Chinese is looked up by pairs of
/// characters; a single one only where it stands alone.
pub fn query_terms(question: &str) -> Vec<Vec<String>> {
    let found: Vec<Vec<String>> = pieces(question).iter().flat_map(|piece| terms(piece, true)).collect();
    if found.is_empty() { terms(question, false) } else { found }
}

fn terms(piece: &str, content_only: bool) -> Vec<Vec<String>> {
    let alone = piece.chars().filter(|c| is_unspaced(*c)).count() <= 1;
    let mut found: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    each_word(piece, &mut |word, position| {
        let mut chars = word.chars();
        let single = chars.next().is_some_and(is_unspaced) && chars.next().is_none();
        if (single && !alone) || (content_only && is_stop_word(word)) {
            return;
        }
        found.entry(position).or_default().push(word.to_owned());
    });
    found.into_values().collect()
}

/// Whether a word (already stemmed) is one that every English text has.
pub fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// Whether `c` belongs to a script that is written without spaces.
pub fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c),
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF // Thai, Lao, Myanmar, Khmer
        | 0x3005..=0x3007 | 0x3041..=0x30FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF // kana, Han
        | 0x1100..=0x11FF | 0xAC00..=0xD7A3 | 0xF900..=0xFAFF | 0x20000..=0x3134F)
}

/// Stems of words that say nothing about a text, sorted.
const STOP_WORDS: [&str; 108] = [
    "a", "about", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "been", "being", "but", "by",
    "can", "could", "did", "do", "doe", "does", "done", "each", "either", "find", "for", "from", "get", "give",
    "given", "had", "happen", "has", "hav", "have", "he", "help", "her", "here", "his", "how", "i", "if", "in", "into",
    "is", "it", "its", "just", "let", "like", "list", "many", "me", "mean", "might", "much", "must", "my", "need",
    "no", "not", "of", "on", "onli", "or", "our", "please", "shall", "she", "should", "show", "so", "some", "such",
    "tell", "than", "that", "the", "their", "them", "then", "ther", "there", "thes", "they", "thi", "this", "thos",
    "to", "us", "was", "we", "were", "what", "when", "wher", "where", "which", "who", "why", "will", "with", "would",
    "you", "your", "yours",
];

/// Words of Chinese questions that say nothing about the text looked for, longest first.
const CHINESE_STOP: [&str; 44] = [
    "会发生什么",
    "请告诉我",
    "是怎么样的",
    "是什么意思",
    "为什么会",
    "怎么样",
    "为什么",
    "是什么",
    "有没有",
    "是不是",
    "能不能",
    "可不可以",
    "告诉我",
    "有哪些",
    "什么样",
    "多少钱",
    "什么",
    "怎么",
    "怎样",
    "如何",
    "哪些",
    "哪个",
    "哪里",
    "哪种",
    "多少",
    "几个",
    "请问",
    "一下",
    "可以",
    "如果",
    "的话",
    "时候",
    "以及",
    "或者",
    "并且",
    "我们",
    "你们",
    "他们",
    "的",
    "了",
    "吗",
    "呢",
    "吧",
    "请",
];

/// The question without Chinese function words: where one stood, a pair must not be formed.
fn pieces(question: &str) -> Vec<Cow<'_, str>> {
    if !question.chars().any(is_unspaced) {
        return vec![Cow::Borrowed(question)];
    }
    let mut text = Cow::Borrowed(question);
    for stop in CHINESE_STOP {
        if text.contains(stop) {
            text = Cow::Owned(text.replace(stop, "\n"));
        }
    }
    text.split(['\n', '，', '。', '？', '、', '：', '；', ',', '?']).map(|piece| Cow::Owned(piece.to_owned())).collect()
}

struct Scanner<'e> {
    emit: &'e mut dyn FnMut(&str, u32),
    position: u32,
    /// The word before a hyphen, lower-cased, to be joined with the one after it.
    joint: Option<String>,
}

impl Scanner<'_> {
    fn scan(&mut self, text: &str) {
        let mut rest = text;
        while let Some(start) = rest.find(|c: char| c.is_alphanumeric() || c == '_') {
            let (gap, tail) = rest.split_at(start);
            if !gap.is_empty() && gap != "-" {
                self.joint = None;
                self.position = self.position.saturating_add(jump(gap));
            }
            let unspaced = tail.chars().next().is_some_and(is_unspaced);
            let end = if unspaced { end_of_unspaced(tail) } else { end_of_word(tail) };
            let (run, after) = tail.split_at(end.max(1).min(tail.len()));
            if unspaced {
                self.unspaced(run)
            } else {
                self.word(run, after.starts_with('-'))
            }
            rest = after;
        }
    }

    fn put(&mut self, word: &str) {
        (self.emit)(word, self.position);
    }

    fn unspaced(&mut self, run: &str) {
        self.joint = None;
        let mut before: Option<usize> = None;
        for (at, c) in run.char_indices() {
            let end = at + c.len_utf8();
            if let Some(pair) = before.and_then(|start| run.get(start..end)) {
                self.put(pair);
                self.position += 1;
            }
            if let Some(single) = run.get(at..end) {
                self.put(single);
            }
            before = Some(at);
        }
        self.position += 1;
    }

    fn word(&mut self, run: &str, hyphen: bool) {
        let joint = self.joint.take();
        if run.len() > MAX_WORD_BYTES {
            self.position += 1;
            return;
        }
        let run = fold(run);
        let whole = run.replace('_', "").to_lowercase();
        if whole.is_empty() {
            return;
        }
        let parts = parts(&run);
        if parts.len() > 1 {
            for (index, part) in parts.iter().enumerate() {
                self.put(&stem(&part.to_lowercase()));
                if index == 0 {
                    self.put(&stem(&whole));
                }
                self.position += 1;
            }
        } else {
            if let Some(joint) = joint {
                (self.emit)(&stem(&format!("{joint}{whole}")), self.position.saturating_sub(1));
            }
            self.put(&stem(&whole));
            self.position += 1;
        }
        self.joint = hyphen.then_some(whole);
    }
}

/// By how much the text between two words sets them apart.
fn jump(gap: &str) -> u32 {
    let ends = |c: char| matches!(c, '.' | '!' | '?' | '。' | '！' | '？');
    if gap.contains("\n\n") || (gap.len() > 1 && gap.contains(ends)) {
        8
    } else if gap.len() > 1 && gap.contains([',', ';', ':', '(', ')', '|', '，', '；', '：', '、', '（', '）']) {
        2
    } else {
        0
    }
}

fn end_of_unspaced(text: &str) -> usize {
    text.find(|c: char| !is_unspaced(c)).unwrap_or(text.len())
}

/// The end of a word: letters, digits and `_`; a dot inside a number and an apostrophe inside a word belong to it.
fn end_of_word(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    let mut before = ' ';
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map_or(' ', |(_, next)| *next);
        let dot = c == '.' && before.is_ascii_digit() && next.is_ascii_digit();
        let apostrophe =
            matches!(c, '\'' | '’') && before.is_alphabetic() && next.is_alphabetic() && !is_unspaced(next);
        if is_unspaced(c) || !(c.is_alphanumeric() || c == '_' || dot || apostrophe) {
            return at;
        }
        before = c;
    }
    text.len()
}

/// Full-width letters become plain ones, apostrophes and what follows them go (`user's`: `user`; `don't`: `don`).
fn fold(run: &str) -> Cow<'_, str> {
    let run = run.split(['\'', '’']).next().unwrap_or(run);
    if !run.chars().any(|c| ('\u{ff01}'..='\u{ff5e}').contains(&c)) {
        return Cow::Borrowed(run);
    }
    let narrow = |c: char| {
        let wide = ('\u{ff01}'..='\u{ff5e}').contains(&c);
        if wide { char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c) } else { c }
    };
    Cow::Owned(run.chars().map(narrow).collect())
}

/// The parts of an identifier: `snake_case`, `camelCase`, `HTTPServer`.
fn parts(run: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for piece in run.split('_').filter(|piece| !piece.is_empty()) {
        let chars: Vec<(usize, char)> = piece.char_indices().collect();
        let mut start = 0;
        for (index, window) in chars.windows(2).enumerate() {
            let [(_, a), (at, b)] = window else { continue };
            let next = chars.get(index + 2).map(|(_, c)| *c);
            let up = a.is_lowercase() && b.is_uppercase();
            let acronym = a.is_uppercase() && b.is_uppercase() && next.is_some_and(char::is_lowercase);
            if up || acronym {
                found.extend(piece.get(start..*at));
                start = *at;
            }
        }
        found.extend(piece.get(start..));
    }
    found
}

/// A light English stem: plural, `-ed`, `-ing`, `-ly`, `-ion`, a final `e`, `y` as `i`. Other words stay as they are.
pub fn stem(word: &str) -> Cow<'_, str> {
    if word.len() < 4 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return Cow::Borrowed(word);
    }
    let mut stem = plural(word);
    if let Some(rest) = ["ing", "ed"].iter().find_map(|end| stem.strip_suffix(end)).filter(|rest| is_stem(rest)) {
        stem = Cow::Owned(undouble(rest).to_owned());
    }
    for (end, keep) in [("ly", 3), ("ment", 4), ("ness", 4)] {
        if let Some(rest) = stem.strip_suffix(end).filter(|rest| rest.len() > keep) {
            stem = Cow::Owned(rest.to_owned());
        }
    }
    if let Some(rest) = stem.strip_suffix("ion").filter(|rest| rest.len() > 3 && rest.ends_with(['t', 's'])) {
        stem = Cow::Owned(rest.to_owned());
    }
    if let Some(rest) = stem.strip_suffix('e').filter(|rest| rest.len() > 2) {
        stem = Cow::Owned(rest.to_owned());
    }
    match stem.strip_suffix('y').filter(|rest| rest.len() > 2) {
        Some(rest) => Cow::Owned(format!("{rest}i")),
        None => stem,
    }
}

fn plural(word: &str) -> Cow<'_, str> {
    let strip = |end: usize| Cow::Borrowed(word.get(..word.len() - end).unwrap_or(word));
    if ["sses", "shes", "ches", "xes", "zes"].iter().any(|end| word.ends_with(end)) {
        strip(2)
    } else if word.ends_with("ies") && word.len() > 4 {
        Cow::Owned(format!("{}y", word.strip_suffix("ies").unwrap_or(word)))
    } else if word.ends_with("ied") && word.len() > 4 {
        Cow::Owned(format!("{}y", word.strip_suffix("ied").unwrap_or(word)))
    } else if word.ends_with('s') && !["ss", "us", "is"].iter().any(|end| word.ends_with(end)) {
        strip(1)
    } else {
        Cow::Borrowed(word)
    }
}

fn is_stem(rest: &str) -> bool {
    rest.len() > 2 && rest.bytes().any(|byte| b"aeiouy".contains(&byte))
}

/// `stopp` becomes `stop`; `call`, `pass`, `buzz` stay.
fn undouble(stem: &str) -> &str {
    match stem.as_bytes() {
        [.., a, b] if a == b && !b"lsz".contains(b) => stem.get(..stem.len() - 1).unwrap_or(stem),
        _ => stem,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn line(text: &str) -> String {
        let mut line = String::new();
        push_words(text, &mut line);
        line
    }

    #[test]
    fn identifiers_count_as_a_whole_and_by_their_parts() {
        assert_eq!(
            line("ResponseTool builtin_tools HTTPServer"),
            "respons responsetool tool builtin builtintool tool http httpserver server"
        );
        assert_eq!(line("built-in k8s v5.2 user's"), "built builtin in k8s v5.2 user");
    }

    #[test]
    fn forms_of_one_word_have_one_stem() {
        for forms in [
            &["cache", "caches", "cached", "caching"][..],
            &["retry", "retries", "retried"],
            &["validate", "validates", "validation", "validating"],
            &["stop", "stops", "stopped", "stopping"],
            &["execute", "execution", "executed"],
            &["policy", "policies"],
            &["skip", "skipped", "skips"],
            &["deploy", "deployment", "deployed"],
        ] {
            let stems: Vec<_> = forms.iter().map(|form| stem(form)).collect();
            assert!(stems.windows(2).all(|pair| pair[0] == pair[1]), "{stems:?}");
        }
    }

    #[test]
    fn chinese_counts_by_characters_and_pairs() {
        assert_eq!(line("退货政策v2"), "退 退货 货 货政 政 政策 策 v2");
        assert_eq!(sought("退货政策是什么？"), "退货 货政 政策");
        assert_eq!(sought("猫"), "猫");
        assert_eq!(sought("如何配置 builtin_tools 的超时"), "配置 builtin|builtintool tool 超时");
    }

    fn sought(question: &str) -> String {
        query_terms(question).iter().map(|forms| forms.join("|")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_question_keeps_its_content_words_in_order() {
        assert_eq!(
            sought("What happens to a built-in tool value that is not a valid tool?"),
            "built|builtin tool valu valid tool"
        );
        assert_eq!(sought("who is it?"), "who is it");
    }

    #[test]
    fn words_of_one_phrase_are_nearer_than_words_of_two() {
        let mut positions = Vec::new();
        each_word("tools, values. Valid ones", &mut |_, position| positions.push(position));
        assert_eq!(positions, [0, 3, 12, 13]);
    }

    #[test]
    fn the_stop_words_are_sorted() {
        assert!(STOP_WORDS.is_sorted());
    }

    proptest! {
        #[test]
        fn any_text_has_words(text in "\\PC{0,80}") {
            each_word(&text, &mut |word, _| assert!(!word.is_empty() && !word.contains(' ')));
            let _ = query_terms(&text);
        }
    }
}
