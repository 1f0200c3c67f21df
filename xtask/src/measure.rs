//! Runs the product over a labelled set and scores it with the set's own script.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

mod intent_clinc150;
mod json_repair;
mod json_schema;
mod prompt_injection;
mod taint_agentdojo;
mod tool_need;
mod tool_search;
pub(crate) mod traffic;

/// A labelled set.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Set {
    /// Repair of malformed tool arguments
    JsonRepair,
    /// Argument validation and schema conversion
    JsonSchema,
    /// Instructions planted in data
    PromptInjection,
    /// Whether a tool is needed at all
    ToolNeed,
    /// Intent detection with out-of-scope queries
    IntentClinc150,
    /// Finding the right tool among many
    ToolSearch,
    /// Injected instructions against the shipped rules
    TaintAgentdojo,
    /// Reading recorded replies of every provider
    Traffic,
}

/// Prediction lines for one file of a split.
pub(crate) struct Predicted {
    /// The files the scoring script reads, in its order (joined by a comma when several).
    pub(crate) inputs: Vec<PathBuf>,
    /// The lines, as the header of the scoring script describes them.
    pub(crate) lines: Vec<String>,
    /// More arguments for the script.
    pub(crate) args: Vec<String>,
}

pub(crate) fn run(set: Set, data: &Path, out: Option<PathBuf>, score: Option<PathBuf>) -> Result<()> {
    ensure!(data.is_dir(), "`{}` is no folder; give a split such as ../shared/data/SET/dev", data.display());
    let (name, predicted) = match set {
        Set::JsonRepair => ("json_repair", json_repair::predict(data)?),
        Set::JsonSchema => ("json_schema", json_schema::predict(data)?),
        Set::PromptInjection => ("prompt_injection", prompt_injection::predict(data)?),
        Set::ToolNeed => ("tool_need", tool_need::predict(data)?),
        Set::IntentClinc150 => ("intent_clinc150", intent_clinc150::predict(data)?),
        Set::ToolSearch => ("tool_search", tool_search::predict(data)?),
        Set::TaintAgentdojo => ("taint_agentdojo", taint_agentdojo::predict(data)?),
        Set::Traffic => ("traffic", traffic::predict(data)?),
    };
    let script = score.unwrap_or_else(|| PathBuf::from(format!("../shared/tools/score_{name}.py")));
    let scratch = tempfile::tempdir()?;
    let many = predicted.len() > 1;
    for (number, file) in predicted.iter().enumerate() {
        let target = match &out {
            None => scratch.path().join(format!("{name}.{number}.jsonl")),
            Some(path) if many => path.with_extension(format!("{number}.jsonl")),
            Some(path) => path.clone(),
        };
        fs::write(&target, file.lines.join("\n") + "\n")
            .with_context(|| format!("cannot write `{}`", target.display()))?;
        score_one(&script, file, &target)?;
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the score is what the command is for")]
fn score_one(script: &Path, file: &Predicted, predictions: &Path) -> Result<()> {
    let inputs = file.inputs.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(",");
    println!("== {inputs}: {} predictions in {}", file.lines.len(), predictions.display());
    let status = Command::new("python3").arg(script).arg(&inputs).arg(predictions).args(&file.args).status();
    let status = status.with_context(|| format!("cannot run python3 {}", script.display()))?;
    ensure!(status.success(), "`{}` failed: {status}", script.display());
    Ok(())
}

/// Reads a JSON Lines file.
pub(crate) fn lines<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let parse = |(number, line): (usize, &str)| {
        serde_json::from_str(line).with_context(|| format!("{}:{}", path.display(), number + 1))
    };
    text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(parse).collect()
}
