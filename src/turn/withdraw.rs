//! Takes hosted tools off the wire when the gate turns against them: nothing can stop them at dispatch.

use serde_json::Value;

use super::{Parts, Prepared, Turn, Withheld, decide};
use crate::{
    capability::Capability,
    policy::raw_capability,
    types::{CapabilityId, ExecutionMode},
};

/// The hosted tools on the wire that the gate does not let stand any more, with the reason.
pub(super) fn turned_against(parts: &Parts, turn: &Turn, prepared: &Prepared) -> Vec<Withheld> {
    // Only what was read can change an answer that was given when the turn was prepared.
    if prepared.builtin_tools.is_empty() || (!turn.is_tainted() && turn.data_classes().is_empty()) {
        return Vec::new();
    }
    let facts = decide::facts(turn);
    let mut found: Vec<Withheld> = Vec::new();
    for payload in &prepared.builtin_tools {
        let denied = with_capability(parts, turn, prepared, payload, |capability| {
            let decision = decide::ask_gate(parts, turn, &facts, capability, None, None);
            let shown = decision.shows(ExecutionMode::ProviderHosted);
            (!shown).then(|| Withheld { capability: capability.id.clone(), reason: decision.because })
        });
        if let Some(withheld) = denied.flatten()
            && !turn.removed().contains(&withheld.capability)
            && found.iter().all(|other| other.capability != withheld.capability)
        {
            found.push(withheld);
        }
    }
    found
}

/// The raw tools that go on the wire now, in the order they were prepared.
pub(super) fn on_wire(parts: &Parts, turn: &Turn, prepared: &Prepared) -> Vec<Value> {
    let stays = |payload: &&Value| {
        let removed = |id: &CapabilityId| turn.removed().contains(id);
        let gone = with_capability(parts, turn, prepared, payload, |capability| removed(&capability.id));
        turn.removed().is_empty() || !gone.unwrap_or(false)
    };
    prepared.builtin_tools.iter().filter(stays).cloned().collect()
}

/// Calls `then` with the capability a payload stands for: one of the catalog, or that of a raw provider tool. `None`
/// for what is no tool.
fn with_capability<T>(
    parts: &Parts,
    turn: &Turn,
    prepared: &Prepared,
    payload: &Value,
    then: impl FnOnce(&Capability) -> T,
) -> Option<T> {
    let hosted = prepared.exposed.iter().filter(|tool| tool.hosted);
    let own = hosted
        .filter_map(|tool| parts.registry.get(&tool.capability))
        .find(|capability| capability.execution.hosted.as_ref().is_some_and(|tool| tool.payload == *payload));
    if let Some(capability) = own {
        return Some(then(capability));
    }
    let kind = payload.get("type").and_then(Value::as_str)?;
    raw_capability(&turn.started().model.provider, kind).ok().map(|capability| then(&capability))
}
