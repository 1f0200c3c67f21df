//! `agcore policy`: run the examples of the rules, explain one decision, look rules over, try new ones on past turns.

use std::fs;

use agcore::{
    config::Config,
    policy::{Gate, Given, check},
    turn,
};
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
    /// Look for rules that load and can speak of nothing
    Lint,
    /// Decide the calls of past turns again, with more rules: what would have been said otherwise
    Simulate {
        /// A file of rules to add to those in force; may be given several times
        #[arg(long, value_name = "FILE", required = true)]
        with: Vec<std::path::PathBuf>,
        /// At most this many turns, the latest first
        #[arg(long, default_value_t = 1000)]
        limit: u32,
    },
}

pub(crate) async fn run(global: &Global, command: Policy) -> Result<u8> {
    let config = setup::config(global, &setup::ModelArgs::default())?;
    let files = setup::rule_files(global, &config)?;
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    match command {
        Policy::Test => test(global, &files),
        Policy::Explain { request } => explain(global, &files, &request),
        Policy::Lint => lint(global, &config, &files).await,
        Policy::Simulate { with, limit } => {
            let more = with.iter().map(|path| {
                let text = fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
                Ok((path.display().to_string(), text))
            });
            let more: Vec<(String, String)> = more.collect::<Result<_>>()?;
            let all = files.iter().copied().chain(more.iter().map(|(name, text)| (name.as_str(), text.as_str())));
            simulate(global, &config, &all.collect::<Vec<_>>(), limit).await
        }
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

async fn lint(global: &Global, config: &Config, files: &[(&str, &str)]) -> Result<u8> {
    let findings = Gate::load(files)?.lint(&setup::registry(global, config).await?);
    if global.json {
        screen::json(&findings)?;
    } else {
        for finding in &findings {
            screen::line(format!("{}: `{}`: {}", finding.file, finding.rule, finding.problem));
        }
        screen::line(format!("{} findings", findings.len()));
    }
    Ok(if findings.is_empty() { exit::OK } else { exit::FAILED })
}

async fn simulate(global: &Global, config: &Config, files: &[(&str, &str)], limit: u32) -> Result<u8> {
    let (gate, registry) = (Gate::load(files)?, setup::registry(global, config).await?);
    let runtime = setup::runtime(global, &setup::ModelArgs::default()).await?.runtime;
    let (mut turns, mut calls, mut changed) = (0, 0, Vec::new());
    for head in runtime.turns(limit).await? {
        let (decided, other) = turn::simulate(&runtime.journal(&head.turn).await?, &registry, &gate)?;
        turns += 1;
        calls += decided;
        changed.extend(other);
    }
    if global.json {
        screen::json(&serde_json::json!({"turns": turns, "calls": calls, "changed": changed}))?;
        return Ok(exit::OK);
    }
    for change in &changed {
        let rule = change.after_rule.as_ref().map_or("the default", |rule| rule.as_str());
        let (before, after) = (change.before.as_str(), change.after.as_str());
        screen::line(format!(
            "{}  {}  {}: {before} -> {after} ({rule}: {})",
            change.turn, change.call, change.capability, change.because
        ));
    }
    screen::line(format!("{calls} calls of {turns} turns decided again, {} otherwise", changed.len()));
    Ok(exit::OK)
}
