//! The set `prompt_injection`: instructions planted in data, and honest text that looks like one.

use std::path::Path;

use agcore::scan::Scanner;
use anyhow::Result;
use serde::Deserialize;
use serde_json::json;

use super::{Predicted, lines};

#[derive(Deserialize)]
struct Sample {
    id: String,
    text: String,
}

pub(crate) fn predict(data: &Path) -> Result<Vec<Predicted>> {
    let path = data.join("samples.jsonl");
    let samples: Vec<Sample> = lines(&path)?;
    let line = |sample: &Sample| {
        let report = Scanner::scan(&sample.text);
        // The scoring script counts in characters.
        let place = |at: usize| sample.text.get(..at).map_or(0, |before| before.chars().count());
        let span = report.span.map(|span| [place(span.start), place(span.end)]);
        json!({"id": sample.id, "score": report.score, "span": span}).to_string()
    };
    let lines = samples.iter().map(line).collect();
    Ok(vec![Predicted { inputs: vec![path], lines, args: Vec::new() }])
}
