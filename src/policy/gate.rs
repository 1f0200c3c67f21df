//! The built-in policy engine.

use std::{borrow::Cow, collections::BTreeSet, fmt, sync::Arc};

use super::{
    condition::Facts,
    contract::ContractRules,
    decision::{Approvers, Decision, GateRequest, Obligation, Outcome, PolicyEngine, Stage},
    error::PolicyError,
    example,
    index::Index,
    load,
    origin::Unnamed,
    rule::Rule,
};
use crate::{secret::PersonalKinds, types::RuleId};

/// The shipped rules, as name and text: the risk levels, taint, and data that would leave the house.
///
/// Pass them first to [`Gate::load`] and the operator's own files after them; a later file may lift what an earlier
/// one says, floors aside.
pub const DEFAULT_RULES: (&str, &str) =
    ("policies/default.yaml", include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/policies/default.yaml")));

/// Rules in YAML with CEL conditions, checked when they were loaded.
///
/// How a request is decided:
/// 1. The checks of the capability's contract (`builtin.scopes`, `builtin.approval`, `builtin.max_calls`).
/// 2. Every rule whose `match` fits and whose `when` holds. Before there is a call ([`Stage::Expose`]) a rule that
///    speaks of one (`args`, `resource`, `tool_name`, `stage: dispatch`) is left out; it is asked at dispatch.
/// 3. Rules named in `lifts` of one of these are taken out, floors aside.
/// 4. The most restrictive outcome that is left wins, the first one where several say the same. When none is left, what
///    reads is allowed and what writes needs a person.
///
/// A condition that fails to evaluate denies, whatever else was said, and the failure is in [`Decision::errors`].
/// What is denied at exposure is denied at dispatch too, with any arguments.
pub struct Gate {
    pub(super) rules: Vec<Rule>,
    index: Index,
    contract: ContractRules,
    version: Arc<str>,
}

impl Gate {
    /// The gate with the shipped rules and no others.
    ///
    /// # Errors
    /// None that a test of this crate has not ruled out.
    pub fn embedded() -> Result<Self, PolicyError> {
        Self::load(&[DEFAULT_RULES])
    }

    /// Loads rule files, as name and text, in order. The shipped rules are in force only when they are among them.
    ///
    /// # Errors
    /// [`PolicyError`] naming file and rule: a file that is no rule file, an id that is taken, a lift that is not
    /// allowed, or a condition that names what is not there, compares what can never be equal, uses an optional value
    /// without asking for it, is longer than 4,096 bytes or nested deeper than 64 levels.
    pub fn load(files: &[(&str, &str)]) -> Result<Self, PolicyError> {
        Ok(load::load(files)?.0)
    }

    /// Loads rule files and runs the examples they carry.
    ///
    /// # Errors
    /// As [`Gate::load`], and [`PolicyError::ExamplesFail`].
    pub fn load_checked(files: &[(&str, &str)]) -> Result<Self, PolicyError> {
        let (gate, report) = example::run(files)?;
        match report.failed.first() {
            None => Ok(gate),
            Some(first) => Err(PolicyError::ExamplesFail { failed: report.failed.len(), first: first.to_string() }),
        }
    }

    pub(super) fn new(rules: Vec<Rule>, version: Arc<str>) -> Result<Self, PolicyError> {
        Ok(Self { index: Index::new(&rules), contract: ContractRules::new()?, rules, version })
    }

    /// Decides by the first `count` rules only: the examples of a file are about that file and those before it.
    pub(super) fn decide_by_first(&self, count: usize, request: &GateRequest<'_>) -> Decision {
        let facts = Facts::new(request);
        let mut fold = Fold::default();
        for check in self.contract.check(request) {
            fold.add(check.id, check.outcome, Cow::Owned(check.because), check.obligation.as_slice());
        }
        let mut matched: Vec<(usize, &Rule)> = Vec::new();
        let mut lifted: Vec<usize> = Vec::new();
        for at in self.index.candidates(request) {
            let Some(rule) = self.rules.get(at).filter(|_| at < count) else { break };
            match applies(rule, request, &facts) {
                Ok(false) => {}
                Ok(true) if rule.shadow => {
                    fold.shadow.extend(rule.then.outcome.map(|outcome| (rule.id.clone(), outcome)));
                }
                Err(error) if rule.shadow => fold.errors.push(format!("rule `{}` (in shadow): {error}", rule.id)),
                Ok(true) => {
                    lifted.extend(&rule.lifts);
                    matched.push((at, rule));
                }
                Err(error) => fold.fail(&rule.id, &error),
            }
        }
        for (at, rule) in matched {
            if !rule.floor && lifted.contains(&at) {
                fold.lifted.push(rule.id.clone());
            } else {
                fold.add(&rule.id, rule.then.outcome, Cow::Borrowed(&rule.because), &rule.then.obligations);
            }
        }
        fold.finish(request, &facts)
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("rules", &self.rules.len()).finish_non_exhaustive()
    }
}

impl PolicyEngine for Gate {
    fn decide(&self, request: &GateRequest<'_>) -> Decision {
        self.decide_by_first(self.rules.len(), request)
    }

    fn version(&self) -> Arc<str> {
        self.version.clone()
    }
}

/// Whether a rule speaks of the request.
fn applies(rule: &Rule, request: &GateRequest<'_>, facts: &Facts<'_>) -> Result<bool, String> {
    if !rule.matches.fits(request) {
        return Ok(false);
    }
    match &rule.when {
        None => Ok(true),
        Some(condition) if request.stage == Stage::Expose && condition.needs_call() => Ok(false),
        Some(condition) => condition.holds(facts),
    }
}

/// What the rules say, put together one after the other.
#[derive(Default)]
struct Fold<'g> {
    winner: Option<(Outcome, &'g RuleId, Cow<'g, str>)>,
    matched: Vec<RuleId>,
    lifted: Vec<RuleId>,
    obligations: Obligations,
    errors: Vec<String>,
    shadow: Vec<(RuleId, Outcome)>,
}

impl<'g> Fold<'g> {
    fn add(&mut self, id: &'g RuleId, outcome: Option<Outcome>, because: Cow<'g, str>, obligations: &[Obligation]) {
        self.matched.push(id.clone());
        self.obligations.add(obligations);
        if let Some(outcome) = outcome
            && self.winner.as_ref().is_none_or(|(strictest, _, _)| outcome > *strictest)
        {
            self.winner = Some((outcome, id, because));
        }
    }

    fn fail(&mut self, id: &'g RuleId, error: &str) {
        self.errors.push(format!("rule `{id}`: {error}"));
        let because = Cow::Borrowed("a rule about this call could not be evaluated, so the call is refused");
        self.add(id, Some(Outcome::Deny), because, &[]);
    }

    fn finish(self, request: &GateRequest<'_>, facts: &Facts<'_>) -> Decision {
        let (outcome, rule, because) = match self.winner {
            Some((outcome, id, because)) => (outcome, Some(id.clone()), because.into_owned()),
            None => by_default(request),
        };
        let unnamed = match facts.origin_if_read() {
            Some(origin) if outcome != Outcome::Allow => origin.unnamed.clone(),
            Some(_) | None => Vec::new(),
        };
        let because = if unnamed.is_empty() { because } else { format!("{because}: {}", say(&unnamed)) };
        Decision {
            outcome,
            rule,
            because,
            matched: self.matched,
            lifted: self.lifted,
            obligations: self.obligations.finish(),
            shadow: self.shadow,
            errors: self.errors,
            unnamed,
        }
    }
}

/// Names the arguments of unknown origin.
fn say(unnamed: &[Unnamed]) -> String {
    unnamed.iter().map(Unnamed::to_string).collect::<Vec<_>>().join("; ")
}

/// What holds when no rule says anything. Either of risk and side effect makes a capability one that writes.
fn by_default(request: &GateRequest<'_>) -> (Outcome, Option<RuleId>, String) {
    let capability = request.capability;
    if capability.governance.risk_class.writes() || capability.execution.side_effect.writes() {
        (Outcome::Ask, None, "no rule speaks of it and it writes: a person has to agree".to_owned())
    } else {
        (Outcome::Allow, None, "no rule speaks of it and it only reads".to_owned())
    }
}

/// The obligations of all rules, each kind once and as strict as the strictest.
#[derive(Default)]
struct Obligations {
    redact: Vec<String>,
    personal: PersonalKinds,
    cap_tokens: Option<u32>,
    cap_calls: Option<u32>,
    approvers: Option<Approvers>,
}

impl Obligations {
    fn add(&mut self, obligations: &[Obligation]) {
        let least = |cap: Option<u32>, other: u32| Some(cap.map_or(other, |cap| cap.min(other)));
        for obligation in obligations {
            match obligation {
                Obligation::Redact(fields) => self.redact.extend(fields.iter().cloned()),
                Obligation::RedactPersonal(kinds) => self.personal = self.personal.and(*kinds),
                Obligation::CapTokens(tokens) => self.cap_tokens = least(self.cap_tokens, *tokens),
                Obligation::CapCalls(calls) => self.cap_calls = least(self.cap_calls, *calls),
                Obligation::Approvers(approvers) => self.restrict(approvers),
            }
        }
    }

    /// Several rules on who may approve: all of them hold. Roles that have none in common leave nobody but a person
    /// with all of them, so the first rule's stay.
    fn restrict(&mut self, other: &Approvers) {
        let own = self.approvers.get_or_insert_default();
        own.not_requester |= other.not_requester;
        let common: BTreeSet<String> = own.roles.intersection(&other.roles).cloned().collect();
        if own.roles.is_empty() {
            own.roles.clone_from(&other.roles);
        } else if !common.is_empty() {
            own.roles = common;
        }
    }

    fn finish(mut self) -> Vec<Obligation> {
        self.redact.sort_unstable();
        self.redact.dedup();
        let redact = (!self.redact.is_empty()).then_some(Obligation::Redact(self.redact));
        let personal = (!self.personal.is_empty()).then_some(Obligation::RedactPersonal(self.personal));
        let caps = [self.cap_tokens.map(Obligation::CapTokens), self.cap_calls.map(Obligation::CapCalls)];
        let approvers = self.approvers.map(Obligation::Approvers);
        redact.into_iter().chain(personal).chain(caps.into_iter().flatten()).chain(approvers).collect()
    }
}
