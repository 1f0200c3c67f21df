//! Which candidate serves an intent this turn, and why.

mod plan;

pub use plan::{Candidate, Fate, NoRoute, Route, RouteContext, ScorePart};
