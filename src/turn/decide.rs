//! Checks the calls of a reply: does the tool exist, are the arguments valid, may it run? Nothing runs here.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use crate::{
    capability::Capability,
    execute::errors,
    llm::{arguments, names},
    policy::{Decision, GateRequest, Obligation, Outcome, Principal, Stage, TurnFacts},
    types::{CallId, CapabilityId, ErrorCode, RiskClass, SideEffect, ToolError, ToolName, Trigger},
};

use super::{Call, CallDecided, CallStatus, Parts, Turn, Verdict, digest, outcome, parts::Tool, resource::Resources};

/// Decides each of `calls`. `resources` holds what was looked up about their arguments.
pub(super) fn decide(parts: &Parts, turn: &Turn, calls: &[CallId], resources: &Resources) -> Vec<CallDecided> {
    let mut round = Round { parts, turn, resources, facts: facts(turn), admitted: 0, of: BTreeMap::new() };
    calls.iter().filter_map(|id| turn.call(id)).map(|call| round.decide(call)).collect()
}

/// What the rules may know of a turn now.
pub(super) fn facts(turn: &Turn) -> TurnFacts {
    let started = turn.started();
    TurnFacts {
        tainted: turn.is_tainted(),
        data_classes: turn.data_classes().clone(),
        tool_calls: turn.tool_calls(),
        data_class: started.data_class,
        region: started.region,
        task: started.task.clone(),
        provider: started.model.provider.to_string(),
        model: started.model.model.to_string(),
        trigger: turn.prepared().map_or(Trigger::Auto, |prepared| prepared.report.trigger),
        requires_approval_for_write: turn.limits().requires_approval_for_write,
        injection_score: turn.injection_score(),
        said: Arc::clone(turn.said()),
        heard: turn.heard().to_vec(),
    }
}

/// Asks the gate about one call.
pub(super) fn ask_gate(
    parts: &Parts,
    turn: &Turn,
    facts: &TurnFacts,
    capability: &Capability,
    arguments: Option<&Value>,
    resource: Option<&Value>,
) -> Decision {
    parts.gate.decide(&GateRequest {
        stage: if arguments.is_some() { Stage::Dispatch } else { Stage::Expose },
        principal: &turn.started().principal,
        capability,
        tool_name: None,
        arguments,
        turn: facts,
        resource,
    })
}

/// What an approval of a call is bound to: on whose behalf, the capability as it is defined now, and the arguments,
/// however their keys are ordered and their numbers spelled.
pub(super) fn binding(turn: &Turn, tool: &Tool, capability: &Capability, arguments: &Value) -> String {
    let Principal { tenant, user, .. } = &*turn.started().principal;
    digest::of_call(&format!("{tenant}\n{user}\n{}\n{}", capability.id, tool.hash), arguments)
}

/// One batch: calls admitted earlier in it count against the limits of those after them.
struct Round<'a> {
    parts: &'a Parts,
    turn: &'a Turn,
    resources: &'a Resources,
    facts: TurnFacts,
    admitted: u32,
    of: BTreeMap<CapabilityId, u32>,
}

/// Why a call does not run.
struct Refusal {
    status: CallStatus,
    error: ToolError,
}

impl From<ToolError> for Refusal {
    fn from(error: ToolError) -> Self {
        Self { status: CallStatus::Refused, error }
    }
}

impl Round<'_> {
    fn decide(&mut self, call: &Call) -> CallDecided {
        let mut decided = CallDecided {
            call: call.id.clone(),
            capability: None,
            contract: Arc::default(),
            arguments: None,
            repairs: Vec::new(),
            digest: String::new(),
            risk_class: RiskClass::ReadOnly,
            side_effect: SideEffect::ReadOnly,
            keyed: false,
            polling: false,
            decision: None,
            resource: None,
            remembered: None,
            verdict: Verdict::Run,
        };
        if let Err(refusal) = self.check(call, &mut decided) {
            let outcome = outcome::refused(self.parts, call, refusal.status, refusal.error);
            decided.verdict = Verdict::Refuse(Arc::new(outcome));
            if decided.digest.is_empty() {
                decided.digest = digest::of_bytes(format!("{}\n{}", call.name, call.arguments).as_bytes());
            }
        } else {
            self.admitted += 1;
            if let Some(capability) = &decided.capability {
                *self.of.entry(capability.clone()).or_default() += 1;
            }
        }
        decided
    }

    fn check(&self, call: &Call, decided: &mut CallDecided) -> Result<(), Refusal> {
        if !call.complete {
            let error = errors::invalid_arguments("the output ended inside this call");
            return Err(error.into());
        }
        let capability = self.resolve(call)?;
        decided.capability = Some(capability.id.clone());
        decided.risk_class = capability.governance.risk_class;
        decided.side_effect = capability.execution.side_effect;
        decided.keyed = capability.execution.idempotency_key_required;
        decided.polling = capability.execution.polling;
        self.check_progress(capability)?;
        let arguments = self.read_arguments(call, capability, decided)?;
        decided.resource = self.resources.get(&call.id).cloned().transpose()?;
        let resource = decided.resource.as_deref();
        let decision = ask_gate(self.parts, self.turn, &self.facts, capability, Some(&arguments), resource);
        let verdict = self.judge(capability, &decision);
        decided.decision = Some(decision);
        decided.verdict = verdict?;
        Ok(())
    }

    fn resolve(&self, call: &Call) -> Result<&Capability, ToolError> {
        let visible = || self.turn.exposed().iter().filter(|tool| !tool.hosted).map(|tool| &tool.name);
        let unknown = || errors::unknown_tool(&call.name, &names::closest(&call.name, visible()));
        let name: &ToolName = names::resolve(&call.name, visible()).ok_or_else(unknown)?;
        let exposed = self.turn.exposed().iter().find(|tool| tool.name == *name).ok_or_else(unknown)?;
        let capability = self.parts.registry.get(&exposed.capability).map(AsRef::as_ref);
        capability.ok_or_else(|| errors::unavailable(&call.name, "it is not registered any more"))
    }

    fn check_progress(&self, capability: &Capability) -> Result<(), ToolError> {
        let limits = self.turn.limits();
        if self.turn.is_withheld(&capability.id) {
            return Err(errors::no_progress(2));
        }
        if self.turn.failures_of(&capability.id) > limits.max_same_tool_retries {
            return Err(errors::limit_reached("max_same_tool_retries"));
        }
        if self.turn.tool_calls() + self.admitted >= limits.max_tool_calls_per_turn {
            return Err(errors::limit_reached("max_tool_calls_per_turn"));
        }
        Ok(())
    }

    fn read_arguments(
        &self,
        call: &Call,
        capability: &Capability,
        decided: &mut CallDecided,
    ) -> Result<Value, ToolError> {
        let tool = self.parts.toolbox.get(capability).map_err(|why| errors::unavailable(&call.name, why))?;
        let read = arguments::read(&call.arguments, &tool.validator).map_err(|error| error.to_tool_error())?;
        if !read.repairs.is_empty() {
            decided.arguments = Some(read.value.to_string());
            decided.repairs = read.repairs;
        }
        decided.contract = tool.hash.clone();
        decided.digest = binding(self.turn, &tool, capability, &read.value);
        Ok(read.value)
    }

    fn judge(&self, capability: &Capability, decision: &Decision) -> Result<Verdict, Refusal> {
        let used = self.turn.calls_of(&capability.id) + self.of.get(&capability.id).copied().unwrap_or(0);
        let cap = decision.obligations.iter().filter_map(|obligation| match obligation {
            Obligation::CapCalls(cap) => Some(*cap),
            Obligation::Redact(_)
            | Obligation::RedactPersonal(_)
            | Obligation::CapTokens(_)
            | Obligation::Approvers(_) => None,
        });
        let cap = cap.chain(capability.governance.max_calls_per_turn).min();
        if cap.is_some_and(|cap| used >= cap) {
            return Err(errors::limit_reached("max_calls_per_turn").into());
        }
        match decision.outcome {
            Outcome::Allow => Ok(Verdict::Run),
            Outcome::Ask => Ok(Verdict::Ask),
            Outcome::Deny => Err(Refusal { status: CallStatus::Denied, error: errors::denied(decision) }),
        }
    }
}

/// Whether an error means that the call never ran.
pub(super) fn status_of(error: &ToolError, side_effect: SideEffect) -> CallStatus {
    match error.code {
        ErrorCode::Cancelled => CallStatus::Cancelled,
        ErrorCode::Interrupted if side_effect.writes() => CallStatus::OutcomeUnknown,
        ErrorCode::Interrupted => CallStatus::Interrupted,
        ErrorCode::OutcomeUnknown => CallStatus::OutcomeUnknown,
        ErrorCode::Timeout
        | ErrorCode::NotFound
        | ErrorCode::PermissionDenied
        | ErrorCode::SchemaValidation
        | ErrorCode::InvalidArguments
        | ErrorCode::RateLimited
        | ErrorCode::PolicyDenied
        | ErrorCode::ApprovalRejected
        | ErrorCode::ExecutorUnavailable
        | ErrorCode::UnknownTool
        | ErrorCode::LimitReached
        | ErrorCode::SandboxFailed
        | ErrorCode::ToolFailed
        | ErrorCode::NoProgress => CallStatus::Error,
    }
}
