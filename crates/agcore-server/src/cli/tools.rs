//! `agcore tools`: list, show and check capabilities.

mod pins;

use std::path::Path;

use agcore::{
    capability::{Finding, Origin, Registry, Severity, lint, lint_references},
    intent::need::{self, ToolBrief, ToolNeed},
};
use anyhow::{Context, Result, bail};
use clap::Subcommand;

use super::{Global, exit, screen, setup};

#[derive(Debug, Subcommand)]
pub(crate) enum Tools {
    /// List the capabilities, by intent
    List {
        /// Only intents or ids that hold this text
        filter: Option<String>,
    },
    /// Show the whole contract of a capability
    Show {
        /// Its id
        id: String,
    },
    /// Check names, schemas and contracts, and say what to do better
    Lint,
    /// List what comes from outside: agreed to, new, changed; with an id what changed
    Pins {
        /// Only this one, with its contract or what changed of it
        id: Option<String>,
    },
    /// Agree to the definition of a capability from outside, as it is now
    Approve(pins::Approve),
    /// Take that back: the capability is held back until somebody agrees to it again
    Withdraw(pins::Withdraw),
}

pub(crate) async fn run(global: &Global, command: Tools) -> Result<u8> {
    let config = setup::config(global, &setup::ModelArgs::default())?;
    let registry = setup::registry(global, &config).await?;
    match command {
        Tools::Pins { id } => pins::list(global, &registry, id.as_deref()),
        Tools::Approve(approve) => pins::approve(global, approve).await,
        Tools::Withdraw(withdraw) => pins::withdraw(global, withdraw).await,
        Tools::List { filter } => list(global, &registry, filter.as_deref()),
        Tools::Show { id } => show(global, &registry, &id),
        Tools::Lint => check(global, &registry),
    }
}

fn list(global: &Global, registry: &Registry, filter: Option<&str>) -> Result<u8> {
    let wanted = |id: &str, intent: &str| filter.is_none_or(|text| id.contains(text) || intent.contains(text));
    let mut found: Vec<_> =
        registry.iter().filter(|c| wanted(c.id.as_str(), c.intent.as_str())).map(AsRef::as_ref).collect();
    found.sort_by(|a, b| (&a.intent, &a.id).cmp(&(&b.intent, &b.id)));
    if global.json {
        screen::json(&found)?;
        return Ok(exit::OK);
    }
    for capability in &found {
        let first = capability.description.lines().next().unwrap_or_default();
        screen::line(format!(
            "{:<20} {:<28} {:<17} {:<15} {first}",
            capability.intent, capability.id, capability.execution.mode, capability.governance.risk_class
        ));
    }
    for quarantined in registry.quarantined() {
        screen::line(format!("quarantined: {quarantined}"));
    }
    for external in registry.external().iter().filter(|external| !external.standing.holds()) {
        let id = &external.capability.id;
        screen::line(format!(
            "held back: {id} ({}); look at it with `agcore tools pins {id}`",
            external.standing.as_str()
        ));
    }
    if found.is_empty() {
        screen::line("nothing matches");
    }
    Ok(exit::OK)
}

fn show(global: &Global, registry: &Registry, id: &str) -> Result<u8> {
    let Some(capability) = registry.get(id) else { bail!("there is no capability `{id}`; see `agcore tools list`") };
    if global.json {
        screen::json(capability.as_ref())?;
    } else {
        screen::line(serde_saphyr::to_string(capability.as_ref())?.trim_end());
    }
    Ok(exit::OK)
}

fn check(global: &Global, registry: &Registry) -> Result<u8> {
    let of_each = registry.iter().flat_map(|capability| {
        lint(capability, Origin::of(capability)).into_iter().map(|finding| (capability.id.to_string(), finding))
    });
    let between = lint_references(registry).into_iter().map(|(id, finding)| (id.to_string(), finding));
    let findings: Vec<(String, Finding)> = of_each.chain(between).collect();
    let errors = findings.iter().filter(|(_, finding)| finding.severity == Severity::Error).count();
    let errors = errors + registry.quarantined().len();
    if global.json {
        let documents: Vec<_> =
            findings.iter().map(|(id, finding)| serde_json::json!({"capability": id, "finding": finding})).collect();
        screen::json(&documents)?;
    } else {
        for (id, finding) in &findings {
            screen::line(format!("{id}: {finding}"));
        }
        for quarantined in registry.quarantined() {
            screen::line(format!("quarantined: {quarantined}"));
        }
        screen::line(format!("{} capabilities, {} findings, {errors} errors", registry.len(), findings.len()));
    }
    Ok(if errors == 0 { exit::OK } else { exit::FAILED })
}

/// A tool as the file has it; providers call the schema `parameters`, MCP servers `inputSchema`.
#[derive(Debug, serde::Deserialize)]
struct Tool {
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default, alias = "parameters", alias = "inputSchema")]
    input_schema: serde_json::Value,
}

impl Tool {
    fn brief(&self) -> ToolBrief<'_> {
        ToolBrief { name: &self.name, description: &self.description, schema: &self.input_schema }
    }
}

/// With tools given: call one, ask for what is missing, or use none.
pub(crate) fn assess(global: &Global, text: &str, file: &Path) -> Result<u8> {
    let json = std::fs::read_to_string(file).with_context(|| format!("cannot read `{}`", file.display()))?;
    let tools: Vec<Tool> =
        serde_json::from_str(&json).with_context(|| format!("`{}` is no array of tools", file.display()))?;
    let briefs: Vec<ToolBrief<'_>> = tools.iter().map(Tool::brief).collect();
    let need = need::assess(text, &briefs);
    if global.json {
        screen::json(&need)?;
        return Ok(exit::OK);
    }
    screen::line(match &need {
        ToolNeed::Call { tool } => format!("call {tool}"),
        ToolNeed::Ask { tool, missing } => format!("ask: {tool} needs {}", missing.join(", ")),
        ToolNeed::NoTool => "no_tool".to_owned(),
    });
    Ok(exit::OK)
}
