//! The journal's events. Append-only and versioned: a field may be added with a default, none may change meaning. What is
//! empty or as usual is not written: most of a journal would be that.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Operated, Resolved};
use crate::{
    config::Limits,
    intent::IntentReport,
    llm::{ModelError, OnUnsupported, ToolChoice},
    policy::{Decision, Principal},
    quota::Shortfall,
    route::{NoRoute, Route},
    types::{
        CallId, CapabilityId, Citation, DataClass, DurationMs, Entry, ErrorCode, Intent, MicroUsd, ModelName,
        Projection, ProjectionKind, ProviderName, Region, Reply, RiskClass, SideEffect, TaskType, Timestamp, Tokens,
        ToolError, ToolName, TraceId, TurnId, UserPart, is_default,
    },
};

/// An event with its place in the journal. Time enters the machine only here.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Recorded {
    /// Its place, from 0, without gaps.
    pub seq: u64,
    /// When it was recorded.
    pub at: Timestamp,
    /// What happened.
    pub event: Event,
}

/// What can happen in a turn.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The turn was opened.
    Started(Arc<Started>),
    /// Intents were detected, routes chosen, tools exposed.
    Prepared(Arc<Prepared>),
    /// Tools were found, or became useful, and are put in front of the model.
    ToolsAdded(Vec<Exposed>),
    /// The gate turned against hosted tools: later requests go without them.
    ToolsRemoved(Vec<Withheld>),
    /// A model call is about to be made.
    ModelCallStarted(ModelCallStarted),
    /// The model replied.
    ModelReplied(ModelReplied),
    /// The model call brought no reply, after all its attempts.
    ModelCallFailed(ModelCallFailed),
    /// The gate decided calls of the last reply.
    CallsDecided(Vec<Arc<CallDecided>>),
    /// A person decided a waiting call.
    ApprovalDecided(Box<ApprovalDecided>),
    /// A call is about to run.
    CallStarted(CallStarted),
    /// A call has its outcome.
    CallFinished(CallFinished),
    /// A limit was reached.
    LimitReached(LimitKind),
    /// A budget that the turn shares with others cannot pay for what comes next.
    BudgetShort(Box<Shortfall>),
    /// Somebody cancelled the turn.
    Cancelled {
        /// Who.
        by: String,
    },
    /// The turn was taken up again after its driver was gone.
    Resumed(Resumed),
    /// An operator, or a halt, acted on the turn.
    Operated(Box<Operated>),
    /// The turn ended.
    Ended(Arc<Ended>),
    /// A person found out what became of a write, after the turn had ended without knowing.
    Resolved(Box<Resolved>),
}

impl Event {
    /// A stable word for the kind of event.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Started(_) => "started",
            Self::Prepared(_) => "prepared",
            Self::ToolsAdded(_) => "tools_added",
            Self::ToolsRemoved(_) => "tools_removed",
            Self::ModelCallStarted(_) => "model_call_started",
            Self::ModelReplied(_) => "model_replied",
            Self::ModelCallFailed(_) => "model_call_failed",
            Self::CallsDecided(_) => "calls_decided",
            Self::ApprovalDecided(_) => "approval_decided",
            Self::CallStarted(_) => "call_started",
            Self::CallFinished(_) => "call_finished",
            Self::LimitReached(_) => "limit_reached",
            Self::BudgetShort(_) => "budget_short",
            Self::Cancelled { .. } => "cancelled",
            Self::Resumed(_) => "resumed",
            Self::Operated(operated) => operated.act.kind(),
            Self::Ended(_) => "ended",
            Self::Resolved(_) => "resolved",
        }
    }
}

impl Event {
    /// Whether it may happen to a turn that is put down.
    pub(super) const fn fits_a_pause(&self) -> bool {
        matches!(self, Self::Operated(_) | Self::ApprovalDecided(_))
    }
}

/// What a turn starts with.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Started {
    /// The turn.
    pub turn: TurnId,
    /// Its trace.
    pub trace: TraceId,
    /// What the user said.
    pub input: Vec<UserPart>,
    /// The system prompt.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub instructions: String,
    /// The conversation before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Entry>,
    /// The intents the caller declared, `citation.required` among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub declared: Vec<Intent>,
    /// The intents of earlier turns, latest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub past_intents: Vec<Intent>,
    /// The turn that this one was begun for, and the root of that tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// What kind of work it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskType>,
    /// On whose behalf.
    pub principal: Arc<Principal>,
    /// Which model.
    pub model: ModelOptions,
    /// The hash of the rules in force.
    #[serde(default, skip_serializing_if = "is_default")]
    pub policy: Arc<str>,
    /// The limits.
    pub limits: Arc<Limits>,
    /// The class of the data the turn works on.
    pub data_class: DataClass,
    /// Where it is served.
    pub region: Region,
    /// What the first model call may or must do; later ones decide for themselves.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tool_choice: ToolChoice,
    /// Whether the choice holds for every model call but the last.
    #[serde(default, skip_serializing_if = "is_default")]
    pub force_every_step: bool,
    /// What a rejected approval does.
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_reject: OnReject,
    /// Whether untrusted content is in the history already.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tainted: bool,
    /// The classes of the data in the history.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data_classes: Vec<DataClass>,
}

impl Started {
    /// The root of the tree of turns this one is part of.
    pub fn root(&self) -> &TurnId {
        self.parent.as_ref().map_or(&self.turn, |parent| &parent.root)
    }
}

/// The turn that another one was begun for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// That turn.
    pub turn: TurnId,
    /// The root of its tree.
    pub root: TurnId,
}

/// The model of a turn and how it is asked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ModelOptions {
    /// The provider.
    pub provider: ProviderName,
    /// The model.
    pub model: ModelName,
    /// At most this many tokens of output a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// Sampling temperature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Reasoning effort.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<String>,
    /// Whether replies are streamed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stream: bool,
    /// What becomes of raw provider tools and choices of tools that the model's wire cannot express.
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_unsupported: OnUnsupported,
    /// Provider-specific extras.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

/// What a rejected approval does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnReject {
    /// The turn ends with an explanation.
    #[default]
    Stop,
    /// The model is told and goes on.
    Continue,
}

/// What preparation decided. Routes are chosen once per turn.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Prepared {
    /// The intents and the trigger.
    pub report: IntentReport,
    /// The routes of the intents that were found, and of shown tools that others could have served.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
    /// The intents without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unrouted: Vec<NoRoute>,
    /// The tools the model sees, in order.
    pub exposed: Vec<Exposed>,
    /// Tools that were meant for the model and did not get there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<Withheld>,
    /// What the first model call may or must do.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tool_choice: ToolChoice,
    /// The raw provider tools that passed the gate, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub builtin_tools: Vec<Value>,
}

/// A tool in front of the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exposed {
    /// The name the model knows it by.
    pub name: ToolName,
    /// The capability behind it.
    pub capability: CapabilityId,
    /// Whether the provider runs it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub hosted: bool,
}

/// A tool that did not get in front of the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Withheld {
    /// The capability, or `raw.<provider>.<type>` for a raw provider tool.
    pub capability: CapabilityId,
    /// Why.
    pub reason: String,
}

/// A model call is about to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelCallStarted {
    /// Which call of the turn, from 1.
    pub number: u32,
    /// What it may do.
    #[serde(default, skip_serializing_if = "is_default")]
    pub choice: ToolChoice,
    /// The worst case of its cost.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reserved: MicroUsd,
    /// Whether it carries a hosted tool that may change something.
    #[serde(default, skip_serializing_if = "is_default")]
    pub hosted_write: bool,
}

/// The model replied.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ModelReplied {
    /// Which call.
    pub number: u32,
    /// The reply, whole.
    pub reply: Arc<Reply>,
    /// What it cost; `None` when the price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<MicroUsd>,
    /// How long it took.
    pub latency: DurationMs,
    /// How much what hosted tools brought looks like it holds instructions, in thousandths.
    #[serde(default, skip_serializing_if = "is_default")]
    pub injection_score: u16,
}

/// The model call brought no reply.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ModelCallFailed {
    /// Which call.
    pub number: u32,
    /// Why.
    pub error: ModelError,
    /// How long it took.
    pub latency: DurationMs,
}

/// What the gate and the argument check said of one call.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CallDecided {
    /// The call.
    pub call: CallId,
    /// The capability it resolved to.
    pub capability: Option<CapabilityId>,
    /// The hash of its contract.
    #[serde(default, skip_serializing_if = "is_default")]
    pub contract: Arc<str>,
    /// The effective arguments, where repair or coercion changed the received text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    /// What was repaired or coerced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repairs: Vec<String>,
    /// The digest of capability and canonical arguments.
    pub digest: String,
    /// How it is governed.
    pub risk_class: RiskClass,
    /// How it may be run and retried.
    pub side_effect: SideEffect,
    /// Whether a second run with the same key does nothing.
    #[serde(default, skip_serializing_if = "is_default")]
    pub keyed: bool,
    /// Whether equal answers are no lack of progress.
    #[serde(default, skip_serializing_if = "is_default")]
    pub polling: bool,
    /// What the gate said; `None` when the call did not get so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// What the capability's `facts` said of the arguments: the rules saw it as `resource`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<Arc<Value>>,
    /// Who approved this before, in a way that covers the call: then nobody is asked again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remembered: Option<String>,
    /// What follows.
    pub verdict: Verdict,
}

/// What follows from a decision.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It runs.
    Run,
    /// It waits for a person.
    Ask,
    /// It never starts; this is its outcome.
    Refuse(Arc<CallOutcome>),
}

/// A person's decision on one call.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ApprovalDecided {
    /// The call.
    pub call: CallId,
    /// The digest of what was shown. It has to equal the call's digest.
    pub digest: String,
    /// Whether it may run.
    pub approved: bool,
    /// Who decided.
    pub by: String,
    /// Why, for the model and the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The outcome of a call that was rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejection: Option<Arc<CallOutcome>>,
    /// What runs in place of what was proposed, where the person changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit: Option<ApprovalEdit>,
}

/// Arguments that a person put in place of those the model proposed. They passed the schema and the gate.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ApprovalEdit {
    /// The arguments in effect.
    pub arguments: String,
    /// Their digest.
    pub digest: String,
    /// What the gate says of them.
    pub decision: Decision,
}

/// A call is about to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallStarted {
    /// The call.
    pub call: CallId,
    /// Its idempotency key.
    pub key: String,
    /// The worst case of its cost.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reserved: MicroUsd,
}

/// A call has its outcome.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CallFinished {
    /// The call.
    pub call: CallId,
    /// The outcome.
    pub outcome: Arc<CallOutcome>,
    /// Who found out, where the call itself did not say: its look-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_by: Option<String>,
}

/// How a call ended. Never started, denied, rejected, cancelled and interrupted are five different things.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    /// It ran and returned.
    Ok,
    /// It ran and failed.
    Error,
    /// It never started: unknown tool, invalid arguments, a limit.
    Refused,
    /// The gate said no.
    Denied,
    /// A person said no.
    Rejected,
    /// The turn was cancelled before it started.
    Cancelled,
    /// It was stopped after it had started; it changes nothing.
    Interrupted,
    /// It was started, may have changed something, and its result is not known.
    OutcomeUnknown,
}

impl CallStatus {
    /// The word as traces show it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Refused => "refused",
            Self::Denied => "denied",
            Self::Rejected => "rejected",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
            Self::OutcomeUnknown => "outcome_unknown",
        }
    }

    /// Whether the call ever ran.
    pub const fn ran(self) -> bool {
        matches!(self, Self::Ok | Self::Error | Self::Interrupted | Self::OutcomeUnknown)
    }
}

/// The outcome of a call: what the model sees of it, and what the books need.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CallOutcome {
    /// How it ended.
    pub status: CallStatus,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ToolError>,
    /// What the model sees.
    pub projection: Projection,
    /// About how many tokens that is.
    pub tokens: Tokens,
    /// The digest of the whole result, for the progress detector.
    pub result_digest: String,
    /// The receipt of a write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<String>,
    /// How many times it was tried.
    pub attempts: u32,
    /// How long it took, all tries together.
    pub latency: DurationMs,
    /// What it cost.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cost: MicroUsd,
    /// Whether untrusted content came with it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub untrusted: bool,
    /// How much it looks like it holds instructions, in thousandths; 0 for trusted content.
    #[serde(default, skip_serializing_if = "is_default")]
    pub injection_score: u16,
    /// The classes of data it brought.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data_classes: Vec<DataClass>,
}

/// Which limit was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// `max_tool_iterations`
    ToolIterations,
    /// `max_tool_calls_per_turn`
    ToolCalls,
    /// `max_wall_time_ms`
    WallTime,
    /// `max_tool_cost_usd`, or the turn's whole budget
    Cost,
    /// `max_context_tokens_from_tools`
    ContextTokens,
    /// The model goes in circles.
    NoProgress,
    /// A budget that the turn shares with others.
    Budget,
}

impl LimitKind {
    /// The configuration key, for notices.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ToolIterations => "max_tool_iterations",
            Self::ToolCalls => "max_tool_calls_per_turn",
            Self::WallTime => "max_wall_time_ms",
            Self::Cost => "max_tool_cost_usd",
            Self::ContextTokens => "max_context_tokens_from_tools",
            Self::NoProgress => "no_progress",
            Self::Budget => "budget",
        }
    }

    /// The reason a turn ends with when it ends by this limit.
    pub const fn end_reason(self) -> EndReason {
        match self {
            Self::Cost | Self::Budget => EndReason::Budget,
            Self::NoProgress => EndReason::NoProgress,
            Self::ToolIterations | Self::ToolCalls | Self::WallTime | Self::ContextTokens => EndReason::Limit,
        }
    }
}

/// A turn was taken up again after the process that drove it was gone.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Resumed {
    /// Who took it up.
    pub by: String,
    /// The hash of the rules in force from then on.
    #[serde(default, skip_serializing_if = "is_default")]
    pub policy: Arc<str>,
    /// What look-ups say of writes that ran when the driver was gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looked_up: Vec<CallFinished>,
}

/// Why a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// The question was answered.
    Answered,
    /// The model, or a filter, declined.
    Refused,
    /// A person rejected a call.
    Rejected,
    /// A limit was reached.
    Limit,
    /// The money ran out.
    Budget,
    /// The model went in circles.
    NoProgress,
    /// Somebody cancelled it.
    Cancelled,
    /// A write was started and nobody knows what became of it.
    OutcomeUnknown,
    /// The model could not be reached or broke off.
    Failed,
}

impl EndReason {
    /// The word as it is written everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Refused => "refused",
            Self::Rejected => "rejected",
            Self::Limit => "limit",
            Self::Budget => "budget",
            Self::NoProgress => "no_progress",
            Self::Cancelled => "cancelled",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::Failed => "failed",
        }
    }
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// Why.
    pub reason: EndReason,
    /// The answer, from what is known.
    pub answer: String,
    /// The sources of the answer. Offsets count code points of `answer`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub citations: Vec<Citation>,
    /// What the reader has to know: limits reached, parts missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
}

impl CallOutcome {
    /// The outcome of a call that agcore itself closes: nothing ran, nothing was read, nothing was paid.
    pub fn not_run(call: &CallId, status: CallStatus, why: &str) -> Self {
        let (code, hint) = match status {
            CallStatus::Rejected => (ErrorCode::ApprovalRejected, "do not repeat it; explain, or ask the user"),
            CallStatus::Denied => (ErrorCode::PolicyDenied, "do not repeat it; explain, or choose another way"),
            CallStatus::Cancelled => (ErrorCode::Cancelled, "it never ran; it may be asked for again"),
            CallStatus::Interrupted => (ErrorCode::Interrupted, "it was stopped while it ran"),
            CallStatus::OutcomeUnknown => {
                (ErrorCode::OutcomeUnknown, "do not repeat it; say that a person has to check whether it took effect")
            }
            CallStatus::Ok | CallStatus::Error | CallStatus::Refused => {
                (ErrorCode::LimitReached, "it never ran; answer from what is known")
            }
        };
        let error = ToolError::new(code, why, hint);
        let content = error.for_model(call);
        let projection = Projection {
            kind: ProjectionKind::ToolResult,
            tool_call_id: call.clone(),
            content,
            citations: Vec::new(),
            artifact_refs: Vec::new(),
            images: Vec::new(),
            warnings: Vec::new(),
        };
        Self {
            status,
            tokens: Tokens(u64::try_from(projection.content.len()).unwrap_or(u64::MAX) / 4),
            error: Some(error),
            projection,
            result_digest: String::new(),
            receipt: None,
            attempts: 0,
            latency: DurationMs(0),
            cost: MicroUsd::ZERO,
            untrusted: false,
            injection_score: 0,
            data_classes: Vec::new(),
        }
    }
}
