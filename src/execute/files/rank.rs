//! The order of passages that BM25 found, and the sentence of each that answers best.
//!
//! BM25 knows how rare and how frequent words are; here counts also how much of the question a passage covers,
//! whether words that stand together in the question stand together in it, and whether its headings or path name them.

use std::collections::{HashMap, HashSet};

use crate::{
    store::passages::PassageRow,
    text::{cut, sentence::sentences, words},
};

/// What each sign adds to a score; together 1.
const BM25: f64 = 0.35;
const COVERAGE: f64 = 0.35;
const NEARNESS: f64 = 0.2;
const HEADING: f64 = 0.1;
/// A passage that covers less of the question is no answer to it.
const MIN_COVERAGE: f64 = 0.12;
/// The longest quote, in characters.
const MAX_QUOTE: usize = 600;

/// A passage that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Passage {
    /// The file, below the folder.
    pub path: String,
    /// Its first and last line, from 1, inclusive; of the extracted text for HTML and PDF.
    pub lines: (u32, u32),
    /// Its page, from 1, in a PDF.
    pub page: Option<u32>,
    /// The headings above it, outermost first, joined by ` > `.
    pub heading: Option<String>,
    /// Its text.
    pub text: String,
    /// The sentence of the text that answers best, word for word.
    pub quote: String,
    /// How well it answers, 0 to 1: comparable within one search, roughly between searches.
    pub score: f64,
}

/// The words of a question and how much each says.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Query {
    words: HashMap<String, usize>,
    weights: Vec<f64>,
}

impl Query {
    /// Weighs words by how few of the `total` passages have them. A pair of characters that no passage has only
    /// joins the end of one word to the start of the next and is left out.
    pub(super) fn new(words: Vec<String>, frequencies: &HashMap<String, u64>, total: u64) -> Self {
        let kept =
            words.into_iter().filter(|word| frequencies.contains_key(word) || !word.starts_with(words::is_unspaced));
        let (mut indexed, mut weights) = (HashMap::new(), Vec::new());
        for word in kept {
            let count = frequencies.get(&word).copied().unwrap_or(0).min(total);
            #[expect(clippy::cast_precision_loss, reason = "counts of passages are far below 2^52")]
            let (count, total) = (count as f64, total as f64);
            indexed.insert(word, weights.len());
            weights.push((1.0 + (total - count + 0.5) / (count + 0.5)).ln());
        }
        Self { words: indexed, weights }
    }

    fn weight(&self, which: &HashSet<usize>) -> f64 {
        let all: f64 = self.weights.iter().sum();
        let some: f64 = which.iter().filter_map(|index| self.weights.get(*index)).sum();
        if all > 0.0 { some / all } else { 0.0 }
    }

    /// Where the words of the question stand in `text`: which word, at which position.
    fn hits(&self, text: &str) -> Vec<(usize, u32)> {
        let mut hits = Vec::new();
        words::each_word(text, &mut |word, position| {
            if let Some(index) = self.words.get(word) {
                hits.push((*index, position));
            }
        });
        hits
    }

    /// How near neighbours of the question stand to each other, 0 to 1.
    fn nearness(&self, hits: &[(usize, u32)]) -> f64 {
        let pairs = self.weights.len().saturating_sub(1);
        let (mut nearest, mut last) = (vec![u32::MAX; pairs], vec![None::<u32>; self.weights.len()]);
        for (index, position) in hits {
            if let Some(last) = last.get_mut(*index) {
                *last = Some(*position);
            }
            let before = index.checked_sub(1);
            for (pair, other) in [(before, before), (Some(*index), Some(index + 1))] {
                let other = other.and_then(|other| last.get(other).copied().flatten());
                if let (Some(slot), Some(other)) = (pair.and_then(|pair| nearest.get_mut(pair)), other) {
                    *slot = (*slot).min(position.abs_diff(other));
                }
            }
        }
        let (mut got, mut all) = (0.0, 0.0);
        for (distance, weights) in nearest.iter().zip(self.weights.windows(2)) {
            let weight: f64 = weights.iter().sum();
            all += weight;
            got += weight
                * match distance {
                    0..=1 => 1.0,
                    2..=3 => 0.6,
                    4..=8 => 0.3,
                    _ => 0.0,
                };
        }
        if all > 0.0 { got / all } else { 0.0 }
    }

    /// The sentence of `text` that has most of the question; the first of equals.
    fn quote(&self, text: &str) -> String {
        let mut best: Option<(f64, &str)> = None;
        for sentence in sentences(text) {
            let which = self.hits(sentence).into_iter().map(|(index, _)| index).collect();
            let title = if sentence.starts_with('#') { 0.5 } else { 1.0 };
            let score = title * self.weight(&which);
            if best.is_none_or(|(other, _)| score > other) {
                best = Some((score, sentence));
            }
        }
        cut::to_chars(best.map_or(text, |(_, sentence)| sentence), MAX_QUOTE).to_owned()
    }
}

/// Orders what was found, best first, at most `limit`. `path_of` names the file of a row.
pub(super) fn rank<'p>(
    query: &Query,
    rows: Vec<PassageRow>,
    path_of: impl Fn(i64) -> Option<&'p str>,
    limit: usize,
) -> Vec<Passage> {
    let most = rows.iter().map(|row| row.bm25).fold(f64::MIN_POSITIVE, f64::max);
    let mut scored: Vec<(f64, &str, PassageRow)> = Vec::with_capacity(rows.len());
    for row in rows {
        let Some(path) = path_of(row.file) else { continue };
        let hits = query.hits(&row.text);
        let in_head: HashSet<usize> =
            query.hits(&format!("{path} {}", row.heading)).into_iter().map(|(index, _)| index).collect();
        let anywhere: HashSet<usize> = hits.iter().map(|(index, _)| *index).chain(in_head.iter().copied()).collect();
        let coverage = query.weight(&anywhere);
        if coverage >= MIN_COVERAGE {
            let score = BM25 * row.bm25 / most
                + COVERAGE * coverage
                + NEARNESS * query.nearness(&hits)
                + HEADING * query.weight(&in_head);
            scored.push((score, path, row));
        }
    }
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut seen = HashSet::new();
    scored.retain(|(_, _, row)| seen.insert(row.text.clone()));
    scored.truncate(limit);
    scored.into_iter().map(|(score, path, row)| passage(query, score, path, row)).collect()
}

fn passage(query: &Query, score: f64, path: &str, row: PassageRow) -> Passage {
    Passage {
        path: path.to_owned(),
        lines: (row.first_line, row.last_line),
        page: row.page,
        heading: Some(row.heading).filter(|heading| !heading.is_empty()),
        quote: query.quote(&row.text),
        text: row.text,
        score,
    }
}
