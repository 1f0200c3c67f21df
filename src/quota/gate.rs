//! The tenants' catalogs, in front of the gate: what is not in a tenant's catalog is hidden from it, on every way in.

use std::sync::{Arc, LazyLock};

use crate::{
    policy::{Decision, GateRequest, Outcome, PolicyEngine},
    types::RuleId,
};

use super::Quotas;

/// The rule that such a decision names.
#[expect(clippy::expect_used, reason = "a constant that is a valid id")]
static RULE: LazyLock<RuleId> = LazyLock::new(|| RuleId::new("builtin.tenant_catalog").expect("a constant id"));

/// A gate that asks the catalogs first.
#[derive(Debug)]
pub(super) struct TenantGate {
    pub(super) quotas: Arc<Quotas>,
    pub(super) gate: Arc<dyn PolicyEngine>,
    /// Of the rules and of the catalogs.
    pub(super) version: Arc<str>,
}

impl PolicyEngine for TenantGate {
    fn version(&self) -> Arc<str> {
        Arc::clone(&self.version)
    }

    fn decide(&self, request: &GateRequest<'_>) -> Decision {
        let tenant = &request.principal.tenant;
        let rows = self.quotas.tenants.iter().filter(|row| row.has_catalog() && row.fits(tenant, None));
        let hidden = rows.into_iter().any(|row| !row.shows(request.capability));
        if !hidden {
            return self.gate.decide(request);
        }
        Decision {
            outcome: Outcome::Deny,
            rule: Some(RULE.clone()),
            because: format!("`{}` is not in the catalog of tenant `{tenant}`", request.capability.id),
            matched: vec![RULE.clone()],
            lifted: Vec::new(),
            obligations: Vec::new(),
            shadow: Vec::new(),
            errors: Vec::new(),
            unnamed: Vec::new(),
        }
    }
}
