//! What a tenant may see, and the limits of its turns.

use crate::{
    capability::Capability,
    config::Limits,
    policy::{ExpressionFacts, Glob},
    types::{TaskType, TenantId},
};

use super::{QuotaError, limit::LimitRow};

/// agcore's own tools: they only search what the tenant may see, and read what it was shown.
const OWN: [&str; 2] = ["tool.search", "artifact.read"];

/// A row about tenants.
#[derive(Debug)]
pub(super) struct TenantRule {
    pub(super) file: String,
    /// As it was written, for messages.
    pub(super) name: String,
    pub(super) tenant: Glob,
    /// Only for this kind of work. Such a row has no catalog.
    pub(super) task: Option<Glob>,
    /// What it may see; `None` is everything.
    pub(super) only: Option<Vec<Glob>>,
    /// What it may not see in spite of that.
    pub(super) hide: Vec<Glob>,
    pub(super) limits: Vec<LimitRow>,
}

impl TenantRule {
    pub(super) fn fits(&self, tenant: &TenantId, task: Option<&TaskType>) -> bool {
        let task_fits = |wanted: &Glob| task.is_some_and(|task| wanted.matches(task.as_str()));
        self.tenant.matches(tenant.as_str()) && self.task.as_ref().is_none_or(task_fits)
    }

    pub(super) fn has_catalog(&self) -> bool {
        self.only.is_some() || !self.hide.is_empty()
    }

    /// Whether the capability is in the catalog of the tenants this row is about.
    pub(super) fn shows(&self, capability: &Capability) -> bool {
        let named = |globs: &[Glob]| {
            globs.iter().any(|glob| glob.matches(capability.id.as_str()) || glob.matches(capability.intent.as_str()))
        };
        let own = OWN.contains(&capability.intent.as_str());
        !named(&self.hide) && (own || self.only.as_deref().is_none_or(named))
    }

    /// Changes `limits` as the row says.
    pub(super) fn limit(
        &self,
        limits: &mut Limits,
        facts: &ExpressionFacts<'_>,
        tighten: bool,
    ) -> Result<(), QuotaError> {
        let fail = |why: String| QuotaError::Limit { file: self.file.clone(), tenant: self.name.clone(), why };
        for row in &self.limits {
            row.apply(limits, facts, tighten).map_err(fail)?;
        }
        limits.check().map_err(|error| fail(error.to_string()))?;
        Ok(())
    }
}
