//! Which sentences answer a question, by the words they share: rare ones count more.

use std::collections::{HashMap, HashSet};

use unicode_segmentation::UnicodeSegmentation;

use super::Passage;
use crate::text::sentence::sentences;

/// A sentence and the passage it stands in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sentence {
    pub(super) passage: usize,
    pub(super) text: String,
}

/// Words that say nothing about what a question is about.
const STOP_WORDS: &[&str] = &[
    "a", "about", "an", "and", "are", "as", "at", "be", "been", "by", "can", "could", "did", "do", "does", "for",
    "from", "had", "happen", "happens", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "me", "my",
    "not", "of", "on", "or", "our", "please", "should", "so", "tell", "that", "the", "their", "them", "there", "these",
    "this", "to", "us", "was", "we", "were", "what", "when", "where", "which", "who", "why", "will", "with", "would",
    "you", "your",
];

/// Single characters of Chinese that are only grammar, and bigrams that only ask.
const STOP_BIGRAMS: &[&str] = &["什么", "怎么", "如何", "为什", "哪些", "请问", "可以", "我们", "他们", "是否", "多少"];

/// The best sentences of all passages, best first; none when the question's words are in none of them.
pub(super) fn best_sentences(question: &str, passages: &[Passage], limit: usize) -> Vec<Sentence> {
    let asked: Vec<String> = distinct(terms(question).into_iter().filter(|term| !is_stop_word(term)));
    if asked.is_empty() {
        return Vec::new();
    }
    let sentences: Vec<Sentence> = passages
        .iter()
        .enumerate()
        .flat_map(|(passage, it)| {
            sentences(&it.text).into_iter().map(move |text| Sentence { passage, text: on_one_line(text) })
        })
        .collect();
    let bags: Vec<HashSet<String>> = sentences.iter().map(|it| terms(&it.text).into_iter().collect()).collect();
    let weights = weights(&asked, &bags);
    let passage_terms: Vec<HashSet<String>> = passages.iter().map(|it| terms(&it.text).into_iter().collect()).collect();
    let mut scored: Vec<(f64, usize)> = Vec::new();
    for (at, (sentence, bag)) in sentences.iter().zip(&bags).enumerate() {
        let own = share(&asked, &weights, bag);
        let around = passage_terms.get(sentence.passage).map_or(0.0, |bag| share(&asked, &weights, bag));
        if own > 0.0 {
            scored.push((shape(&sentence.text) * (own + 0.3 * around), at));
        }
    }
    scored.sort_by(|(a, left), (b, right)| b.total_cmp(a).then(left.cmp(right)));
    select(&scored, sentences, limit)
}

/// A sentence without its line breaks: a blank stands for each, but for those inside Chinese.
fn on_one_line(sentence: &str) -> String {
    sentence.lines().map(str::trim).fold(String::with_capacity(sentence.len()), |mut joined, line| {
        let chinese = joined.ends_with(is_cjk) && line.starts_with(is_cjk);
        if !joined.is_empty() && !chinese {
            joined.push(' ');
        }
        joined + line
    })
}

/// How much a piece of text says for each of its words, by its form. A heading names what is said below it.
fn shape(text: &str) -> f64 {
    match text.chars().count() {
        _ if text.starts_with('#') || text.starts_with("```") => 0.4,
        0..25 => 0.6,
        25..=600 => 1.0,
        _ => 0.7,
    }
}

/// The best that are not much worse than the very best, each text once.
fn select(scored: &[(f64, usize)], sentences: Vec<Sentence>, limit: usize) -> Vec<Sentence> {
    let floor = scored.first().map_or(f64::MAX, |(best, _)| (best * 0.55).max(0.2));
    let mut seen = HashSet::new();
    let kept = scored.iter().take_while(|(score, _)| *score >= floor).filter_map(|(_, at)| sentences.get(*at));
    let fresh = kept.filter(|sentence| seen.insert(sentence.text.split_whitespace().collect::<String>()));
    fresh.take(limit).cloned().collect()
}

/// How much of the question, by weight, a bag of words covers: 0–1.
fn share(asked: &[String], weights: &[f64], bag: &HashSet<String>) -> f64 {
    let total: f64 = weights.iter().sum();
    let found: f64 = asked.iter().zip(weights).filter(|(term, _)| bag.contains(*term)).map(|(_, weight)| weight).sum();
    if total > 0.0 { found / total } else { 0.0 }
}

/// Rare words weigh more; words that are nowhere weigh as much as the rarest, so that missing them shows.
fn weights(asked: &[String], bags: &[HashSet<String>]) -> Vec<f64> {
    let mut counts: HashMap<&str, u32> = HashMap::new();
    for bag in bags {
        for term in asked {
            if bag.contains(term) {
                *counts.entry(term).or_default() += 1;
            }
        }
    }
    let all = f64::from(u32::try_from(bags.len()).unwrap_or(u32::MAX));
    asked
        .iter()
        .map(|term| (1.0 + all / (1.0 + f64::from(counts.get(term.as_str()).copied().unwrap_or(0)))).ln())
        .collect()
}

/// The words of a text, lower-case and without endings; Chinese, Japanese and Korean as pairs of characters.
fn terms(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    for word in text.unicode_words() {
        let lower = word.to_lowercase();
        if lower.chars().next().is_some_and(is_cjk) {
            continue;
        }
        terms.push(stem(&lower));
        // `builtin_tools` and `built-in` are found by their parts too.
        let parts = lower.split(['_', '.', '-', '\'']).filter(|part| part.len() > 1 && part.len() < lower.len());
        terms.extend(parts.map(stem));
    }
    let chars: Vec<char> = text.chars().collect();
    terms.extend(chars.windows(2).filter(|pair| pair.iter().all(|c| is_cjk(*c))).map(|pair| pair.iter().collect()));
    terms
}

fn distinct(terms: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = HashSet::new();
    terms.filter(|term| seen.insert(term.clone())).collect()
}

fn is_stop_word(term: &str) -> bool {
    STOP_WORDS.contains(&term) || STOP_BIGRAMS.contains(&term)
}

/// The word without a plural or verb ending; crude, and the same for question and text.
fn stem(word: &str) -> String {
    for (ending, kept) in [("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("es", "e"), ("s", "")] {
        if let Some(root) = word.strip_suffix(ending)
            && root.len() >= 3
            && !root.ends_with(['s', 'u'])
        {
            return format!("{root}{kept}");
        }
    }
    word.to_owned()
}

/// Whether a character belongs to a script written without blanks.
pub(super) fn is_cjk(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}')
}
