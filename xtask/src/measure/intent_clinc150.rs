//! The set `intent_clinc150`: the product's lexical classifier, trained on `train.jsonl` beside the split.

use std::path::Path;

use agcore::intent::{Classifier, Guess, Labelled};
use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::json;

use super::{Predicted, lines};

/// The name of what is none of the intents.
const OUT_OF_SCOPE: &str = "oos";

#[derive(Deserialize)]
struct Query {
    text: String,
    intent: String,
}

impl Query {
    fn labelled(&self) -> Labelled<'_> {
        Labelled { label: &self.intent, text: &self.text }
    }
}

pub(crate) fn predict(data: &Path) -> Result<Vec<Predicted>> {
    let above = data.parent().context("the split has no folder above it")?;
    let train: Vec<Query> = lines(&above.join("train.jsonl"))?;
    let examples: Vec<_> = train.iter().map(Query::labelled).collect();
    let classifier = Classifier::train(&examples);
    let path = data.join("queries.jsonl");
    let queries: Vec<Query> = lines(&path)?;
    let guess = |query: &Query| {
        let guess = classifier.classify(&query.text).filter(Guess::is_in_scope);
        json!({"intent": guess.map_or(OUT_OF_SCOPE, |guess| guess.label)}).to_string()
    };
    Ok(vec![Predicted { inputs: vec![path], lines: queries.iter().map(guess).collect(), args: Vec::new() }])
}
