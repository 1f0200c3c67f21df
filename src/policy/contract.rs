//! The checks that a capability's own contract asks for. They come before all rules, cannot be lifted, and are
//! explained like rules.

use super::decision::{GateRequest, Obligation, Outcome};
use crate::{
    capability::Approval,
    types::{IdError, RuleId},
};

/// The ids under which the checks are explained.
#[derive(Debug)]
pub(super) struct ContractRules {
    scopes: RuleId,
    approval: RuleId,
    max_calls: RuleId,
}

/// A check that speaks of a request.
pub(super) struct Check<'g> {
    pub(super) id: &'g RuleId,
    pub(super) outcome: Option<Outcome>,
    pub(super) obligation: Option<Obligation>,
    pub(super) because: String,
}

impl ContractRules {
    pub(super) fn new() -> Result<Self, IdError> {
        Ok(Self {
            scopes: RuleId::new("builtin.scopes")?,
            approval: RuleId::new("builtin.approval")?,
            max_calls: RuleId::new("builtin.max_calls")?,
        })
    }

    /// The checks that speak of the request.
    pub(super) fn check<'g>(&'g self, request: &GateRequest<'_>) -> Vec<Check<'g>> {
        let governance = &request.capability.governance;
        let mut checks = Vec::new();
        let missing: Vec<_> = governance
            .required_scopes
            .iter()
            .filter(|scope| !request.principal.scopes.contains(*scope))
            .map(|scope| format!("`{scope}`"))
            .collect();
        if !missing.is_empty() {
            checks.push(Check {
                id: &self.scopes,
                outcome: Some(Outcome::Deny),
                obligation: None,
                because: format!("`{}` lacks the scope {}", request.principal.user, missing.join(", ")),
            });
        }
        if governance.approval == Approval::Always {
            checks.push(Check {
                id: &self.approval,
                outcome: Some(Outcome::Ask),
                obligation: None,
                because: "the capability's contract asks for a person each time".to_owned(),
            });
        }
        if let Some(calls) = governance.max_calls_per_turn {
            checks.push(Check {
                id: &self.max_calls,
                outcome: None,
                obligation: Some(Obligation::CapCalls(calls)),
                because: format!("the capability's contract allows {calls} calls in a turn"),
            });
        }
        checks
    }
}
