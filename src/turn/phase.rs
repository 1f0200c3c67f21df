//! Where a turn stands.

use serde::{Deserialize, Serialize};

/// Where a turn stands, in the words of the specification (S5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// Intents, routes and tools are to be chosen.
    PrepareRequest,
    /// The model is to be called, or is being called.
    ModelTurn,
    /// The reply holds outputs of hosted tools.
    HostedToolObserved,
    /// The reply asks for calls.
    ToolCallRequested,
    /// The gate has looked at the calls.
    PolicyCheck,
    /// A person has to decide.
    AwaitHumanApproval,
    /// Calls are ready or running.
    ExecuteTools,
    /// No call of the reply may run.
    ToolDenied,
    /// All calls have their outcome.
    ProjectResults,
    /// The model, or a filter, declined.
    RefusedOrBlocked,
    /// The answer can be written.
    FinalReady,
}

impl Phase {
    /// The phases that may follow.
    pub const fn may_become(self) -> &'static [Self] {
        use Phase::*;
        match self {
            PrepareRequest => &[ModelTurn, FinalReady],
            ModelTurn => &[ModelTurn, HostedToolObserved, ToolCallRequested, RefusedOrBlocked, FinalReady],
            ToolCallRequested => &[PolicyCheck, ProjectResults],
            PolicyCheck => &[AwaitHumanApproval, ExecuteTools, ToolDenied],
            AwaitHumanApproval => &[ExecuteTools, ToolDenied, ProjectResults],
            ExecuteTools => &[ExecuteTools, AwaitHumanApproval, ProjectResults],
            HostedToolObserved | ToolDenied => &[ProjectResults],
            ProjectResults => &[ModelTurn, FinalReady],
            RefusedOrBlocked => &[FinalReady],
            FinalReady => &[],
        }
    }
}
