//! Looks for instructions planted in data: results of tools, pages, mail, descriptions of foreign tools.
//!
//! A scan informs: it gives a score and says where it comes from. It never changes or deletes anything, and what scores low
//! is not thereby trusted; rules and fences hold without it.
//!
//! Each sentence is judged by its words (several languages), by the markup in it and by whether a command belongs where it
//! stands; the text gets the score of its worst sentence. Hidden characters and encoded texts are read as well. It takes time
//! linear in the text.

mod encoded;
mod hidden;
mod lexicon;
mod markup;
mod plain;
mod score;
mod sentence;
mod signal;

use std::ops::Range;

use serde::{Deserialize, Serialize};

use hidden::Hidden;
use lexicon::Lexicon;
use plain::Plain;
use score::Context;
use sentence::Sentence;

/// What kind of thing was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// Earlier instructions are to be ignored, or there is a new task.
    Override,
    /// A role, a mode or an authority is claimed.
    Persona,
    /// A command to an assistant.
    Command,
    /// The answer of an assistant is steered.
    Steer,
    /// Data is to leave.
    Exfiltration,
    /// Secrets are asked for.
    Credentials,
    /// Something is to be kept from the user.
    Secrecy,
    /// Pressure to act.
    Urgency,
    /// Harmful text is asked for.
    Harm,
    /// Markup of roles, templates or tool calls.
    Markup,
    /// Characters that nobody sees.
    Hidden,
    /// An instruction in an encoded text.
    Encoded,
}

/// Something that speaks for an instruction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// What kind.
    pub kind: Kind,
    /// Where, in bytes of the text; both ends lie between characters.
    pub span: Range<usize>,
    /// How much it weighs. The weights of a sentence add up, from -3; at 0 its score is 0.5.
    pub weight: f32,
    /// What it is, in words that follow "the text".
    pub what: String,
}

/// What a scan found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// From 0 (nothing speaks for it) to 1 (an instruction); 0.5 is where it is taken for one.
    pub score: f32,
    /// The part of the text the score is for, in bytes.
    pub span: Option<Range<usize>>,
    /// Why, the weightiest first; sixteen at most.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Whether the text is taken to hold an instruction.
    pub fn is_suspicious(&self) -> bool {
        self.score >= THRESHOLD
    }

    /// The score in thousandths, as journals and rules keep it.
    pub fn thousandths(&self) -> u16 {
        // The score lies between 0 and 1.
        (self.score * 1000.0).round() as u16
    }

    /// One line for a warning: the score, the place and the weightiest reasons.
    pub fn summary(&self) -> String {
        let mut reasons: Vec<&str> = Vec::new();
        for finding in &self.findings {
            if reasons.len() < 3 && finding.weight > 0.0 && !reasons.contains(&finding.what.as_str()) {
                reasons.push(&finding.what);
            }
        }
        let place = self.span.as_ref().map_or_else(String::new, |span| format!(", bytes {}-{}", span.start, span.end));
        format!("it may hold instructions to a model (score {:.2}{place}): {}", self.score, reasons.join("; "))
    }
}

/// From this score on, a text is taken to hold an instruction.
pub const THRESHOLD: f32 = 0.5;

/// A shorter text holds no instruction in any language: `ok`, a number, a date.
const SHORTEST: usize = 12;
/// No more findings are reported.
const MOST_FINDINGS: usize = 16;
/// Sentences next to the worst one belong to it from this score on.
const NEXT: f32 = -2.2;
/// What is written in code and reads like an instruction was hidden on purpose.
const DECODED: f32 = 2.0;

/// Looks for planted instructions.
#[derive(Debug, Clone, Copy, Default)]
pub struct Scanner;

impl Scanner {
    /// Scans a text.
    pub fn scan(raw: &str) -> Report {
        if raw.len() < SHORTEST {
            return Report::default();
        }
        let mut scan = Scan::of(raw);
        let hidden = hidden::find(raw);
        for (text, range) in encoded::find(raw, &hidden) {
            let inner = Scan::of(&text);
            if inner.best > -2.0 {
                scan.raise(inner.best + DECODED, range, Kind::Encoded, "holds an instruction in an encoded text");
            }
        }
        scan.see_hidden(raw, &hidden);
        scan.report()
    }
}

/// A scan under way.
struct Scan {
    /// The score of the worst sentence; zero is the threshold.
    best: f32,
    span: Option<Range<usize>>,
    findings: Vec<Finding>,
}

impl Scan {
    fn of(raw: &str) -> Self {
        let plain = Plain::of(raw);
        let hits = Lexicon::shipped().hits(&plain.text);
        let marks = markup::find(&plain.text);
        let mut rest = hits.as_slice();
        let sentences: Vec<Sentence> = plain
            .sentences()
            .into_iter()
            .map(|range| {
                let (own, later) = rest.split_at(rest.partition_point(|hit| hit.start < range.end));
                rest = later;
                Sentence::read(&plain.text, range, own)
            })
            .collect();
        let context = Context::of(raw, &sentences);
        let mut scores: Vec<f32> = sentences.iter().enumerate().map(|(at, one)| context.score(at, one)).collect();
        let mut marked: Vec<Vec<&markup::Mark>> = vec![Vec::new(); sentences.len()];
        for (mark, range) in &marks {
            let at = sentences.partition_point(|one| one.range.end <= range.start);
            if let (Some(score), Some(seen)) = (scores.get_mut(at), marked.get_mut(at))
                && !seen.iter().any(|known| known.what == mark.what)
            {
                *score += mark.weight;
                seen.push(mark);
            }
        }
        corroborate(&mut scores);
        Self::collect(raw, &plain, &sentences, &scores, &marks)
    }

    fn collect(
        raw: &str,
        plain: &Plain,
        sentences: &[Sentence],
        scores: &[f32],
        marks: &[(&markup::Mark, Range<usize>)],
    ) -> Self {
        let worst = scores.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        let Some((worst, best)) = worst else { return Self { best: -9.0, span: None, findings: Vec::new() } };
        let belongs = |score: &&f32| **score >= NEXT;
        let before = scores.iter().take(worst).rev().take_while(belongs).count();
        let after = scores.iter().skip(worst + 1).take_while(belongs).count();
        let first = sentences.get(worst - before).map_or(0, |one| one.range.start);
        let last = sentences.get(worst + after).map_or(plain.text.len(), |one| one.range.end);
        let mut findings = Vec::new();
        for (one, score) in sentences.iter().zip(scores) {
            if *score < -1.0 {
                continue;
            }
            for (signal, range) in one.signals.iter().filter(|(signal, _)| signal.weight >= 0.5) {
                findings.push(Finding {
                    kind: signal.kind,
                    span: plain.original(range.clone()),
                    weight: signal.weight,
                    what: signal.what.to_owned(),
                });
            }
        }
        for (mark, range) in marks {
            let what = format!("holds {}", mark.what);
            findings.push(Finding { kind: mark.kind, span: plain.original(range.clone()), weight: mark.weight, what });
        }
        let mut span = plain.original(first..last);
        if sentences.get(worst).is_some_and(|one| one.has(lexicon::Class::Snippet)) {
            span.end += snippet(raw.get(span.end..).unwrap_or_default());
        }
        Self { best: *best, span: Some(span), findings }
    }

    fn raise(&mut self, score: f32, span: Range<usize>, kind: Kind, what: &str) {
        self.findings.push(Finding { kind, span: span.clone(), weight: score.max(0.5), what: what.to_owned() });
        if score > self.best {
            self.best = score;
            self.span = Some(span);
        }
    }

    /// Hidden characters: some raise the score by themselves, the rest add to what the words say.
    fn see_hidden(&mut self, raw: &str, hidden: &[(Hidden, Range<usize>)]) {
        let right_to_left = raw.chars().any(|c| matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fefc}'));
        let mut narrow = 0.0;
        for (kind, range) in hidden {
            match kind {
                Hidden::Tags => self.raise(1.5, range.clone(), Kind::Hidden, "holds letters that nobody sees"),
                Hidden::Direction if right_to_left => {}
                Hidden::Direction => self.raise(0.5, range.clone(), Kind::Hidden, "turns the direction of letters"),
                Hidden::NoWidth => {
                    narrow += 0.8;
                    let what = "holds characters without width inside words".to_owned();
                    self.findings.push(Finding { kind: Kind::Hidden, span: range.clone(), weight: 0.8, what });
                }
            }
        }
        self.best += f32::min(narrow, 2.4);
    }

    fn report(mut self) -> Report {
        self.findings.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.span.start.cmp(&b.span.start)));
        self.findings.truncate(MOST_FINDINGS);
        let score = 1.0 / (1.0 + (-self.best).exp());
        Report { score, span: self.span, findings: self.findings }
    }
}

/// Commands that stand together speak for each other.
fn corroborate(scores: &mut [f32]) {
    let alone = scores.to_vec();
    for (at, score) in scores.iter_mut().enumerate() {
        let before = at.checked_sub(1).and_then(|at| alone.get(at));
        let near = before.into_iter().chain(alone.get(at + 1)).copied().fold(-1.0, f32::max);
        *score += 0.3 * f32::min(near + 1.0, 3.0);
    }
}

/// How long the code block is that a text starts with.
fn snippet(text: &str) -> usize {
    let spaces = text.len() - text.trim_start().len();
    let Some(code) = text.trim_start().strip_prefix("```") else { return 0 };
    code.find("```").map_or(text.len(), |end| spaces + end + 6)
}

#[cfg(test)]
mod tests;
