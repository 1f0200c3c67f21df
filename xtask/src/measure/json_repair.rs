//! The set `json_repair`: malformed tool arguments, repaired by all means.

use std::path::Path;

use agcore::llm::arguments;
use anyhow::Result;
use serde::Deserialize;
use serde_json::json;

use super::{Predicted, lines};

#[derive(Deserialize)]
struct Case {
    id: String,
    input: String,
}

pub(crate) fn predict(data: &Path) -> Result<Vec<Predicted>> {
    let file = data.join("cases.jsonl");
    let cases: Vec<Case> = lines(&file)?;
    let predict = |case: &Case| match arguments::repair(&case.input) {
        Some((value, _)) => json!({"id": case.id, "value": value}).to_string(),
        None => json!({"id": case.id, "error": "no JSON in it"}).to_string(),
    };
    Ok(vec![Predicted { inputs: vec![file], lines: cases.iter().map(predict).collect(), args: Vec::new() }])
}
