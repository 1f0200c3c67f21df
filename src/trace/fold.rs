//! Folds a journal into spans. Nothing is recorded twice: what is not in the journal is not in the trace.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::{
    policy::Outcome,
    secret::Redactor,
    text::cut,
    turn::{
        Act, CallDecided, CallOutcome, CallStatus, Ended, Event, IllegalEvent, Operated, Prepared, Recorded, Turn,
        Verdict,
    },
    types::{CallId, Citation, DurationMs, MicroUsd, RiskClass, Stop, Timestamp, TraceId, TurnId},
};

use super::{ModelSpan, PolicyDecision, ToolSpan};

/// How many bytes of the arguments a span shows.
const PREVIEW_BYTES: usize = 160;

/// The whole record of a turn, redacted.
#[derive(Debug, Clone, Serialize)]
pub struct Trace {
    /// The trace.
    pub trace_id: TraceId,
    /// The turn.
    pub turn_id: TurnId,
    /// What the user said, redacted.
    pub input: String,
    /// When the turn was opened.
    pub started_at: Timestamp,
    /// How long it was active.
    pub active_ms: DurationMs,
    /// Where it stands.
    pub phase: String,
    /// What preparation decided.
    pub prepared: Option<Prepared>,
    /// The model calls, in order.
    pub model_calls: Vec<ModelSpan>,
    /// The tool calls, in order.
    pub tool_calls: Vec<ToolSpan>,
    /// What happened besides: limits, cancellation, resumption.
    pub remarks: Vec<String>,
    /// What it cost.
    pub cost: CostReport,
    /// How it ended.
    pub ended: Option<Ended>,
}

/// What a turn cost, and for what.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CostReport {
    /// All of it.
    pub total: MicroUsd,
    /// The models.
    pub model: MicroUsd,
    /// The tools.
    pub tools: MicroUsd,
    /// Whether a price was not known: the sums are a lower bound then.
    pub lower_bound: bool,
    /// Each capability that cost something.
    pub by_capability: BTreeMap<String, MicroUsd>,
}

/// Folds the journal of a turn.
///
/// # Errors
/// [`IllegalEvent`] when the journal does not hold together.
pub fn fold(journal: &[Recorded], redactor: &Redactor) -> Result<Trace, IllegalEvent> {
    let turn = Turn::fold(journal)?;
    let mut spans = Spans { turn: &turn, redactor, asked: BTreeMap::new(), models: Vec::new(), tools: Vec::new() };
    let mut remarks = Vec::new();
    for recorded in journal {
        spans.read(recorded);
        remarks.extend(remark(&recorded.event));
    }
    let Spans { models, tools, .. } = spans;
    let started = turn.started();
    Ok(Trace {
        trace_id: started.trace.clone(),
        turn_id: started.turn.clone(),
        input: redactor.text(&input(journal)).as_str().to_owned(),
        started_at: journal.first().map_or_else(Timestamp::default, |first| first.at),
        active_ms: turn.active(),
        phase: format!("{:?}", turn.phase()),
        prepared: turn.prepared().map(|prepared| without_secrets(prepared, redactor)),
        cost: cost(&turn, &tools),
        model_calls: models,
        tool_calls: tools,
        remarks,
        ended: turn.ended().map(|ended| redacted(ended, redactor)),
    })
}

fn input(journal: &[Recorded]) -> String {
    match journal.first().map(|first| &first.event) {
        Some(Event::Started(started)) => crate::turn::input_text(&started.input).into_owned(),
        Some(_) | None => String::new(),
    }
}

/// Raw provider tools may carry headers and addresses of their own.
fn without_secrets(prepared: &Prepared, redactor: &Redactor) -> Prepared {
    let mask = |tool: &Value| serde_json::from_str(redactor.json(&tool.to_string()).as_str()).unwrap_or(Value::Null);
    Prepared { builtin_tools: prepared.builtin_tools.iter().map(mask).collect(), ..prepared.clone() }
}

fn redacted(ended: &Ended, redactor: &Redactor) -> Ended {
    let quote = |citation: &Citation| {
        let quote = citation.quote.as_deref().map(|quote| redactor.text(quote).as_str().to_owned());
        Citation { quote, ..citation.clone() }
    };
    Ended {
        reason: ended.reason,
        answer: redactor.text(&ended.answer).as_str().to_owned(),
        citations: ended.citations.iter().map(quote).collect(),
        notices: ended.notices.iter().map(|notice| redactor.text(notice).as_str().to_owned()).collect(),
    }
}

fn cost(turn: &Turn, tools: &[ToolSpan]) -> CostReport {
    let ledger = turn.ledger();
    let mut by_capability: BTreeMap<String, MicroUsd> = BTreeMap::new();
    for span in tools.iter().filter(|span| span.cost > MicroUsd::ZERO) {
        if let Some(route) = &span.route {
            *by_capability.entry(route.to_string()).or_default() += span.cost;
        }
    }
    CostReport {
        total: ledger.spent(),
        model: ledger.model,
        tools: ledger.tools,
        lower_bound: ledger.unpriced,
        by_capability,
    }
}

fn remark(event: &Event) -> Option<String> {
    match event {
        Event::LimitReached(kind) => Some(format!("the limit `{}` was reached", kind.as_str())),
        Event::BudgetShort(short) => Some(short.to_string()),
        Event::Cancelled { by } => Some(format!("cancelled by {by}")),
        Event::Operated(operated) => Some(operated_remark(operated)),
        Event::Resolved(resolved) => {
            let what = if resolved.took_effect { "took effect" } else { "took no effect" };
            Some(format!("{} found out that {} {what}", resolved.by, resolved.call))
        }
        Event::Resumed(_) => Some("taken up again after its driver was gone".to_owned()),
        Event::ToolsAdded(tools) => {
            let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
            Some(format!("tools added: {}", names.join(", ")))
        }
        Event::ToolsRemoved(tools) => {
            let tools: Vec<_> = tools.iter().map(|tool| format!("{} ({})", tool.capability, tool.reason)).collect();
            Some(format!("tools removed: {}", tools.join(", ")))
        }
        Event::Started(_)
        | Event::Prepared(_)
        | Event::ModelCallStarted(_)
        | Event::ModelReplied(_)
        | Event::ModelCallFailed(_)
        | Event::CallsDecided(_)
        | Event::ApprovalDecided(_)
        | Event::CallStarted(_)
        | Event::CallFinished(_)
        | Event::Ended(_) => None,
    }
}

struct Spans<'a> {
    turn: &'a Turn,
    redactor: &'a Redactor,
    /// Name and arguments of each call, as the model asked for it.
    asked: BTreeMap<CallId, (String, String)>,
    models: Vec<ModelSpan>,
    tools: Vec<ToolSpan>,
}

impl Spans<'_> {
    fn read(&mut self, recorded: &Recorded) {
        match &recorded.event {
            Event::ModelCallStarted(call) => self.models.push(self.model_span(call.number, recorded.at)),
            Event::ModelReplied(replied) => {
                self.remember_calls(&replied.reply);
                let redactor = self.redactor;
                if let Some(span) = self.models.last_mut() {
                    span.model = replied.reply.origin.model.to_string();
                    span.latency_ms = replied.latency;
                    span.usage = replied.reply.usage.unwrap_or_default();
                    span.cost = replied.cost;
                    span.stop = stop_word(&replied.reply.stop);
                    span.hosted =
                        replied.reply.hosted().map(|output| format!("{:?}", output.kind).to_lowercase()).collect();
                    let notices = replied.reply.notices.iter();
                    span.notices = notices.map(|notice| redactor.text(notice).as_str().to_owned()).collect();
                }
            }
            Event::ModelCallFailed(failed) => {
                let message = self.redactor.text(&failed.error.to_string()).as_str().to_owned();
                if let Some(span) = self.models.last_mut() {
                    span.latency_ms = failed.latency;
                    span.stop = format!("failed: {message}");
                }
            }
            Event::Resumed(_) => {
                if let Some(span) = self.models.last_mut().filter(|span| span.stop.is_empty()) {
                    span.repeats += 1;
                }
            }
            Event::CallsDecided(decisions) => {
                for decided in decisions {
                    let span = self.tool_span(decided, recorded.at);
                    self.tools.push(span);
                }
            }
            Event::ApprovalDecided(approval) => {
                if let Some(span) = self.span_of(&approval.call) {
                    span.decided_by = Some(approval.by.clone());
                    span.status = if approval.approved { "approved" } else { "rejected" }.to_owned();
                    if let Some(outcome) = &approval.rejection {
                        close(span, outcome);
                    }
                }
            }
            Event::CallStarted(started) => {
                if let Some(span) = self.span_of(&started.call) {
                    span.started_at = recorded.at;
                    span.status = "running".to_owned();
                }
            }
            Event::CallFinished(finished) => {
                if let Some(span) = self.span_of(&finished.call) {
                    close(span, &finished.outcome);
                }
            }
            Event::Started(_)
            | Event::Prepared(_)
            | Event::ToolsAdded(_)
            | Event::ToolsRemoved(_)
            | Event::LimitReached(_)
            | Event::BudgetShort(_)
            | Event::Cancelled { .. }
            | Event::Operated(_)
            | Event::Resolved(_)
            | Event::Ended(_) => {}
        }
    }

    fn model_span(&self, number: u32, at: Timestamp) -> ModelSpan {
        let options = &self.turn.started().model;
        ModelSpan {
            number,
            provider: options.provider.to_string(),
            model: options.model.to_string(),
            started_at: at,
            latency_ms: DurationMs(0),
            usage: crate::types::Usage::default(),
            cost: None,
            stop: String::new(),
            repeats: 0,
            hosted: Vec::new(),
            notices: Vec::new(),
        }
    }

    /// The machine numbers calls in the order of the replies; so does the trace.
    fn remember_calls(&mut self, reply: &crate::types::Reply) {
        for call in reply.calls() {
            let number = self.asked.len() + 1;
            if let Ok(id) = CallId::new(format!("call_{number}")) {
                self.asked.insert(id, (call.name.clone(), call.arguments.clone()));
            }
        }
    }

    fn tool_span(&self, decided: &CallDecided, at: Timestamp) -> ToolSpan {
        let (name, received) = self.asked.get(&decided.call).cloned().unwrap_or_default();
        let arguments = decided.arguments.as_deref().unwrap_or(&received);
        let shown = self.redactor.json(arguments);
        let decision = decided.decision.as_ref();
        let mut span = ToolSpan {
            trace_id: self.turn.started().trace.clone(),
            turn_id: self.turn.started().turn.clone(),
            tool_call_id: decided.call.clone(),
            tool_name: name,
            route: decided.capability.clone(),
            input_hash: decided.digest.clone(),
            input_preview: cut::to_bytes(shown.as_str(), PREVIEW_BYTES).to_owned(),
            status: "decided".to_owned(),
            error: None,
            started_at: at,
            latency_ms: DurationMs(0),
            attempts: 0,
            tokens_in: cut::tokens(arguments).0,
            tokens_out: 0,
            cost: MicroUsd::ZERO,
            citations_count: 0,
            policy_decision: decision.map_or(PolicyDecision::NotReached, |decision| match decision.outcome {
                Outcome::Allow => PolicyDecision::Allowed,
                Outcome::Ask => PolicyDecision::Asked,
                Outcome::Deny => PolicyDecision::Denied,
            }),
            policy_rule: decision.and_then(|decision| decision.rule.clone()),
            policy_because: decision.map(|decision| decision.because.clone()).unwrap_or_default(),
            decided_by: None,
            risk_class: decided.risk_class,
            warnings: decided.repairs.clone(),
            model_call: self.models.last().map_or(0, |model| model.number),
        };
        match &decided.verdict {
            Verdict::Refuse(outcome) => close(&mut span, outcome),
            Verdict::Ask => span.status = "waiting".to_owned(),
            Verdict::Run => {}
        }
        span
    }

    fn span_of(&mut self, call: &CallId) -> Option<&mut ToolSpan> {
        self.tools.iter_mut().find(|span| span.tool_call_id == *call)
    }
}

fn stop_word(stop: &Stop) -> String {
    match stop {
        Stop::End => "end".to_owned(),
        Stop::ToolCalls => "tool_calls".to_owned(),
        Stop::Length => "length".to_owned(),
        Stop::Filtered => "filtered".to_owned(),
        Stop::Refused => "refused".to_owned(),
        Stop::Paused => "paused".to_owned(),
        Stop::Failed(why) => format!("failed: {why}"),
        Stop::Unknown(why) => format!("unknown: {why}"),
    }
}

fn close(span: &mut ToolSpan, outcome: &CallOutcome) {
    span.status = outcome.status.as_str().to_owned();
    span.error = outcome.error.as_ref().map(|error| error.code.as_str().to_owned());
    span.latency_ms = outcome.latency;
    span.attempts = outcome.attempts;
    span.tokens_out = outcome.tokens.0;
    span.cost = outcome.cost;
    span.citations_count = outcome.projection.citations.len();
    span.warnings.extend(outcome.projection.warnings.iter().cloned());
    if outcome.status == CallStatus::Denied {
        span.policy_decision = PolicyDecision::Denied;
    }
}

impl ToolSpan {
    /// Whether the call changed, or may have changed, something.
    pub fn writes(&self) -> bool {
        !matches!(self.risk_class, RiskClass::ReadOnly | RiskClass::InternalRead | RiskClass::ExternalRead)
    }
}

fn operated_remark(operated: &Operated) -> String {
    let what = match &operated.act {
        Act::Paused => "paused".to_owned(),
        Act::Halted => "put down by a halt".to_owned(),
        Act::Unpaused => "let go on".to_owned(),
        act @ Act::Limits { .. } => format!("limits set to {}", act.limits_set().unwrap_or_default()),
    };
    let why = if operated.why.is_empty() { String::new() } else { format!(": {}", operated.why) };
    format!("{what} by {}{why}", operated.by)
}
