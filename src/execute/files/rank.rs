//! The order of passages that BM25 found, and the words of each that answer best.
//!
//! BM25 knows how rare and how frequent words are; here counts also how much of the question a passage covers,
//! whether words that stand together in the question stand together in it, and whether its headings or path name them.

use std::collections::{HashMap, HashSet};

use crate::{
    store::passages::PassageRow,
    text::{cut, sentence::sentences, words},
};

/// What each sign adds to a score; together 1.
const BM25: f64 = 0.25;
const COVERAGE: f64 = 0.35;
const NEARNESS: f64 = 0.3;
const HEADING: f64 = 0.1;
/// What a second sentence must add to a quote to belong to it.
const SECOND_SENTENCE: f64 = 0.1;
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
    /// The sentence of the text that answers best, or two that follow each other, word for word.
    pub quote: String,
    /// How well it answers, 0 to 1: comparable within one search, roughly between searches.
    pub score: f64,
}

/// The terms of a question and how much each says.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Query {
    /// Which term a form belongs to.
    forms: HashMap<String, usize>,
    /// The weight of each term.
    weights: Vec<f64>,
    /// The terms in the order of the question, as often as they stand there.
    order: Vec<usize>,
}

impl Query {
    /// Weighs terms by how few of the `total` passages have them. A pair of characters that no passage has only
    /// joins the end of one word to the start of the next and is left out.
    pub(super) fn new(terms: Vec<Vec<String>>, frequencies: &HashMap<String, u64>, total: u64) -> Self {
        let (mut forms, mut weights, mut order) = (HashMap::new(), Vec::new(), Vec::new());
        for term in terms {
            let count = term.iter().filter_map(|form| frequencies.get(form)).copied().max().unwrap_or(0);
            if count == 0 && term.iter().any(|form| form.starts_with(words::is_unspaced)) {
                continue;
            }
            let index = term.iter().find_map(|form| forms.get(form).copied()).unwrap_or(weights.len());
            if index == weights.len() {
                weights.push(rarity(count, total));
            }
            for form in term {
                forms.entry(form).or_insert(index);
            }
            order.push(index);
        }
        Self { forms, weights, order }
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
            if let Some(index) = self.forms.get(word) {
                hits.push((*index, position));
            }
        });
        hits
    }

    /// How near terms that follow each other in the question stand to each other, 0 to 1.
    fn nearness(&self, hits: &[(usize, u32)]) -> f64 {
        let mut places: Vec<Vec<u32>> = vec![Vec::new(); self.weights.len()];
        for (index, position) in hits {
            if let Some(places) = places.get_mut(*index) {
                places.push(*position);
            }
        }
        let (mut got, mut all) = (0.0, 0.0);
        for pair in self.order.windows(2) {
            let [a, b] = pair else { continue };
            let (Some(left), Some(right)) = (places.get(*a), places.get(*b)) else { continue };
            if a == b {
                continue;
            }
            let weight = self.weights.get(*a).zip(self.weights.get(*b)).map_or(0.0, |(a, b)| a + b);
            all += weight;
            got += weight
                * match nearest(left, right) {
                    0..=1 => 1.0,
                    2 => 0.7,
                    3..=4 => 0.25,
                    5..=8 => 0.1,
                    _ => 0.0,
                };
        }
        if all > 0.0 { got / all } else { 0.0 }
    }

    /// The sentence of `text`, or two that follow each other, with most of the question, the first of equals. A
    /// heading is no sentence: what follows the heading that has most is quoted when no sentence has anything.
    fn quote(&self, text: &str) -> String {
        let (mut best, mut below) = ((0.0, None), (0.0, None));
        let (mut before, mut heading, mut from): (Option<Sentence>, f64, usize) = (None, 0.0, 0);
        for sentence in sentences(text) {
            let start = text.get(from..).and_then(|rest| rest.find(sentence)).map_or(from, |at| from + at);
            from = start + sentence.len();
            let has: HashSet<usize> = self.hits(sentence).into_iter().map(|(index, _)| index).collect();
            let score = self.weight(&has);
            if sentence.starts_with('#') {
                (heading, before) = (score, None);
                continue;
            }
            if below.1.is_none() || heading > below.0 {
                below = (heading, text.get(start..from));
            }
            if score > best.0 {
                best = (score, text.get(start..from));
            }
            if let Some(before) = before {
                let both = self.weight(&before.has.union(&has).copied().collect()) - SECOND_SENTENCE;
                if both > best.0 && from - before.start <= MAX_QUOTE {
                    best = (both, text.get(before.start..from));
                }
            }
            before = Some(Sentence { start, has });
        }
        let quote = best.1.or(below.1).unwrap_or(text).trim_start_matches(['-', '*', '+', ' ']);
        cut::to_chars(quote, MAX_QUOTE).to_owned()
    }
}

/// Where a sentence starts and which terms it has.
struct Sentence {
    start: usize,
    has: HashSet<usize>,
}

fn rarity(count: u64, total: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts of passages are far below 2^52")]
    let (count, total) = (count.min(total) as f64, total as f64);
    (1.0 + (total - count + 0.5) / (count + 0.5)).ln()
}

/// The least distance between two lists of positions, both ascending (forms of one word may be out by one).
fn nearest(left: &[u32], right: &[u32]) -> u32 {
    let (mut least, mut from) = (u32::MAX, 0);
    for place in left {
        while right
            .get(from + 1)
            .is_some_and(|next| next.abs_diff(*place) <= right.get(from).map_or(0, |at| at.abs_diff(*place)))
        {
            from += 1;
        }
        least = least.min(right.get(from).map_or(u32::MAX, |at| at.abs_diff(*place)));
    }
    least
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
