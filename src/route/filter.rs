//! Why a candidate falls out.

use super::{RouteContext, RouteFacts, glob_matches};
use crate::{
    capability::{Capability, ProviderMatch},
    types::{ExecutionMode, Region},
};

/// What filtering found.
pub(super) enum Verdict {
    /// It may serve.
    Fits,
    /// It may serve only as the fallback, for this reason.
    Soft(String),
    /// It cannot serve, for this reason.
    Hard(String),
}

/// Asks the filters in their order: provider, model, region, policy, citations, cost class, availability.
///
/// Citations and cost class are soft: they make a runtime function fall back, not out. A soft reason gives way to a
/// hard one that comes later.
pub(super) fn judge(capability: &Capability, context: &RouteContext, facts: &dyn RouteFacts) -> Verdict {
    if let Some(why) = misplaced(capability, context) {
        return Verdict::Hard(why);
    }
    if let Some(why) = facts.denied(capability) {
        return Verdict::Hard(format!("policy: {why}"));
    }
    let soft = uncited(capability, context).or_else(|| too_dear(capability, context));
    if let Some(why) = soft {
        let fallback = capability.execution.mode == ExecutionMode::RuntimeFunction;
        return match facts.unavailable(capability) {
            Some(unavailable) if fallback => Verdict::Hard(format!("{why}; unavailable: {unavailable}")),
            None if fallback => Verdict::Soft(why),
            Some(_) | None => Verdict::Hard(why),
        };
    }
    match facts.unavailable(capability) {
        Some(why) => Verdict::Hard(format!("unavailable: {why}")),
        None => Verdict::Fits,
    }
}

/// Provider, model and region: where the candidate cannot be used at all.
fn misplaced(capability: &Capability, context: &RouteContext) -> Option<String> {
    let execution = &capability.execution;
    if let ProviderMatch::Only(provider) = &execution.provider
        && *provider != context.provider
    {
        return Some(format!("provider: only with `{provider}`, the turn uses `{}`", context.provider));
    }
    let model = context.model.as_str();
    let patterns = &execution.model_patterns;
    if !patterns.is_empty() && !patterns.iter().any(|pattern| glob_matches(pattern, model)) {
        return Some(format!("model: `{model}` matches none of `{}`", patterns.join("`, `")));
    }
    let regions = &execution.regions;
    if !regions.is_empty() && !regions.contains(&Region::Global) && !regions.contains(&context.region) {
        let list = regions.iter().map(|region| region.as_str()).collect::<Vec<_>>().join(", ");
        return Some(format!("region: only in {list}, the turn is served in {}", context.region));
    }
    None
}

/// Only reads can cite: a write or a computation is no source, so the wish for citations does not concern it.
fn uncited(capability: &Capability, context: &RouteContext) -> Option<String> {
    let computes = capability.execution.mode == ExecutionMode::Sandboxed;
    let concerns = context.require_citations && !capability.governance.risk_class.writes() && !computes;
    (concerns && !capability.output.supports_citations)
        .then(|| "citations: required, and it does not give any".to_owned())
}

fn too_dear(capability: &Capability, context: &RouteContext) -> Option<String> {
    let cost = capability.governance.cost_class;
    let limit = context.max_cost_class;
    (cost > limit).then(|| format!("cost: its class is {cost}, at most {limit} may serve"))
}
