//! The shape of a rule file, and one rule ready to be asked.

use std::{collections::BTreeSet, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
};

use super::{
    condition::Condition,
    decision::{Approvers, GateRequest, Obligation, Outcome, Stage},
    example::Example,
    pattern::{Glob, any_matches, one_or_many},
};
use crate::{
    secret::PersonalKinds,
    types::{DataClass, ExecutionMode, RiskClass, RuleId, SideEffect},
};

/// A rule file as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleFile {
    /// The rules, in order. A key with nothing under it is as good as none: people comment rules out.
    pub(super) rules: Option<Vec<RuleSpec>>,
    /// What they are to answer.
    pub(super) examples: Option<Vec<Example>>,
}

/// A rule as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleSpec {
    pub(super) id: RuleId,
    #[serde(default, rename = "match")]
    pub(super) matches: Match,
    pub(super) when: Option<String>,
    pub(super) then: Then,
    pub(super) because: String,
    #[serde(default, deserialize_with = "one_or_many")]
    pub(super) lifts: Vec<RuleId>,
    #[serde(default)]
    pub(super) floor: bool,
    /// Whether it is only recorded what it would say.
    #[serde(default)]
    pub(super) shadow: bool,
}

/// The part of a rule that is looked at first. An absent key matches everything; of a list one has to match.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Match {
    /// Patterns over the capability id.
    #[serde(deserialize_with = "one_or_many")]
    pub(super) capability: Vec<Glob>,
    /// Patterns over the intent.
    #[serde(deserialize_with = "one_or_many")]
    pub(super) intent: Vec<Glob>,
    /// Risks.
    #[serde(deserialize_with = "one_or_many")]
    pub(super) risk: Vec<RiskClass>,
    /// Side effects.
    #[serde(deserialize_with = "one_or_many")]
    pub(super) side_effect: Vec<SideEffect>,
    /// Who runs it.
    #[serde(deserialize_with = "one_or_many")]
    pub(super) mode: Vec<ExecutionMode>,
    /// Patterns over the tenant.
    #[serde(deserialize_with = "one_or_many")]
    pub(super) tenant: Vec<Glob>,
    /// Patterns over the roles: one role has to match.
    #[serde(deserialize_with = "one_or_many")]
    pub(super) role: Vec<Glob>,
    /// Patterns over the scopes: one scope has to match.
    #[serde(deserialize_with = "one_or_many")]
    pub(super) scope: Vec<Glob>,
    /// The data in play: what the turn works on or has read.
    #[serde(deserialize_with = "one_or_many")]
    pub(super) data_class: Vec<DataClass>,
    /// Patterns over the task type; a turn without one fits none.
    #[serde(deserialize_with = "one_or_many")]
    pub(super) task: Vec<Glob>,
    /// Patterns over the provider of the model.
    #[serde(deserialize_with = "one_or_many")]
    pub(super) provider: Vec<Glob>,
    /// `dispatch`: only when a call is about to run.
    pub(super) stage: Option<Stage>,
}

impl Match {
    /// Whether the request fits, but for the condition.
    pub(super) fn fits(&self, request: &GateRequest<'_>) -> bool {
        let GateRequest { capability, principal, turn, .. } = request;
        any_of(&self.risk, &capability.governance.risk_class)
            && any_matches(&self.capability, capability.id.as_str())
            && any_matches(&self.intent, capability.intent.as_str())
            && any_of(&self.side_effect, &capability.execution.side_effect)
            && any_of(&self.mode, &capability.execution.mode)
            && any_matches(&self.tenant, principal.tenant.as_str())
            && any_matches(&self.provider, &turn.provider)
            && holds_one(&self.task, turn.task.iter().map(|task| task.as_str()))
            && holds_one(&self.role, principal.roles.iter().map(String::as_str))
            && holds_one(&self.scope, principal.scopes.iter().map(|scope| scope.as_str()))
            && (self.data_class.is_empty()
                || self.data_class.iter().any(|class| turn.data_class == *class || turn.data_classes.contains(class)))
            && self.stage.is_none_or(|stage| stage == request.stage)
    }
}

fn any_of<T: PartialEq>(allowed: &[T], value: &T) -> bool {
    allowed.is_empty() || allowed.contains(value)
}

fn holds_one<'h>(patterns: &[Glob], mut held: impl Iterator<Item = &'h str>) -> bool {
    patterns.is_empty() || held.any(|text| any_matches(patterns, text))
}

/// What a rule says: `allow`, `ask` or `deny`, or a map with obligations (`{outcome: allow, cap_calls: 5}`). Without
/// an outcome a rule only obliges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Then {
    pub(super) outcome: Option<Outcome>,
    pub(super) obligations: Vec<Obligation>,
}

impl<'de> Deserialize<'de> for Then {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Fields {
            outcome: Option<Outcome>,
            #[serde(default)]
            redact: Vec<String>,
            #[serde(default)]
            redact_personal: PersonalKinds,
            cap_tokens: Option<u32>,
            cap_calls: Option<u32>,
            #[serde(default)]
            approver_roles: BTreeSet<String>,
            #[serde(default)]
            not_requester: bool,
        }

        struct ThenVisitor;

        impl<'de> Visitor<'de> for ThenVisitor {
            type Value = Then;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`allow`, `ask`, `deny`, or a map of `outcome`, `redact`, `redact_personal`, `cap_tokens`, `cap_calls`, `approver_roles`, `not_requester`")
            }

            fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<Then, E> {
                let outcome = match word {
                    "allow" => Outcome::Allow,
                    "ask" => Outcome::Ask,
                    "deny" => Outcome::Deny,
                    other => return Err(E::unknown_variant(other, &["allow", "ask", "deny"])),
                };
                Ok(Then { outcome: Some(outcome), obligations: Vec::new() })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Then, A::Error> {
                let fields = Fields::deserialize(MapAccessDeserializer::new(map))?;
                let mut obligations = Vec::new();
                if !fields.redact.is_empty() {
                    obligations.push(Obligation::Redact(fields.redact));
                }
                if !fields.redact_personal.is_empty() {
                    obligations.push(Obligation::RedactPersonal(fields.redact_personal));
                }
                obligations.extend(fields.cap_tokens.map(Obligation::CapTokens));
                obligations.extend(fields.cap_calls.map(Obligation::CapCalls));
                if !fields.approver_roles.is_empty() || fields.not_requester {
                    let (roles, not_requester) = (fields.approver_roles, fields.not_requester);
                    obligations.push(Obligation::Approvers(Approvers { roles, not_requester }));
                }
                Ok(Then { outcome: fields.outcome, obligations })
            }
        }

        d.deserialize_any(ThenVisitor)
    }
}

/// One rule, ready to be asked.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) id: RuleId,
    /// Where it was written, for explanations.
    pub(super) file: String,
    pub(super) matches: Match,
    pub(super) when: Option<Condition>,
    pub(super) then: Then,
    pub(super) because: String,
    /// The rules it lifts, by position.
    pub(super) lifts: Vec<usize>,
    pub(super) floor: bool,
    /// Whether it is only recorded what it would say.
    pub(super) shadow: bool,
}

impl Rule {
    /// Whether it can only be asked about a call with its arguments.
    pub(super) fn dispatch_only(&self) -> bool {
        self.matches.stage.is_some() || self.when.as_ref().is_some_and(Condition::needs_call)
    }
}
