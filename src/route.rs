//! Which candidate serves an intent this turn, and why.
//!
//! [`Router::route`] is a pure function of the intent, its candidates, the [`RouteContext`] and the [`RouteFacts`]: equal
//! questions give equal routes, in whatever order the candidates come. Filters come first (provider, model, region,
//! policy, citations, cost class, availability), then a score whose parts can be read, ties by id. When nothing is
//! left, a runtime function that fell only by citations or cost steps in as the fallback.

mod explain;
mod facts;
mod filter;
mod glob;
mod observed;
mod plan;
mod router;
mod score;

#[cfg(test)]
mod tests;

pub use explain::{Explain, explain};
pub use facts::{NoFacts, Reliability, RouteFacts};
pub use glob::glob_matches;
pub use observed::Observed;
pub use plan::{Candidate, Fate, NoRoute, Route, RouteContext, ScorePart};
pub use router::Router;
pub use score::Weights;
