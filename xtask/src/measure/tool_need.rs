//! The set `tool_need`: does a question need a tool at all, and with tools given, what is to be done?
//!
//! Besides the predictions, it fits the shipped weights again and prints them with how they do on questions they were
//! not fitted on: part by part, and source by source.

use std::{collections::BTreeSet, path::Path};

use agcore::intent::need::{FEATURES, Model, ToolBrief, ToolNeed, assess, evidence, needs_tool};
use anyhow::Result;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Predicted, lines};

#[derive(Deserialize)]
struct Question {
    id: String,
    query: String,
    tool_needed: bool,
}

#[derive(Deserialize)]
struct Task {
    id: String,
    query: String,
    tools: Vec<Tool>,
    label: String,
    source: String,
}

#[derive(Deserialize)]
struct Tool {
    name: String,
    description: Option<String>,
    input_schema: Value,
}

impl Task {
    fn briefs(&self) -> Vec<ToolBrief<'_>> {
        self.tools.iter().map(Tool::brief).collect()
    }

    /// The source without the name of its part, but with the two kinds of BFCL apart.
    fn family(&self) -> &'static str {
        match self.source.as_str() {
            source if source.contains("live") => "BFCL live",
            source if source.starts_with("BFCL") => "BFCL",
            source if source.starts_with("ACE") => "ACEBench",
            _ => "When2Call",
        }
    }
}

impl Tool {
    fn brief(&self) -> ToolBrief<'_> {
        ToolBrief {
            name: &self.name,
            description: self.description.as_deref().unwrap_or_default(),
            schema: &self.input_schema,
        }
    }
}

pub(crate) fn predict(data: &Path) -> Result<Vec<Predicted>> {
    let (alone, given) = (data.join("standalone.jsonl"), data.join("given_tools.jsonl"));
    let questions: Vec<Question> = lines(&alone)?;
    let tasks: Vec<Task> = lines(&given)?;
    validate_alone(&questions);
    validate_given(&tasks);
    let one =
        |question: &Question| json!({"id": question.id, "tool_needed": needs_tool(&question.query) >= 0.5}).to_string();
    let other = |task: &Task| {
        let (label, tool) = match assess(&task.query, &task.briefs()) {
            ToolNeed::Call { tool } => ("call", Some(tool)),
            ToolNeed::Ask { tool, .. } => ("ask", Some(tool)),
            ToolNeed::NoTool => ("no_tool", None),
        };
        json!({"id": task.id, "label": label, "tool": tool}).to_string()
    };
    let predicted = |path, lines| Predicted { inputs: vec![path], lines, args: Vec::new() };
    Ok(vec![predicted(alone, questions.iter().map(one).collect()), predicted(given, tasks.iter().map(other).collect())])
}

/// How many parts a cross-validation has.
const PARTS: usize = 8;

#[expect(clippy::print_stdout, reason = "the figures are what the command is for")]
fn validate_alone(questions: &[Question]) {
    let fit = |keep: &dyn Fn(usize) -> bool| {
        let chosen = questions.iter().enumerate().filter(|(number, _)| keep(*number));
        Model::train(&chosen.map(|(_, one)| (one.query.as_str(), one.tool_needed)).collect::<Vec<_>>())
    };
    let mut right = 0;
    for part in 0..PARTS {
        let model = fit(&|number| number % PARTS != part);
        let held = questions.iter().enumerate().filter(|(number, _)| number % PARTS == part);
        right += held.filter(|(_, one)| (model.score(&one.query) >= 0.5) == one.tool_needed).count();
    }
    println!("without tools, {PARTS} parts: {:.4} on questions not fitted on", share(right, questions.len()));
    let refitted = fit(&|_| true);
    println!("refitted model equals the shipped one: {}", refitted == *Model::shipped());
    if refitted != *Model::shipped() {
        println!("{}", refitted.to_text());
    }
}

#[expect(clippy::print_stdout, reason = "the figures are what the command is for")]
fn validate_given(tasks: &[Task]) {
    let rows: Vec<Row> = tasks.iter().filter_map(Row::of).collect();
    let tools: Vec<String> = rows.iter().map(|row| row.tools.clone()).collect::<BTreeSet<_>>().into_iter().collect();
    let part = |row: &Row| tools.binary_search(&row.tools).unwrap_or(0) % PARTS;
    let mut right = 0;
    for held in 0..PARTS {
        let weights = fit(rows.iter().filter(|row| part(row) != held));
        right += rows.iter().filter(|row| part(row) == held && row.is_right(&weights)).count();
    }
    println!("some tool fits, {PARTS} parts by tools: {:.4} on tools not fitted on", share(right, rows.len()));
    for family in rows.iter().map(|row| row.family).collect::<BTreeSet<_>>() {
        let weights = fit(rows.iter().filter(|row| row.family != family));
        let held: Vec<&Row> = rows.iter().filter(|row| row.family == family).collect();
        let right = held.iter().filter(|row| row.is_right(&weights)).count();
        println!("  {family}: {:.4} of {} when fitted without it", share(right, held.len()), held.len());
    }
    println!("refitted weights: {:.3?}", fit(rows.iter()));
}

fn share(some: usize, all: usize) -> f64 {
    some as f64 / all.max(1) as f64
}

/// A task as measures and whether some tool fits.
struct Row {
    features: [f64; FEATURES],
    fits: bool,
    family: &'static str,
    tools: String,
}

type Weights = [f64; FEATURES + 1];

impl Row {
    fn of(task: &Task) -> Option<Self> {
        let evidence = evidence(&task.query, &task.briefs())?;
        let mut tools: Vec<&str> = task.tools.iter().map(|tool| tool.name.as_str()).collect();
        tools.sort_unstable();
        Some(Self {
            features: evidence.features.map(f64::from),
            fits: task.label != "no_tool",
            family: task.family(),
            tools: tools.join(" "),
        })
    }

    fn score(&self, weights: &Weights) -> f64 {
        let sum: f64 = self.features.iter().zip(weights).map(|(feature, weight)| feature * weight).sum();
        1.0 / (1.0 + (-(sum + weights.last().copied().unwrap_or(0.0))).exp())
    }

    fn is_right(&self, weights: &Weights) -> bool {
        (self.score(weights) >= 0.5) == self.fits
    }
}

/// Logistic regression by gradient descent on standardised measures, classes balanced, lightly shrunk.
fn fit<'a>(rows: impl Iterator<Item = &'a Row>) -> Weights {
    let rows: Vec<&Row> = rows.collect();
    let count = rows.len().max(1) as f64;
    let over = |value: &dyn Fn(&Row) -> f64| rows.iter().map(|row| value(row)).sum::<f64>() / count;
    let at = |row: &Row, number: usize| row.features.get(number).copied().unwrap_or(0.0);
    let means: Vec<f64> = (0..FEATURES).map(|number| over(&|row| at(row, number))).collect();
    let spreads: Vec<f64> = means
        .iter()
        .enumerate()
        .map(|(number, mean)| over(&|row| (at(row, number) - mean).powi(2)).sqrt().max(1e-9))
        .collect();
    let scaled: Vec<Vec<f64>> = rows
        .iter()
        .map(|row| {
            row.features.iter().zip(&means).zip(&spreads).map(|((x, mean), spread)| (x - mean) / spread).collect()
        })
        .collect();
    let fitting = over(&|row| f64::from(u8::from(row.fits))).clamp(0.01, 0.99);
    let mut weights = vec![0.0; FEATURES];
    let mut constant = 0.0;
    for _ in 0..800 {
        let mut slopes = vec![0.0; FEATURES];
        let mut slope = 0.0;
        for (row, features) in rows.iter().zip(&scaled) {
            let sum: f64 = features.iter().zip(&weights).map(|(x, weight)| x * weight).sum();
            let error = f64::from(u8::from(row.fits)) - 1.0 / (1.0 + (-(sum + constant)).exp());
            let balanced = error * 0.5 / if row.fits { fitting } else { 1.0 - fitting };
            slope += balanced;
            slopes.iter_mut().zip(features).for_each(|(slope, x)| *slope += balanced * x);
        }
        constant += 0.5 * slope / count;
        weights.iter_mut().zip(&slopes).for_each(|(weight, slope)| *weight += 0.5 * (slope - 3.0 * *weight) / count);
    }
    let mut result = [0.0; FEATURES + 1];
    for (((target, weight), spread), mean) in result.iter_mut().zip(&weights).zip(&spreads).zip(&means) {
        *target = weight / spread;
        constant -= weight * mean / spread;
    }
    if let Some(last) = result.last_mut() {
        *last = constant;
    }
    result
}
