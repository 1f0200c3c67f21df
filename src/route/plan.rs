//! Routes and the reasons for them.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::types::{
    CapabilityId, CostClass, DataClass, ExecutionMode, Intent, ModelName, ProviderName, Region, TenantId,
};

/// What a routing decision depends on besides the intent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RouteContext {
    /// The model of the turn.
    pub model: ModelName,
    /// Its provider.
    pub provider: ProviderName,
    /// The tenant.
    pub tenant_id: TenantId,
    /// The role of the user, for explanations.
    pub user_role: Option<String>,
    /// The class of the data the turn works on.
    pub data_class: DataClass,
    /// Where it is served.
    pub region: Region,
    /// Whether only candidates that cite may serve.
    pub require_citations: bool,
    /// The dearest class that may serve.
    pub max_cost_class: CostClass,
}

/// One part of a score, e.g. `citations +15`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScorePart {
    /// What it is for.
    pub name: Cow<'static, str>,
    /// How much.
    pub points: f32,
}

/// What became of a candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It serves.
    Chosen,
    /// It could have served, but another scored higher.
    Outscored,
    /// It fell out, for this reason.
    Filtered(String),
}

/// One candidate with its score and fate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// Which capability.
    pub capability: CapabilityId,
    /// Who would run it.
    pub mode: ExecutionMode,
    /// The sum of its parts.
    pub score: f32,
    /// The parts.
    pub parts: Vec<ScorePart>,
    /// What became of it.
    pub fate: Fate,
}

/// The candidate chosen for an intent, with all others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Route {
    /// The intent.
    pub intent: Intent,
    /// The capability that serves it.
    pub capability: CapabilityId,
    /// Whether it is the fallback after all others fell out.
    pub fallback: bool,
    /// Every candidate, chosen first, then by score, ties by id.
    pub candidates: Vec<Candidate>,
}

/// No candidate could serve an intent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("no capability can serve `{intent}`: {}", explain(candidates))]
pub struct NoRoute {
    /// The intent.
    pub intent: Intent,
    /// Every candidate and why it fell out.
    pub candidates: Vec<Candidate>,
}

fn explain(candidates: &[Candidate]) -> String {
    if candidates.is_empty() {
        return "none is registered for it; see `agcore tools list`".to_owned();
    }
    let reason = |candidate: &Candidate| match &candidate.fate {
        Fate::Filtered(why) => format!("`{}`: {why}", candidate.capability),
        Fate::Chosen | Fate::Outscored => format!("`{}`: could serve", candidate.capability),
    };
    candidates.iter().map(reason).collect::<Vec<_>>().join("; ")
}
