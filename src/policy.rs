//! The gate: one decision function for what may be seen and what may run.
//!
//! [`Gate`] is the built-in [`PolicyEngine`]: rules in YAML, conditions in CEL, checked when they are loaded. It is
//! asked before a tool is put in front of a model and again, with the real arguments, before a call runs. Rules come
//! from operators only.
//!
//! ```yaml
//! rules:
//!   - id: crm.small_refund            # unique over all files
//!     match: {capability: crm.*, intent: business.refund.*, role: support}   # looked at first
//!     when: has(args.amount) && args.amount <= 50.0     # CEL
//!     then: allow                     # allow, ask, deny, or {outcome: allow, redact: [card], cap_tokens: 500, cap_calls: 3}
//!     lifts: [risk.business_write]    # rules that do not count where this one matches
//!     because: support refunds up to 50 without asking
//! examples:
//!   - given: {capability: {id: crm.refund, intent: business.refund.create, risk: business_write}, principal: {roles: [support]}, args: {amount: 40}}
//!     expect: allow
//!     rule: crm.small_refund
//! ```
//!
//! Keys of `match`: `capability`, `intent`, `tenant`, `role`, `scope`, `task`, `provider` (patterns with `*`), `risk`,
//! `side_effect`, `mode`, `data_class` (what the turn works on or has read), `stage: dispatch`.
//!
//! Variables of `when`: `principal.{tenant, user, roles, scopes}`, `capability.{id, intent, namespace, risk,
//! side_effect, mode, cost_class, trust, data_classes, pii_allowed, idempotency_key_required}`, `turn.{tainted,
//! data_classes, tool_calls, data_class, region, task, provider, model, trigger, requires_approval_for_write, tainted_by,
//! injection_score}`,
//! `user.{spoke, asks, asked, names_hosts}` (what the user's words ask for; whether they ask for what this capability does),
//! `call.{from_user, anchored, unnamed, from_untrusted, new_host}` (where its values come from), `args`, `resource` (empty when there was no look-up) and `tool_name`. Functions: `size`, `contains`, `startsWith`,
//! `endsWith`, `matches` (with a literal pattern), `int`, `double`, `string`, and the macros `has`, `all`, `exists`,
//! `exists_one`, `filter`, `map`.
//!
//! This module does no I/O.

mod bare;
mod condition;
mod contract;
mod decision;
mod error;
mod example;
mod explain;
mod expression;
mod gate;
mod index;
mod lint;
mod load;
mod origin;
mod pattern;
mod raw;
mod rule;
#[cfg(test)]
mod tests;

pub use decision::{Approvers, Decision, GateRequest, Obligation, Outcome, PolicyEngine, Principal, Stage, TurnFacts};
pub use error::{PolicyError, RuleProblem};
pub use example::{CheckReport, Failure, Given, Question, check};
pub use expression::{Expression, ExpressionFacts, ExpressionValue};
pub use gate::{DEFAULT_RULES, Gate};
pub use lint::RuleFinding;
pub use origin::{Action, Asked, CallOrigin, Heard, Said, Unnamed};
pub(crate) use pattern::Glob;
pub use raw::raw_capability;
