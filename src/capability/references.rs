//! Lint over a whole registry: capabilities that name others.

use super::{Capability, Finding, Registry, Severity, error::Problem};
use crate::types::{CapabilityId, ExecutionMode, SideEffect};

/// Capabilities whose `facts` or `lookup` cannot be asked: it is not registered, or is no function that only reads.
/// A call whose facts cannot be asked never runs.
pub fn lint_references(registry: &Registry) -> Vec<(CapabilityId, Finding)> {
    let of = |capability: &Capability| {
        let named = [("facts", &capability.governance.facts), ("lookup", &capability.execution.lookup)];
        let problems: Vec<Problem> =
            named.into_iter().filter_map(|(key, id)| problem(registry, key, id.as_ref()?)).collect();
        let id = capability.id.clone();
        problems.into_iter().map(move |problem| (id.clone(), Finding::new(Severity::Error, problem)))
    };
    registry.iter().flat_map(|capability| of(capability)).collect()
}

fn problem(registry: &Registry, key: &str, id: &CapabilityId) -> Option<Problem> {
    let Some(named) = registry.get(id) else {
        let hint = "declare it, or correct the id; `agcore tools list` shows those there are";
        return Some(
            Problem::new("unknown_reference", format!("`{key}` names `{id}`, which is not registered")).hint(hint),
        );
    };
    let asked =
        named.execution.mode == ExecutionMode::RuntimeFunction && named.execution.side_effect == SideEffect::ReadOnly;
    let message = || format!("`{key}` names `{id}`, which is no runtime function that only reads");
    (!asked).then(|| Problem::new("unusable_reference", message()).hint("name a read"))
}
