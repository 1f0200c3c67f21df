//! Should a tool be used, and can it be?
//!
//! With tools given, [`assess`] says whether to call one, to ask for what is missing first, or to use none. Without
//! tools, [`needs_tool`] says whether a question needs one at all. Both are lexical: they compare words, they do not
//! understand them. A model's own choice is better; they serve where there is none (the extractive provider, routing,
//! `agcore intent --tools`), and as a cheap second opinion.

mod given;
mod lexis;
mod missing;
mod standalone;
mod wrong;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use given::{Evidence, FEATURES, evidence};
pub use standalone::Model;

/// What a tool says of itself.
#[derive(Debug, Clone, Copy)]
pub struct ToolBrief<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it does.
    pub description: &'a str,
    /// The JSON Schema of its arguments.
    pub schema: &'a Value,
}

/// What to do with the tools at hand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolNeed {
    /// This tool fits, and its required parameters can be filled.
    Call {
        /// The tool.
        tool: String,
    },
    /// This tool fits, but the user has to say more first.
    Ask {
        /// The tool.
        tool: String,
        /// The parameters that are missing, or whose given value the schema does not allow.
        missing: Vec<String>,
    },
    /// None of the tools fits.
    NoTool,
}

/// What to do about `query` with these tools. Total: any text and any schema give an answer, the same one every time.
///
/// The best tool is the one whose name, description and parameters share most with the query. Whether it is good enough
/// is a logistic formula over nine measures of that; whether something is missing or wrong is told by rules: a number,
/// date or identifier that is required and nowhere in the query, a value that breaks the `pattern`, range or calendar.
pub fn assess(query: &str, tools: &[ToolBrief<'_>]) -> ToolNeed {
    let query = lexis::Query::new(query);
    let Some((best, evidence)) = given::best(&query, tools) else { return ToolNeed::NoTool };
    let tool = best.name.to_owned();
    let mut missing = wrong::values(&query, best.schema);
    if evidence.fit < if missing.is_empty() { 0.5 } else { 0.2 } {
        return ToolNeed::NoTool;
    }
    if missing.is_empty() {
        missing = missing::parameters(&query, best);
    }
    if missing.is_empty() { ToolNeed::Call { tool } } else { ToolNeed::Ask { tool, missing } }
}

/// How much a question needs a tool at all (0–1, needed from 0.5 on) when it is not known which tools there are.
///
/// English is judged by a small linear model fitted on public data (see `catalog/tool-need.weights`). It has seen no
/// Chinese: there the rules of the detector decide alone.
pub fn needs_tool(query: &str) -> f32 {
    Model::shipped().score(query)
}
