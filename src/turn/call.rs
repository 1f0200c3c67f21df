//! One call of the current reply, from request to outcome.

use std::sync::Arc;

use crate::types::{CallId, CapabilityId, MicroUsd, SideEffect, Timestamp, ToolName};

use super::event::{CallDecided, CallOutcome};

/// How far a call has come.
#[derive(Debug, Clone)]
pub enum CallStage {
    /// The model asked for it.
    Requested,
    /// The gate said it may run.
    Ready,
    /// It waits for a person.
    Waiting,
    /// It runs.
    Running {
        /// Its idempotency key.
        key: String,
        /// What was set aside for it.
        reserved: MicroUsd,
    },
    /// It has its outcome.
    Done(Arc<CallOutcome>),
}

/// One call.
#[derive(Debug, Clone)]
pub struct Call {
    /// Our id, unique in the turn.
    pub id: CallId,
    /// The provider's id, which the result has to carry.
    pub provider_id: String,
    /// The name the model used.
    pub name: String,
    /// The arguments as received.
    pub arguments: String,
    /// False when the reply ended inside the call.
    pub complete: bool,
    /// What was decided about it.
    pub decided: Option<Arc<CallDecided>>,
    /// Whether a person approved it.
    pub approved: bool,
    /// Who put other arguments in place of the model's.
    pub edited_by: Option<String>,
    /// When it was decided.
    pub decided_at: Option<Timestamp>,
    /// How far it has come.
    pub stage: CallStage,
}

impl Call {
    /// The capability it resolved to.
    pub fn capability(&self) -> Option<&CapabilityId> {
        self.decided.as_ref()?.capability.as_ref()
    }

    /// The arguments it runs with.
    pub fn effective_arguments(&self) -> &str {
        let changed = self.decided.as_ref().and_then(|decided| decided.arguments.as_deref());
        let text = changed.unwrap_or(&self.arguments);
        if text.trim().is_empty() { "{}" } else { text }
    }

    /// The digest of capability and arguments.
    pub fn digest(&self) -> &str {
        self.decided.as_ref().map_or("", |decided| decided.digest.as_str())
    }

    /// How it may be run and retried; a call that is not decided is taken for the worst.
    pub fn side_effect(&self) -> SideEffect {
        self.decided.as_ref().map_or(SideEffect::Destructive, |decided| decided.side_effect)
    }

    /// Whether nobody knows what it did, now that the process in which it ran is gone: a read or a write with a key can
    /// be run again, another write cannot.
    pub fn in_doubt_after_crash(&self) -> bool {
        let again = self.decided.as_ref().is_some_and(|d| d.side_effect == SideEffect::ReadOnly || d.keyed);
        matches!(self.stage, CallStage::Running { .. }) && !again
    }

    /// The outcome, once there is one.
    pub fn outcome(&self) -> Option<&CallOutcome> {
        if let CallStage::Done(outcome) = &self.stage { Some(outcome) } else { None }
    }

    /// The name for error messages and logs.
    pub fn tool_name(&self) -> Option<ToolName> {
        ToolName::new(&self.name).ok()
    }
}

/// A write of which nobody knows whether it took effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    /// The call.
    pub call: CallId,
    /// What was run.
    pub capability: Option<CapabilityId>,
}
