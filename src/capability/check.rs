//! What a capability must satisfy whichever way it was made: the check behind `build()` and the errors of lint.

use serde_json::Value;

use super::{
    contract::{Capability, Execution},
    error::Problem,
    schema,
};
use crate::types::{ExecutionMode, RiskClass, SideEffect};

/// Every way in which a capability breaks the contract.
pub(super) fn problems(capability: &Capability) -> Vec<Problem> {
    let mut found = Vec::new();
    if capability.description.trim().is_empty() {
        found.push(missing("description", "say in one sentence what it does; a model reads it"));
    }
    if !(0..=100).contains(&capability.priority) {
        let message = format!("`priority` is {}, but must be from 0 to 100", capability.priority);
        found.push(Problem::new("invalid_value", message));
    }
    found.extend(schema::problems(&capability.input.schema));
    found.extend(mode_problems(&capability.execution));
    found.extend(limit_problems(capability));
    found.extend(effect_problems(capability));
    found
}

fn missing(key: &str, hint: &str) -> Problem {
    let code = match key {
        "function_name" => "missing_function_name",
        "mcp_server" => "missing_mcp_server",
        "mcp_tool" => "missing_mcp_tool",
        "payload" => "missing_payload",
        _ => "missing_key",
    };
    Problem::new(code, format!("`{key}` is missing")).hint(hint)
}

fn mode_problems(execution: &Execution) -> Vec<Problem> {
    let mut found = Vec::new();
    match execution.mode {
        ExecutionMode::ProviderHosted => match &execution.hosted {
            None => found.push(missing(
                "payload",
                "a provider_hosted capability needs the raw tool, such as `{type: web_search}`",
            )),
            Some(hosted) => {
                let kind = hosted.payload.get("type").and_then(Value::as_str);
                if kind.is_none_or(str::is_empty) {
                    let hint = "write the tool as the provider spells it, such as `{type: web_search}`";
                    found.push(Problem::new("bad_payload", "`payload` has no text `type`").hint(hint));
                }
            }
        },
        ExecutionMode::RuntimeFunction => {
            if is_blank(execution.function_name.as_ref()) && execution.http.is_none() {
                found.push(missing(
                    "function_name",
                    "a runtime_function needs the name of a registered function, or `http`",
                ));
            }
        }
        ExecutionMode::McpRemote => {
            if is_blank(execution.mcp_server.as_ref()) {
                found.push(missing("mcp_server", "an mcp_remote capability names its server and its tool"));
            }
            if is_blank(execution.mcp_tool.as_ref()) {
                found.push(missing("mcp_tool", "an mcp_remote capability names its server and its tool"));
            }
        }
        ExecutionMode::Sandboxed | ExecutionMode::HumanApproval => {}
    }
    let foreign = [
        ("payload", execution.hosted.is_some(), ExecutionMode::ProviderHosted),
        ("function_name", execution.function_name.is_some(), ExecutionMode::RuntimeFunction),
        ("http", execution.http.is_some(), ExecutionMode::RuntimeFunction),
        ("mcp_server", execution.mcp_server.is_some(), ExecutionMode::McpRemote),
        ("mcp_tool", execution.mcp_tool.is_some(), ExecutionMode::McpRemote),
        ("sandbox", execution.sandbox.is_some(), ExecutionMode::Sandboxed),
    ];
    for (key, said, mode) in foreign {
        if said && mode != execution.mode {
            let message = format!("`{key}` belongs to the mode {mode}, but the mode is {}", execution.mode);
            found.push(Problem::new("wrong_mode", message).hint(format!("drop `{key}` or change `mode`")));
        }
    }
    found
}

fn is_blank(text: Option<&String>) -> bool {
    text.is_none_or(|text| text.trim().is_empty())
}

fn limit_problems(capability: &Capability) -> Vec<Problem> {
    let execution = &capability.execution;
    let zero = [
        ("timeout_ms", execution.timeout.0 == 0),
        ("concurrency", execution.concurrency == Some(0)),
        ("rate_limit", execution.rate_limit.as_ref().is_some_and(|limit| limit.calls == 0 || limit.per_ms == 0)),
        ("max_calls_per_turn", capability.governance.max_calls_per_turn == Some(0)),
    ];
    let too_small = |(key, is_zero): (&str, bool)| {
        let problem = Problem::new("invalid_value", format!("`{key}` is zero, so that no call could ever run"));
        is_zero.then(|| problem.hint("give a positive number or drop it"))
    };
    let mut found: Vec<Problem> = zero.into_iter().filter_map(too_small).collect();
    if execution.model_patterns.iter().any(|pattern| pattern.trim().is_empty()) {
        found.push(
            Problem::new("invalid_value", "`model_patterns` holds an empty pattern")
                .hint("an empty list means every model"),
        );
    }
    found
}

/// How a capability is run and how it is governed must tell the same story, or a write would slip through as a read.
fn effect_problems(capability: &Capability) -> Vec<Problem> {
    let (execution, risk) = (&capability.execution, capability.governance.risk_class);
    let effect = execution.side_effect;
    let mut found = Vec::new();
    if effect.writes() != risk.writes() || (effect == SideEffect::Destructive) != (risk == RiskClass::Destructive) {
        let message = format!("`side_effect` is {effect}, but `risk_class` is {risk}");
        let hint = format!("drop `side_effect` ({} follows) or change one of them", risk.default_side_effect());
        found.push(Problem::new("effect_mismatch", message).hint(hint));
    }
    if effect.writes() && execution.retries > 0 && !execution.idempotency_key_required {
        let hint = "set `retries: 0`, or `idempotency_key_required: true` where the tool honours the key";
        found.push(Problem::new("unsafe_retry", "a write without an idempotency key must not be retried").hint(hint));
    }
    found
}
