//! From rule files to rules.

use std::collections::HashMap;

use super::{
    condition::compile_all,
    decision::{Outcome, Stage},
    error::{PolicyError, RuleProblem, nearest},
    example::Example,
    gate::Gate,
    rule::{Rule, RuleFile, RuleSpec},
};
use crate::types::{RuleId, sha256_name, texts_hash};

/// The examples of a file, and how many rules there are up to its end.
pub(super) struct FileExamples {
    pub(super) file: String,
    pub(super) rules: std::ops::Range<usize>,
    pub(super) examples: Vec<Example>,
}

/// Reads files in order.
pub(super) fn load(files: &[(&str, &str)]) -> Result<(Gate, Vec<FileExamples>), PolicyError> {
    let mut specs: Vec<(&str, RuleSpec)> = Vec::new();
    let mut examples = Vec::new();
    for (file, text) in files {
        let parsed = read(file, text)?;
        let first = specs.len();
        specs.extend(parsed.rules.into_iter().flatten().map(|spec| (*file, spec)));
        examples.push(FileExamples {
            file: (*file).to_owned(),
            rules: first..specs.len(),
            examples: parsed.examples.unwrap_or_default(),
        });
    }
    let sources: Vec<_> = specs.iter().map(|(_, spec)| spec.when.as_deref()).collect();
    let conditions = compile_all(&sources)?;
    let positions = positions(&specs)?;
    let ends: HashMap<&str, usize> = examples.iter().map(|file| (file.file.as_str(), file.rules.end)).collect();
    let mut rules = Vec::with_capacity(specs.len());
    for ((file, spec), condition) in specs.into_iter().zip(conditions) {
        let refuse = |problem| PolicyError::Rule { file: file.to_owned(), rule: spec.id.to_string(), problem };
        check_shape(&spec).map_err(refuse)?;
        let end = ends.get(file).copied().unwrap_or_default();
        let lifts: Result<_, _> = spec.lifts.iter().map(|name| position_of(name, &positions, end)).collect();
        rules.push(Rule {
            when: condition.transpose().map_err(refuse)?,
            lifts: lifts.map_err(refuse)?,
            id: spec.id,
            file: file.to_owned(),
            matches: spec.matches,
            then: spec.then,
            because: spec.because,
            floor: spec.floor,
            shadow: spec.shadow,
        });
    }
    check_lifts(&rules)?;
    Ok((Gate::new(rules, sha256_name(&texts_hash(files)).into())?, examples))
}

fn read(file: &str, text: &str) -> Result<RuleFile, PolicyError> {
    let options = serde_saphyr::options! { with_snippet: false };
    serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| PolicyError::Yaml { file: file.to_owned(), message: error.to_string() })
}

/// The position of every rule, by id.
fn positions(specs: &[(&str, RuleSpec)]) -> Result<HashMap<RuleId, usize>, PolicyError> {
    let mut positions: HashMap<RuleId, usize> = HashMap::with_capacity(specs.len());
    for (at, (file, spec)) in specs.iter().enumerate() {
        if let Some(earlier) = positions.insert(spec.id.clone(), at) {
            let earlier = specs.get(earlier).map_or(*file, |(file, _)| *file);
            return Err(PolicyError::Rule {
                file: (*file).to_owned(),
                rule: spec.id.to_string(),
                problem: RuleProblem::Duplicate(earlier.to_owned()),
            });
        }
    }
    Ok(positions)
}

/// The position of a rule that may be lifted from a file whose rules end at `end`.
fn position_of(name: &RuleId, positions: &HashMap<RuleId, usize>, end: usize) -> Result<usize, RuleProblem> {
    positions.get(name).copied().filter(|at| *at < end).ok_or_else(|| RuleProblem::UnknownLift {
        name: name.to_string(),
        nearest: nearest(name.as_str(), positions.iter().filter(|(_, at)| **at < end).map(|(id, _)| id.as_str())),
    })
}

fn check_shape(spec: &RuleSpec) -> Result<(), RuleProblem> {
    if spec.id.as_str().starts_with("builtin.") {
        return Err(RuleProblem::Reserved);
    }
    if spec.because.trim().is_empty() {
        return Err(RuleProblem::NoReason);
    }
    if spec.then.outcome.is_none() && spec.then.obligations.is_empty() && spec.lifts.is_empty() {
        return Err(RuleProblem::Nothing);
    }
    if spec.floor && !matches!(spec.then.outcome, Some(Outcome::Ask | Outcome::Deny)) {
        return Err(RuleProblem::HollowFloor);
    }
    if spec.shadow && (spec.floor || !spec.lifts.is_empty()) {
        return Err(RuleProblem::HeavyShadow);
    }
    if spec.matches.stage == Some(Stage::Expose) {
        return Err(RuleProblem::ExposeOnly);
    }
    Ok(())
}

/// Holds what lifting promises: floors stay, a lift is never lifted itself, and nothing that was hidden is called.
fn check_lifts(rules: &[Rule]) -> Result<(), PolicyError> {
    for rule in rules {
        for target in rule.lifts.iter().filter_map(|at| rules.get(*at)) {
            let name = target.id.to_string();
            let problem = if target.floor {
                RuleProblem::LiftsFloor(name)
            } else if !target.lifts.is_empty() {
                RuleProblem::LiftsLifter(name)
            } else if rule.dispatch_only() && !target.dispatch_only() && target.then.outcome == Some(Outcome::Deny) {
                RuleProblem::LiftsHiding(name)
            } else {
                continue;
            };
            return Err(PolicyError::Rule { file: rule.file.clone(), rule: rule.id.to_string(), problem });
        }
    }
    Ok(())
}
