//! The index: BM25 over weighted fields, with everything that does not depend on the query worked out beforehand.
//!
//! A posting holds its document's finished weight, so a search is one addition per posting into a dense array. The
//! numbers below were chosen on the development splits of public tool-retrieval sets; all of them sit on a plateau.

use std::{cmp::Ordering, collections::HashMap};

use super::{
    document::{Document, Field},
    synonyms,
    token::{self, Reading},
};
use crate::{capability::Capability, text::cut};

/// How fast more occurrences of a word stop counting (BM25's k1).
const SATURATION: f32 = 1.4;
/// The same for a word the query repeats.
const QUERY_SATURATION: f32 = 0.25;
/// What a synonym of a word of the query counts.
const SYNONYM: f32 = 0.2;
/// How much a name whose every word the query holds is raised.
const NAME_COVERAGE: f32 = 0.25;
/// How much of a word's worth is gone once a better hit has answered it; lets a query for several tools find them all.
const ANSWERED: f32 = 0.08;
/// How many of the best are put in order with that in mind.
const REORDERED: usize = 24;
/// A query is read up to here, in bytes.
const MAX_QUERY_BYTES: usize = 16 * 1024;
/// A query counts its most telling words only, so that a pasted page costs no more than a question.
const MAX_QUERY_TERMS: usize = 64;

type TermId = u32;

/// One document that holds a term.
#[derive(Debug, Clone, Copy)]
struct Posting {
    document: u32,
    /// BM25 weight, the term's rarity included.
    weight: f32,
    /// The share of the document's name that the term is.
    name_share: f32,
}

/// An index over capabilities or other documents. Immutable; searching needs no lock.
#[derive(Debug, Default)]
pub struct Index {
    /// In order, so that a document's number is its rank by key and ties fall to the smaller key.
    keys: Vec<Box<str>>,
    terms: HashMap<Box<str>, TermId>,
    rarity: Vec<f32>,
    /// Postings of term `t` are `postings[starts[t]..starts[t + 1]]`, by document.
    starts: Vec<u32>,
    postings: Vec<Posting>,
    /// Of a word, whether or not a document holds it, those of its synonyms that some document holds.
    synonyms: HashMap<&'static str, Vec<TermId>>,
}

/// One answer of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit<'a> {
    /// The document's key; for a capability its id.
    pub key: &'a str,
    /// How well it fits by itself; comparable within one search only. Hits are in order of use, which may put a hit
    /// that adds something new before one that scores slightly higher.
    pub score: f32,
}

impl Index {
    /// Indexes capabilities by id, intent, description, `use_when` and parameters.
    pub fn build<'a>(capabilities: impl IntoIterator<Item = &'a Capability>) -> Self {
        Self::from_documents(capabilities.into_iter().map(Document::from).collect())
    }

    /// Indexes documents. Of several with one key the first is kept.
    pub fn from_documents(mut documents: Vec<Document>) -> Self {
        documents.sort_by(|a, b| a.key.cmp(&b.key));
        documents.dedup_by(|later, first| later.key == first.key);
        Collector::read(&documents).finish(documents)
    }

    /// How many documents it holds.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The best `k` documents for a query, best first. Documents that share no word with it are no hits.
    pub fn search(&self, query: &str, k: usize) -> Vec<Hit<'_>> {
        self.search_among(query, k, |_| true)
    }

    /// The same among the documents whose key `keep` accepts: what may not be seen is not found.
    pub fn search_among(&self, query: &str, k: usize, keep: impl Fn(&str) -> bool) -> Vec<Hit<'_>> {
        let query = self.read_query(query);
        let scores = self.score(&query);
        let k = k.min(self.len());
        let best = self.best(&scores, k.max(REORDERED), keep);
        self.spread(best, &query, k)
    }

    /// The terms of a query that the index knows, with what each counts, in the order of their ids.
    fn read_query(&self, query: &str) -> Vec<(TermId, f32)> {
        let mut counts: HashMap<String, f32> = HashMap::new();
        token::terms(cut::to_bytes(query, MAX_QUERY_BYTES), Reading::Prose, |term| match counts.get_mut(term) {
            Some(count) => *count += 1.0,
            None => {
                counts.insert(term.to_owned(), 1.0);
            }
        });
        let mut asked: HashMap<TermId, f32> = HashMap::with_capacity(counts.len());
        let mut meant: HashMap<TermId, f32> = HashMap::new();
        for (term, n) in counts {
            let count = n * (QUERY_SATURATION + 1.0) / (n + QUERY_SATURATION);
            if let Some(id) = self.terms.get(term.as_str()) {
                asked.insert(*id, count);
            }
            for synonym in self.synonyms.get(term.as_str()).into_iter().flatten() {
                let weight = meant.entry(*synonym).or_default();
                *weight = weight.max(SYNONYM * count);
            }
        }
        for (id, weight) in meant {
            asked.entry(id).or_insert(weight);
        }
        let mut asked: Vec<(TermId, f32)> = asked.into_iter().collect();
        if asked.len() > MAX_QUERY_TERMS {
            let worth = |(id, count): &(TermId, f32)| count * self.rarity.get(*id as usize).copied().unwrap_or(0.0);
            asked.sort_by(|a, b| worth(b).total_cmp(&worth(a)).then(a.0.cmp(&b.0)));
            asked.truncate(MAX_QUERY_TERMS);
        }
        asked.sort_by_key(|(id, _)| *id);
        asked
    }

    fn postings(&self, term: TermId) -> &[Posting] {
        let term = term as usize;
        let (Some(from), Some(to)) = (self.starts.get(term), self.starts.get(term + 1)) else { return &[] };
        self.postings.get(*from as usize..*to as usize).unwrap_or_default()
    }

    fn score(&self, query: &[(TermId, f32)]) -> Vec<f32> {
        let mut sums = vec![(0.0_f32, 0.0_f32); self.keys.len()];
        for (term, count) in query {
            for posting in self.postings(*term) {
                if let Some((score, covered)) = sums.get_mut(posting.document as usize) {
                    *score += count * posting.weight;
                    *covered += posting.name_share;
                }
            }
        }
        sums.into_iter().map(|(score, covered)| score * (1.0 + NAME_COVERAGE * covered)).collect()
    }

    /// The best `k` that are above zero and kept, best first, ties by key.
    fn best(&self, scores: &[f32], k: usize, keep: impl Fn(&str) -> bool) -> Vec<(u32, f32)> {
        let order = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        let mut best: Vec<(u32, f32)> = Vec::with_capacity(2 * k.min(scores.len()) + 1);
        let mut least = 0.0;
        for ((document, score), key) in (0_u32..).zip(scores).zip(&self.keys) {
            if *score <= least || !keep(key) {
                continue;
            }
            best.push((document, *score));
            if best.len() >= 2 * k {
                best.select_nth_unstable_by(k - 1, order);
                best.truncate(k);
                least = best.last().map_or(0.0, |(_, score)| *score);
            }
        }
        best.sort_unstable_by(order);
        best.truncate(k);
        best
    }

    /// Puts the best in order so that each adds something the ones before have not answered yet.
    fn spread(&self, mut best: Vec<(u32, f32)>, query: &[(TermId, f32)], k: usize) -> Vec<Hit<'_>> {
        let tail = best.split_off(best.len().min(REORDERED));
        let mut left: Vec<Candidate> =
            best.into_iter().map(|(document, score)| self.candidate(document, score, query)).collect();
        let mut fresh = vec![1.0_f32; query.len()];
        let mut hits = Vec::with_capacity(k.min(left.len() + tail.len()));
        while hits.len() < k && !left.is_empty() {
            let worth = |candidate: &Candidate| candidate.worth(&fresh);
            // `left` is best first and only a strictly greater worth wins, so ties keep that order.
            let first = (0, left.first().map_or(0.0, worth));
            let (place, _) = left.iter().map(worth).enumerate().fold(first, |top, (place, worth)| {
                if worth.total_cmp(&top.1) == Ordering::Greater { (place, worth) } else { top }
            });
            let taken = left.remove(place);
            taken.answer(&mut fresh);
            hits.extend(self.hit(taken.document, taken.score));
        }
        let room = k.saturating_sub(hits.len());
        hits.extend(tail.into_iter().take(room).filter_map(|(document, score)| self.hit(document, score)));
        hits
    }

    fn hit(&self, document: u32, score: f32) -> Option<Hit<'_>> {
        self.keys.get(document as usize).map(|key| Hit { key, score })
    }

    fn candidate(&self, document: u32, score: f32, query: &[(TermId, f32)]) -> Candidate {
        let part = |(place, (term, count)): (usize, &(TermId, f32))| {
            let postings = self.postings(*term);
            let found = postings.binary_search_by_key(&document, |posting| posting.document).ok()?;
            postings.get(found).map(|posting| (place, count * posting.weight))
        };
        Candidate { document, score, parts: query.iter().enumerate().filter_map(part).collect() }
    }
}

/// One of the best, with what each term of the query (by place) gave it.
struct Candidate {
    document: u32,
    score: f32,
    parts: Vec<(usize, f32)>,
}

impl Candidate {
    /// The score, less what has been answered already.
    fn worth(&self, fresh: &[f32]) -> f32 {
        let stale = |(place, part): &(usize, f32)| part * (1.0 - fresh.get(*place).copied().unwrap_or(1.0));
        self.score - self.parts.iter().map(stale).sum::<f32>()
    }

    /// Marks what it answers, its strongest term fully and the others in proportion.
    fn answer(&self, fresh: &mut [f32]) {
        let strongest = self.parts.iter().map(|(_, part)| *part).fold(f32::MIN_POSITIVE, f32::max);
        for (place, part) in &self.parts {
            if let Some(fresh) = fresh.get_mut(*place) {
                *fresh *= 1.0 - ANSWERED * part / strongest;
            }
        }
    }
}

/// How often a term occurs in each field of one document.
type Counts = [f32; Field::COUNT];

/// What is gathered while the documents are read.
#[derive(Default)]
struct Collector {
    terms: HashMap<Box<str>, TermId>,
    /// Per term, per document that holds it.
    found: Vec<Vec<(u32, Counts)>>,
    lengths: Vec<Counts>,
}

impl Collector {
    fn read(documents: &[Document]) -> Self {
        let mut collector = Self::default();
        for (number, document) in (0_u32..).zip(documents) {
            let mut lengths = Counts::default();
            for (field, text) in &document.fields {
                token::terms(text, field.reading(), |term| {
                    collector.count(number, *field, term);
                    at(&mut lengths, *field, |length| *length += 1.0);
                });
            }
            collector.lengths.push(lengths);
        }
        collector
    }

    fn count(&mut self, document: u32, field: Field, term: &str) {
        let id = match self.terms.get(term) {
            Some(id) => *id,
            None => {
                let id = TermId::try_from(self.found.len()).unwrap_or(TermId::MAX);
                self.terms.insert(term.into(), id);
                self.found.push(Vec::new());
                id
            }
        };
        let Some(found) = self.found.get_mut(id as usize) else { return };
        if found.last().is_none_or(|(last, _)| *last != document) {
            found.push((document, Counts::default()));
        }
        if let Some((_, counts)) = found.last_mut() {
            at(counts, field, |count| *count += 1.0);
        }
    }

    fn finish(self, documents: Vec<Document>) -> Index {
        let rarity: Vec<f32> = self.found.iter().map(|found| rarity(documents.len(), found.len())).collect();
        let scales = self.scales();
        let names = self.name_totals(&rarity);
        let mut starts = Vec::with_capacity(self.found.len() + 1);
        let mut postings = Vec::with_capacity(self.found.iter().map(Vec::len).sum());
        starts.push(0);
        for (found, rarity) in self.found.iter().zip(&rarity) {
            postings.extend(found.iter().map(|(document, counts)| {
                let number = *document as usize;
                let scale = scales.get(number).copied().unwrap_or_default();
                let sum: f32 = counts.iter().zip(scale).map(|(count, scale)| count * scale).sum();
                let named = counts.first().is_some_and(|count| *count > 0.0);
                let total = names.get(number).copied().unwrap_or(0.0);
                Posting {
                    document: *document,
                    weight: rarity * sum * (SATURATION + 1.0) / (sum + SATURATION),
                    name_share: if named && total > 0.0 { rarity / total } else { 0.0 },
                }
            }));
            starts.push(u32::try_from(postings.len()).unwrap_or(u32::MAX));
        }
        let synonyms = synonyms_among(&self.terms);
        let keys = documents.into_iter().map(|document| document.key.into_boxed_str()).collect();
        Index { keys, terms: self.terms, rarity, starts, postings, synonyms }
    }

    /// Per document and field, what one occurrence counts: the field's weight, less for a field longer than usual.
    fn scales(&self) -> Vec<Counts> {
        let mut totals = Counts::default();
        for lengths in &self.lengths {
            totals.iter_mut().zip(lengths).for_each(|(total, length)| *total += length);
        }
        let many = as_float(self.lengths.len().max(1));
        let scale = |lengths: &Counts| {
            let mut scale = Counts::default();
            for ((field, length), total) in FIELDS.into_iter().zip(lengths).zip(totals) {
                let penalty = field.length_penalty();
                let relative = length / (total / many).max(0.01);
                at(&mut scale, field, |scale| *scale = field.weight() / (1.0 - penalty + penalty * relative));
            }
            scale
        };
        self.lengths.iter().map(scale).collect()
    }

    /// Per document, the rarities of the words of its name together.
    fn name_totals(&self, rarity: &[f32]) -> Vec<f32> {
        let mut totals = vec![0.0; self.lengths.len()];
        for (found, rarity) in self.found.iter().zip(rarity) {
            for (document, _) in found.iter().filter(|(_, [name, ..])| *name > 0.0) {
                if let Some(total) = totals.get_mut(*document as usize) {
                    *total += rarity;
                }
            }
        }
        totals
    }
}

/// The fields in the order of their numbers.
const FIELDS: [Field; Field::COUNT] = [Field::Name, Field::Text, Field::Parameter, Field::ParameterText, Field::Value];

fn at(counts: &mut Counts, field: Field, change: impl FnOnce(&mut f32)) {
    if let Some(count) = counts.get_mut(field as usize) {
        change(count);
    }
}

/// BM25's inverse document frequency, never negative.
fn rarity(documents: usize, holding: usize) -> f32 {
    let (all, holding) = (as_float(documents), as_float(holding));
    (1.0 + (all - holding + 0.5) / (holding + 0.5)).ln()
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below the 2^24 a float holds exactly")]
fn as_float(count: usize) -> f32 {
    count as f32
}

/// For every word of the table, which of its synonyms this index holds.
fn synonyms_among(terms: &HashMap<Box<str>, TermId>) -> HashMap<&'static str, Vec<TermId>> {
    let mut among: HashMap<&'static str, Vec<TermId>> = HashMap::new();
    for group in synonyms::groups() {
        for word in group {
            let others = group.iter().filter(|other| *other != word).filter_map(|other| terms.get(other.as_str()));
            among.entry(word).or_default().extend(others);
        }
    }
    among.retain(|_, ids| !ids.is_empty());
    among
}
