//! Does a question need a tool at all?

use std::sync::LazyLock;

use super::super::{
    Detector, Input, hash,
    words::{is_cjk, words},
};
use crate::types::Trigger;

/// A power of two: features share weights by the low bits of their hash.
const BUCKETS: usize = 16_384;
const EPOCHS: u32 = 30;
const RATE: f32 = 0.3;
/// How much a weight shrinks each time it is used.
const DECAY: f32 = 0.02;
/// One step of a stored weight.
const STEP: f32 = 0.05;
/// Stored weights are characters from `!` (−46) over `O` (0) to `}` (46).
const ZERO: u8 = b'O';
const MOST: f32 = 46.0;
/// Questions are cut here.
const MAX_WORDS: usize = 200;

/// A linear model over hashed words and pairs of words. It has no vocabulary, so it holds no text it was fitted on.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    weights: Vec<f32>,
}

impl Model {
    /// The shipped model; its file says what it was fitted on.
    pub fn shipped() -> &'static Self {
        static SHIPPED: LazyLock<Model> =
            LazyLock::new(|| Model::from_text(include_str!("../../../catalog/tool-need.weights")));
        &SHIPPED
    }

    /// Fits a model to questions and whether each needs a tool, by stochastic gradient descent in the given order.
    /// Equal questions give an equal model. Weights are rounded to what [`Model::to_text`] can say.
    pub fn train(questions: &[(&str, bool)]) -> Self {
        let features: Vec<Vec<usize>> = questions.iter().map(|(text, _)| features(text)).collect();
        let mut weights = vec![0.0_f32; BUCKETS + 1];
        for epoch in 0..EPOCHS {
            let rate = RATE / (1.0 + epoch as f32 / 4.0);
            for (features, (_, needed)) in features.iter().zip(questions) {
                let error = (if *needed { 1.0 } else { 0.0 }) - share(&weights, features);
                let scale = rate * error * SCALE / (features.len() as f32).sqrt();
                for feature in features {
                    if let Some(weight) = weights.get_mut(*feature) {
                        *weight += scale - rate * DECAY * *weight;
                    }
                }
            }
        }
        let model = Self { weights };
        Self::from_text(&model.to_text())
    }

    /// The weights as printable text.
    pub fn to_text(&self) -> String {
        let code = |weight: &f32| {
            let step = (weight / STEP).round().clamp(-MOST, MOST);
            #[expect(clippy::cast_possible_truncation, reason = "clamped to a byte")]
            let step = step as i8;
            char::from(ZERO.saturating_add_signed(step))
        };
        let codes: String = self.weights.iter().map(code).collect();
        let mut lines = String::new();
        for (at, c) in codes.chars().enumerate() {
            lines.push(c);
            if at % 120 == 119 {
                lines.push('\n');
            }
        }
        lines
    }

    /// Reads what [`Model::to_text`] wrote; lines that begin with `# ` are comments. What is missing counts as zero.
    pub fn from_text(text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with("# "));
        let codes = lines.flat_map(str::bytes).take(BUCKETS + 1);
        let mut weights: Vec<f32> = codes.map(|code| (f32::from(code) - f32::from(ZERO)) * STEP).collect();
        weights.resize(BUCKETS + 1, 0.0);
        Self { weights }
    }

    /// How much a question needs a tool, 0–1; needed from 0.5 on.
    pub fn score(&self, question: &str) -> f32 {
        if question.contains(is_cjk) {
            return by_rules(question);
        }
        share(&self.weights, &features(question))
    }
}

/// The detector's word on a question in a language the model has not seen.
fn by_rules(question: &str) -> f32 {
    let report = Detector::embedded().detect(&Input { text: question, ..Input::default() });
    match (report.trigger, report.intents.first()) {
        (Trigger::Forbidden, _) => 0.1,
        (Trigger::Required, _) => 0.9,
        (Trigger::Auto, Some(surest)) => surest.confidence.max(0.5),
        (Trigger::Auto, None) => 0.3,
    }
}

fn share(weights: &[f32], features: &[usize]) -> f32 {
    let sum: f32 = features.iter().filter_map(|feature| weights.get(*feature)).sum();
    1.0 / (1.0 + (-sum / (features.len() as f32).sqrt() * SCALE).exp())
}

/// Features are spread over the length of a question; this brings their sum back to a useful size.
const SCALE: f32 = 4.0;

/// The buckets of a question: its words, its pairs of words and some punctuation, each once, and the constant.
fn features(question: &str) -> Vec<usize> {
    let lower = question.to_lowercase();
    let mut found = vec![BUCKETS];
    let mut before = "^";
    for word in words(&lower).take(MAX_WORDS) {
        found.push(bucket(&["w", word]));
        found.push(bucket(&["p", before, word]));
        before = word;
    }
    found.extend(
        ["?", "!", ":", "{", "\n", "\""].iter().filter(|mark| lower.contains(**mark)).map(|mark| bucket(&["m", mark])),
    );
    found.sort_unstable();
    found.dedup();
    found
}

fn bucket(parts: &[&str]) -> usize {
    let [kind, one, other] = [0, 1, 2].map(|at| parts.get(at).map_or(&b""[..], |part| part.as_bytes()));
    (hash::of(&[kind, one, other]) % BUCKETS as u64) as usize
}
