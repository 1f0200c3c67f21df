//! What the gate is asked and what it answers.

use std::{collections::BTreeSet, fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::origin::{Heard, Said, Unnamed};
use crate::{
    capability::Capability,
    secret::PersonalKinds,
    types::{DataClass, ExecutionMode, Region, RuleId, Scope, TaskType, TenantId, ToolName, Trigger, UserId},
};

/// Who asks: one local principal with scopes from the config; tenants and roles are carried for the rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Principal {
    /// The tenant.
    pub tenant: TenantId,
    /// The user.
    pub user: UserId,
    /// Roles, for rules.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub roles: BTreeSet<String>,
    /// What the user may do.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub scopes: BTreeSet<Scope>,
}

/// When the gate is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Before the tool is put in front of a model; there are no arguments yet.
    Expose,
    /// Before a call runs, with its real arguments.
    Dispatch,
}

/// What the rules may know of the turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnFacts {
    /// Untrusted content has entered the context.
    pub tainted: bool,
    /// The classes of data that were read in this turn.
    pub data_classes: BTreeSet<DataClass>,
    /// Tool calls started so far.
    pub tool_calls: u32,
    /// The class of the data the turn works on.
    pub data_class: DataClass,
    /// Where it is served.
    pub region: Region,
    /// What kind of work it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskType>,
    /// The provider of the model.
    pub provider: String,
    /// The model.
    pub model: String,
    /// Whether the answer must, may or must not be looked up.
    pub trigger: Trigger,
    /// Whether business writes that the user did not name in full wait for a person (limit `requires_approval_for_write`).
    pub requires_approval_for_write: bool,
    /// How much the worst of what untrusted sources said looks like it holds instructions (see [`crate::scan`]), in
    /// thousandths.
    #[serde(default)]
    pub injection_score: u16,
    /// What the user said.
    #[serde(skip)]
    pub said: Arc<Said>,
    /// What untrusted sources said, in the order it was heard.
    #[serde(skip)]
    pub heard: Vec<Arc<Heard>>,
}

/// The question: may this principal see, or call, this capability, now, with these arguments?
#[derive(Debug, Clone, Copy)]
pub struct GateRequest<'a> {
    /// See or call.
    pub stage: Stage,
    /// Who.
    pub principal: &'a Principal,
    /// What.
    pub capability: &'a Capability,
    /// The name under which the model called it, at dispatch.
    pub tool_name: Option<&'a ToolName>,
    /// With which arguments, at dispatch.
    pub arguments: Option<&'a Value>,
    /// In which state of the turn.
    pub turn: &'a TurnFacts,
    /// What a read-only facts look-up of the capability returned about the thing acted on.
    pub resource: Option<&'a Value>,
}

/// The three answers, the most restrictive last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Go on.
    Allow,
    /// A person has to agree.
    Ask,
    /// No.
    Deny,
}

impl Outcome {
    /// The word as it is written in rules, journals and on the screen.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// What must be done along with an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Obligation {
    /// Mask these fields of the result.
    Redact(Vec<String>),
    /// Mask these kinds of personal data in the result.
    RedactPersonal(PersonalKinds),
    /// Show the model at most this many tokens of the result.
    CapTokens(u32),
    /// Let the capability run at most this many times in the turn.
    CapCalls(u32),
    /// Only these people may approve.
    Approvers(Approvers),
}

/// Who may approve a call that has to be asked about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Approvers {
    /// One of these roles; empty: anybody who may decide at all.
    pub roles: BTreeSet<String>,
    /// Not the one on whose behalf the turn runs.
    pub not_requester: bool,
}

/// The answer, with the reasons for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The answer.
    pub outcome: Outcome,
    /// The rule that decided; `None` when the default for reads and writes did.
    pub rule: Option<RuleId>,
    /// Why, for people and for the model (`because` of the rule).
    pub because: String,
    /// Every rule that matched, the deciding one among them.
    pub matched: Vec<RuleId>,
    /// Rules that would have matched but were lifted by another.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lifted: Vec<RuleId>,
    /// What must be done along with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub obligations: Vec<Obligation>,
    /// What rules in shadow would have said; it does not count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shadow: Vec<(RuleId, Outcome)>,
    /// Rules whose evaluation failed, with the error: each of them denies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// The arguments whose value the user did not name, where that played a part: what to look at before agreeing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unnamed: Vec<Unnamed>,
}

impl Decision {
    /// Who may approve, as the rules that matched say.
    pub fn approvers(&self) -> Approvers {
        let said = self.obligations.iter().find_map(|obligation| match obligation {
            Obligation::Approvers(approvers) => Some(approvers.clone()),
            Obligation::Redact(_)
            | Obligation::RedactPersonal(_)
            | Obligation::CapTokens(_)
            | Obligation::CapCalls(_) => None,
        });
        said.unwrap_or_default()
    }

    /// Whether a tool about which this was decided at [`Stage::Expose`] may be put in front of the model without
    /// asking anybody. A tool that would ask is shown, since its calls are decided again; one that the provider runs is
    /// not, since nothing can stop it once it is on the wire: a person has to agree before.
    pub const fn shows(&self, mode: ExecutionMode) -> bool {
        match self.outcome {
            Outcome::Allow => true,
            Outcome::Ask => !matches!(mode, ExecutionMode::ProviderHosted),
            Outcome::Deny => false,
        }
    }
}

/// Something that decides. The built-in one is `policy::Gate` (rules in YAML with CEL conditions); Cedar or OPA fit
/// behind the same trait.
pub trait PolicyEngine: Send + Sync + fmt::Debug {
    /// Decides one request. Total: it never fails and never waits; what cannot be evaluated is denied.
    fn decide(&self, request: &GateRequest<'_>) -> Decision;

    /// What the rules in force are called in the audit log: another text for other rules. Empty where that is not known.
    fn version(&self) -> Arc<str> {
        Arc::default()
    }
}
