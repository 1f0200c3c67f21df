//! The spans of a turn.

use serde::Serialize;

use crate::types::{CallId, CapabilityId, DurationMs, MicroUsd, RiskClass, RuleId, Timestamp, TraceId, TurnId, Usage};

/// What the gate and people said of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyDecision {
    /// It could run.
    Allowed,
    /// A person was asked.
    Asked,
    /// It could not run.
    Denied,
    /// The gate was not asked: the call was broken, or over a limit.
    NotReached,
}

impl PolicyDecision {
    /// The word as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Asked => "asked",
            Self::Denied => "denied",
            Self::NotReached => "not_reached",
        }
    }
}

/// The span of one tool call (specification S7).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolSpan {
    /// The trace.
    pub trace_id: TraceId,
    /// The turn.
    pub turn_id: TurnId,
    /// The call.
    pub tool_call_id: CallId,
    /// The intent, as the model called it.
    pub tool_name: String,
    /// The capability that served it.
    pub route: Option<CapabilityId>,
    /// The digest of capability and arguments: `sha256:…`.
    pub input_hash: String,
    /// The beginning of the arguments, redacted.
    pub input_preview: String,
    /// How it ended.
    pub status: String,
    /// The error code, if it failed.
    pub error: Option<String>,
    /// When it was started; when it was decided, if it never ran.
    pub started_at: Timestamp,
    /// How long it took.
    pub latency_ms: DurationMs,
    /// How many times it was tried.
    pub attempts: u32,
    /// About how many tokens its arguments have.
    pub tokens_in: u64,
    /// About how many tokens its projection has.
    pub tokens_out: u64,
    /// What it cost.
    pub cost: MicroUsd,
    /// How many sources it named.
    pub citations_count: usize,
    /// What the gate said.
    pub policy_decision: PolicyDecision,
    /// The rule that decided.
    pub policy_rule: Option<RuleId>,
    /// Why.
    pub policy_because: String,
    /// Who approved or rejected it.
    pub decided_by: Option<String>,
    /// How it is governed.
    pub risk_class: RiskClass,
    /// What was cut, masked, repaired or marked.
    pub warnings: Vec<String>,
    /// Which model call asked for it.
    pub model_call: u32,
}

/// The span of one model call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelSpan {
    /// Which call of the turn, from 1.
    pub number: u32,
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
    /// When it was started.
    pub started_at: Timestamp,
    /// How long it took.
    pub latency_ms: DurationMs,
    /// What it consumed.
    pub usage: Usage,
    /// What it cost; `None` when the price is not known.
    pub cost: Option<MicroUsd>,
    /// Why it stopped, or failed.
    pub stop: String,
    /// How many times it was asked in vain before: the process died while it was being asked.
    pub repeats: u32,
    /// What hosted tools did in it.
    pub hosted: Vec<String>,
    /// What was noticed while the reply was read.
    pub notices: Vec<String>,
}
