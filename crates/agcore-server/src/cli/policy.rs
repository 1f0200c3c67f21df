//! `agcore policy`: run the examples of the rules, explain one decision.

use agcore::policy::{Gate, Given, check};
use anyhow::{Context, Result};
use clap::Subcommand;

use super::{Global, exit, screen, setup};

#[derive(Debug, Subcommand)]
pub(crate) enum Policy {
    /// Load every rule file and run its examples
    Test,
    /// Explain one decision: which rules match, which decides, and why
    #[command(after_help = "Example:
  agcore policy explain '{capability: {id: crm.refund, risk: business_write}, args: {amount: 500}}'")]
    Explain {
        /// The request in YAML or JSON: `capability` (id, risk, intent …), and where they matter `principal`, `turn`, `args`
        request: String,
    },
}

pub(crate) fn run(global: &Global, command: Policy) -> Result<u8> {
    let config = setup::config(global, &setup::ModelArgs::default())?;
    let files = setup::rule_files(global, &config)?;
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    match command {
        Policy::Test => test(global, &files),
        Policy::Explain { request } => explain(global, &files, &request),
    }
}

fn test(global: &Global, files: &[(&str, &str)]) -> Result<u8> {
    let report = check(files)?;
    if global.json {
        screen::json(&report)?;
    } else {
        for failure in &report.failed {
            screen::line(format!("failed: {failure}"));
        }
        screen::line(format!("{} examples passed, {} failed", report.passed, report.failed.len()));
    }
    Ok(if report.failed.is_empty() { exit::OK } else { exit::FAILED })
}

fn explain(global: &Global, files: &[(&str, &str)], request: &str) -> Result<u8> {
    let gate = Gate::load(files)?;
    let question = Given::parse("the request", request)?.build().context("the request cannot be asked")?;
    let decision = question.ask(&gate);
    if global.json {
        screen::json(&decision)?;
    } else {
        screen::line(gate.explain(&decision, &question.request()).trim_end());
    }
    Ok(exit::OK)
}
