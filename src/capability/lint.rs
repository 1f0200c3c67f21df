//! Lint: what loads but should be better, and names that tell a model nothing.

use std::fmt;

use serde_json::Value;

use super::{check, contract::Capability, draft::placeholder, error::Problem, intents};
use crate::{
    scan::{self, Scanner},
    types::ExecutionMode,
};

/// Whose capability it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Of a catalog of ours: its names are ours to choose.
    Own,
    /// A tool of somebody else (an MCP server, a client): it keeps its name.
    Foreign,
}

impl Origin {
    /// The origin of a catalog entry: a remote MCP tool is somebody else's wherever it is declared.
    pub fn of(capability: &Capability) -> Self {
        match capability.execution.mode {
            ExecutionMode::McpRemote => Self::Foreign,
            ExecutionMode::ProviderHosted
            | ExecutionMode::RuntimeFunction
            | ExecutionMode::Sandboxed
            | ExecutionMode::HumanApproval => Self::Own,
        }
    }
}

/// How bad a finding is.
#[derive(serde::Serialize, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It works, but should be better.
    Warning,
    /// It is refused in a catalog of ours.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// One thing that lint found.
#[derive(serde::Serialize, Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// A stable word for it, e.g. `generic_name`.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl Finding {
    pub(super) fn new(severity: Severity, problem: Problem) -> Self {
        Self { severity, code: problem.code, message: problem.message, hint: problem.hint }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]: {}", self.severity, self.code, self.message)?;
        self.hint.iter().try_for_each(|hint| write!(f, "; {hint}"))
    }
}

/// Words that name no action in particular, each with a name that does better.
const VAGUE_ACTIONS: &[(&str, &str)] = &[
    ("search", "loki.search_logs"),
    ("find", "loki.search_logs"),
    ("lookup", "orders.get_by_id"),
    ("query", "prometheus.query_range"),
    ("get", "orders.get_by_id"),
    ("fetch", "orders.get_by_id"),
    ("read", "orders.get_by_id"),
    ("list", "orders.get_by_id"),
    ("load", "orders.get_by_id"),
    ("create", "email.create_draft"),
    ("write", "email.create_draft"),
    ("update", "email.create_draft"),
    ("send", "email.create_draft"),
    ("submit", "email.create_draft"),
    ("run", "deployment.rollback_plan"),
    ("execute", "deployment.rollback_plan"),
    ("exec", "deployment.rollback_plan"),
    ("do", "deployment.rollback_plan"),
    ("call", "deployment.rollback_plan"),
    ("invoke", "deployment.rollback_plan"),
    ("perform", "deployment.rollback_plan"),
    ("process", "deployment.rollback_plan"),
    ("handle", "deployment.rollback_plan"),
    ("use", "deployment.rollback_plan"),
    ("start", "deployment.rollback_plan"),
];

/// Words that name no thing in particular.
const VAGUE_THINGS: &[&str] = &[
    "data",
    "task",
    "tasks",
    "thing",
    "things",
    "item",
    "items",
    "info",
    "information",
    "tool",
    "function",
    "api",
    "command",
    "action",
    "request",
    "operation",
    "object",
    "resource",
    "stuff",
    "work",
    "job",
    "result",
    "value",
    "content",
    "it",
    "all",
    "any",
    "general",
    "generic",
    "misc",
    "helper",
    "util",
    "utils",
];

/// Looks at one capability. Errors first, then warnings, each group in a fixed order.
pub fn lint(capability: &Capability, origin: Origin) -> Vec<Finding> {
    let mut found: Vec<Finding> =
        check::problems(capability).into_iter().map(|problem| Finding::new(Severity::Error, problem)).collect();
    found.extend(name_problem(capability, origin));
    let warnings = [namespace_problem(capability, origin), grouping_problem(capability)];
    let warnings = warnings
        .into_iter()
        .flatten()
        .chain(wording_problems(capability))
        .chain(output_problems(capability))
        .chain(planted_problems(capability, origin));
    found.extend(warnings.map(|problem| Finding::new(Severity::Warning, problem)));
    found.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    found
}

/// Why the intent is refused in a catalog of ours, if it is.
pub(super) fn name_problem(capability: &Capability, origin: Origin) -> Option<Finding> {
    let name = capability.intent.as_str();
    if intents::shipped().get(&capability.intent).is_some() {
        return None;
    }
    let better = |word: &str| VAGUE_ACTIONS.iter().find(|(vague, _)| *vague == word).map(|(_, better)| *better);
    let words: Vec<String> = words(name);
    let vague = words.iter().all(|word| better(word).is_some() || VAGUE_THINGS.contains(&word.as_str()));
    if words.is_empty() || !vague {
        return None;
    }
    let better = words.iter().find_map(|word| better(word)).unwrap_or("orders.get_by_id");
    let message = format!("the intent `{name}` does not say what is done to what");
    let hint = format!("name the system, the action and the thing, such as `{better}`");
    let severity = match origin {
        Origin::Own => Severity::Error,
        Origin::Foreign => Severity::Warning,
    };
    Some(Finding::new(severity, Problem::new("generic_name", message).hint(hint)))
}

/// The words of a name, lower-case: `getData`, `get_data` and `get.data` are the same two.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && before_lower) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
        before_lower = c.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

fn namespace_problem(capability: &Capability, origin: Origin) -> Option<Problem> {
    let name = capability.intent.as_str();
    let plain = origin == Origin::Own && !name.contains('.');
    plain.then(|| {
        let message = format!("the intent `{name}` has no namespace");
        Problem::new("no_namespace", message).hint(format!("put its domain in front, such as `orders.{name}`"))
    })
}

/// `read.*`, `write.*` and `admin.*` promise a kind of effect.
fn grouping_problem(capability: &Capability) -> Option<Problem> {
    let group = capability.intent.as_str().split('.').next()?;
    let writes = capability.execution.side_effect.writes();
    let promise = match (group, writes) {
        ("read", true) => "reads only",
        ("write", false) => "writes",
        _ => return None,
    };
    let message = format!("the intent `{}` promises that it {promise}, but it does not", capability.intent);
    Some(Problem::new("misleading_group", message).hint("move it to the group that fits, or correct `risk_class`"))
}

fn wording_problems(capability: &Capability) -> Vec<Problem> {
    let mut found = Vec::new();
    if capability.description == placeholder(&capability.intent) {
        let problem = Problem::new("no_description", "it has no description, and its intent is not known to agcore");
        found.push(problem.hint("say in one sentence what it does; a model reads it"));
    }
    if capability.execution.mode == ExecutionMode::ProviderHosted {
        return found;
    }
    let Some(properties) = capability.input.schema.get("properties").and_then(|value| value.as_object()) else {
        return found;
    };
    let required = capability.input.schema.get("required").and_then(|value| value.as_array());
    for name in required.into_iter().flatten().filter_map(|name| name.as_str()) {
        if !properties.contains_key(name) {
            let message = format!("the input schema requires `{name}`, which is not among its properties");
            found.push(Problem::new("unknown_required", message).hint("declare it, so that the model knows its type"));
        }
    }
    let silent: Vec<&str> = properties
        .iter()
        .filter(|(_, schema)| schema.get("description").is_none() && schema.get("$ref").is_none())
        .map(|(name, _)| name.as_str())
        .collect();
    if !silent.is_empty() {
        let message = format!("parameters without a description: {}", silent.join(", "));
        found.push(Problem::new("silent_parameters", message).hint("say what each is, in which unit or form"));
    }
    found
}

/// Instructions to a model in the texts of somebody else's tool, and what they hide.
pub(super) fn planted_problems(capability: &Capability, origin: Origin) -> Vec<Problem> {
    if origin == Origin::Own {
        return Vec::new();
    }
    let mut texts = vec![("the description".to_owned(), capability.description.as_str())];
    describe(&capability.input.schema, "", &mut texts);
    texts.iter().filter_map(|(place, text)| planted(place, text)).collect()
}

fn planted(place: &str, text: &str) -> Option<Problem> {
    let report = Scanner::scan(text);
    // A tool's own text tells a model how to call it and what comes back: that alone is no sign.
    let own = |kind| matches!(kind, scan::Kind::Command | scan::Kind::Steer | scan::Kind::Urgency);
    if report.is_suspicious() && report.findings.iter().any(|finding| !own(finding.kind)) {
        let problem = Problem::new("planted_instructions", format!("{place} is suspicious: {}", report.summary()));
        return Some(problem.hint("read it with care before you let a model see it"));
    }
    let hidden = report.findings.iter().find(|finding| finding.kind == scan::Kind::Hidden)?;
    let (start, end) = (hidden.span.start, hidden.span.end);
    let problem = Problem::new("hidden_characters", format!("{place} {} at bytes {start}-{end}", hidden.what));
    Some(problem.hint("ask the maker of the tool why, and take them out"))
}

/// The texts of a schema that a model reads, each with where it stands.
fn describe<'a>(schema: &'a Value, pointer: &str, texts: &mut Vec<(String, &'a str)>) {
    match schema {
        Value::Object(fields) => {
            for (name, value) in fields {
                let pointer = format!("{pointer}/{name}");
                if let (Value::String(text), "description" | "title") = (value, name.as_str()) {
                    texts.push((format!("`{pointer}` of the input schema"), text));
                }
                describe(value, &pointer, texts);
            }
        }
        Value::Array(values) => {
            for (number, value) in values.iter().enumerate() {
                describe(value, &format!("{pointer}/{number}"), texts);
            }
        }
        Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Null => {}
    }
}

fn output_problems(capability: &Capability) -> Vec<Problem> {
    let mut found = Vec::new();
    let (execution, output) = (&capability.execution, &capability.output);
    if output.must_include_source_url && !output.supports_citations {
        let message = "`must_include_source_url` is set, but `supports_citations` is not";
        found.push(Problem::new("sources_without_citations", message).hint("set `supports_citations: true`"));
    }
    if execution.idempotency_key_required && !execution.side_effect.writes() {
        let message = "`idempotency_key_required` is set, but the capability only reads";
        found.push(Problem::new("key_for_a_read", message).hint("drop it"));
    }
    found
}
