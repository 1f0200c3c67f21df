//! What operators allot: money over many turns ([`Budget`]), calls in a span of time ([`Rate`]), and what a tenant may
//! see and use at most. All of it is read from YAML by [`Quotas::load`]; nothing in here does I/O.
//!
//! ```yaml
//! budgets:
//!   - {id: acme-month, scope: tenant, match: acme, window: month, usd: 50}
//!   - {id: each-user, scope: user, window: day, usd: 2, unknown_price: flag}
//!   - {id: research, scope: task, match: research, window: total, usd: 200}
//!   - {id: tree, scope: turn_tree, usd: 1.5}
//! rates:
//!   - {id: mail, scope: tenant, capability: ["email.*"], calls: 10, per_ms: 60000}
//!   - {id: crm-at-once, scope: all, capability: ["crm.*"], at_once: 4}
//! tenants:
//!   - tenant: acme
//!     only: ["web.*", "crm.*"]         # capabilities it may see, by id or intent; agcore's own tools always
//!     hide: ["crm.delete*"]
//!     limits: {max_tool_calls_per_turn: 8, max_tool_cost_usd: "'vip' in principal.roles ? 5.0 : 0.5"}
//! ```

mod budget;
mod error;
mod file;
mod gate;
mod limit;
mod rate;
mod scope;
mod tenant;
mod window;

use std::sync::Arc;

use crate::{
    capability::Capability,
    config::Limits,
    policy::{ExpressionFacts, PolicyEngine},
    store::AccountClaim,
    types::{MicroUsd, Timestamp},
};

pub use budget::{Budget, Shortfall, UnknownPrice};
pub use error::QuotaError;
pub use rate::{Bounds, Rate};
pub use scope::{Asker, Scope};
pub use window::Window;

use tenant::TenantRule;

/// Everything that was allotted.
#[derive(Debug, Default)]
pub struct Quotas {
    budgets: Vec<Budget>,
    rates: Vec<Rate>,
    tenants: Vec<TenantRule>,
    /// The hash of the texts it was read from.
    version: String,
}

/// The accounts that one turn pays from.
#[derive(Debug, Clone)]
pub struct Allotment {
    /// The accounts, in the order of the budgets.
    pub claims: Arc<[AccountClaim]>,
    /// When the first of their windows turns: after that they are other accounts.
    pub turns_at: Option<Timestamp>,
    /// A budget among them that refuses what has no known price.
    pub refuses_unpriced: Option<usize>,
}

impl Quotas {
    /// Reads files, each with its name and text. Ids are unique over all of them.
    ///
    /// # Errors
    /// [`QuotaError`], naming the file and the row.
    pub fn load(files: &[(&str, &str)]) -> Result<Self, QuotaError> {
        file::load(files)
    }

    /// Whether nothing was allotted.
    pub fn is_empty(&self) -> bool {
        self.budgets.is_empty() && self.rates.is_empty() && self.tenants.is_empty()
    }

    /// The budgets, in the order of the files.
    pub fn budgets(&self) -> &[Budget] {
        &self.budgets
    }

    /// The accounts that a turn pays from, were it to pay now; `None` when no budget is about it.
    pub fn allot(&self, asker: &Asker<'_>, now: Timestamp) -> Option<Allotment> {
        let mut claims = Vec::new();
        let (mut turns_at, mut refuses_unpriced) = (None::<Timestamp>, None);
        for (index, budget) in self.budgets.iter().enumerate() {
            let Some(claim) = budget.claim(asker, now) else { continue };
            claims.push(claim);
            if let Some(end) = budget.window.end(now) {
                turns_at = Some(turns_at.map_or(end, |first| first.min(end)));
            }
            if budget.unknown_price == UnknownPrice::Refuse {
                refuses_unpriced.get_or_insert(index);
            }
        }
        (!claims.is_empty()).then(|| Allotment { claims: claims.into(), turns_at, refuses_unpriced })
    }

    /// What is said about a turn that an account could not pay for.
    pub fn shortfall(
        &self,
        budget: &str,
        subject: &str,
        left: MicroUsd,
        wanted: MicroUsd,
        now: Timestamp,
    ) -> Shortfall {
        let known = self.budgets.iter().find(|known| known.id == budget);
        Shortfall {
            budget: budget.to_owned(),
            scope: known.map_or(Scope::All, |known| known.scope),
            subject: subject.to_owned(),
            window: known.map_or(Window::Total, |known| known.window),
            limit: known.map_or(MicroUsd::ZERO, |known| known.amount),
            left,
            wanted,
            turns_at: known.and_then(|known| known.window.end(now)),
            unpriced: None,
        }
    }

    /// What is said about a turn whose model has no known price.
    pub fn unpriced(&self, budget: usize, asker: &Asker<'_>, model: &str, now: Timestamp) -> Option<Shortfall> {
        let budget = self.budgets.get(budget)?;
        let subject = budget.claim(asker, now)?.account.subject.clone();
        let said = self.shortfall(&budget.id, &subject, MicroUsd::ZERO, MicroUsd::ZERO, now);
        Some(Shortfall { unpriced: Some(model.to_owned()), ..said })
    }

    /// The rates and shared slots of a call; `None` when nothing bounds it.
    pub fn bounds(&self, asker: &Asker<'_>, capability: &Capability) -> Option<Bounds> {
        let mut bounds = Bounds::default();
        for rate in &self.rates {
            rate.bind(asker, capability, &mut bounds);
        }
        (!bounds.is_empty()).then_some(bounds)
    }

    /// The limits of a turn: `usual`, changed by the rows of its tenant and task. Where the caller gave limits of its
    /// own (`asked`), the rows only tighten them.
    ///
    /// # Errors
    /// [`QuotaError`] when an expression fails or gives what no limit may be.
    pub fn limits(
        &self,
        usual: &Limits,
        asked: Option<Limits>,
        facts: &ExpressionFacts<'_>,
    ) -> Result<Limits, QuotaError> {
        let tighten = asked.is_some();
        let mut limits = asked.unwrap_or_else(|| usual.clone());
        for rule in self.tenants.iter().filter(|rule| rule.fits(&facts.principal.tenant, facts.task)) {
            rule.limit(&mut limits, facts, tighten)?;
        }
        Ok(limits)
    }

    /// The gate with the tenants' catalogs before it; the gate itself when there are none.
    pub fn guard(self: &Arc<Self>, gate: Arc<dyn PolicyEngine>) -> Arc<dyn PolicyEngine> {
        if self.tenants.iter().any(TenantRule::has_catalog) {
            let version = format!("{}+{}", gate.version(), self.version).into();
            Arc::new(gate::TenantGate { quotas: Arc::clone(self), gate, version })
        } else {
            gate
        }
    }
}

#[cfg(test)]
mod tests;
