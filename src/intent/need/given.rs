//! Which of the given tools fits best, and how well.

use std::collections::HashSet;

use serde_json::Value;

use super::{
    ToolBrief,
    lexis::{Query, content, coverage, telling_name},
    missing,
};

/// The number of measures behind a fit.
pub const FEATURES: usize = 9;

/// How well the best tool fits a query, with the measures behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// The tool.
    pub tool: String,
    /// How likely it is the right one, 0–1.
    pub fit: f32,
    /// The measures: shares of the tool's name, of its description and of the description's first words that are in the
    /// query; shares of the query that are in name and description, and in these and the parameters; how far the
    /// second-best tool is behind; how many required parameters lack evidence; how many words of the query are in name
    /// and description, and how many are not.
    pub features: [f32; FEATURES],
}

/// Logistic weights of the measures, and the constant last.
///
/// Fitted 2026-11-30 on 1,457 labelled questions of BFCL v4 (Apache-2.0), ACEBench (MIT) and When2Call (NVIDIA,
/// questions from BFCL), classes balanced, by `cargo xtask measure tool_need`, which also prints how they do on each
/// source when they are fitted without it.
const WEIGHTS: [f32; FEATURES + 1] = [0.707, 1.848, 0.797, -4.093, 3.372, 0.810, -1.463, 0.468, -0.014, -1.557];

/// The tool that fits `query` best, with the measures; `None` without tools.
pub fn evidence(query: &str, tools: &[ToolBrief<'_>]) -> Option<Evidence> {
    best(&Query::new(query), tools).map(|(_, evidence)| evidence)
}

pub(super) fn best<'a, 't>(query: &Query, tools: &'a [ToolBrief<'t>]) -> Option<(&'a ToolBrief<'t>, Evidence)> {
    let mut first: Option<(&ToolBrief<'_>, Match)> = None;
    let mut second = 0.0_f32;
    for tool in tools {
        let found = Match::of(query, tool);
        match &first {
            Some((_, before)) if before.score >= found.score => second = second.max(found.score),
            Some((_, before)) => {
                second = second.max(before.score);
                first = Some((tool, found));
            }
            None => first = Some((tool, found)),
        }
    }
    let (tool, found) = first?;
    let margin = if tools.len() > 1 { found.score - second } else { 0.0 };
    let features = [
        found.name,
        found.description,
        found.opening,
        found.query_told,
        found.query_known,
        margin,
        found.lacking,
        found.hits,
        found.left,
    ];
    let evidence = Evidence { tool: tool.name.to_owned(), fit: logistic(&features), features };
    Some((tool, evidence))
}

fn logistic(features: &[f32; FEATURES]) -> f32 {
    let constant = WEIGHTS.last().copied().unwrap_or(0.0);
    let sum: f32 = features.iter().zip(WEIGHTS).map(|(feature, weight)| feature * weight).sum();
    1.0 / (1.0 + (-(sum + constant)).exp())
}

/// What a query and a tool share.
struct Match {
    name: f32,
    description: f32,
    opening: f32,
    query_told: f32,
    query_known: f32,
    lacking: f32,
    hits: f32,
    left: f32,
    score: f32,
}

impl Match {
    fn of(query: &Query, tool: &ToolBrief<'_>) -> Self {
        let described = content(tool.description);
        let told: HashSet<String> = content(tool.name).into_iter().chain(described.iter().cloned()).collect();
        let mut known = told.clone();
        parameter_words(tool.schema, &mut known, 0);
        let hits = query.words.iter().filter(|word| told.contains(*word)).count();
        let opening: Vec<String> = described.iter().take(6).cloned().collect();
        let mut found = Self {
            name: coverage(&telling_name(tool.name), &query.set),
            description: coverage(&described, &query.set),
            opening: coverage(&opening, &query.set),
            query_told: query.covered_by(&told),
            query_known: query.covered_by(&known),
            lacking: missing::lacking(query, tool.schema, query.words.len() - hits),
            hits: hits as f32,
            left: (query.words.len() - hits) as f32,
            score: 0.0,
        };
        found.score = 2.0 * found.name
            + 1.5 * found.description
            + found.query_told
            + 0.5 * found.opening
            + 0.5 * found.query_known
            - 0.1 * found.lacking;
        found
    }
}

/// Schemas deeper than this are not looked into.
const MAX_DEPTH: usize = 8;

/// The words of all parameters: names, descriptions, values to choose from.
fn parameter_words(schema: &Value, words: &mut HashSet<String>, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    for (name, spec) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        words.extend(content(name));
        words.extend(spec.get("description").and_then(Value::as_str).map(content).unwrap_or_default());
        let choices = spec.get("enum").and_then(Value::as_array).into_iter().flatten();
        choices.filter_map(Value::as_str).for_each(|choice| words.extend(content(choice)));
        parameter_words(spec, words, depth + 1);
        if let Some(items) = spec.get("items") {
            parameter_words(items, words, depth + 1);
        }
    }
}
