//! Lint over a whole registry: capabilities that name others.

use std::sync::Arc;

use super::{Capability, Finding, Registry, Severity, error::Problem};
use crate::types::{CapabilityId, ExecutionMode, SideEffect};

/// Capabilities whose `facts` or `lookup` cannot be asked: it is not registered, or is no function that only reads.
/// A call whose facts cannot be asked never runs.
pub fn lint_references(registry: &Registry) -> Vec<(CapabilityId, Finding)> {
    let of = |capability: &Capability| {
        let facts = capability.governance.facts.as_ref().and_then(|id| asked(registry, "facts", id).err());
        let problems: Vec<Problem> = facts.into_iter().chain(lookup_problem(capability, registry)).collect();
        let id = capability.id.clone();
        problems.into_iter().map(move |problem| (id.clone(), Finding::new(Severity::Error, problem)))
    };
    registry.iter().flat_map(|capability| of(capability)).collect()
}

/// Why a capability's look-up cannot be asked what became of a write, where it names one that cannot.
pub fn lookup_problem(capability: &Capability, registry: &Registry) -> Option<Problem> {
    let id = capability.execution.lookup.as_ref()?;
    let lookup = match asked(registry, "lookup", id) {
        Ok(lookup) => lookup,
        Err(problem) => return Some(problem),
    };
    let takes_key = lookup.input.schema.pointer("/properties/idempotency_key").is_some();
    if !takes_key {
        let message = format!("`lookup` names `{id}`, which does not take an `idempotency_key`");
        return Some(Problem::new("unusable_reference", message).hint("give its input schema that property"));
    }
    let sends_key = capability.execution.http.as_ref().is_none_or(|http| http.idempotency_header.is_some());
    let problem = || Problem::new("unusable_reference", "`lookup` asks by a key that the write does not send");
    (!sends_key).then(|| problem().hint("give its `http` an `idempotency_header`"))
}

/// The capability that another names under `key`, to be asked: a runtime function that only reads.
///
/// # Errors
/// That there is none of this id, or that it is another kind.
pub(crate) fn asked<'a>(registry: &'a Registry, key: &str, id: &CapabilityId) -> Result<&'a Arc<Capability>, Problem> {
    let Some(named) = registry.get(id) else {
        let hint = "declare it, or correct the id; `agcore tools list` shows those there are";
        let message = format!("`{key}` names `{id}`, which is not registered");
        return Err(Problem::new("unknown_reference", message).hint(hint));
    };
    let only_reads =
        named.execution.mode == ExecutionMode::RuntimeFunction && named.execution.side_effect == SideEffect::ReadOnly;
    let message = || format!("`{key}` names `{id}`, which is no runtime function that only reads");
    if only_reads { Ok(named) } else { Err(Problem::new("unusable_reference", message()).hint("name a read")) }
}
