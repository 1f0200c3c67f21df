//! What other rules would have said of calls that were decided before: a fold over a journal, in which nothing runs.

use serde::Serialize;
use serde_json::Value;

use crate::{
    capability::Registry,
    policy::{GateRequest, Outcome, PolicyEngine, Stage},
    types::{CallId, CapabilityId, RuleId, TurnId},
};

use super::{Event, IllegalEvent, Recorded, Turn, decide};

/// A call of which other rules would have said something else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// The turn.
    pub turn: TurnId,
    /// The call.
    pub call: CallId,
    /// What it would have run.
    pub capability: CapabilityId,
    /// What was said.
    pub before: Outcome,
    /// By which rule.
    pub before_rule: Option<RuleId>,
    /// What would be said.
    pub after: Outcome,
    /// By which rule.
    pub after_rule: Option<RuleId>,
    /// Why.
    pub because: String,
}

/// Decides every call of a journal again, with what was known of the turn at the time. Returns how many calls were
/// decided, and those of which `gate` says something else. Calls of capabilities that are gone are left out.
///
/// # Errors
/// [`IllegalEvent`] when the journal is damaged.
pub fn simulate(
    journal: &[Recorded],
    registry: &Registry,
    gate: &dyn PolicyEngine,
) -> Result<(usize, Vec<Changed>), IllegalEvent> {
    let Some((first, rest)) = journal.split_first() else { return Ok((0, Vec::new())) };
    let mut turn = Turn::fold(std::slice::from_ref(first))?;
    let (mut decided, mut changed) = (0, Vec::new());
    for recorded in rest {
        if let Event::CallsDecided(decisions) = &recorded.event {
            let facts = decide::facts(&turn);
            for decision in decisions {
                let Some(before) = &decision.decision else { continue };
                let capability = decision.capability.as_ref().and_then(|id| registry.get(id));
                let (Some(capability), Some(call)) = (capability, turn.call(&decision.call)) else { continue };
                let text = decision.arguments.as_deref().unwrap_or_else(|| call.effective_arguments());
                let arguments: Value = serde_json::from_str(text).unwrap_or_default();
                let after = gate.decide(&GateRequest {
                    stage: Stage::Dispatch,
                    principal: &turn.started().principal,
                    capability,
                    tool_name: None,
                    arguments: Some(&arguments),
                    turn: &facts,
                    resource: decision.resource.as_deref(),
                });
                decided += 1;
                if after.outcome != before.outcome {
                    changed.push(Changed {
                        turn: turn.started().turn.clone(),
                        call: decision.call.clone(),
                        capability: capability.id.clone(),
                        before: before.outcome,
                        before_rule: before.rule.clone(),
                        after: after.outcome,
                        after_rule: after.rule,
                        because: after.because,
                    });
                }
            }
        }
        turn.apply(recorded)?;
    }
    Ok((decided, changed))
}
