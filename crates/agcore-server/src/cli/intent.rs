//! `agcore intent`: which intents a text has, and whether it must be looked up.

use agcore::{
    intent::{Detector, Input},
    types::Intent,
};
use anyhow::Result;
use clap::Args;

use super::{Global, exit, screen};

#[derive(Debug, Args)]
pub(crate) struct IntentArgs {
    /// The text, as a user would say it
    text: String,
    /// An intent of the turn before, for follow-up questions
    #[arg(long, value_name = "INTENT")]
    history: Vec<Intent>,
    /// A file with tools (a JSON array of {name, description, input_schema}): say whether to call one, ask for a
    /// missing parameter, or use none
    #[arg(long, value_name = "FILE")]
    tools: Option<std::path::PathBuf>,
}

pub(crate) fn run(global: &Global, args: IntentArgs) -> Result<u8> {
    if let Some(file) = &args.tools {
        return super::tools::assess(global, &args.text, file);
    }
    let report = Detector::embedded().detect(&Input { text: &args.text, declared: &[], history: &args.history });
    if global.json {
        screen::json(&report)?;
        return Ok(exit::OK);
    }
    if report.intents.is_empty() {
        screen::line("no intent: a model can answer this without a tool");
    }
    for found in &report.intents {
        screen::line(format!("{:<22} {:.2}  {}", found.intent, found.confidence, found.because));
    }
    screen::line(format!("trigger: {} ({})", report.trigger, report.trigger_because));
    Ok(exit::OK)
}
