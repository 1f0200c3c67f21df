//! The examples a rule file carries: what is given, what is to come out.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use serde::Deserialize;
use serde_json::Value;

use super::{
    bare::bare_capability,
    decision::{Decision, GateRequest, Outcome, PolicyEngine as _, Principal, Stage, TurnFacts},
    error::PolicyError,
    gate::Gate,
    load,
    origin::{Heard, Said},
};
use crate::{
    capability::{Approval, Capability},
    types::{
        ArgumentRole, CapabilityId, CostClass, DataClass, ExecutionMode, IdError, Intent, Region, RiskClass, RuleId,
        Scope, SideEffect, TaskType, TenantId, ToolName, Trigger, Trust, UserId,
    },
};

/// How the examples of a set of rule files came out.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct CheckReport {
    /// How many examples came out as they say.
    pub passed: usize,
    /// The others.
    pub failed: Vec<Failure>,
    /// Rules that matched in no example of their own file: nothing shows that they do what they are meant to.
    pub untested: Vec<RuleId>,
}

/// An example that came out otherwise.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Failure {
    /// The file.
    pub file: String,
    /// Which example of the file, from 1.
    pub example: usize,
    /// The outcome the example names.
    pub expected: Outcome,
    /// The deciding rule the example names, if it names one.
    pub expected_rule: Option<RuleId>,
    /// What was decided instead.
    pub decision: Decision,
    /// The decision in words.
    pub explanation: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: example {}: expected {}", self.file, self.example, self.expected.as_str())?;
        if let Some(rule) = &self.expected_rule {
            write!(f, " by `{rule}`")?;
        }
        write!(f, ", got:\n{}", self.explanation)
    }
}

/// Runs the examples of rule files. Those of a file are judged by its own rules and those of the files before it, so
/// that adding a file never breaks the examples of another.
///
/// # Errors
/// As [`Gate::load`], and [`PolicyError::Example`] for an example that is none.
pub fn check(files: &[(&str, &str)]) -> Result<CheckReport, PolicyError> {
    Ok(run(files)?.1)
}

/// Loads the files and runs their examples.
pub(super) fn run(files: &[(&str, &str)]) -> Result<(Gate, CheckReport), PolicyError> {
    let (gate, all) = load::load(files)?;
    let mut report = CheckReport { passed: 0, failed: Vec::new(), untested: Vec::new() };
    for file in all {
        let mut seen = BTreeSet::new();
        for (number, example) in (1..).zip(&file.examples) {
            let given = example.given.build().map_err(|error| PolicyError::Example {
                file: file.file.clone(),
                number,
                message: error.to_string(),
            })?;
            let request = given.request();
            let decision = gate.decide_by_first(file.rules.end, &request);
            seen.extend(decision.matched.iter().chain(&decision.lifted).cloned());
            if decision.outcome == example.expect && (example.rule.is_none() || decision.rule == example.rule) {
                report.passed += 1;
                continue;
            }
            report.failed.push(Failure {
                file: file.file.clone(),
                example: number,
                expected: example.expect,
                expected_rule: example.rule.clone(),
                explanation: gate.explain(&decision, &request),
                decision,
            });
        }
        let own = gate.rules.get(file.rules).unwrap_or_default();
        report.untested.extend(own.iter().map(|rule| &rule.id).filter(|id| !seen.contains(*id)).cloned());
    }
    Ok((gate, report))
}

/// A question to the gate as it is written in a rule file or given to `agcore policy explain`: only the capability's
/// `id` and `risk` are required.
///
/// ```yaml
/// capability: {id: crm.refund, risk: business_write}
/// principal: {roles: [support]}
/// turn: {tainted: true}
/// args: {amount: 40}
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Given {
    capability: GivenCapability,
    #[serde(default)]
    principal: GivenPrincipal,
    #[serde(default)]
    turn: GivenTurn,
    #[serde(default = "dispatch")]
    stage: Stage,
    tool_name: Option<ToolName>,
    args: Option<Value>,
    resource: Option<Value>,
}

impl Given {
    /// Reads a question in YAML (or JSON).
    ///
    /// # Errors
    /// [`PolicyError::Yaml`] under the name `file`.
    pub fn parse(file: &str, text: &str) -> Result<Self, PolicyError> {
        serde_saphyr::from_str_with_options(text, serde_saphyr::options! { with_snippet: false })
            .map_err(|error| PolicyError::Yaml { file: file.to_owned(), message: error.to_string() })
    }

    /// Fills in what was left out: a local principal without roles and scopes, a fresh turn on public data in which
    /// writes of high risk need a person, the stage `dispatch`.
    ///
    /// # Errors
    /// [`IdError`] when the capability's id cannot be an intent.
    pub fn build(&self) -> Result<Question, IdError> {
        Ok(Question {
            stage: self.stage,
            principal: self.principal.build()?,
            capability: self.capability.build()?,
            tool_name: self.tool_name.clone(),
            arguments: self.args.clone(),
            turn: self.turn.build(),
            resource: self.resource.clone(),
        })
    }
}

/// A [`GateRequest`] that owns its parts.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// See or call.
    pub stage: Stage,
    /// Who.
    pub principal: Principal,
    /// What.
    pub capability: Capability,
    /// The name under which the model called it.
    pub tool_name: Option<ToolName>,
    /// With which arguments.
    pub arguments: Option<Value>,
    /// In which state of the turn.
    pub turn: TurnFacts,
    /// What a facts look-up returned.
    pub resource: Option<Value>,
}

impl Question {
    /// The question in the form the gate takes.
    pub fn request(&self) -> GateRequest<'_> {
        GateRequest {
            stage: self.stage,
            principal: &self.principal,
            capability: &self.capability,
            tool_name: self.tool_name.as_ref(),
            arguments: self.arguments.as_ref(),
            turn: &self.turn,
            resource: self.resource.as_ref(),
        }
    }

    /// Asks `gate`.
    pub fn ask(&self, gate: &Gate) -> Decision {
        gate.decide(&self.request())
    }
}

/// One example of a rule file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Example {
    given: Given,
    expect: Outcome,
    rule: Option<RuleId>,
}

fn dispatch() -> Stage {
    Stage::Dispatch
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenCapability {
    id: CapabilityId,
    risk: RiskClass,
    intent: Option<Intent>,
    side_effect: Option<SideEffect>,
    mode: Option<ExecutionMode>,
    cost_class: Option<CostClass>,
    trust: Option<Trust>,
    #[serde(default)]
    data_classes: Vec<DataClass>,
    #[serde(default)]
    required_scopes: Vec<Scope>,
    #[serde(default)]
    approval: Approval,
    max_calls_per_turn: Option<u32>,
    #[serde(default)]
    idempotency_key_required: bool,
    #[serde(default)]
    pii_allowed: bool,
    #[serde(default)]
    allowed_domains: Vec<String>,
    #[serde(default)]
    arguments: BTreeMap<String, ArgumentRole>,
}

impl GivenCapability {
    fn build(&self) -> Result<Capability, IdError> {
        let intent = self.intent.clone().map_or_else(|| Intent::new(self.id.as_str()), Ok)?;
        let mut capability = bare_capability(self.id.clone(), intent, self.risk);
        capability.execution.mode = self.mode.unwrap_or(capability.execution.mode);
        capability.execution.side_effect = self.side_effect.unwrap_or(capability.execution.side_effect);
        capability.execution.idempotency_key_required = self.idempotency_key_required;
        capability.output.trust = self.trust.unwrap_or(capability.output.trust);
        let governance = &mut capability.governance;
        governance.cost_class = self.cost_class.unwrap_or(governance.cost_class);
        governance.data_classes.clone_from(&self.data_classes);
        governance.required_scopes.clone_from(&self.required_scopes);
        governance.approval = self.approval;
        governance.max_calls_per_turn = self.max_calls_per_turn;
        governance.pii_allowed = self.pii_allowed;
        governance.allowed_domains.clone_from(&self.allowed_domains);
        governance.arguments.clone_from(&self.arguments);
        Ok(capability)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct GivenPrincipal {
    tenant: Option<TenantId>,
    user: Option<UserId>,
    roles: BTreeSet<String>,
    scopes: BTreeSet<Scope>,
}

impl GivenPrincipal {
    fn build(&self) -> Result<Principal, IdError> {
        Ok(Principal {
            tenant: self.tenant.clone().map_or_else(|| TenantId::new("local"), Ok)?,
            user: self.user.clone().map_or_else(|| UserId::new("local"), Ok)?,
            roles: self.roles.clone(),
            scopes: self.scopes.clone(),
        })
    }
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct GivenTurn {
    tainted: bool,
    data_classes: BTreeSet<DataClass>,
    tool_calls: u32,
    data_class: Option<DataClass>,
    region: Option<Region>,
    task: Option<TaskType>,
    provider: Option<String>,
    model: Option<String>,
    trigger: Option<Trigger>,
    requires_approval_for_write: Option<bool>,
    injection_score: f32,
    /// What the user said.
    said: String,
    /// What untrusted results said.
    heard: Vec<GivenHeard>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenHeard {
    call: String,
    capability: String,
    text: String,
}

impl GivenHeard {
    fn build(&self) -> Arc<Heard> {
        Arc::new(Heard::new(self.call.as_str(), self.capability.as_str(), self.text.as_str()))
    }
}

impl GivenTurn {
    fn build(&self) -> TurnFacts {
        TurnFacts {
            tainted: self.tainted,
            data_classes: self.data_classes.clone(),
            tool_calls: self.tool_calls,
            data_class: self.data_class.unwrap_or(DataClass::Public),
            region: self.region.unwrap_or(Region::Global),
            task: self.task.clone(),
            provider: self.provider.clone().unwrap_or_else(|| "openai".to_owned()),
            model: self.model.clone().unwrap_or_else(|| "gpt-5.2".to_owned()),
            trigger: self.trigger.unwrap_or(Trigger::Auto),
            requires_approval_for_write: self.requires_approval_for_write.unwrap_or(true),
            // From 0 to 1, as conditions see it.
            injection_score: (self.injection_score.clamp(0.0, 1.0) * 1000.0).round() as u16,
            said: Arc::new(Said::new(self.said.as_str())),
            heard: self.heard.iter().map(GivenHeard::build).collect(),
        }
    }
}
