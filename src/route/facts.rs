//! What routing asks of the rest of agcore.

use crate::{
    capability::Capability,
    types::{CapabilityId, DurationMs},
};

/// How a capability has behaved so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reliability {
    /// The share of calls that succeeded, 0–1, newer calls counting more.
    pub success: f32,
    /// How long a call takes, newer calls counting more.
    pub latency: DurationMs,
}

/// The facts a route depends on that are not in the contract.
///
/// Implementers: answer from memory, without waiting; the same question must get the same answer while one turn's
/// routes are made.
pub trait RouteFacts {
    /// Why the gate does not let this capability be seen now; `None` when it does.
    fn denied(&self, capability: &Capability) -> Option<String>;

    /// Why it cannot run now (no such function, server down, rate limit used up); `None` when it can.
    fn unavailable(&self, capability: &Capability) -> Option<String>;

    /// How it has behaved; `None` when it was never seen.
    fn reliability(&self, id: &CapabilityId) -> Option<Reliability>;
}

/// Nothing is denied, everything is there, nothing was seen yet.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFacts;

impl RouteFacts for NoFacts {
    fn denied(&self, _: &Capability) -> Option<String> {
        None
    }

    fn unavailable(&self, _: &Capability) -> Option<String> {
        None
    }

    fn reliability(&self, _: &CapabilityId) -> Option<Reliability> {
        None
    }
}
