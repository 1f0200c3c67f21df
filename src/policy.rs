//! The gate: one decision function for what may be seen and what may run.

mod decision;

pub use decision::{Decision, GateRequest, Obligation, Outcome, PolicyEngine, Principal, Stage, TurnFacts};
