//! What speaks for a candidate, in points.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Reliability, RouteContext, ScorePart};
use crate::{
    capability::Capability,
    types::{CostClass, DataClass, Demand, ExecutionMode, Intent, Region},
};

/// The success a capability is given before it was ever called.
pub(super) const PRIOR_SUCCESS: f32 = 0.95;

/// The points behind a score. The defaults hold the preferences of the specification; a catalog's `priority` (0–100)
/// decides among candidates that these preferences do not tell apart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Weights {
    /// For giving citations; doubled when the turn requires them.
    pub citations: f32,
    /// For being declared for the very region of the turn.
    pub region: f32,
    /// Against a candidate of cost class medium; high counts three times.
    pub cost: f32,
    /// For success: this many points at 100 %. A candidate that was never called counts as 95 %.
    pub reliability: f32,
    /// Against slowness: this many points at ten seconds a call or more.
    pub latency: f32,
    /// For a hosted tool that cites, on public data, when the intent is a public source.
    pub hosted_public: f32,
    /// For our own or an MCP tool when the intent is the house's own data or operations.
    pub own_data: f32,
    /// Against hosted tools where the house must stay in control: private data, a [`Demand`], high risk. Larger than
    /// any sum of other points, so that it decides.
    pub control: f32,
    /// Namespaces of public sources, the first part of an intent.
    pub public_sources: BTreeSet<String>,
    /// What every route has to honour.
    pub demands: BTreeSet<Demand>,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            citations: 7.5,
            region: 10.0,
            cost: 5.0,
            reliability: 40.0,
            latency: 5.0,
            hosted_public: 10.0,
            own_data: 30.0,
            control: 250.0,
            public_sources: ["web", "url", "news", "social"].map(String::from).into(),
            demands: BTreeSet::new(),
        }
    }
}

impl Weights {
    /// The same weights under one more demand.
    #[must_use]
    pub fn demanding(mut self, demand: Demand) -> Self {
        self.demands.insert(demand);
        self
    }

    /// The parts of a candidate's score, priority first; parts of zero points are left out.
    pub(super) fn parts(
        &self,
        intent: &Intent,
        capability: &Capability,
        context: &RouteContext,
        seen: Option<Reliability>,
    ) -> Vec<ScorePart> {
        let success = seen.map_or(PRIOR_SUCCESS, |seen| seen.success.clamp(0.0, 1.0));
        let named = [
            ("priority", priority(capability)),
            ("citations", self.for_citations(capability, context)),
            ("region", self.for_region(capability, context)),
            ("cost", self.against_cost(capability)),
            ("reliability", self.reliability * success),
            ("latency", seen.map_or(0.0, |seen| self.against_latency(seen))),
            ("hosted for public facts", self.for_hosted(intent, capability, context)),
            ("own data", self.for_own(intent, capability)),
            ("private data", self.against_leaving(capability, context)),
            ("demands", self.for_demands(intent, capability)),
            ("high risk", self.for_high_risk(capability)),
        ];
        let part = |(name, points): (&'static str, f32)| ScorePart { name: name.into(), points };
        named.into_iter().filter(|(_, points)| *points != 0.0).map(part).collect()
    }

    fn for_citations(&self, capability: &Capability, context: &RouteContext) -> f32 {
        let times = if context.require_citations { 2.0 } else { 1.0 };
        if capability.output.supports_citations { self.citations * times } else { 0.0 }
    }

    fn for_region(&self, capability: &Capability, context: &RouteContext) -> f32 {
        let declared = context.region != Region::Global && capability.execution.regions.contains(&context.region);
        if declared { self.region } else { 0.0 }
    }

    fn against_cost(&self, capability: &Capability) -> f32 {
        match capability.governance.cost_class {
            CostClass::Low => 0.0,
            CostClass::Medium => -self.cost,
            CostClass::High => -3.0 * self.cost,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "milliseconds of one call stay far below 2^24")]
    fn against_latency(&self, seen: Reliability) -> f32 {
        -self.latency * (seen.latency.0.min(10_000) as f32 / 10_000.0)
    }

    fn is_public(&self, intent: &Intent) -> bool {
        let namespace = intent.as_str().split('.').next().unwrap_or_default();
        self.public_sources.contains(namespace)
    }

    /// Public facts with citations: the provider's own search serves them with one model call.
    fn for_hosted(&self, intent: &Intent, capability: &Capability, context: &RouteContext) -> f32 {
        let fits = hosted(capability)
            && capability.output.supports_citations
            && context.data_class == DataClass::Public
            && self.is_public(intent);
        if fits { self.hosted_public } else { 0.0 }
    }

    /// Company knowledge, business data and operations: the house's own retrieval or a server it chose.
    fn for_own(&self, intent: &Intent, capability: &Capability) -> f32 {
        if !hosted(capability) && !self.is_public(intent) { self.own_data } else { 0.0 }
    }

    fn against_leaving(&self, capability: &Capability, context: &RouteContext) -> f32 {
        let private = context.data_class >= DataClass::Confidential;
        if private && hosted(capability) { -self.control } else { 0.0 }
    }

    fn for_demands(&self, intent: &Intent, capability: &Capability) -> f32 {
        let concerns = |demand: &Demand| match demand {
            Demand::StrictAudit | Demand::Failover => true,
            Demand::ControlledSearch => self.is_public(intent),
        };
        if hosted(capability) && self.demands.iter().any(concerns) { -self.control } else { 0.0 }
    }

    /// A hosted tool cannot be stopped at dispatch, and one that asks nobody should not come first.
    fn for_high_risk(&self, capability: &Capability) -> f32 {
        if !capability.governance.risk_class.needs_person() {
            return 0.0;
        }
        let unasked = capability.governance.approval == crate::capability::Approval::Never;
        match capability.execution.mode {
            ExecutionMode::ProviderHosted => -self.control,
            ExecutionMode::RuntimeFunction | ExecutionMode::HumanApproval if !unasked => self.own_data,
            ExecutionMode::RuntimeFunction
            | ExecutionMode::HumanApproval
            | ExecutionMode::McpRemote
            | ExecutionMode::Sandboxed => 0.0,
        }
    }
}

fn hosted(capability: &Capability) -> bool {
    capability.execution.mode == ExecutionMode::ProviderHosted
}

#[expect(clippy::cast_precision_loss, reason = "clamped to what f32 holds exactly")]
fn priority(capability: &Capability) -> f32 {
    capability.priority.clamp(-1_000, 1_000) as f32
}
