//! The tools that agcore itself serves inside a turn: `tool.search` and `artifact.read`.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::{
    capability::Capability,
    execute::{CallContext, Executor},
    projection::{self, ArtifactStore},
    secret::Redactor,
    types::{CapabilityId, ErrorCode, ExecutionMode, Intent, ToolError, ToolName, ToolOutput},
};

use super::{Exposed, Parts, Turn};

/// The function name of tool search.
const TOOL_SEARCH: &str = "tool_search";

/// The function name of reading artifacts.
const ARTIFACT_READ: &str = "artifact_read";

/// How many tools a search puts in front of the model when it does not say.
const DEFAULT_RESULTS: u64 = 5;

/// The intent of tool search.
pub(super) fn tool_search_intent() -> Intent {
    intent("tool.search")
}

/// The intent of reading artifacts.
pub(super) fn artifact_read_intent() -> Intent {
    intent("artifact.read")
}

fn intent(name: &str) -> Intent {
    #[expect(clippy::expect_used, reason = "a constant that is a valid intent")]
    Intent::new(name).expect("a constant intent")
}

/// What tool search answers, and the tools it puts in front of the model.
pub(super) type Found = (ToolOutput, Vec<Exposed>);

/// Which of the tools a capability is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Internal {
    ToolSearch,
    ArtifactRead,
}

/// Which internal tool serves a capability, if any does.
pub(super) fn which(capability: &Capability) -> Option<Internal> {
    if capability.execution.mode != ExecutionMode::RuntimeFunction {
        return None;
    }
    match capability.execution.function_name.as_deref() {
        Some(TOOL_SEARCH) => Some(Internal::ToolSearch),
        Some(ARTIFACT_READ) => Some(Internal::ArtifactRead),
        Some(_) | None => None,
    }
}

/// Whether a capability needs no registered function.
pub(super) fn is_internal(capability: &Capability) -> bool {
    which(capability).is_some()
}

/// Searches the capabilities. What it finds, and the gate lets be seen, is put in front of the model.
pub(super) fn search_tools(
    parts: &Parts,
    turn: &Turn,
    arguments: &Value,
    allowed: impl Fn(&Capability) -> bool,
) -> Found {
    let query = arguments.get("query").and_then(Value::as_str).unwrap_or_default();
    let wanted = arguments.get("max_results").and_then(Value::as_u64).unwrap_or(DEFAULT_RESULTS).clamp(1, 20);
    let wanted = usize::try_from(wanted).unwrap_or(5);
    let (mut found, mut added) = (Vec::new(), Vec::new());
    for hit in parts.index().search(query, wanted * 4) {
        let Some(capability) = CapabilityId::new(hit.key).ok().and_then(|id| parts.registry.get(&id)) else { continue };
        let callable = capability.execution.mode == ExecutionMode::RuntimeFunction
            && parts.executors.executor_for(capability).is_ok()
            && allowed(capability);
        let (true, Ok(tool), Ok(name)) =
            (callable, parts.toolbox.get(capability), ToolName::new(capability.intent.as_str()))
        else {
            continue;
        };
        let exposed = Exposed { name: name.clone(), capability: capability.id.clone(), hosted: false };
        let taken = turn.exposed().iter().chain(&added).any(|other: &Exposed| other.name == name);
        found.push(json!({"name": name.as_str(), "description": tool.definition.description}));
        if !taken {
            added.push(exposed);
        }
        if found.len() == wanted {
            break;
        }
    }
    let hint = if found.is_empty() { "no tool fits; answer without one" } else { "these tools can be called now" };
    (ToolOutput::json(&json!({"tools": found, "hint": hint})), added)
}

/// The error of a tool that was called and is not served here.
pub(super) fn not_served(name: &str) -> ToolError {
    ToolError::new(
        ErrorCode::ExecutorUnavailable,
        format!("nothing serves `{name}`"),
        "use another tool, or answer without it",
    )
}

/// Reads artifacts of the caller's tenant.
#[derive(Debug)]
pub(super) struct ArtifactReader {
    store: Arc<dyn ArtifactStore>,
    redactor: Arc<Redactor>,
}

impl ArtifactReader {
    pub(super) fn new(parts: &Parts) -> Self {
        Self { store: parts.artifacts.clone(), redactor: parts.redactor.clone() }
    }
}

impl Executor for ArtifactReader {
    fn run<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(projection::read(self.store.as_ref(), &context.principal.tenant, &self.redactor, arguments))
    }
}
