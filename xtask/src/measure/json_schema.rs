//! The set `json_schema`: checking values against schemas, and converting hard schemas to each dialect.

use std::path::Path;

use agcore::llm::{
    arguments::{Draft, Formats, Validator},
    schema::{self, BackMap, SchemaDialect},
};
use anyhow::Result;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Predicted, lines};

#[derive(Deserialize)]
struct Case {
    id: String,
    #[serde(default)]
    family: String,
    schema: Value,
    tests: Vec<Test>,
}

#[derive(Deserialize)]
struct Test {
    data: Value,
}

#[derive(Deserialize)]
struct Hard {
    id: String,
    input_schema: Value,
}

pub(crate) fn predict(data: &Path) -> Result<Vec<Predicted>> {
    let mut predicted = Vec::new();
    for name in ["official_suite.jsonl", "schemas_with_tests.jsonl"] {
        let file = data.join(name);
        if file.is_file() {
            let cases: Vec<Case> = lines(&file)?;
            let lines = cases.iter().map(check).collect();
            predicted.push(Predicted { inputs: vec![file], lines, args: vec!["--fails".to_owned()] });
        }
    }
    let hard = data.join("mcp_hard_schemas.jsonl");
    if hard.is_file() {
        convert_all(&lines::<Hard>(&hard)?);
    }
    Ok(predicted)
}

/// The official suite takes a format as a remark, as the standard says; real schemas mean it.
fn check(case: &Case) -> String {
    let formats = if case.family.starts_with("official/") { Formats::Annotate } else { Formats::Assert };
    let values: Vec<Value> = case.tests.iter().map(|test| test.data.clone()).collect();
    let draft = if case.family == "official/draft7" { Draft::Draft7 } else { Draft::Named };
    match Validator::accepts(&case.schema, &values, draft, formats) {
        Ok(results) => json!({"id": case.id, "results": results}).to_string(),
        Err(error) => json!({"id": case.id, "error": error.to_string()}).to_string(),
    }
}

/// Converts each schema to each dialect, and samples of what the original accepts with it: the converted schema must
/// accept them too, and the way back must lead to the same arguments.
#[expect(clippy::print_stdout, reason = "the result of the measurement")]
fn convert_all(hard: &[Hard]) {
    println!("== conversion of {} schemas", hard.len());
    println!(
        "{:<16}{:>9}{:>8}{:>9}{:>9}{:>10}{:>10}",
        "dialect", "withheld", "strict", "degraded", "samples", "narrowed", "not_back"
    );
    for dialect in [SchemaDialect::OpenAiStrict, SchemaDialect::OpenAi, SchemaDialect::Anthropic, SchemaDialect::Gemini]
    {
        let mut sums = Sums::default();
        for case in hard {
            sums.add(case, dialect);
        }
        let name = format!("{dialect:?}");
        let Sums { withheld, strict, degraded, samples, narrowed, not_back } = sums;
        println!("{name:<16}{withheld:>9}{strict:>8}{degraded:>9}{samples:>9}{narrowed:>10}{not_back:>10}");
    }
}

#[derive(Default)]
struct Sums {
    withheld: usize,
    strict: usize,
    degraded: usize,
    samples: usize,
    narrowed: usize,
    not_back: usize,
}

impl Sums {
    #[expect(clippy::print_stdout, reason = "what went wrong is what the command is for")]
    fn add(&mut self, case: &Hard, dialect: SchemaDialect) {
        let converted = match schema::convert(&case.input_schema, dialect) {
            Ok(converted) => converted,
            Err(error) => {
                println!("{} withheld: {error}", case.id);
                self.withheld += 1;
                return;
            }
        };
        self.strict += usize::from(converted.strict);
        self.degraded += usize::from(converted.was("schema_degraded"));
        let Ok(back) = BackMap::of(&case.input_schema) else { return };
        let samples: Vec<Value> = (0..40).map(|seed| sample::arguments(&case.input_schema, seed)).collect();
        let Ok(valid) = Validator::accepts(&case.input_schema, &samples, Draft::Named, Formats::Annotate) else {
            return;
        };
        let samples: Vec<Value> =
            samples.into_iter().zip(valid).filter(|(_, valid)| *valid).map(|(value, _)| value).collect();
        let sent: Vec<Value> = samples.iter().map(|value| converted.express(value)).collect();
        let plain = sample::without_nullable(&converted.schema);
        let accepted = match Validator::accepts(&plain, &sent, Draft::Named, Formats::Annotate) {
            Ok(accepted) => accepted,
            Err(error) => {
                println!("{} {dialect:?}: the converted schema is invalid: {error}", case.id);
                self.narrowed += samples.len();
                return;
            }
        };
        for ((value, sent), accepted) in samples.iter().zip(sent).zip(accepted) {
            self.samples += 1;
            if !accepted {
                self.narrowed += 1;
                println!("{} {dialect:?} narrowed: {value} as {sent}", case.id);
            }
            let mut restored = sent.clone();
            back.restore(&mut restored);
            if !sample::same(&restored, value) {
                self.not_back += 1;
                println!("{} {dialect:?} not back: {value} became {restored}", case.id);
            }
        }
    }
}

mod sample;
