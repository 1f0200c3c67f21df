//! From candidates to a route.

use std::{cmp::Ordering, sync::Arc};

use super::{
    Candidate, Fate, NoRoute, Route, RouteContext, RouteFacts, ScorePart, Weights,
    filter::{Verdict, judge},
};
use crate::{capability::Capability, types::Intent};

/// Chooses who serves an intent. Holds nothing but the weights; one is enough for a process.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Router {
    weights: Weights,
}

/// A candidate with the reason that makes it a fallback at best.
struct Judged {
    candidate: Candidate,
    soft: Option<String>,
}

impl Router {
    /// A router with these weights; `Weights::default()` holds the preferences of the specification.
    pub fn new(weights: Weights) -> Self {
        Self { weights }
    }

    /// Chooses among `candidates`, which must all serve `intent`. Their order does not matter.
    ///
    /// Filters, in order: provider, model pattern, region, policy, citations (reads only), cost class, availability.
    /// What is left is scored: priority, citations, region, cost, reliability and the preferences in [`Weights`]; the
    /// highest serves, ties go to the smaller id. When nothing is left, the best runtime function that fell only by
    /// citations or cost class serves as the fallback ([`Route::fallback`]), with the reason among its parts: the
    /// ledger still bounds what it may cost, and an answer without sources says so.
    ///
    /// # Errors
    /// [`NoRoute`] with every candidate and why it fell out.
    pub fn route(
        &self,
        intent: &Intent,
        candidates: &[Arc<Capability>],
        context: &RouteContext,
        facts: &dyn RouteFacts,
    ) -> Result<Route, NoRoute> {
        let judge = |capability: &Arc<Capability>| self.judge(intent, capability, context, facts);
        let mut judged: Vec<Judged> = candidates.iter().map(judge).collect();
        let fallback = !judged.iter().any(|one| one.candidate.fate == Fate::Outscored);
        if fallback {
            judged.iter_mut().for_each(admit);
        }
        let mut candidates: Vec<Candidate> = judged.into_iter().map(|one| one.candidate).collect();
        candidates.sort_by(in_order);
        match candidates.first_mut() {
            Some(first) if first.fate == Fate::Outscored => {
                first.fate = Fate::Chosen;
                let capability = first.capability.clone();
                Ok(Route { intent: intent.clone(), capability, fallback, candidates })
            }
            Some(_) | None => Err(NoRoute { intent: intent.clone(), candidates }),
        }
    }

    fn judge(
        &self,
        intent: &Intent,
        capability: &Capability,
        context: &RouteContext,
        facts: &dyn RouteFacts,
    ) -> Judged {
        let (fate, soft) = match judge(capability, context, facts) {
            Verdict::Fits => (Fate::Outscored, None),
            Verdict::Soft(why) => (Fate::Filtered(why.clone()), Some(why)),
            Verdict::Hard(why) => (Fate::Filtered(why), None),
        };
        let scored = fate == Fate::Outscored || soft.is_some();
        let parts = match scored {
            true => self.weights.parts(intent, capability, context, facts.reliability(&capability.id)),
            false => Vec::new(),
        };
        let score = parts.iter().map(|part| part.points).sum();
        let (capability, mode) = (capability.id.clone(), capability.execution.mode);
        Judged { candidate: Candidate { capability, mode, score, parts, fate }, soft }
    }
}

/// Lets a candidate that fell for a soft reason serve after all, and notes the reason among its parts.
fn admit(judged: &mut Judged) {
    if let Some(why) = judged.soft.take() {
        judged.candidate.parts.push(ScorePart { name: format!("fallback in spite of {why}").into(), points: 0.0 });
        judged.candidate.fate = Fate::Outscored;
    }
}

/// Those that can serve first, then by score, ties by id.
fn in_order(one: &Candidate, other: &Candidate) -> Ordering {
    let out = |candidate: &Candidate| matches!(candidate.fate, Fate::Filtered(_));
    out(one)
        .cmp(&out(other))
        .then_with(|| other.score.total_cmp(&one.score))
        .then_with(|| one.capability.cmp(&other.capability))
}
