//! What the machine asks its driver to do.

use crate::{llm::ToolChoice, types::CallId};

use super::{EndReason, LimitKind};

/// What must happen now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Detect intents, choose routes and tools, append `Prepared`.
    Prepare,
    /// Append `ModelCallStarted` (unless `started`), call the model, append `ModelReplied` or `ModelCallFailed`.
    CallModel(ModelStep),
    /// Check these calls and ask the gate, append `CallsDecided`.
    Decide(Vec<CallId>),
    /// Run these calls, append `CallStarted` and `CallFinished` for each.
    Execute(Vec<CallId>),
    /// Wait for people to decide these calls, append `ApprovalDecided`.
    AwaitApproval(Vec<CallId>),
    /// Nothing: an operator, or a halt, put the turn down.
    Paused,
    /// Compose the answer, append `Ended`.
    Finish(EndReason),
    /// Nothing: the turn is over.
    Done,
}

/// A model call that must be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelStep {
    /// Which call of the turn, from 1.
    pub number: u32,
    /// What it may do with tools.
    pub choice: ToolChoice,
    /// Whether it has to be the last: its reply is the answer whatever it holds.
    pub last: Option<LimitKind>,
    /// Whether it was started before: a crash lost its reply.
    pub started: bool,
}
